package io.icebergzorder.core;

/**
 * A column that takes part in a layout.
 *
 * @param ordinal its place in the list given to {@link Layout#fit}
 * @param positions the position of every bucket of the boundaries
 * @param packed the same at the column's place in a row's packed positions, see {@link Placement}
 */
public record LayoutColumn(int ordinal, ClusteringColumn column, Boundaries boundaries, int[] positions, long[] packed) {}
