package io.icebergzorder.core;

/**
 * A column that takes part in a layout.
 *
 * @param ordinal its place in the list given to {@link Layout#fit}; in a layout read from JSON, which does not hold the places of the
 *     columns left out, its place among {@link Layout#columns}
 * @param column its name and type
 * @param boundaries its boundaries
 * @param positions the position of every bucket; length {@code boundaries.buckets()}
 * @param packed the position of every bucket at the column's place in a row's packed positions, see {@link Placement}; the same length
 */
public record LayoutColumn(
    int ordinal, ClusteringColumn column, Boundaries boundaries, int[] positions, long[] packed) {

  /** Packs the positions of a column at a place among several. */
  static long[] packed(int[] positions, int place, int columns, int bits) {
    long[] packed = new long[positions.length];
    for (int bucket = 0; bucket < packed.length; bucket++) {
      packed[bucket] = (long) positions[bucket] << bits * (columns - 1 - place);
    }
    return packed;
  }
}
