package io.icebergzorder.spark.api;

import io.icebergzorder.spark.layout.ConditionReads.BytesRead;
import io.icebergzorder.spark.layout.SampledGroup;
import io.icebergzorder.spark.layout.SampledPlan;
import io.icebergzorder.spark.spec.Workload;
import java.util.Collection;
import java.util.OptionalDouble;
import java.util.stream.Stream;

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
  /** What the queries read of some groups, of what was made of each, and of the files that are left. */
  static WorkloadScan of(SampledPlan sampled, Workload workload, Collection<SampledGroup> groups, Collection<BytesRead> made) {
    return new WorkloadScan(
        workload.queries().size(),
        mean(sampled, workload, groups.stream().map(SampledGroup::readBefore).toList()),
        mean(sampled, workload, groups.stream().map(SampledGroup::readPredicted).toList()),
        mean(sampled, workload, made));
  }

  private static OptionalDouble mean(SampledPlan sampled, Workload workload, Collection<BytesRead> read) {
    if (read.isEmpty()) {
      return OptionalDouble.empty();
    }
    Stream<BytesRead> all = Stream.concat(read.stream(), Stream.of(sampled.readOfRest()));
    double mean = BytesRead.sum(workload.queries().size(), all).mean(workload.weights());
    return Double.isNaN(mean) ? OptionalDouble.empty() : OptionalDouble.of(mean);
  }
}
