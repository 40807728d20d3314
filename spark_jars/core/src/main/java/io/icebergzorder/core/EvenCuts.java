package io.icebergzorder.core;

import java.util.Arrays;

/**
 * Cuts between the output files with about equally many rows each along the curve.
 *
 * <p>The file of an index is the number of starts that are not above it: file 0 holds the indexes
 * below {@code starts[0]}, file i those in [{@code starts[i - 1]}, {@code starts[i]}). Rows with
 * equal indexes are never split.
 *
 * @param starts the first index of every file but the first, strictly increasing; length {@code files() - 1}. Not copied, because executors
 *     look up every row: do not change it
 */
public record EvenCuts(long[] starts) implements Cuts {
  private static final long serialVersionUID = 1L;

  /** The name of this kind of cuts in an option and in a layout. */
  public static final String KIND = "even";

  public EvenCuts {
    for (int i = 1; i < starts.length; i++) {
      if (starts[i - 1] >= starts[i]) {
        throw new IllegalArgumentException(
            "Cannot use cuts, because their starts must strictly increase and number %d does not"
                .formatted(i));
      }
    }
  }

  /** Cuts at evenly spaced ranks of the sampled indexes, each moved to the nearer edge of the run of equal indexes it falls into. */
  public static EvenCuts of(long[] sortedIndexes, int files) {
    if (files < 1) {
      throw new IllegalArgumentException(
          "Cannot cut into %d files, because there must be at least 1".formatted(files));
    }
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

  public int file(long index) {
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

  @Override
  public boolean equals(Object other) {
    return other instanceof EvenCuts cuts && Arrays.equals(starts, cuts.starts);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(starts);
  }

  @Override
  public String toString() {
    return "EvenCuts" + Arrays.toString(starts);
  }
}
