package io.icebergzorder.core.report;

import io.icebergzorder.core.KeyColumn;
import io.icebergzorder.core.Ranks;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * Depth and overlaps: how many files' boxes lie over each other, over all clustering columns at once. A file's box is the space
 * between its lower and upper bounds, and the middle of the box stands for the file's rows.
 *
 * @param depths how many boxes hold the middle of the file's own, 1 or more; 0 of a file that was not measured, which are some in
 *     partitions of more than {@link #MOST_MEASURED}
 * @param overlaps how many other boxes have something in common with the file's own
 */
record Overlap(long[] depths, long[] overlaps) {
  /** Files of a partition that are compared with all others of it; of more, so many are taken evenly. */
  static final int MOST_MEASURED = 2_048;

  private static final int LAST_SINGLE_DEPTH = 16;

  /** Takes files by their places. */
  Overlap take(int[] places) {
    return new Overlap(
        Arrays.stream(places).mapToLong(place -> depths[place]).toArray(),
        Arrays.stream(places).mapToLong(place -> overlaps[place]).toArray());
  }

  private IntStream measured() {
    return IntStream.range(0, depths.length).filter(file -> depths[file] > 0);
  }

  int measuredCount() {
    return (int) measured().count();
  }

  /** The average of the depths by the rows of the files; null without files. */
  Double averageDepth(long[] rows) {
    long ofRows = measured().mapToLong(file -> rows[file]).sum();
    long weights = ofRows > 0 ? ofRows : measuredCount();
    long sum = measured().mapToLong(file -> depths[file] * (ofRows > 0 ? rows[file] : 1)).sum();
    return weights == 0 ? null : (Double) ((double) sum / (double) weights);
  }

  /** The average of the overlaps, every file counting once; null without files. */
  Double averageOverlaps() {
    int count = measuredCount();
    return count == 0 ? null : (Double) ((double) measured().mapToLong(file -> overlaps[file]).sum() / count);
  }

  /** Files by depth, in Snowflake's classes: one each up to 16, then each twice as wide as the last. */
  Map<String, Long> histogram() {
    Map<String, Long> histogram = new TreeMap<>((one, other) -> Long.compare(Long.parseLong(one), Long.parseLong(other)));
    measured().forEach(file -> histogram.merge(String.format(Locale.ROOT, "%05d", classOf(depths[file])), 1L, Long::sum));
    return histogram;
  }

  private static long classOf(long depth) {
    return depth <= LAST_SINGLE_DEPTH || Long.bitCount(depth) == 1 ? depth : Long.highestOneBit(depth) << 1;
  }

  /**
   * Measures depths and overlaps among the files of each partition. A file without bounds of a column may hold any value of it; one
   * without values lies apart, after all values.
   */
  static Overlap of(DataFiles files) {
    Boxes boxes = Boxes.of(files);
    Overlap found = new Overlap(new long[files.count()], new long[files.count()]);
    for (int[] together : DataFiles.placesByNumber(files.partitions(), files.partitionNumbers())) {
      boxes.measure(together, found);
    }
    return found;
  }

  /** By column and file, the ranks of the lower bound, of the middle and of the upper bound of a box. */
  private record Boxes(int[][] lower, int[][] middle, int[][] upper) {
    static Boxes of(DataFiles files) {
      int columns = files.columns().size();
      Boxes boxes = new Boxes(new int[columns][], new int[columns][], new int[columns][]);
      for (int column = 0; column < columns; column++) {
        boxes.fill(column, files.columns().get(column));
      }
      return boxes;
    }

    private void fill(int column, ColumnBounds bounds) {
      KeyColumn middles = SpreadRows.middles(bounds);
      Ranks ranks = Ranks.among(bounds.lower(), middles, bounds.upper());
      int last = Math.max(1, ranks.size());
      lower[column] = ranks.of(bounds.lower());
      middle[column] = ranks.of(middles);
      upper[column] = ranks.of(bounds.upper());
      for (int file = 0; file < bounds.size(); file++) {
        boolean isBounded = bounds.isBounded(file);
        // Files without values come after all that have some.
        lower[column][file] = !bounds.hasValues(file) ? last : isBounded ? lower[column][file] : 0;
        middle[column][file] = !bounds.hasValues(file) ? last : Math.max(middle[column][file], 0);
        upper[column][file] = isBounded ? upper[column][file] : last;
      }
    }

    /** Compares files of a partition with all of it: so many of them, evenly taken. */
    void measure(int[] together, Overlap found) {
      int count = Math.min(together.length, MOST_MEASURED);
      if (together.length == 1) {
        found.depths[together[0]] = 1;
        return;
      }
      int[][] low = ofFiles(lower, together);
      int[][] high = ofFiles(upper, together);
      for (int i = 0; i < count; i++) {
        int file = together[(int) ((long) i * together.length / count)];
        found.depths[file] = holding(low, high, middle, middle, file);
        found.overlaps[file] = holding(low, high, lower, upper, file) - 1;
      }
    }

    private static int[][] ofFiles(int[][] ranks, int[] files) {
      return Arrays.stream(ranks)
          .map(column -> Arrays.stream(files).map(file -> column[file]).toArray())
          .toArray(int[][]::new);
    }

    /** Counts the boxes that have something in common with the one of a file. */
    private static long holding(int[][] low, int[][] high, int[][] first, int[][] last, int file) {
      long count = 0;
      for (int other = 0; other < low[0].length; other++) {
        boolean isCommon = true;
        for (int column = 0; isCommon && column < low.length; column++) {
          isCommon = low[column][other] <= last[column][file] && high[column][other] >= first[column][file];
        }
        count += isCommon ? 1 : 0;
      }
      return count;
    }
  }
}
