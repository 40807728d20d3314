package io.icebergzorder.core;

import java.util.Arrays;
import java.util.Comparator;

/** Chooses the curve that orders the rows inside the leaves of a tree in tighter runs. */
final class TighterCurve {
  /** Runs of rows in a leaf that the two curves are compared by. */
  private static final int RUNS = 8;

  private final BoxTree tree;
  private final long[] packed;
  private final int columns;
  private final int leading;
  private final int bits;

  private TighterCurve(BoxTree tree, long[] packed, int columns, int leading, int bits) {
    this.tree = tree;
    this.packed = packed;
    this.columns = columns;
    this.leading = leading;
    this.bits = bits;
  }

  /** Puts each leaf's rows in the order of each curve, cut into 8 even runs, and compares the sums of extents times rows. */
  static Curve of(BoxTree tree, long[] packed, int columns, int leading, int bits) {
    int ofCurve = columns - leading;
    if (ofCurve < 2 || ofCurve > HilbertCurve.MAX_COLUMNS || packed.length == 0) {
      return Curve.ZORDER;
    }
    TighterCurve choice = new TighterCurve(tree, packed, columns, leading, bits);
    return choice.cost(Curve.HILBERT) < choice.cost(Curve.ZORDER) ? Curve.HILBERT : Curve.ZORDER;
  }

  private record Row(int leaf, long index, long packed) {}

  private long cost(Curve curve) {
    Placement placement = new Placement(columns, leading, bits, curve, tree);
    long ofCurve = (1L << bits * (columns - leading)) - 1;
    Row[] rows = new Row[packed.length];
    for (int row = 0; row < rows.length; row++) {
      rows[row] = new Row(tree.leaf(packed[row]), placement.index(packed[row]), packed[row] & ofCurve);
    }
    // Rows of one index come by their positions, so that the order of the sample does not count.
    Arrays.sort(
        rows, Comparator.comparingInt(Row::leaf).thenComparingLong(Row::index).thenComparingLong(Row::packed));
    long cost = 0;
    for (int from = 0; from < rows.length; ) {
      int to = from + 1;
      while (to < rows.length && rows[to].leaf() == rows[from].leaf()) {
        to++;
      }
      cost += costOfLeaf(rows, from, to);
      from = to;
    }
    return cost;
  }

  private long costOfLeaf(Row[] rows, int from, int to) {
    long cost = 0;
    for (int start = from; start < to; ) {
      int run = run(start - from, to - from);
      int end = start + 1;
      while (end < to && run(end - from, to - from) == run) {
        end++;
      }
      cost += (end - start) * extents(rows, start, end);
      start = end;
    }
    return cost;
  }

  private static int run(int place, int rows) {
    return (int) ((long) place * RUNS / rows);
  }

  private long extents(Row[] rows, int from, int to) {
    long sum = 0;
    for (int shift = 0; shift < bits * (columns - leading); shift += bits) {
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
