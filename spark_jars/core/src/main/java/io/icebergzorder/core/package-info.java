/**
 * The layout of a z-order rewrite in plain Java, without Spark and without Iceberg.
 *
 * <p>It reads one way: a sample of the clustering columns holds keys, these give boundaries, these positions, these the index and the
 * cuts: together the {@link io.icebergzorder.core.Layout layout}.
 *
 * <p>The Python package holds the same functions. {@code tests/golden} keeps both equal, bit for bit.
 */
package io.icebergzorder.core;
