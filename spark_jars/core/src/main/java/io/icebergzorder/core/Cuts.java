package io.icebergzorder.core;

import java.io.Serializable;
import java.util.Arrays;

/** How rows are cut into files. */
public sealed interface Cuts extends Serializable permits Cuts.EvenCuts, BoxTree {
  int files();

  String kind();

  /**
   * Cuts between the output files with about equally many rows each along the curve. Rows with equal indexes are never split.
   *
   * @param starts the first index of every file but the first, strictly increasing
   */
  record EvenCuts(long[] starts) implements Cuts {
    private static final long serialVersionUID = 1L;

    public static final String KIND = "even";

    /** Cuts at evenly spaced ranks of sorted indexes, each moved to the nearer edge of the run of equal ones: into fewer files if need be. */
    static EvenCuts of(long[] sortedIndexes, int files) {
      int rows = sortedIndexes.length;
      // rows + 1 files already look at every rank, and more of them at no other
      int wanted = (int) Math.min(files, rows + 1L);
      long[] starts = new long[wanted - 1];
      int count = 0;
      for (int i = 1; i < wanted; i++) {
        int rank = (int) ((long) i * rows / wanted);
        long index = sortedIndexes[rank];
        int low = AscendingLongs.countNotAbove(sortedIndexes, index - 1);
        int high = AscendingLongs.countNotAbove(sortedIndexes, index);
        boolean atLow = low > 0 && (high == rows || rank - low <= high - rank);
        if (!atLow && high == rows) {
          continue;
        }
        long start = atLow ? index : sortedIndexes[high];
        if (count == 0 || start > starts[count - 1]) {
          starts[count++] = start;
        }
      }
      return new EvenCuts(Arrays.copyOf(starts, count));
    }

    int file(long index) {
      return AscendingLongs.countNotAbove(starts, index);
    }

    @Override
    public int files() {
      return starts.length + 1;
    }

    @Override
    public String kind() {
      return KIND;
    }
  }
}
