package io.icebergzorder.spark.run;

import com.fasterxml.jackson.databind.json.JsonMapper;
import io.icebergzorder.core.Curve;
import io.icebergzorder.core.Layout;
import io.icebergzorder.core.ScanMeasurement;
import io.icebergzorder.core.upkeep.Settled;
import io.icebergzorder.spark.measure.ConditionReads.BytesRead;
import io.icebergzorder.spark.measure.ConditionReads;
import io.icebergzorder.spark.measure.GroupBounds;
import io.icebergzorder.spark.measure.ScanFractions;
import io.icebergzorder.spark.plan.RewriteHistory;
import io.icebergzorder.spark.plan.TablePlan;
import io.icebergzorder.spark.sample.FittedLayouts.FittedGroup;
import io.icebergzorder.spark.sample.FittedLayouts;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.StreamSupport;
import org.apache.iceberg.actions.RewriteDataFiles;
import org.apache.iceberg.actions.RewriteFileGroup;

/** Measures the new files of a rewrite by their bounds, before they are committed, and tells it in the summaries of snapshots. */
final class RunMeasurement {
  private static final String SCAN_FRACTIONS = "zorder.scan-fractions";
  private static final JsonMapper MAPPER = JsonMapper.builder().build();
  private static final int DIGITS = 6;
  private static final int ID_DIGITS = 16;

  private static final long NANOS_PER_MILLI = 1_000_000;

  private final TablePlan plan;
  private final FittedLayouts fitted;
  private final Map<Integer, FittedGroup> byIndex = new HashMap<>();
  private final Map<Integer, ScanMeasurement.MeasuredGroup> measured = new HashMap<>();
  private final Map<Integer, BytesRead> read = new HashMap<>();
  private final ConditionReads queries;
  private final String id;
  private long since;
  private int told;

  RunMeasurement(TablePlan plan, FittedLayouts fitted, Map<String, String> asked, long since) {
    this.id = asked.getOrDefault(Settled.REWRITE_ID, UUID.randomUUID().toString().replace("-", "").substring(0, ID_DIGITS));
    this.plan = plan;
    this.fitted = fitted;
    this.since = since;
    this.queries = ConditionReads.ofWorkload(plan);
    fitted.groups().forEach((group, each) -> byIndex.put(group.info().globalIndex(), each));
  }

  /** What the summary of a snapshot says of the file groups in it. */
  synchronized Map<String, String> summary(Collection<RewriteFileGroup> groups) {
    Map<String, String> summary = ofLayouts();
    if (!plan.request().likeBuiltin()) {
      summary.put(RewriteHistory.TARGET_FILE_SIZE, plan.targetSize().bytes() + " " + plan.targetSize().origin());
      summary.put(Settled.REQUEST, plan.requestKey());
      summary.put(Settled.REWRITE_ID, id);
      told += groups.size();
      if (plan.isWhole() && fitted.failures().isEmpty() && told == fitted.groups().size()) {
        summary.put(Settled.SETTLED_FROM, String.valueOf(plan.snapshotId().getAsLong()));
      }
    }
    List<ScanMeasurement.MeasuredGroup> committed = groups.stream().map(this::measure).toList();
    groups.forEach(this::read);
    List<FittedGroup> of = groups.stream().map(group -> byIndex.get(group.info().globalIndex())).toList();
    Map<String, Map<String, BigDecimal>> fractions = new LinkedHashMap<>();
    fitted
        .predicted(plan.order(), of)
        .forEach((column, fraction) -> fractions.computeIfAbsent(column, each -> new LinkedHashMap<>()).put("predicted", rounded(fraction)));
    ScanFractions.measured(plan.order(), committed)
        .forEach((column, fraction) -> fractions.computeIfAbsent(column, each -> new LinkedHashMap<>()).put("actual", rounded(fraction)));
    summary.put(SCAN_FRACTIONS, MAPPER.valueToTree(fractions).toString());
    long now = System.nanoTime();
    summary.put(RewriteHistory.DURATION, String.valueOf((now - since) / NANOS_PER_MILLI));
    since = now;
    return summary;
  }

  /** What the snapshot says about the layouts. */
  private Map<String, String> ofLayouts() {
    List<Layout> layouts = fitted.layouts();
    Map<String, String> summary = new HashMap<>();
    boolean isPlain = plan.order().curve() == Curve.ZORDER && plan.order().prefix().isEmpty();
    summary.put("zorder.columns", isPlain ? plan.order().names(",") : plan.order().sortOrder());
    summary.put("zorder.cuts", layouts.get(0).cuts().kind());
    summary.put("zorder.layout-hash", Layout.hash(layouts));
    return summary;
  }

  private ScanMeasurement.MeasuredGroup measure(RewriteFileGroup group) {
    return measured.computeIfAbsent(group.info().globalIndex(), index -> {
      GroupBounds bounds = new GroupBounds(plan.target().table(), plan.order(), fitted.keyLengths());
      group.addedFiles().forEach(bounds::add);
      FittedGroup of = byIndex.get(index);
      return bounds.measured(of.sampled().lookedFor(), of.sampled().rows());
    });
  }

  private BytesRead read(RewriteFileGroup group) {
    return read.computeIfAbsent(group.info().globalIndex(), index -> queries.made(group.addedFiles()));
  }

  synchronized RewriteRun.Outcome outcome(RewriteDataFiles.Result result, List<String> messages) {
    List<Integer> committed =
        StreamSupport.stream(result.rewriteResults().spliterator(), false)
            .map(group -> group.info().globalIndex())
            .toList();
    List<FittedGroup> groups = committed.stream().map(byIndex::get).toList();
    boolean isAll = groups.size() == fitted.groups().size();
    Map<String, Double> actual = ScanFractions.measured(plan.order(), committed.stream().map(measured::get).toList());
    return new RewriteRun.Outcome(
        result,
        isAll ? fitted.before() : FittedLayouts.before(plan.order(), groups),
        isAll ? fitted.predicted() : fitted.predicted(plan.order(), groups),
        actual,
        plan.workload()
            .filter(workload -> !groups.isEmpty())
            .map(workload -> FittedLayouts.read(workload, groups, committed.stream().map(read::get).toList())),
        messages);
  }

  private static BigDecimal rounded(double fraction) {
    return new BigDecimal(fraction).setScale(DIGITS, RoundingMode.HALF_EVEN);
  }
}
