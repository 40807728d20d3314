package io.icebergzorder.core;

import io.icebergzorder.core.Cuts.EvenCuts;
import io.icebergzorder.core.SortOrder.PrefixOrder;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The request for a layout: number of files, cuts, curve, weights.
 *
 * @param files the wanted number of files, at least 1
 * @param cuts {@link BoxTree#KIND} or {@link EvenCuts#KIND}
 * @param curve with adaptive cuts it orders the rows inside each file only, and for {@link Curve#ZORDER} the tighter one is taken
 * @param leadingOrders how each of the columns is sorted that are split and sorted by before the curve
 * @param maxBoundaries the wanted number of boundaries per column, in [1, 65536]
 * @param sizeTolerance how far a file's share of the sampled rows may lie from the mean with adaptive cuts, in [0, 1)
 * @param weights positive weights of the columns after the leading ones; empty for equal ones
 */
public record LayoutRequest(
    int files,
    String cuts,
    Curve curve,
    List<PrefixOrder> leadingOrders,
    int maxBoundaries,
    double sizeTolerance,
    double[] weights) {
  public LayoutRequest {
    leadingOrders = List.copyOf(leadingOrders);
  }

  /**
   * The same request for rows of a part of a partition. Filters that miss the part do not read it, so a column's weight is multiplied by the
   * share of the partition that the part spans in it.
   *
   * @param extents these shares in the columns after the leading ones, in thousandths; empty if the rows are not a part
   */
  public LayoutRequest spanning(int[] extents) {
    if (extents.length == 0) {
      return this;
    }
    double[] counts = IntStream.range(0, extents.length).mapToDouble(i -> (weights.length == 0 ? 1 : weights[i]) * extents[i] / 1000).toArray();
    return new LayoutRequest(files, cuts, curve, leadingOrders, maxBoundaries, sizeTolerance, counts);
  }

  /** The same request for another number of files. */
  public LayoutRequest of(int number) {
    return new LayoutRequest(number, cuts, curve, leadingOrders, maxBoundaries, sizeTolerance, weights);
  }
}
