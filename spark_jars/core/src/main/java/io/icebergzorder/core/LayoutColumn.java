package io.icebergzorder.core;

/**
 * A clustering column that takes part in the index.
 *
 * @param ordinal its place in the list given to {@link Layout#fit}; in a layout read from JSON, which
 *     does not hold the places of the columns left out, its place among {@link Layout#columns}
 * @param column its name and type
 * @param boundaries its boundaries
 * @param positions the position of every bucket; length {@code boundaries.buckets()}
 * @param spread what every bucket adds to the index, see {@link ZOrderCurve#spread}; length
 *     {@code boundaries.buckets()}
 */
public record LayoutColumn(
    int ordinal, ClusteringColumn column, Boundaries boundaries, int[] positions, long[] spread) {}
