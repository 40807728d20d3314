package io.icebergzorder.spark.api;

import io.icebergzorder.spark.layout.SampledPlan;
import java.util.OptionalDouble;

/**
 * The weighted average share of the table's bytes that a workload's queries read, in [0, 1], after pruning by partitions and lower/upper
 * bounds.
 *
 * @param queries the number of distinct queries
 * @param before the share of the current files; empty before sampling, and without files
 * @param predicted the predicted share of the new files; empty in the same cases
 * @param actual the share of the new files; empty if none was committed
 */
public record WorkloadScan(int queries, OptionalDouble before, OptionalDouble predicted, OptionalDouble actual) {
  static WorkloadScan of(SampledPlan.WorkloadReads found) {
    return new WorkloadScan(found.queries(), found.before(), found.predicted(), found.actual());
  }
}
