package io.icebergzorder.core;

/**
 * The samples of a file group, with its layout.
 *
 * <p>Predictions use values of held-out rows, because the layout's boxes were drawn around the fitted rows. A file's bounds come from all of
 * its sampled rows, its bytes from its share of them.
 *
 * @param fitted the sample that the layout was fitted to
 * @param heldOut another sample of the group; empty if the first sample has all rows
 * @param rows the rows of the group
 * @param bytes the bytes of the group
 * @param files the number of files that the group is written to, at least that of the layout: a file of the layout may stand for several
 */
public record LaidOutSample(Layout layout, Sample fitted, Sample heldOut, long rows, long bytes, int files) {
  /** The least spread rows of a predicted file: with fewer it would look tighter than it will be. */
  private static final int LEAST_OF_A_FILE = 40;

  /** The files of a layout that stands for so many files, fitted to so many spread rows: at most as many, but large enough. */
  public static int coarse(int files, int rows) {
    return Math.max(1, Math.min(files, rows / LEAST_OF_A_FILE));
  }

  /** The same rows by another layout. */
  public LaidOutSample with(Layout other) {
    return new LaidOutSample(other, fitted, heldOut, rows, bytes, files);
  }

  /** What a file with so many sampled rows gets of the group's rows or bytes, in whole ones, whose sums are the same in any order. */
  public long share(long whole, long ofRows) {
    return (long) Math.rint(ofRows * (double) whole / Math.max(1, fitted.rows() + heldOut.rows()));
  }

  /** The rows whose values are looked for. */
  public Sample lookedFor() {
    return heldOut.rows() > 0 ? heldOut : fitted;
  }
}
