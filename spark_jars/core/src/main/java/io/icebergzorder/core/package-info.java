/**
 * The layout of a z-order rewrite in plain Java, without Spark and without Iceberg.
 *
 * <p>It reads one way: {@link io.icebergzorder.core.SortOrder sort order} and
 * {@link io.icebergzorder.core.ZOrderOptions options} name what is wanted; a
 * {@link io.icebergzorder.core.Sample sample} of the
 * {@link io.icebergzorder.core.ClusteringColumn clustering columns} holds
 * {@link io.icebergzorder.core.Keys keys}; keys give
 * {@link io.icebergzorder.core.Boundaries boundaries}, these give positions, these give the
 * {@link io.icebergzorder.core.Placement index}, and the sorted sample indexes give the
 * {@link io.icebergzorder.core.EvenCuts cuts}: together the
 * {@link io.icebergzorder.core.Layout layout}.
 *
 * <p>The Python package holds the same functions. {@code tests/golden} keeps both equal, bit for bit.
 */
package io.icebergzorder.core;
