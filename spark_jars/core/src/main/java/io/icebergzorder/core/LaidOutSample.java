package io.icebergzorder.core;

/**
 * Samples of a file group whose rows a layout will send to files.
 *
 * <p>Scan fractions of those files are predicted for values of rows that have not made the layout: of rows that have, each lies in a box
 * that was drawn around it. The bounds of a file are taken from all sampled rows that it gets, its bytes from its share of them.
 *
 * @param fitted the sample that the layout was fitted to
 * @param heldOut another sample of the same rows; without rows, if the first one is of all there are
 * @param rows the rows of the group
 * @param bytes the bytes of the group
 */
public record LaidOutSample(Layout layout, Sample fitted, Sample heldOut, long rows, long bytes) {
  /** The same rows by another layout. */
  public LaidOutSample with(Layout other) {
    return new LaidOutSample(other, fitted, heldOut, rows, bytes);
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
