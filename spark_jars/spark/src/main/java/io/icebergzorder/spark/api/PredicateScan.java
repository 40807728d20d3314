package io.icebergzorder.spark.api;

import java.util.OptionalDouble;

/**
 * The share of the bytes of a plan's files that a condition reads, in [0, 1]: partitions and lower/upper bounds do not rule these files
 * out.
 *
 * @param predicate the condition, as written
 * @param before among the files of today; empty if there are none
 * @param predicted among the new files, as predicted; empty if there are none
 */
public record PredicateScan(String predicate, OptionalDouble before, OptionalDouble predicted) {}
