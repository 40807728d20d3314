package io.icebergzorder.spark.layout;

import io.icebergzorder.core.Layout;
import io.icebergzorder.spark.layout.ConditionReads.BytesRead;
import io.icebergzorder.spark.layout.ScanFractions.TableReads;
import io.icebergzorder.spark.plan.FileGroup;
import io.icebergzorder.spark.plan.LeftGroup;
import io.icebergzorder.spark.plan.TablePlan;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * A plan with the layouts of its file groups, and the reads of filters today and as predicted.
 *
 * @param groups the file groups to rewrite, in the order of the plan
 * @param failures errors of groups that could not be sampled; empty without partial progress
 * @param left the files that are left: those of the plan, then those of groups without gain
 * @param before the reads of filters on the table today
 * @param predicted the predicted reads after the rewrite
 * @param metrics the columns whose lower/upper bounds are missing or too short
 * @param whyNothing why no group remains, or null
 * @param measure measures the groups before and after
 * @param readOfRest what a workload's queries read of the files that are left
 */
public record SampledPlan(
    TablePlan plan,
    Map<FileGroup, SampledGroup> groups,
    Map<FileGroup, Throwable> failures,
    List<LeftGroup> left,
    TableReads before,
    TableReads predicted,
    MetricsFindings metrics,
    RewriteMessages messages,
    String whyNothing,
    ScanFractions measure,
    BytesRead readOfRest) {
  /** Takes copies of what is told by file group. */
  public SampledPlan {
    groups = Collections.unmodifiableMap(new LinkedHashMap<>(groups));
    failures = Collections.unmodifiableMap(new LinkedHashMap<>(failures));
    left = List.copyOf(left);
  }

  public List<Layout> layouts() {
    return groups.values().stream().map(SampledGroup::layout).toList();
  }

  /** What the user should know before the work begins, in sentences: of a plan, also what its execution will set. */
  public List<String> warningsOfPlan() {
    return warnings(groups.isEmpty() ? List.of() : metrics.intentions());
  }

  /** The same of a rewrite, with sentences on properties that it has set. */
  public List<String> warnings(List<String> ofProperties) {
    return messages.with(Stream.concat(metrics.warnings().stream(), ofProperties.stream()).toList());
  }

  public boolean isNothing() {
    return groups.isEmpty() && failures.isEmpty();
  }
}
