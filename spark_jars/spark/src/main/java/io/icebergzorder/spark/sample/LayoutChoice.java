package io.icebergzorder.spark.sample;

import io.icebergzorder.core.Layout;
import io.icebergzorder.core.Sample;
import io.icebergzorder.core.ScanMeasurement;
import io.icebergzorder.core.ScanPrediction;
import io.icebergzorder.core.upkeep.Gathering;
import io.icebergzorder.spark.bounds.KeptBounds;
import io.icebergzorder.spark.measure.BytesRead;
import io.icebergzorder.spark.measure.ConditionReads;
import io.icebergzorder.spark.measure.GroupBounds;
import io.icebergzorder.spark.measure.ScanFractions;
import io.icebergzorder.spark.measure.ScanMeans;
import io.icebergzorder.spark.measure.TodaysFiles;
import io.icebergzorder.spark.plan.PlannedGroup;
import io.icebergzorder.spark.plan.TablePlan;
import io.icebergzorder.spark.request.RowOrder;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.apache.iceberg.Table;

/**
 * Compares what filters read today with what they are predicted to read, group by group: where the size of files is not
 * the user's choice, a group gets more of them until fewer are read, and a group that no layout serves is left as it
 * is.
 */
final class LayoutChoice {
  /** A mean above this share of today's is no gain for certain: predictions err by as much. */
  private static final double GAIN = 0.95;

  /** Up to this share of today's, few new files are read no more than many of today. */
  private static final double NO_MORE = 1.01;

  private final TablePlan plan;
  private final Table table;
  private final RowOrder order;
  private final MetricsFindings metrics;
  private final Fit fit;
  private final ScanMeans means;
  private final ConditionReads queries;

  LayoutChoice(TablePlan plan, MetricsFindings metrics, Fit fit) {
    this.plan = plan;
    this.table = plan.target().table();
    this.order = plan.order();
    this.metrics = metrics;
    this.fit = fit;
    this.means = new ScanMeans(plan);
    this.queries = ScanMeans.reads(plan);
  }

  /** Fits the layout of a file group, of so many files, to a sample. */
  interface Fit {
    Layout of(PlannedGroup group, Sample sample, int files);
  }

  /** Chooses. */
  FittedLayouts of(
      Map<PlannedGroup, ScanPrediction.SampledGroup> sampled,
      Supplier<GroupBounds> bounds,
      Map<PlannedGroup, Throwable> failures) {
    Map<PlannedGroup, GroupBounds> files = TodaysFiles.of(plan, sampled.keySet(), bounds);
    Map<PlannedGroup, BytesRead> read = queries.today(sampled.keySet());
    Map<PlannedGroup, FittedGroup> chosen = new LinkedHashMap<>();
    Map<PlannedGroup, String> left = new LinkedHashMap<>();
    List<FittedGroup> leftGroups = new ArrayList<>();
    sampled.forEach(
        (group, each) -> {
          FittedGroup fitted =
              withEnoughFiles(group, each, files.get(group).measured(each.lookedFor(), group.rows()), read.get(group));
          if (mayBeLeft(group) && !pays(fitted)) {
            left.put(group, whyLeft(fitted));
            leftGroups.add(fitted);
          } else {
            chosen.put(group, fitted);
          }
        });
    Map<String, Double> before = FittedLayouts.before(order, chosen.values());
    Map<String, Double> predicted = FittedLayouts.predicted(metrics.ofNewFiles(), order, chosen.values());
    boolean isNothing = chosen.isEmpty() && failures.isEmpty();
    RewriteMessages.Means average = means(chosen.values(), before, predicted);
    UnaryOperator<List<String>> messages =
        isNothing
            ? ofMetrics -> ofMetrics
            : ofMetrics -> new RewriteMessages(plan, order).of(before, predicted, average, ofMetrics, chosen.values());
    return new FittedLayouts(
        chosen, failures, left, before, predicted, metrics, messages, isNothing ? whyNothing(leftGroups) : null, bounds);
  }

  private RewriteMessages.Means means(Collection<FittedGroup> groups, Map<String, Double> before, Map<String, Double> predicted) {
    return new RewriteMessages.Means(
        means.of(before, groups.stream().map(FittedGroup::readBefore)),
        means.of(predicted, groups.stream().map(FittedGroup::readPredicted)),
        means.over());
  }

  /** The layout as planned, or if filters read no less of it, the first one of more files of which they do. */
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
      best = next.meanPredicted(means) < best.meanPredicted(means) ? next : best;
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
    KeptBounds kept = metrics.ofNewFiles();
    Map<String, Double> predicted = ScanFractions.predicted(kept, order, List.of(sampled));
    return new FittedGroup(group, sampled, files, before, predicted, read, queries.predicted(group, sampled, kept));
  }

  /** Whether there is nothing but scan fractions to be won by a rewrite. */
  private boolean mayBeLeft(PlannedGroup group) {
    return plan.mayLeaveGroups() && !group.isDue();
  }

  /** Whether filters will read less, or of few files no more. */
  private boolean pays(FittedGroup group) {
    return isReadLess(group) || isGathered(group);
  }

  /** Whether it becomes few files, and filters read no more, or do not count. */
  private boolean isGathered(FittedGroup group) {
    return Gathering.makesFew(group.group().files().size(), group.layout().files())
        && (plan.isBySize() || !(group.meanPredicted(means) > NO_MORE * group.meanBefore(means)));
  }

  /** Whether fewer files will be read; also where no row has a value, because nothing is known then. */
  private boolean isReadLess(FittedGroup group) {
    return !(group.meanPredicted(means) > GAIN * group.meanBefore(means));
  }

  private String whyLeft(FittedGroup group) {
    return String.format(
        Locale.ROOT,
        "a rewrite is not predicted to read less: scan fraction on average over %s %.1f%% today, %.1f%% after;"
            + " rewrite-all rewrites it all the same",
        means.over(),
        100 * group.meanBefore(means),
        100 * group.meanPredicted(means));
  }

  private String whyNothing(List<FittedGroup> left) {
    RewriteMessages.Means average =
        means(left, FittedLayouts.before(order, left), FittedLayouts.predicted(metrics.ofNewFiles(), order, left));
    return String.format(
        Locale.ROOT,
        "Nothing to rewrite in %s: a rewrite of its %,d file groups is not predicted to read less: scan fraction on average over"
            + " %s %.1f%% today, %.1f%% after. To rewrite them anyway, set option rewrite-all to true.%s",
        table.name(),
        left.size(),
        average.over(),
        100 * average.before(),
        100 * average.predicted(),
        plan.limitMessage());
  }
}
