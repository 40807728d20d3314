package io.icebergzorder.spark.plan;

import io.icebergzorder.core.Curve;
import io.icebergzorder.spark.request.RowOrder;
import java.util.Map;

/**
 * The sort order of the last rewrite of a table, as the summary of its snapshot tells it.
 *
 * @param prefix the columns that it was sorted by first, as a sort order writes them; empty without any
 * @param curves the curves of its layouts, with commas between
 * @param columns the names of the clustering columns, with commas between
 */
public record LastLayout(String prefix, String curves, String columns) {
  static final String COLUMNS = "zorder.columns";

  static LastLayout of(Map<String, String> summary) {
    return new LastLayout(
        summary.getOrDefault("zorder.prefix", ""),
        summary.getOrDefault("zorder.curve", Curve.ZORDER.label()),
        summary.get(COLUMNS));
  }

  /** Whether it was by this sort order: z-order may have come out as Hilbert, which is never the other way round. */
  public boolean isBy(RowOrder order) {
    return columns.equals(order.names(","))
        && prefix.equals(order.prefixText())
        && !(order.curve() == Curve.HILBERT && curves.contains(Curve.ZORDER.label()));
  }

  /** It as a sort order. */
  public String sortOrder() {
    return sortOrder(prefix, curves.contains(Curve.ZORDER.label()) ? Curve.ZORDER : Curve.HILBERT, columns.replace(",", ", "));
  }

  /** A sort order as it is compared with. */
  public static String sortOrder(RowOrder order) {
    return sortOrder(order.prefixText(), order.curve(), order.names(", "));
  }

  private static String sortOrder(String prefix, Curve curve, String columns) {
    return (prefix.isEmpty() ? "" : prefix + ", ") + curve.label() + "(" + columns + ")";
  }
}
