package io.icebergzorder.core;

import java.util.List;

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

  /** The same request for another number of files. */
  public LayoutRequest of(int number) {
    return new LayoutRequest(number, cuts, curve, leadingOrders, maxBoundaries, sizeTolerance, weights);
  }
}
