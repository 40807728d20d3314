package io.icebergzorder.spark.queries;

import java.util.OptionalDouble;

/** What the queries of a workload read on average, as {@code WorkloadScan} of the public package tells it. */
public record WorkloadReads(int queries, OptionalDouble before, OptionalDouble predicted, OptionalDouble actual) {}
