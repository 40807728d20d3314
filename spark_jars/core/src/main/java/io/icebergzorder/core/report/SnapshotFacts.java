package io.icebergzorder.core.report;

import io.icebergzorder.core.Curve;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A snapshot.
 *
 * @param id its id
 * @param timestampMillis when it was made, in milliseconds since 1970
 * @param operation its operation, such as {@code replace}
 * @param summary its summary
 */
public record SnapshotFacts(long id, long timestampMillis, String operation, Map<String, String> summary) {
  /** The operation of snapshots that change no row, as those of rewrites are. */
  public static final String REPLACE = "replace";

  static final String COLUMNS = "zorder.columns";
  static final String HASH = "zorder.layout-hash";
  private static final String CURVE = "zorder.curve";
  private static final String CUTS = "zorder.cuts";
  private static final String PREFIX = "zorder.prefix";
  private static final Pattern NUMBER = Pattern.compile("[0-9]{1,18}");
  private static final Pattern COMMA_OR_QUOTED = Pattern.compile("(`(?:[^`]|``)*`)|,");

  /** Whether it is of a rewrite of ours. */
  public boolean isLayout() {
    return summary.containsKey(COLUMNS);
  }

  /** How a rewrite of ours has cut its files; null where it does not tell. */
  public String cuts() {
    return summary.get(CUTS);
  }

  /** What a rewrite of ours was by. */
  public String sortOrder() {
    String prefix = summary.containsKey(PREFIX) ? summary.get(PREFIX) + ", " : "";
    String columns =
        COMMA_OR_QUOTED
            .matcher(summary.get(COLUMNS))
            .replaceAll(found -> found.group(1) == null ? ", " : Matcher.quoteReplacement(found.group(1)));
    // Earlier versions told the curves that were fitted: two are of what was asked for as z-order.
    return prefix + curves().substring(curves().lastIndexOf(',') + 1) + "(" + columns + ")";
  }

  /**
   * Whether a rewrite of ours was by the columns, prefix and curve that another asks for. With adaptive cuts a rewrite by
   * Hilbert is one by z-order, too, which takes the tighter curve.
   */
  public boolean isBy(String columns, String prefix, Curve curve) {
    String hilbert = Curve.HILBERT.label();
    boolean isCurve =
        curve == Curve.HILBERT
            ? curves().equals(hilbert)
            : !curves().equals(hilbert) || !"even".equals(summary.get(CUTS));
    return isCurve && columns.equals(summary.get(COLUMNS)) && prefix.equals(summary.getOrDefault(PREFIX, ""));
  }

  private String curves() {
    return summary.getOrDefault(CURVE, Curve.ZORDER.label());
  }

  /** A number of the summary; 0 if it has none, or what is none. */
  public long count(String name) {
    String text = summary.getOrDefault(name, "");
    return NUMBER.matcher(text).matches() ? Long.parseLong(text) : 0;
  }
}
