package io.icebergzorder.core.metrics;

import io.icebergzorder.core.Curve;
import io.icebergzorder.core.SortOrder;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A snapshot of a table. */
public record SnapshotFacts(long id, long timestampMillis, String operation, Map<String, String> summary) {
  /** The operation of snapshots that change no row, as those of rewrites are. */
  public static final String REPLACE = "replace";

  private static final String COLUMNS = "zorder.columns";
  private static final String CUTS = "zorder.cuts";
  private static final String TARGET = "zorder.target-file-size";
  private static final Pattern TOLD_TARGET = Pattern.compile("([0-9]{1,18})(?: (.*))?");
  private static final Pattern NUMBER = Pattern.compile("[0-9]{1,18}");

  /** Whether it is of a rewrite of ours; not where its columns cannot be read, whoever wrote them. */
  public boolean isLayout() {
    try {
      return SortOrder.parse(summary.getOrDefault(COLUMNS, "")) != null;
    } catch (IllegalArgumentException unreadable) {
      return false;
    }
  }

  /** How a rewrite of ours has cut its files; null where it does not tell. */
  public String cuts() {
    return summary.get(CUTS);
  }

  /** What a rewrite of ours was by, in full. */
  public String sortOrder() {
    return SortOrder.parse(summary.get(COLUMNS)).text();
  }

  /** The bytes that files of a rewrite of ours were to have; 0 where it does not tell. */
  public long targetFileSize() {
    Matcher told = TOLD_TARGET.matcher(summary.getOrDefault(TARGET, ""));
    long size = told.matches() ? Long.parseLong(told.group(1)) : 0;
    // Files of one byte are refused, so that no rewrite has asked for them.
    return size > 1 ? size : 0;
  }

  /** Who had said how many bytes files of a rewrite of ours were to have; empty where it does not tell. */
  public String targetFrom() {
    Matcher told = TOLD_TARGET.matcher(summary.getOrDefault(TARGET, ""));
    return told.matches() && told.group(2) != null ? told.group(2) : "";
  }

  /**
   * Whether a rewrite of ours was by the sort order that another asks for. With adaptive cuts a rewrite by Hilbert is one by
   * z-order, too, which takes the tighter curve.
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

  /** A number of the summary; 0 if it has none, or what is none. */
  public long count(String name) {
    String text = summary.getOrDefault(name, "");
    return NUMBER.matcher(text).matches() ? Long.parseLong(text) : 0;
  }
}
