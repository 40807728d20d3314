package io.icebergzorder.core.report;

import io.icebergzorder.core.Curve;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A snapshot of a table. */
public record SnapshotFacts(long id, long timestampMillis, String operation, Map<String, String> summary) {
  /** The operation of snapshots that change no row, as those of rewrites are. */
  public static final String REPLACE = "replace";

  static final String COLUMNS = "zorder.columns";
  static final String HASH = "zorder.layout-hash";
  private static final String CURVE = "zorder.curve";
  private static final String CUTS = "zorder.cuts";
  private static final String PREFIX = "zorder.prefix";
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
    return prefix + curve() + "(" + columns + ")";
  }

  /** Whether it was by these columns, prefix and curve; with adaptive cuts, z-order takes Hilbert's curve where that is tighter. */
  public boolean isBy(String columns, String prefix, Curve curve) {
    String hilbert = Curve.HILBERT.label();
    boolean isCurve =
        curve == Curve.HILBERT
            ? curve().equals(hilbert)
            : !curve().equals(hilbert) || !"even".equals(summary.get(CUTS));
    return isCurve && columns.equals(summary.get(COLUMNS)) && prefix.equals(summary.getOrDefault(PREFIX, ""));
  }

  private String curve() {
    return summary.getOrDefault(CURVE, Curve.ZORDER.label());
  }
}
