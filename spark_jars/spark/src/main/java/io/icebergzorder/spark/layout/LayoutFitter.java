package io.icebergzorder.spark.layout;

import io.icebergzorder.core.Layout;
import io.icebergzorder.core.LayoutRequest;
import io.icebergzorder.core.Reason;
import io.icebergzorder.core.Sample;
import io.icebergzorder.core.select.UpkeepRequest.AskedQueries;
import io.icebergzorder.spark.plan.FileGroup;
import io.icebergzorder.spark.plan.TablePlan;
import io.icebergzorder.spark.spec.ResolvedSortOrder;
import io.icebergzorder.spark.spec.Workload;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Fits a layout to each file group of a plan, compares predictions with today, and drops groups that would not gain. */
public final class LayoutFitter {
  private final TablePlan plan;
  private final ResolvedSortOrder order;
  private final ConditionReads queries;

  public LayoutFitter(TablePlan plan) {
    this.plan = plan;
    this.order = plan.order();
    this.queries = new ConditionReads(plan, plan.workload().map(Workload::conditions).orElse(List.of()));
  }

  /** Fits the layout of a group. */
  Layout fit(FileGroup group, Sample sample) {
    LayoutRequest request = order.layoutRequest(plan.options().layout(), group.expectedFiles(), group.extents());
    Layout uncut = Layout.uncut(order.all(), sample, request);
    if (plan.workload().isEmpty()) {
      return uncut.cut(sample, request, null, 0);
    }
    // A query that the group's partition rules out says nothing of how its files are best cut.
    AskedQueries asked = plan.workload().get().asked(queries.asked(group));
    return uncut.cut(sample, request, asked.boxesIn(uncut), asked.share());
  }

  /** Chooses among the layouts of sampled file groups. */
  public SampledPlan choose(PlanSampler sampler, Map<FileGroup, PlanSampler.Sampled> samples, MetricsFindings metrics) {
    ScanFractions measure = new ScanFractions(plan, metrics.ofNewFiles(), sampler.keyLengths(), queries);
    Map<FileGroup, SampledGroup> chosen = new LinkedHashMap<>();
    List<SampledGroup> leftGroups = new ArrayList<>();
    for (SampledGroup each : measure.groups(samples)) {
      if (plan.mayLeave(each.group()) && !each.costs().gain()) {
        leftGroups.add(each);
      } else {
        chosen.put(each.group(), each.tightened());
      }
    }
    measure.leaveAllBut(chosen.values(), leftGroups);
    Map<FileGroup, Reason> left = new LinkedHashMap<>();
    leftGroups.forEach(each -> left.put(each.group(), whyLeft(each.costs())));
    Map<FileGroup, Throwable> failures = sampler.failures();
    boolean isNothing = chosen.isEmpty() && failures.isEmpty();
    TableReads before = measure.before(chosen.values());
    TableReads predicted = measure.predicted(chosen.values());
    RewriteMessages messages = isNothing ? RewriteMessages.NONE : RewriteMessages.of(plan, before, predicted, chosen.values());
    return new SampledPlan(
        plan, chosen, failures, left, before, predicted, metrics, messages, isNothing ? whyNothing(left) : null, measure);
  }

  private Reason whyLeft(ScanFractions.Costs costs) {
    String over = plan.workload().isPresent() ? "queries" : "columns";
    return Reason.of(Reason.NO_GAIN, "before", (long) Math.rint(costs.today()), "predicted", (long) Math.rint(costs.predicted()), "over", over);
  }

  private String whyNothing(Map<FileGroup, Reason> left) {
    Map<String, Integer> counts = new HashMap<>();
    left.forEach((group, reason) -> counts.merge(Reason.text(List.of(reason)), group.files().size(), Integer::sum));
    return Reason.whyNothing(plan.target().name(), counts) + plan.limitMessage();
  }
}
