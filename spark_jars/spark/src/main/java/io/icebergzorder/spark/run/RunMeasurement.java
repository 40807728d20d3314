package io.icebergzorder.spark.run;

import io.icebergzorder.core.ScanMeasurement;
import io.icebergzorder.core.upkeep.Gathering;
import io.icebergzorder.core.upkeep.LeftGroups;
import io.icebergzorder.core.upkeep.RequestKey;
import io.icebergzorder.core.upkeep.Settled;
import io.icebergzorder.spark.commit.LayoutSummary;
import io.icebergzorder.spark.measure.BytesRead;
import io.icebergzorder.spark.measure.ConditionReads;
import io.icebergzorder.spark.measure.GroupBounds;
import io.icebergzorder.spark.measure.ScanFractions;
import io.icebergzorder.spark.measure.ScanMeans;
import io.icebergzorder.spark.plan.RewriteHistory;
import io.icebergzorder.spark.plan.TablePlan;
import io.icebergzorder.spark.sample.FittedGroup;
import io.icebergzorder.spark.sample.FittedLayouts;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.apache.iceberg.actions.RewriteDataFiles;
import org.apache.iceberg.actions.RewriteFileGroup;

/** Measures the new files of a rewrite by their bounds, before they are committed, and tells it in the summaries of snapshots. */
final class RunMeasurement {
  private static final String SCAN_FRACTION = "zorder.scan-fraction.";
  private static final String PREDICTED = "zorder.predicted-scan-fraction.";
  private static final int DIGITS = 6;
  private static final int ID_DIGITS = 16;

  /** New files gain nothing that are read more than this times as much as those of today. */
  private static final double NOTHING = 0.99;

  /** Up to this share of today's, few new files are read no more than many of today. */
  private static final double NO_MORE = 1.01;

  private static final long NANOS_PER_MILLI = 1_000_000;

  private final TablePlan plan;
  private final FittedLayouts fitted;
  private final Map<Integer, FittedGroup> byIndex = new HashMap<>();
  private final Map<Integer, ScanMeasurement.MeasuredGroup> measured = new HashMap<>();
  private final Map<Integer, BytesRead> read = new HashMap<>();
  private final List<FittedGroup> left = new ArrayList<>();
  private final List<ScanMeasurement.MeasuredGroup> leftFiles = new ArrayList<>();
  private final List<BytesRead> leftRead = new ArrayList<>();
  private final ScanMeans means;
  private final ConditionReads queries;
  private final String id = UUID.randomUUID().toString().replace("-", "").substring(0, ID_DIGITS);
  private long since;
  private int told;

  /**
   * Begins.
   *
   * @param since when the rewrite began, by {@link System#nanoTime}
   */
  RunMeasurement(TablePlan plan, FittedLayouts fitted, long since) {
    this.plan = plan;
    this.fitted = fitted;
    this.since = since;
    this.means = new ScanMeans(plan);
    this.queries = ScanMeans.reads(plan);
    fitted.groups().forEach((group, each) -> byIndex.put(group.info().globalIndex(), each));
  }

  /** What the summary of a snapshot says of the file groups in it. */
  synchronized Map<String, String> summary(Collection<RewriteFileGroup> groups) {
    Map<String, String> summary = new HashMap<>(LayoutSummary.properties(plan.order(), fitted.layouts()));
    plan.workload().ifPresent(workload -> summary.put(RequestKey.WORKLOAD, workload.key()));
    if (!plan.request().likeBuiltin()) {
      summary.put(RewriteHistory.TARGET_FILE_SIZE, String.valueOf(plan.targetSize().bytes()));
      summary.put(RewriteHistory.TARGET_FILE_SIZE_FROM, plan.targetSize().origin());
      summary.put(Settled.REQUEST, plan.requestKey());
      summary.put(Settled.REWRITE_ID, id);
      told += groups.size();
      if (plan.isWhole() && fitted.failures().isEmpty() && told + left.size() == fitted.groups().size()) {
        summary.put(Settled.SETTLED_FROM, String.valueOf(plan.snapshotId().getAsLong()));
      }
    }
    List<ScanMeasurement.MeasuredGroup> committed = groups.stream().map(this::measure).toList();
    groups.forEach(this::read);
    ScanFractions.measured(plan.order(), committed)
        .forEach((column, fraction) -> summary.put(SCAN_FRACTION + column, text(fraction)));
    List<FittedGroup> of = groups.stream().map(group -> byIndex.get(group.info().globalIndex())).toList();
    fitted.predicted(plan.order(), of).forEach((column, fraction) -> summary.put(PREDICTED + column, text(fraction)));
    long now = System.nanoTime();
    summary.put(RewriteHistory.DURATION, String.valueOf((now - since) / NANOS_PER_MILLI));
    since = now;
    return summary;
  }

  /**
   * Whether the new files of a file group that may be left are read no less than its files of today, on average, or if
   * they are few beside those, more; it is noted as left then.
   */
  synchronized boolean gainsNothing(RewriteFileGroup group) {
    FittedGroup of = byIndex.get(group.info().globalIndex());
    if (!plan.mayLeaveGroups() || of.group().isDue()) {
      return false;
    }
    ScanMeasurement.MeasuredGroup files = measure(group);
    BytesRead read = read(group);
    double actual = means.of(ScanFractions.measured(plan.order(), List.of(files)), read);
    double before = means.of(of.before(), of.readBefore());
    boolean areFew = Gathering.makesFew(of.group().files().size(), group.addedFiles().size());
    boolean isGathered = areFew && (plan.isBySize() || !(actual > NO_MORE * before));
    if (isGathered || !(actual > NOTHING * before)) {
      return false;
    }
    left.add(of);
    leftFiles.add(files);
    leftRead.add(read);
    return true;
  }

  /** What the table is to remember of the file groups that were left; empty if none was. */
  synchronized Map<String, String> toRemember() {
    List<LeftGroups.Group> groups = left.stream().map(each -> each.group().toRemember()).toList();
    return groups.isEmpty() ? Map.of() : Map.of(LeftGroups.PROPERTY, plan.leftGroups().with(groups));
  }

  private Stream<String> whyLeft() {
    return left.isEmpty()
        ? Stream.empty()
        : Stream.of(
            String.format(
                Locale.ROOT,
                "Left %,d file groups of %s as they were, and deleted their new files, because filters would read no less, whatever was"
                    + " predicted: scan fraction on average over %s %.1f%% today, %.1f%% after. They are left until their"
                    + " files change; to rewrite them anyway, set option rewrite-all to true.",
                left.size(),
                plan.target().name(),
                means.over(),
                100 * means.of(FittedLayouts.before(plan.order(), left), left.stream().map(FittedGroup::readBefore)),
                100 * means.of(ScanFractions.measured(plan.order(), leftFiles), leftRead.stream())));
  }

  /** What has waited in vain for what was left once it was written. */
  private Stream<String> whyLimited() {
    return Stream.of(plan.limit().message().strip()).filter(message -> !left.isEmpty() && !message.isEmpty());
  }

  private ScanMeasurement.MeasuredGroup measure(RewriteFileGroup group) {
    return measured.computeIfAbsent(
        group.info().globalIndex(),
        index -> {
          GroupBounds bounds = fitted.bounds().get();
          group.addedFiles().forEach(bounds::add);
          FittedGroup of = byIndex.get(index);
          return bounds.measured(of.lookedFor(), of.rows());
        });
  }

  private BytesRead read(RewriteFileGroup group) {
    return read.computeIfAbsent(group.info().globalIndex(), index -> queries.made(group.addedFiles()));
  }

  /** What was read of the file groups that were committed, and is read now. */
  synchronized RewriteRun.Outcome outcome(RewriteDataFiles.Result result, List<String> messages) {
    List<Integer> committed =
        StreamSupport.stream(result.rewriteResults().spliterator(), false)
            .map(group -> group.info().globalIndex())
            .toList();
    List<FittedGroup> groups = committed.stream().map(byIndex::get).toList();
    boolean isAll = groups.size() == fitted.groups().size();
    Map<String, Double> actual =
        ScanFractions.measured(plan.order(), committed.stream().map(measured::get).toList());
    return new RewriteRun.Outcome(
        result,
        isAll ? fitted.before() : FittedLayouts.before(plan.order(), groups),
        isAll ? fitted.predicted() : fitted.predicted(plan.order(), groups),
        actual,
        plan.workload()
            .filter(workload -> !groups.isEmpty())
            .map(
                workload ->
                    FittedLayouts.read(
                        workload, groups, committed.stream().map(read::get).toList(), plan.request().areColumnsChosen())),
        Stream.of(messages.stream(), whyLeft(), groups.isEmpty() ? whyLimited() : Stream.<String>empty()).flatMap(each -> each).toList());
  }

  /** Fractions as people read them. */
  static String percents(Map<String, Double> fractions) {
    return fractions.entrySet().stream()
        .map(entry -> String.format(Locale.ROOT, "%s %.1f%%", entry.getKey(), 100 * entry.getValue()))
        .collect(Collectors.joining(", "));
  }

  /** At most six digits after the point, and no zeros at the end. */
  static String text(double fraction) {
    return new BigDecimal(fraction).setScale(DIGITS, RoundingMode.HALF_EVEN).stripTrailingZeros().toPlainString();
  }
}
