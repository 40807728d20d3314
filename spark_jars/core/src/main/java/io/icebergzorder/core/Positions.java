package io.icebergzorder.core;

/**
 * Positions: where the buckets of a column stand in its sampled distribution.
 *
 * <p>The position of a bucket is the share of the sampled rows that lie in the buckets before it,
 * scaled to [0, 2^bits) and rounded down. It is weighted by rows: a heavy value takes one wide bucket,
 * and the values after it begin where its rows end.
 */
public final class Positions {
  /** The most bits a position has; finer positions than 65,536 would outrun the sample. */
  public static final int MAX_BITS = 16;

  private Positions() {}

  /** The position of every bucket: the share of the rows before it in an order, scaled to [0, 2^bits). */
  public static int[] of(KeyColumn column, Boundaries boundaries, int bits, PrefixOrder order) {
    if (bits < 1 || bits > MAX_BITS) {
      throw new IllegalArgumentException(
          "Cannot compute positions, because bits must be in [1, %d] and was %d"
              .formatted(MAX_BITS, bits));
    }
    if (column.size() == 0) {
      throw new IllegalArgumentException("Cannot compute positions, because no row was sampled");
    }
    int[] rows = new int[boundaries.buckets()];
    for (int row = 0; row < column.size(); row++) {
      rows[boundaries.bucketOf(column, row)]++;
    }
    int[] positions = new int[rows.length];
    long before = 0;
    for (int place = 0; place < rows.length; place++) {
      int bucket = bucketAt(place, rows.length, order);
      // without a row in this bucket or after it the share is 1, one step above the last position
      positions[bucket] = (int) Math.min((1L << bits) - 1, (before << bits) / column.size());
      before += rows[bucket];
    }
    return positions;
  }

  /** The bucket at a place of the order; that of NULL is the last one of all. */
  private static int bucketAt(int place, int buckets, PrefixOrder order) {
    int nullBucket = buckets - 1;
    if (place == (order.nullsFirst() ? 0 : nullBucket)) {
      return nullBucket;
    }
    int ofValues = order.nullsFirst() ? place - 1 : place;
    return order.descending() ? nullBucket - 1 - ofValues : ofValues;
  }
}
