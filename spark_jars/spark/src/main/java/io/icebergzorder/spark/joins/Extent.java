package io.icebergzorder.spark.joins;

/** The least and the greatest value of a column in the files that were measured, as numbers by which {@link KeyRanges} measures gaps. */
record Extent(double least, double greatest) {
  static final Extent UNKNOWN = new Extent(Double.NEGATIVE_INFINITY, Double.POSITIVE_INFINITY);

  /** The value, or the nearest one within the extent. */
  double clamp(double value) {
    return Math.max(least, Math.min(value, greatest));
  }
}
