package io.icebergzorder.core;

import java.util.Arrays;
import java.util.List;

/**
 * Predicts the scan fractions of the files that layouts will make.
 *
 * <p>The rows whose values are looked for have not made the layout: of rows that have, each lies in a box that was drawn around it.
 * The bounds of a file are taken from all sampled rows that it gets, its bytes from its share of them.
 */
public final class ScanPrediction {
  private ScanPrediction() {}

  /**
   * A file group whose rows a layout will send to files.
   *
   * @param fitted the sample that the layout was fitted to
   * @param heldOut another sample of the same rows; without rows, if the first one is of all there are
   */
  public record GroupSample(Layout layout, Sample fitted, Sample heldOut, long rows, long bytes) {
    /** What a file with so many sampled rows gets of the group's rows or bytes, in whole ones, whose sums are the same in any order. */
    public long share(long whole, long ofRows) {
      return (long) Math.rint(ofRows * (double) whole / Math.max(1, fitted.rows() + heldOut.rows()));
    }

    /** The file of every row of one of the samples. */
    public int[] filesOf(Sample sample) {
      Placement placement = layout.placement();
      long[] packed = layout.packed(sample);
      int[] files = new int[packed.length];
      // Any number that differs from row to row: where rows are told apart by nothing else, they are spread.
      Arrays.setAll(files, row -> placement.file(packed[row], row * 0x9E3779B97F4A7C15L));
      return files;
    }

    /** The rows whose values are looked for. */
    public Sample lookedFor() {
      return heldOut.rows() > 0 ? heldOut : fitted;
    }
  }

  /** Predicts for files without bounds of the column, all of which are read; NaN if no sampled row has a value. */
  public static double withoutBounds(List<GroupSample> groups, int ordinal) {
    return groups.stream().anyMatch(group -> group.lookedFor().columns().get(ordinal).hasValue()) ? 1 : Double.NaN;
  }
}
