package io.icebergzorder.core.upkeep;

import io.icebergzorder.core.KeyColumn;
import io.icebergzorder.core.Ranks;
import io.icebergzorder.core.report.ColumnBounds;
import java.util.function.UnaryOperator;

/**
 * A column of the rows of a partition.
 *
 * @param weight what it counts in averages, 0 or more
 * @param ranks ranks of the rows' values among these and the bounds of the files; -1 without a value
 * @param below for each rank and one more, the rows whose values are below
 * @param reach for each file, the share of the values that it is read for
 * @param values the values, by their ranks
 */
record RankedColumn(double weight, int[] ranks, int[] below, double[] reach, Ranks values) {
  /** Ranks the keys of rows among the bounds of files. */
  static RankedColumn of(ColumnBounds bounds, KeyColumn keys, UnaryOperator<byte[]> kept, double weight) {
    Ranks all = Ranks.among(kept, bounds.lower(), bounds.upper(), keys);
    int[] ranks = all.of(keys);
    int[] below = new int[Math.max(1, all.size()) + 1];
    for (int rank : ranks) {
      if (rank >= 0) {
        below[rank + 1]++;
      }
    }
    for (int rank = 1; rank < below.length; rank++) {
      below[rank] += below[rank - 1];
    }
    int[] lower = all.of(bounds.lower());
    int[] upper = all.of(bounds.upper());
    double[] reach = new double[bounds.size()];
    for (int file = 0; file < reach.length; file++) {
      // Without bounds it is read for all, without values for none.
      reach[file] =
          bounds.isBounded(file) ? share(below, lower[file], upper[file]) : bounds.hasValues(file) ? 1 : 0;
    }
    return new RankedColumn(below[below.length - 1] > 0 ? weight : 0, ranks, below, reach, all);
  }

  /** What share of the values lies between two ranks, both included. */
  double share(int lower, int upper) {
    return share(below, lower, upper);
  }

  private static double share(int[] below, int lower, int upper) {
    return (double) (below[upper + 1] - below[lower]) / Math.max(1, below[below.length - 1]);
  }
}
