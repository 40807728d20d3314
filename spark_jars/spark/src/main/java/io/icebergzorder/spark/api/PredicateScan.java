package io.icebergzorder.spark.api;

import java.util.OptionalDouble;

/**
 * The share of the bytes of a plan's files that a condition reads, in [0, 1], after pruning by partitions and lower/upper bounds.
 *
 * @param predicate the condition, as written
 * @param before the share among the current files; empty without files
 * @param predicted the predicted share among the new files; empty without files
 */
public record PredicateScan(String predicate, OptionalDouble before, OptionalDouble predicted) {}
