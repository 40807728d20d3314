package io.icebergzorder.spark.joins;

/** The least and the greatest value that a column's files may hold, on the line on which {@link KeyRanges} measures gaps. */
record Extent(double least, double greatest) {
  static final Extent UNKNOWN = new Extent(Double.NEGATIVE_INFINITY, Double.POSITIVE_INFINITY);

  /** The value itself, or the end that it lies beyond. */
  double nearest(double place) {
    return Math.max(least, Math.min(place, greatest));
  }
}
