package io.icebergzorder.core;

import java.util.Arrays;
import java.util.stream.IntStream;

/** Tells whether row groups that a sample was read from are clusters: unlike each other in all that the layout cuts by. */
public final class Clusters {
  /** Above it, a sample of some row groups is no likeness of the table. */
  private static final double LARGEST_EFFECT = 0.1;

  private Clusters() {}

  /** Whether a sample was read from too few row groups; {@code rowGroups} has the number of each row's. */
  public static boolean areClusters(Layout layout, Sample sample, int[] rowGroups) {
    if (sample.rows() == 0) {
      return false;
    }
    Placement placement = layout.placement();
    int[] files = Arrays.stream(layout.packed(sample)).mapToInt(packed -> placement.file(packed, 0)).toArray();
    return effect(files, rowGroups, layout.files()) > LARGEST_EFFECT;
  }

  /** Estimates how uneven output files will be because the rows of row groups resemble each other. */
  static double effect(int[] files, int[] rowGroups, int outputFiles) {
    int last = Arrays.stream(rowGroups).max().getAsInt();
    long[] sorted = IntStream.range(0, files.length).mapToLong(row -> (long) files[row] << 32 | rowGroups[row]).sorted().toArray();
    long squares = 0;
    long before = -1;
    long countBefore = 0;
    for (int start = 0, end; start < sorted.length; start = end) {
      long pair = sorted[start];
      end = start;
      while (end < sorted.length && sorted[end] == pair) {
        end++;
      }
      long count = end - start;
      if (before >= 0 && pair == before + 1) {
        squares += (count - countBefore) * (count - countBefore);
      } else {
        // Before the first row group and after the last there is none that could differ.
        squares += ((int) before < last ? countBefore * countBefore : 0) + ((int) pair > 0 ? count * count : 0);
      }
      before = pair;
      countBefore = count;
    }
    squares += (int) before < last ? countBefore * countBefore : 0;
    return (double) (squares - 2L * files.length) * outputFiles / (2.0 * files.length * files.length);
  }
}
