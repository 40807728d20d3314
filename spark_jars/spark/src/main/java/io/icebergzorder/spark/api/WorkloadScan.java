package io.icebergzorder.spark.api;

import io.icebergzorder.spark.layout.SampledPlan;
import java.util.OptionalDouble;

/**
 * What the queries of a workload read on average, by their weights: the share of the table's bytes that partitions and lower/upper bounds
 * do not rule out, in [0, 1].
 *
 * @param queries how many different ones there are
 * @param before among the files of today; empty before it is sampled, and if there are none
 * @param predicted among the new files, as predicted; empty in the same cases
 * @param actual among the new files; empty if none was committed
 */
public record WorkloadScan(int queries, OptionalDouble before, OptionalDouble predicted, OptionalDouble actual) {
  static WorkloadScan of(SampledPlan.WorkloadReads found) {
    return new WorkloadScan(found.queries(), found.before(), found.predicted(), found.actual());
  }
}
