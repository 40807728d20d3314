package io.icebergzorder.spark.api;

import java.util.OptionalDouble;

/**
 * What the queries of a workload read on average, by their weights: the share of the bytes of a plan's files that partitions and
 * lower/upper bounds do not rule out, in [0, 1].
 *
 * @param queries how many different ones there are
 * @param before among the files of today; empty before {@link RewritePlan#sampled}, and if there are none
 * @param predicted among the new files, as predicted; empty in the same cases
 */
public record WorkloadScan(int queries, OptionalDouble before, OptionalDouble predicted) {}
