package io.icebergzorder.core;

import java.util.Arrays;
import java.util.Comparator;

/** Chooses the curve that orders the rows inside the leaves of a tree in tighter runs. */
final class TighterCurve {
  /** Runs of rows in a leaf that the two curves are compared by. */
  private static final int RUNS = 8;

  private TighterCurve() {}

  private record Row(int leaf, long index, long packed) {}

  /** Puts each leaf's rows in the order of each curve, cut into even runs, and compares the sums of extents times rows. */
  static Curve of(BoxTree tree, long[] packed, int columns, int leading, int bits) {
    int ofCurve = columns - leading;
    if (ofCurve < 2 || ofCurve > HilbertCurve.MAX_COLUMNS || packed.length == 0) {
      return Curve.ZORDER;
    }
    long[] costs = new long[2];
    for (Curve curve : Curve.values()) {
      Placement placement = new Placement(columns, leading, bits, curve, tree);
      Row[] rows = new Row[packed.length];
      Arrays.setAll(rows, row -> new Row(tree.leaf(packed[row]), placement.index(packed[row]), packed[row] & (1L << bits * ofCurve) - 1));
      // Rows of one index come by their positions, so that the order of the sample does not count.
      Arrays.sort(rows, Comparator.comparingInt(Row::leaf).thenComparingLong(Row::index).thenComparingLong(Row::packed));
      costs[curve.ordinal()] = cost(rows, ofCurve, bits);
    }
    return costs[Curve.HILBERT.ordinal()] < costs[Curve.ZORDER.ordinal()] ? Curve.HILBERT : Curve.ZORDER;
  }

  private static long cost(Row[] rows, int columns, int bits) {
    long cost = 0;
    for (int from = 0; from < rows.length; ) {
      int to = from + 1;
      while (to < rows.length && rows[to].leaf() == rows[from].leaf()) {
        to++;
      }
      for (int run = 0, start = from; run < RUNS; run++) {
        // The rows at places p of a leaf with p * RUNS / size = run.
        int end = from + (int) (((run + 1L) * (to - from) + RUNS - 1) / RUNS);
        cost += (end - start) * extents(rows, start, end, columns, bits);
        start = end;
      }
      from = to;
    }
    return cost;
  }

  private static long extents(Row[] rows, int from, int to, int columns, int bits) {
    long sum = 0;
    for (int shift = 0; from < to && shift < bits * columns; shift += bits) {
      long low = Long.MAX_VALUE;
      long high = 0;
      for (int i = from; i < to; i++) {
        long position = rows[i].packed() >>> shift & (1L << bits) - 1;
        low = Math.min(low, position);
        high = Math.max(high, position);
      }
      sum += high - low;
    }
    return sum;
  }
}
