package io.icebergzorder.core.report;

import io.icebergzorder.core.KeyColumn;
import io.icebergzorder.core.Ranks;
import io.icebergzorder.core.Sample;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * The boxes of data files over two columns, as a picture shows them: by the share of the rows that lie below.
 *
 * @param axes one or two
 * @param sizes how many files of the table are of which size, by the smallest size that belongs to a class; eight classes lie between
 *     a power of two and the next, and empty ones are left out
 */
public record FileBoxes(List<Axis> axes, Map<Long, Integer> sizes) {
  /** Of more files so many are shown, evenly taken: a picture has no room for more. */
  private static final int MOST_BOXES = 5_000;

  private static final int TICKS = 5;
  private static final int CLASSES = 8;

  /**
   * A column of the picture. The arrays are kept, not copied: do not change them.
   *
   * @param name the column
   * @param lower where each box begins: the share of the table's rows below, in [0, 1]
   * @param upper where each box ends
   * @param ticks places in [0, 1], and the values there
   */
  public record Axis(String name, double[] lower, double[] upper, List<Tick> ticks) {}

  /** A place in [0, 1], and the value there. */
  public record Tick(double place, String label) {}

  /**
   * Finds the boxes over the first two columns: a file without bounds spans everything, one without values is at the end.
   *
   * @param sample rows of the files
   */
  public static FileBoxes of(DataFiles files, Sample sample) {
    int count = Math.min(files.count(), MOST_BOXES);
    int[] shown = IntStream.range(0, count).map(place -> (int) ((long) place * files.count() / count)).toArray();
    List<Axis> axes = new ArrayList<>();
    for (int place = 0; place < Math.min(2, files.columns().size()); place++) {
      axes.add(axis(files.columns().get(place).take(shown), sample.columns().get(place)));
    }
    return new FileBoxes(axes, sizeClasses(files.sizes()));
  }

  private static Axis axis(ColumnBounds bounds, KeyColumn rows) {
    Ranks ranks = Ranks.among(bounds.lower(), bounds.upper(), rows);
    int[] below = new int[ranks.size() + 1];
    int[] values = ranks.of(rows);
    int count = 0;
    for (int rank : values) {
      if (rank >= 0) {
        below[rank + 1]++;
        count++;
      }
    }
    Arrays.parallelPrefix(below, Integer::sum);
    int[] lowest = ranks.of(bounds.lower());
    int[] highest = ranks.of(bounds.upper());
    double[] lower = new double[bounds.size()];
    double[] upper = new double[bounds.size()];
    double all = Math.max(1, count);
    for (int file = 0; file < lower.length; file++) {
      boolean isBounded = bounds.isBounded(file);
      lower[file] = isBounded ? below[lowest[file]] / all : bounds.hasValues(file) ? 0.0 : 1.0;
      upper[file] = isBounded ? below[highest[file] + 1] / all : 1.0;
    }
    return new Axis(bounds.column().name(), lower, upper, ticks(bounds.column().type(), rows, values));
  }

  private static List<Tick> ticks(String type, KeyColumn rows, int[] ranks) {
    int[] order =
        IntStream.range(0, ranks.length)
            .filter(row -> ranks[row] >= 0)
            .boxed()
            .sorted(Comparator.comparingInt(row -> ranks[row]))
            .mapToInt(Integer::intValue)
            .toArray();
    List<Tick> ticks = new ArrayList<>();
    for (int tick = 0; order.length > 0 && tick < TICKS; tick++) {
      double share = (double) tick / (TICKS - 1);
      int row = order[Math.min((int) (share * order.length), order.length - 1)];
      ticks.add(new Tick(share, TickLabels.of(rows, row, type)));
    }
    return ticks;
  }

  /** Counts files by size. The smallest size of a class is an eighth power root of a power of two, rounded up. */
  private static Map<Long, Integer> sizeClasses(long[] sizes) {
    int octaves = Long.SIZE - Long.numberOfLeadingZeros(Arrays.stream(sizes).max().orElse(0));
    TreeMap<Long, Integer> classes = new TreeMap<>(Map.of(0L, 0));
    for (int eighths = 0; eighths < CLASSES * octaves; eighths++) {
      classes.put(rootOfTwo(eighths), 0);
    }
    for (long size : sizes) {
      classes.merge(classes.floorKey(size), 1, Integer::sum);
    }
    classes.values().removeIf(count -> count == 0);
    return classes;
  }

  /** Raises two to a number of eighths and rounds up, in whole numbers: every machine finds the same. */
  private static long rootOfTwo(int eighths) {
    BigInteger power = BigInteger.ONE.shiftLeft(eighths);
    BigInteger root = power.sqrt().sqrt().sqrt();
    return root.longValueExact() + (root.pow(CLASSES).compareTo(power) < 0 ? 1 : 0);
  }
}
