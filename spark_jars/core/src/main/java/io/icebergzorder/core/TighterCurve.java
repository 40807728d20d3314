package io.icebergzorder.core;

import io.icebergzorder.core.Curve.HilbertCurve;
import java.util.Arrays;
import java.util.function.ToLongFunction;

/** Chooses the curve that orders the rows inside the leaves of a tree in tighter runs. */
final class TighterCurve {
  /** Runs of rows in a leaf that the two curves are compared by. */
  private static final int RUNS = 8;

  private TighterCurve() {}

  /** Puts each leaf's rows in the order of each curve, cut into even runs, and compares the sums of extents times rows. */
  static Curve of(BoxTree tree, long[] packed, int columns, int leading, int bits) {
    int ofCurve = columns - leading;
    if (ofCurve < 2 || ofCurve > HilbertCurve.MAX_COLUMNS || packed.length == 0) {
      return Curve.ZORDER;
    }
    long[][] byLeaf = byLeaf(tree, packed);
    ToLongFunction<Curve> cost = curve -> {
      Placement placement = new Placement(columns, leading, bits, curve, tree);
      return Arrays.stream(byLeaf).parallel()
          .mapToLong(rows -> cost(rows, Arrays.stream(rows).map(placement::index).toArray(), ofCurve, bits))
          .sum();
    };
    return cost.applyAsLong(Curve.HILBERT) < cost.applyAsLong(Curve.ZORDER) ? Curve.HILBERT : Curve.ZORDER;
  }

  private static long[][] byLeaf(BoxTree tree, long[] packed) {
    // There are as many files as leaves, or more.
    int[] sizes = new int[tree.files()];
    for (long row : packed) {
      sizes[tree.leaf(row)]++;
    }
    long[][] rows = Arrays.stream(sizes).mapToObj(long[]::new).toArray(long[][]::new);
    for (long row : packed) {
      int leaf = tree.leaf(row);
      rows[leaf][--sizes[leaf]] = row;
    }
    return rows;
  }

  private static long cost(long[] rows, long[] indexes, int columns, int bits) {
    // Primitive longs are sorted several times as fast as rows. Rows of one index have one position: it counts in each of its runs.
    long[] sorted = indexes.clone();
    Arrays.sort(sorted);
    long cost = 0;
    for (int run = 0, start = 0; run < RUNS; run++) {
      // The rows at places p of a leaf with p * RUNS / size = run.
      int end = (int) (((run + 1L) * rows.length + RUNS - 1) / RUNS);
      if (start < end) {
        cost += (end - start) * extents(rows, indexes, sorted[start], sorted[end - 1], columns, bits);
      }
      start = end;
    }
    return cost;
  }

  /** The sum of the extents of the rows whose index is between two. */
  private static long extents(long[] rows, long[] indexes, long first, long last, int columns, int bits) {
    long[] low = new long[columns];
    long[] high = new long[columns];
    Arrays.fill(low, Long.MAX_VALUE);
    for (int i = 0; i < rows.length; i++) {
      if (first <= indexes[i] && indexes[i] <= last) {
        for (int column = 0; column < columns; column++) {
          long position = rows[i] >>> bits * column & (1L << bits) - 1;
          low[column] = Math.min(low[column], position);
          high[column] = Math.max(high[column], position);
        }
      }
    }
    return Arrays.stream(high).sum() - Arrays.stream(low).sum();
  }
}
