package io.icebergzorder.spark.api;

import io.icebergzorder.spark.layout.ConditionReads;
import io.icebergzorder.spark.layout.ConditionReads.BytesRead;
import io.icebergzorder.spark.layout.SampledGroup;
import io.icebergzorder.spark.layout.SampledPlan;
import io.icebergzorder.spark.spec.CatalogTable;
import io.icebergzorder.spark.spec.Condition;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * The share of the bytes of a plan's files that a condition reads, in [0, 1], after pruning by partitions and lower/upper bounds.
 *
 * @param predicate the condition, as written
 * @param before the share among the current files; empty without files
 * @param predicted the predicted share among the new files; empty without files
 */
public record PredicateScan(String predicate, OptionalDouble before, OptionalDouble predicted) {
  /** The reads of conditions on the file groups of a plan; empty without layouts. */
  static List<PredicateScan> of(CatalogTable target, List<Condition> conditions, Optional<SampledPlan> sampled) {
    ConditionReads reads = new ConditionReads(target, conditions);
    Collection<SampledGroup> groups = sampled.map(each -> each.groups().values()).orElse(List.of());
    Stream<BytesRead> today = sampled.stream().flatMap(each -> reads.today(each.plan(), each.groups().keySet()).values().stream());
    BytesRead before = BytesRead.sum(conditions.size(), today);
    BytesRead predicted = BytesRead.sum(conditions.size(), groups.stream().map(each -> reads.predicted(each.group(), each.planned())));
    return IntStream.range(0, conditions.size())
        .mapToObj(i -> new PredicateScan(conditions.get(i).text(), before.share(i), predicted.share(i)))
        .toList();
  }
}
