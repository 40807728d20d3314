package io.icebergzorder.spark.sample;

import io.icebergzorder.spark.sample.FittedLayouts.FittedGroup;
import io.icebergzorder.core.Layout;
import io.icebergzorder.core.Reason;
import io.icebergzorder.core.Sample;
import io.icebergzorder.core.ScanMeasurement;
import io.icebergzorder.core.ScanPrediction;
import io.icebergzorder.core.upkeep.Gathering;
import io.icebergzorder.spark.bounds.KeptBounds;
import io.icebergzorder.spark.measure.ConditionReads.BytesRead;
import io.icebergzorder.spark.measure.ConditionReads;
import io.icebergzorder.spark.measure.GroupBounds;
import io.icebergzorder.spark.measure.ScanFractions;
import io.icebergzorder.spark.plan.PlannedGroup;
import io.icebergzorder.spark.plan.TablePlan;
import io.icebergzorder.spark.request.RowOrder;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;

/** Compares predictions with today, group by group: adds files while that helps, and leaves groups that no layout serves. */
final class LayoutChoice {
  /** A mean above this share of today's is no gain for certain: predictions err by as much. */
  private static final double GAIN = 0.95;

  /** Up to this share of today's, few new files are read no more than many of today. */
  private static final double NO_MORE = 1.01;

  private final TablePlan plan;
  private final RowOrder order;
  private final MetricsFindings metrics;
  private final KeptBounds kept;
  private final Fit fit;
  private final ConditionReads queries;

  LayoutChoice(TablePlan plan, MetricsFindings metrics, Fit fit) {
    this.plan = plan;
    this.order = plan.order();
    this.metrics = metrics;
    this.kept = metrics.ofNewFiles();
    this.fit = fit;
    this.queries = ConditionReads.ofWorkload(plan);
  }

  interface Fit {
    Layout of(PlannedGroup group, Sample sample, int files);
  }

  /** Chooses among layouts, given those that file groups have as they were planned. */
  FittedLayouts of(
      Map<PlannedGroup, ScanPrediction.SampledGroup> sampled, int[] keyLengths, Map<PlannedGroup, Throwable> failures) {
    Map<PlannedGroup, GroupBounds> files = GroupBounds.today(plan, sampled.keySet(), keyLengths);
    Map<PlannedGroup, BytesRead> read = queries.today(sampled.keySet());
    Map<PlannedGroup, FittedGroup> chosen = new LinkedHashMap<>();
    Map<PlannedGroup, Reason> left = new LinkedHashMap<>();
    List<FittedGroup> leftGroups = new ArrayList<>();
    sampled.forEach((group, each) -> {
      FittedGroup fitted =
          withEnoughFiles(group, each, files.get(group).measured(each.lookedFor(), group.rows()), read.get(group));
      if (mayBeLeft(group) && !isReadLess(fitted) && !isGathered(fitted)) {
        left.put(group, new RewriteMessages.Means(fitted.meanBefore(), fitted.meanPredicted(), over()).noGain());
        leftGroups.add(fitted);
      } else {
        chosen.put(group, fitted);
      }
    });
    boolean isNothing = chosen.isEmpty() && failures.isEmpty();
    Map<String, Double> before = FittedLayouts.before(order, chosen.values());
    Map<String, Double> predicted = FittedLayouts.predicted(kept, order, chosen.values());
    RewriteMessages messages =
        isNothing
            ? RewriteMessages.NONE
            : RewriteMessages.of(plan, before, predicted, means(chosen.values(), before, predicted), chosen.values());
    return new FittedLayouts(
        chosen, failures, left, before, predicted, metrics, messages, isNothing ? whyNothing(leftGroups) : null, keyLengths);
  }

  private RewriteMessages.Means means(Collection<FittedGroup> groups, Map<String, Double> before, Map<String, Double> predicted) {
    return new RewriteMessages.Means(
        mean(before, groups, FittedGroup::readBefore), mean(predicted, groups, FittedGroup::readPredicted), over());
  }

  private double mean(Map<String, Double> fractions, Collection<FittedGroup> groups, Function<FittedGroup, BytesRead> read) {
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
  private FittedGroup withEnoughFiles(
      PlannedGroup group, ScanPrediction.SampledGroup sampled, ScanMeasurement.MeasuredGroup files, BytesRead read) {
    Map<String, Double> before = ScanFractions.measured(order, List.of(files));
    FittedGroup planned = fitted(group, sampled, files, before, read);
    FittedGroup best = planned;
    FittedGroup gathered = isGathered(planned) ? planned : null;
    int most = plan.mostFiles(group.files().size());
    int wanted = group.expectedFiles();
    while (!isReadLess(best) && wanted < most) {
      wanted = Math.min(2 * wanted, most);
      Layout layout = fit.of(group, sampled.fitted(), wanted);
      FittedGroup next =
          fitted(
              group,
              new ScanPrediction.SampledGroup(layout, sampled.fitted(), sampled.heldOut(), sampled.rows(), sampled.bytes()),
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

  private FittedGroup fitted(
      PlannedGroup group,
      ScanPrediction.SampledGroup sampled,
      ScanMeasurement.MeasuredGroup files,
      Map<String, Double> before,
      BytesRead read) {
    Map<String, Double> predicted = ScanFractions.predicted(kept, order, List.of(sampled));
    BytesRead willRead = queries.predicted(group, sampled, kept);
    return new FittedGroup(
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
  private boolean mayBeLeft(PlannedGroup group) {
    return plan.mayLeaveGroups() && !group.isDue();
  }

  /** Whether it becomes few files, and filters read no more, or do not count. */
  private boolean isGathered(FittedGroup group) {
    return Gathering.makesFew(group.group().files().size(), group.layout().files())
        && (plan.isBySize() || !(group.meanPredicted() > NO_MORE * group.meanBefore()));
  }

  /** Whether fewer files will be read; also where no row has a value, because nothing is known then. */
  private static boolean isReadLess(FittedGroup group) {
    return !(group.meanPredicted() > GAIN * group.meanBefore());
  }

  private String whyNothing(List<FittedGroup> left) {
    RewriteMessages.Means means =
        means(left, FittedLayouts.before(order, left), FittedLayouts.predicted(kept, order, left));
    return String.format(
        Locale.ROOT,
        "Nothing to rewrite in %s: a rewrite of its %,d file groups is %s. To rewrite them anyway,"
            + " set option rewrite-all to true.%s",
        plan.target().name(), left.size(), means.noGain().notLess(), plan.limitMessage());
  }
}
