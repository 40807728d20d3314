package io.icebergzorder.core;

import java.util.Arrays;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/**
 * Predicts the scan fraction of {@code column = value} for files that layouts will make: the share of their bytes that their
 * lower/upper bounds will not rule out, on average over the values of the rows.
 *
 * <p>The rows whose values are looked for have not made the layout: of rows that have, each lies in a box that was drawn around it.
 * The bounds of a file are taken from all sampled rows that it gets, its bytes from its share of them.
 */
public final class ScanPrediction {
  private ScanPrediction() {}

  /**
   * A file group whose rows a layout will send to files.
   *
   * @param layout the layout
   * @param fitted the sample that it was fitted to
   * @param heldOut another sample of the same rows; without rows, if the first one is of all there are
   * @param rows the rows of the group, 0 or more
   * @param bytes the bytes of the group, 0 or more
   */
  public record SampledGroup(Layout layout, Sample fitted, Sample heldOut, long rows, long bytes) {
    /** The rows of both samples. */
    public int sampledRows() {
      return fitted.rows() + heldOut.rows();
    }

    /** What a file with so many sampled rows gets of the group's rows or bytes, in whole ones, whose sums are the same in any order. */
    public long share(long whole, long ofRows) {
      return (long) Math.rint(ofRows * (double) whole / Math.max(1, sampledRows()));
    }

    /** The file of every row of one of the samples. */
    public int[] filesOf(Sample sample) {
      return ScanPrediction.files(layout, sample);
    }

    /** The rows whose values are looked for. */
    public Sample lookedFor() {
      return heldOut.rows() > 0 ? heldOut : fitted;
    }
  }

  /** Predicts one column, of whose keys of bytes bounds keep so much; NaN if no sampled row has a value. */
  public static double of(List<SampledGroup> groups, int ordinal, UnaryOperator<byte[]> kept) {
    Ranks ranks =
        new Ranks(
            groups.stream()
                .flatMap(group -> Stream.of(group.fitted(), group.heldOut()))
                .map(sample -> sample.columns().get(ordinal))
                .toList(),
            kept);
    long[] steps = new long[ranks.size() + 1];
    long always = 0;
    long all = 0;
    for (SampledGroup group : groups) {
      if (group.fitted().rows() == 0) {
        always += group.bytes();
        all += group.bytes();
      } else {
        all += addFiles(steps, group, ordinal, ranks);
      }
    }
    double[] read = new double[ranks.size()];
    long sum = 0;
    for (int rank = 0; rank < read.length; rank++) {
      sum += steps[rank];
      read[rank] = always + sum;
    }
    return average(groups, ordinal, ranks, read, all);
  }

  /** Predicts the same of files without lower/upper bounds of the column, none of which is ever ruled out. */
  public static double withoutBounds(List<SampledGroup> groups, int ordinal) {
    for (SampledGroup group : groups) {
      KeyColumn column = group.lookedFor().columns().get(ordinal);
      if (column.hasValue()) {
        return 1;
      }
    }
    return Double.NaN;
  }

  /** Adds the bytes of each file at the lowest rank that it holds, takes them away after the highest, and tells all of them. */
  private static long addFiles(long[] steps, SampledGroup group, int ordinal, Ranks ranks) {
    int files = group.layout().files();
    int[] low = new int[files];
    int[] high = new int[files];
    int[] rows = new int[files];
    Arrays.fill(low, Integer.MAX_VALUE);
    Arrays.fill(high, -1);
    for (Sample sample : List.of(group.fitted(), group.heldOut())) {
      int[] fileOf = files(group.layout(), sample);
      for (int row = 0; row < sample.rows(); row++) {
        int file = fileOf[row];
        rows[file]++;
        int rank = ranks.of(sample.columns().get(ordinal), row);
        if (rank >= 0) {
          low[file] = Math.min(low[file], rank);
          high[file] = Math.max(high[file], rank);
        }
      }
    }
    long all = 0;
    for (int file = 0; file < files; file++) {
      long bytes = group.share(group.bytes(), rows[file]);
      all += bytes;
      if (high[file] >= 0) {
        steps[low[file]] += bytes;
        steps[high[file] + 1] -= bytes;
      }
    }
    return all;
  }

  private static int[] files(Layout layout, Sample sample) {
    Placement placement = layout.placement();
    long[] packed = layout.packed(sample);
    int[] files = new int[packed.length];
    for (int row = 0; row < files.length; row++) {
      // Any number that differs from row to row: where rows are told apart by nothing else, they are spread.
      files[row] = placement.file(packed[row], row * 0x9E3779B97F4A7C15L);
    }
    return files;
  }

  /** Averages over the rows that have a value; a row of a group that was sampled thinly stands for more of them. */
  private static double average(List<SampledGroup> groups, int ordinal, Ranks ranks, double[] read, long all) {
    double sum = 0;
    double weights = 0;
    for (SampledGroup group : groups) {
      Sample sample = group.lookedFor();
      double weight = (double) group.rows() / Math.max(1, sample.rows());
      double ofGroup = 0;
      int found = 0;
      for (int row = 0; row < sample.rows(); row++) {
        int rank = ranks.of(sample.columns().get(ordinal), row);
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
