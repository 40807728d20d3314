package io.icebergzorder.core.metrics;

import io.icebergzorder.core.Curve;
import io.icebergzorder.core.SortOrder;
import java.util.Map;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A snapshot of a table. */
public record SnapshotFacts(long id, long timestampMillis, String operation, Map<String, String> summary) {
  /** The operation of snapshots that change no row, such as rewrites. */
  public static final String REPLACE = "replace";

  private static final String COLUMNS = "zorder.columns";
  private static final String CUTS = "zorder.cuts";
  private static final String TARGET = "zorder.target-file-size";
  private static final Pattern TOLD_TARGET = Pattern.compile("([0-9]{1,18})(?: (.*))?");
  private static final Pattern NUMBER = Pattern.compile("[0-9]{1,18}");

  /** Whether one of our rewrites made it; false if its columns cannot be parsed. */
  public boolean isLayout() {
    try {
      return SortOrder.parse(summary.getOrDefault(COLUMNS, "")) != null;
    } catch (IllegalArgumentException unreadable) {
      return false;
    }
  }

  /** The cuts of our rewrite; null if not recorded. */
  public String cuts() {
    return summary.get(CUTS);
  }

  /** The full sort order of our rewrite. */
  public String sortOrder() {
    return SortOrder.parse(summary.get(COLUMNS)).text();
  }

  /** The target file size of our rewrite in bytes; 0 if not recorded. */
  public long targetFileSize() {
    Matcher told = TOLD_TARGET.matcher(summary.getOrDefault(TARGET, ""));
    long size = told.matches() ? Long.parseLong(told.group(1)) : 0;
    // A target of one byte is refused, so no rewrite had one.
    return size > 1 ? size : 0;
  }

  /** The origin of our rewrite's target file size; empty if not recorded. */
  public String targetFrom() {
    Matcher told = TOLD_TARGET.matcher(summary.getOrDefault(TARGET, ""));
    return told.matches() && told.group(2) != null ? told.group(2) : "";
  }

  /**
   * Whether our rewrite matches another sort order. With adaptive cuts, a rewrite by hilbert also matches zorder, which uses the tighter
   * curve.
   */
  public boolean isBy(String sortOrder) {
    if (!isLayout()) {
      return false;
    }
    SortOrder last = SortOrder.parse(summary.get(COLUMNS));
    SortOrder asked = SortOrder.parse(sortOrder);
    boolean isHilbert = last.equals(new SortOrder(Curve.HILBERT, asked.columns(), asked.prefix()));
    return last.equals(asked) || isHilbert && !"even".equals(cuts());
  }

  /** A number in the summary; empty if missing or invalid. */
  public OptionalLong number(String name) {
    String text = summary.getOrDefault(name, "");
    return NUMBER.matcher(text).matches() ? OptionalLong.of(Long.parseLong(text)) : OptionalLong.empty();
  }

  /** A number in the summary; 0 if missing or invalid. */
  public long count(String name) {
    return number(name).orElse(0);
  }
}
