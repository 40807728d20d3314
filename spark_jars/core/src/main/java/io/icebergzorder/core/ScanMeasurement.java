package io.icebergzorder.core;

import java.util.List;
import java.util.function.UnaryOperator;

/**
 * Measures the scan fraction of {@code column = value} among files that exist: the share of their bytes that their lower/upper bounds
 * do not rule out, on average over the values of rows. {@link ScanPrediction} says the same of files that layouts will make.
 *
 * <p>Bounds may be cut: a lower one is then below the least value, an upper one above the greatest, so that whole values may be
 * compared with them.
 */
public final class ScanMeasurement {
  private ScanMeasurement() {}

  /**
   * The bounds of one column in files.
   *
   * @param lower by file; a state other than {@link KeyColumn#VALUE} where there is none
   * @param upper by file, in the same way
   * @param hasValues by file, whether the column has a value in it
   */
  public record Bounds(KeyColumn lower, KeyColumn upper, boolean[] hasValues) {}

  /**
   * A file group.
   *
   * @param lookedFor a sample of its rows, whose values are looked for
   * @param rows the rows of the group, 0 or more
   * @param bytes by file, its bytes
   * @param bounds by column of the sample, the bounds in these files
   */
  public record MeasuredGroup(Sample lookedFor, long rows, long[] bytes, List<Bounds> bounds) {}

  /** Measures one column; NaN if no sampled row has a value, or there is no byte. */
  public static double of(List<MeasuredGroup> groups, int ordinal) {
    Ranks ranks =
        new Ranks(
            groups.stream().map(group -> group.lookedFor().columns().get(ordinal)).toList(), UnaryOperator.identity());
    long[] steps = new long[ranks.size() + 1];
    long all = 0;
    for (MeasuredGroup group : groups) {
      Bounds bounds = group.bounds().get(ordinal);
      for (int file = 0; file < group.bytes().length; file++) {
        all += group.bytes()[file];
        add(steps, group.bytes()[file], bounds, file, ranks);
      }
    }
    double[] read = new double[ranks.size()];
    long sum = 0;
    for (int rank = 0; rank < read.length; rank++) {
      sum += steps[rank];
      read[rank] = sum;
    }
    return average(groups, ordinal, ranks, read, all);
  }

  /** Adds a file's bytes at the lowest rank that its bounds do not rule out, and takes them away after the highest. */
  private static void add(long[] steps, long bytes, Bounds bounds, int file, Ranks ranks) {
    if (!bounds.hasValues()[file]) {
      return;
    }
    int low = hasBound(bounds.lower(), file) ? ranks.notBelow(bounds.lower(), file) : 0;
    int high = hasBound(bounds.upper(), file) ? ranks.notAbove(bounds.upper(), file) : ranks.size() - 1;
    if (low <= high) {
      steps[low] += bytes;
      steps[high + 1] -= bytes;
    }
  }

  private static boolean hasBound(KeyColumn bounds, int file) {
    return bounds.state(file) == KeyColumn.VALUE;
  }

  /** Averages over the rows that have a value; a row of a group that was sampled thinly stands for more of them. */
  private static double average(List<MeasuredGroup> groups, int ordinal, Ranks ranks, double[] read, long all) {
    double sum = 0;
    double weights = 0;
    for (MeasuredGroup group : groups) {
      KeyColumn column = group.lookedFor().columns().get(ordinal);
      double weight = (double) group.rows() / Math.max(1, column.size());
      double ofGroup = 0;
      int found = 0;
      for (int row = 0; row < column.size(); row++) {
        int rank = ranks.of(column, row);
        if (rank >= 0) {
          ofGroup += read[rank];
          found++;
        }
      }
      sum += weight * ofGroup;
      weights += weight * found;
    }
    return Math.min(1, sum / (weights * all));
  }
}
