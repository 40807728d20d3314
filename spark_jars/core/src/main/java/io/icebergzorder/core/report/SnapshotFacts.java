package io.icebergzorder.core.report;

import java.util.Map;

/**
 * A snapshot.
 *
 * @param id its id
 * @param timestampMillis when it was made, in milliseconds since 1970
 * @param operation its operation, such as {@code replace}
 * @param summary its summary
 */
public record SnapshotFacts(long id, long timestampMillis, String operation, Map<String, String> summary) {
  static final String COLUMNS = "zorder.columns";
  private static final String CURVE = "zorder.curve";
  private static final String PREFIX = "zorder.prefix";

  /** Whether it is of a rewrite of ours. */
  public boolean isLayout() {
    return summary.containsKey(COLUMNS);
  }

  /** What a rewrite of ours was by. */
  public String sortOrder() {
    String prefix = summary.containsKey(PREFIX) ? summary.get(PREFIX) + ", " : "";
    return prefix + summary.getOrDefault(CURVE, "zorder").split(",", 2)[0] + "(" + summary.get(COLUMNS) + ")";
  }

  /** A number of the summary, 0 if it has none. */
  long count(String name) {
    return Long.parseLong(summary.getOrDefault(name, "0"));
  }
}
