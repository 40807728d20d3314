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
