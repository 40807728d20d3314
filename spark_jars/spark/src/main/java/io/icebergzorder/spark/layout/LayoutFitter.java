package io.icebergzorder.spark.layout;

import io.icebergzorder.core.Layout;
import io.icebergzorder.core.LayoutRequest;
import io.icebergzorder.core.Reason;
import io.icebergzorder.core.Sample;
import io.icebergzorder.core.ScanMeasurement;
import io.icebergzorder.core.ScanPrediction;
import io.icebergzorder.core.select.UpkeepRequest.AskedQueries;
import io.icebergzorder.spark.bounds.KeptBounds;
import io.icebergzorder.spark.layout.ConditionReads.BytesRead;
import io.icebergzorder.spark.plan.FileGroup;
import io.icebergzorder.spark.plan.TablePlan;
import io.icebergzorder.spark.request.ResolvedSortOrder;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;

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
    this.queries = ConditionReads.ofWorkload(plan);
  }

  /** Fits the layout of so many files. */
  Layout fit(FileGroup group, Sample sample, int files) {
    LayoutRequest request = order.layoutRequest(plan.options().layout(), files);
    if (plan.workload().isEmpty()) {
      return Layout.fit(order.all(), sample, request);
    }
    // A query that the group's partition rules out says nothing of how its files are best cut.
    AskedQueries asked = plan.workload().get().asked(queries.asked(group));
    return Layout.fit(order.all(), sample, request, asked::boxesIn, asked.share());
  }

  /** Chooses among the layouts of sampled file groups. */
  public SampledPlan fit(PlanSampler sampler, Map<FileGroup, PlanSampler.Sampled> samples, MetricsFindings metrics) {
    Map<FileGroup, Throwable> failures = sampler.failures();
    KeptBounds kept = metrics.ofNewFiles();
    Map<FileGroup, ScanPrediction.GroupSample> sampled = new LinkedHashMap<>();
    samples.forEach((group, each) -> sampled.put(group, each.toPredictFrom()));
    Map<FileGroup, GroupBounds> files = GroupBounds.today(plan, sampled.keySet(), sampler.keyLengths());
    Map<FileGroup, BytesRead> read = queries.today(sampled.keySet());
    Map<FileGroup, SampledGroup> chosen = new LinkedHashMap<>();
    Map<FileGroup, Reason> left = new LinkedHashMap<>();
    List<SampledGroup> leftGroups = new ArrayList<>();
    sampled.forEach((group, each) -> {
      SampledGroup fitted =
          withEnoughFiles(group, each, kept, files.get(group).measured(each.lookedFor(), group.rows()), read.get(group));
      if (mayBeLeft(group) && !isReadLess(fitted) && !isGathered(fitted)) {
        left.put(group, new RewriteMessages.Means(fitted.meanBefore(), fitted.meanPredicted(), over()).noGain());
        leftGroups.add(fitted);
      } else {
        chosen.put(group, fitted);
      }
    });
    boolean isNothing = chosen.isEmpty() && failures.isEmpty();
    Map<String, Double> before = SampledPlan.before(order, chosen.values());
    Map<String, Double> predicted = SampledPlan.predicted(kept, order, chosen.values());
    RewriteMessages messages =
        isNothing
            ? RewriteMessages.NONE
            : RewriteMessages.of(plan, before, predicted, means(chosen.values(), before, predicted), chosen.values());
    String why = isNothing ? whyNothing(leftGroups, kept) : null;
    return new SampledPlan(
        plan, chosen, failures, left, before, predicted, metrics, messages, why, sampler.keyLengths());
  }

  private RewriteMessages.Means means(Collection<SampledGroup> groups, Map<String, Double> before, Map<String, Double> predicted) {
    return new RewriteMessages.Means(
        mean(before, groups, SampledGroup::readBefore), mean(predicted, groups, SampledGroup::readPredicted), over());
  }

  private double mean(Map<String, Double> fractions, Collection<SampledGroup> groups, Function<SampledGroup, BytesRead> read) {
    int count = plan.workload().map(workload -> workload.queries().size()).orElse(0);
    return ScanFractions.mean(plan, fractions, BytesRead.sum(count, groups.stream().map(read)));
  }

  private String over() {
    return plan.workload().isPresent() ? "queries" : "columns";
  }

  /**
   * The layout as planned, or if filters read no less of it, the first one of more files of which they do. If there is
   * none, the first one of few files of which they read no more; or else the best of them, by which to say why the group
   * is left, or the one that was planned, if it is not.
   */
  private SampledGroup withEnoughFiles(
      FileGroup group, ScanPrediction.GroupSample sampled, KeptBounds kept, ScanMeasurement.MeasuredGroup files, BytesRead read) {
    Map<String, Double> before = ScanFractions.measured(order, List.of(files));
    SampledGroup planned = fitted(group, sampled, kept, files, before, read);
    SampledGroup best = planned;
    SampledGroup gathered = isGathered(planned) ? planned : null;
    int most = plan.mostFiles(group.files().size());
    int wanted = group.expectedFiles();
    while (!isReadLess(best) && wanted < most) {
      wanted = Math.min(2 * wanted, most);
      Layout layout = fit(group, sampled.fitted(), wanted);
      SampledGroup next =
          fitted(
              group,
              new ScanPrediction.GroupSample(layout, sampled.fitted(), sampled.heldOut(), sampled.rows(), sampled.bytes()),
              kept,
              files,
              before,
              read);
      gathered = gathered == null && isGathered(next) ? next : gathered;
      best = next.meanPredicted() < best.meanPredicted() ? next : best;
    }
    if (isReadLess(best)) {
      return best;
    }
    return !mayBeLeft(group) ? planned : gathered != null ? gathered : best;
  }

  private SampledGroup fitted(
      FileGroup group,
      ScanPrediction.GroupSample sampled,
      KeptBounds kept,
      ScanMeasurement.MeasuredGroup files,
      Map<String, Double> before,
      BytesRead read) {
    Map<String, Double> predicted = ScanFractions.predicted(kept, order, List.of(sampled));
    BytesRead willRead = queries.predicted(group, sampled, kept);
    return new SampledGroup(
        group,
        sampled,
        files,
        before,
        predicted,
        read,
        willRead,
        ScanFractions.mean(plan, before, read),
        ScanFractions.mean(plan, predicted, willRead));
  }

  /** Whether there is nothing but scan fractions to be won by a rewrite. */
  private boolean mayBeLeft(FileGroup group) {
    return plan.mayLeaveGroups() && !group.mustRewrite();
  }

  /** Whether it becomes few files, and filters read no more, or do not count. */
  private boolean isGathered(SampledGroup group) {
    return 2L * group.layout().files() <= group.group().files().size()
        && (plan.isBySize() || !(group.meanPredicted() > NO_MORE * group.meanBefore()));
  }

  /** Whether fewer files will be read; also where no row has a value, because nothing is known then. */
  private static boolean isReadLess(SampledGroup group) {
    return !(group.meanPredicted() > GAIN * group.meanBefore());
  }

  private String whyNothing(List<SampledGroup> left, KeptBounds kept) {
    RewriteMessages.Means means =
        means(left, SampledPlan.before(order, left), SampledPlan.predicted(kept, order, left));
    return String.format(
        Locale.ROOT,
        "Nothing to rewrite in %s: filters on its %,d file groups are %s. To rewrite them anyway,"
            + " set option rewrite-all to true.%s",
        plan.target().name(), left.size(), means.noGain().notLess(), plan.limitMessage());
  }
}
