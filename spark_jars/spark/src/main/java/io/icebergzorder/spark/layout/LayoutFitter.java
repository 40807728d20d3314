package io.icebergzorder.spark.layout;

import io.icebergzorder.core.LaidOutSample;
import io.icebergzorder.core.Layout;
import io.icebergzorder.core.LayoutRequest;
import io.icebergzorder.core.Reason;
import io.icebergzorder.core.Sample;
import io.icebergzorder.core.select.UpkeepRequest.AskedQueries;
import io.icebergzorder.spark.layout.ConditionReads.BytesRead;
import io.icebergzorder.spark.plan.FileGroup;
import io.icebergzorder.spark.plan.TablePlan;
import io.icebergzorder.spark.spec.ResolvedSortOrder;
import io.icebergzorder.spark.spec.Workload;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Fits a layout to each file group of a plan: compares predictions with today, adds files while that helps, and drops groups that would
 * not gain.
 */
public final class LayoutFitter {
  /** A mean above this share of today's is no gain for certain: predictions err by as much. */
  private static final double GAIN = 0.95;

  /** Up to this share of today's, few new files are read no more than many of today. */
  private static final double NO_MORE = 1.01;

  private final TablePlan plan;
  private final ResolvedSortOrder order;
  private final ConditionReads queries;

  public LayoutFitter(TablePlan plan) {
    this.plan = plan;
    this.order = plan.order();
    this.queries = new ConditionReads(plan, plan.workload().map(Workload::conditions).orElse(List.of()));
  }

  /** Fits the layout of a group as it was planned. */
  Layout fit(FileGroup group, Sample sample) {
    LayoutRequest request = order.layoutRequest(plan.options().layout(), group.expectedFiles());
    return cut(group, sample, Layout.uncut(order.all(), sample, request), group.expectedFiles());
  }

  private Layout cut(FileGroup group, Sample sample, Layout fitted, int files) {
    LayoutRequest request = order.layoutRequest(plan.options().layout(), files);
    if (plan.workload().isEmpty()) {
      return fitted.cut(sample, request, null, 0);
    }
    // A query that the group's partition rules out says nothing of how its files are best cut.
    AskedQueries asked = plan.workload().get().asked(queries.asked(group));
    return fitted.cut(sample, request, asked.boxesIn(fitted), asked.share());
  }

  /** Chooses among the layouts of sampled file groups. */
  public SampledPlan choose(PlanSampler sampler, Map<FileGroup, PlanSampler.Sampled> samples, MetricsFindings metrics) {
    ScanFractions measure = new ScanFractions(plan, metrics.ofNewFiles(), sampler.keyLengths(), queries);
    Map<FileGroup, LaidOutSample> byGroup = new LinkedHashMap<>();
    samples.forEach((group, each) -> byGroup.put(group, each.laidOut()));
    Map<FileGroup, SampledGroup> chosen = new LinkedHashMap<>();
    Map<FileGroup, Reason> left = new LinkedHashMap<>();
    List<SampledGroup> leftGroups = new ArrayList<>();
    measure.groups(byGroup).forEach((group, planned) -> {
      SampledGroup fitted = withEnoughFiles(planned, measure);
      if (mayBeLeft(group) && !isReadLess(fitted) && !makesFewFiles(fitted)) {
        left.put(group, new RewriteMessages.Means(fitted.meanBefore(), fitted.meanPredicted(), over()).noGain());
        leftGroups.add(fitted);
      } else {
        chosen.put(group, fitted.tightened());
      }
    });
    Map<FileGroup, Throwable> failures = sampler.failures();
    boolean isNothing = chosen.isEmpty() && failures.isEmpty();
    Map<String, Double> before = measure.before(chosen.values());
    Map<String, Double> predicted = measure.predicted(chosen.values());
    RewriteMessages messages =
        isNothing
            ? RewriteMessages.NONE
            : RewriteMessages.of(plan, before, predicted, means(measure, chosen.values(), before, predicted), chosen.values());
    String why = isNothing ? whyNothing(measure, leftGroups) : null;
    return new SampledPlan(plan, chosen, failures, left, before, predicted, metrics, messages, why, measure);
  }

  private RewriteMessages.Means means(
      ScanFractions measure, Collection<SampledGroup> groups, Map<String, Double> before, Map<String, Double> predicted) {
    int count = plan.workload().map(workload -> workload.queries().size()).orElse(0);
    return new RewriteMessages.Means(
        measure.mean(before, BytesRead.sum(count, groups.stream().map(SampledGroup::readBefore))),
        measure.mean(predicted, BytesRead.sum(count, groups.stream().map(SampledGroup::readPredicted))),
        over());
  }

  private String over() {
    return plan.workload().isPresent() ? "queries" : "columns";
  }

  /**
   * The layout as planned, or if filters read no less of it, the first one of more files of which they do. If there is
   * none, the first one of few files of which they read no more; or else the best of them, by which to say why the group
   * is left, or the one that was planned, if it is not.
   */
  private SampledGroup withEnoughFiles(SampledGroup planned, ScanFractions measure) {
    FileGroup group = planned.group();
    SampledGroup best = planned;
    SampledGroup few = makesFewFiles(planned) ? planned : null;
    int most = plan.mostFiles(group.files().size());
    int wanted = group.expectedFiles();
    while (!isReadLess(best) && wanted < most) {
      wanted = Math.min(2 * wanted, most);
      SampledGroup next = measure.with(planned, cut(group, planned.sample().fitted(), planned.layout(), wanted));
      few = few == null && makesFewFiles(next) ? next : few;
      best = next.meanPredicted() < best.meanPredicted() ? next : best;
    }
    if (isReadLess(best)) {
      return best;
    }
    return !mayBeLeft(group) ? planned : few != null ? few : best;
  }

  /** Whether there is nothing but scan fractions to be won by a rewrite. */
  private boolean mayBeLeft(FileGroup group) {
    return plan.resolved().mayLeaveGroups() && !group.mustRewrite();
  }

  /** Whether it becomes few files, and filters read no more, or do not count. */
  private boolean makesFewFiles(SampledGroup group) {
    return 2L * group.layout().files() <= group.group().files().size()
        && (plan.isBySize() || !(group.meanPredicted() > NO_MORE * group.meanBefore()));
  }

  /** Whether fewer files will be read; also where no row has a value, because nothing is known then. */
  private static boolean isReadLess(SampledGroup group) {
    return !(group.meanPredicted() > GAIN * group.meanBefore());
  }

  private String whyNothing(ScanFractions measure, List<SampledGroup> left) {
    RewriteMessages.Means means = means(measure, left, measure.before(left), measure.predicted(left));
    return String.format(
        Locale.ROOT,
        "Nothing to rewrite in %s: filters on its %,d file groups are %s. To rewrite them anyway,"
            + " set option rewrite-all to true.%s",
        plan.target().name(), left.size(), means.noGain().notLess(), plan.limitMessage());
  }
}
