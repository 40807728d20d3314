package io.icebergzorder.spark.run;

import com.fasterxml.jackson.databind.json.JsonMapper;
import io.icebergzorder.core.Curve;
import io.icebergzorder.core.Layout;
import io.icebergzorder.core.metrics.ScanMeasurement.MeasuredFiles;
import io.icebergzorder.core.select.UnchangedSince;
import io.icebergzorder.spark.layout.ConditionReads;
import io.icebergzorder.spark.layout.SampledGroup;
import io.icebergzorder.spark.layout.SampledPlan;
import io.icebergzorder.spark.layout.ScanFractions;
import io.icebergzorder.spark.layout.ScanFractions.TableReads;
import io.icebergzorder.spark.plan.RewriteHistory;
import io.icebergzorder.spark.plan.TablePlan;
import io.icebergzorder.spark.run.Rewrite.Measured;
import io.icebergzorder.spark.spec.CatalogTable;
import io.icebergzorder.spark.spec.Workload;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.RewriteDataFiles;
import org.apache.iceberg.actions.RewriteFileGroup;

/** Measures the new files of a rewrite by their bounds before the commit, and writes the figures into snapshot summaries. */
final class RunMeasurement {
  private static final String SCAN_FRACTIONS = "zorder.scan-fractions";
  private static final JsonMapper MAPPER = JsonMapper.builder().build();
  private static final int DIGITS = 6;
  private static final long NANOS_PER_MILLI = 1_000_000;

  private final Table table;
  private final TablePlan plan;
  private final SampledPlan sampled;
  private final ConditionReads queries;
  private final Map<String, String> extraProperties;
  private final Map<Integer, SampledGroup> byIndex = new HashMap<>();
  private final Map<Integer, GroupResult> results = new HashMap<>();
  private final String id;
  private final CompletableFuture<Map<String, String>> layoutProperties;
  private long since;
  private int summarized;
  private Measured measured = Measured.NONE;

  /** Takes the rewrite's id unless the extra summary properties have one, and its start by {@link System#nanoTime}. */
  RunMeasurement(CatalogTable target, SampledPlan sampled, Map<String, String> extraProperties, String id, long since) {
    this.id = extraProperties.getOrDefault(UnchangedSince.REWRITE_ID, id);
    this.table = target.table();
    this.plan = sampled.plan();
    this.sampled = sampled;
    this.queries = new ConditionReads(target, plan.workload().map(Workload::conditions).orElse(List.of()));
    this.extraProperties = extraProperties;
    this.since = since;
    sampled.groups().forEach((group, each) -> byIndex.put(group.index(), each));
    // The hash takes in all boundaries: it is made while Spark writes.
    layoutProperties = CompletableFuture.supplyAsync(this::layoutProperties);
  }

  /** The summary properties that all snapshots of the rewrite have, whatever they change. */
  Map<String, String> commonSummary() {
    Map<String, String> summary = new HashMap<>(extraProperties);
    summary.put(UnchangedSince.REWRITE_ID, id);
    return summary;
  }

  /** The summary properties of a snapshot with these file groups. */
  synchronized Map<String, String> summary(Collection<RewriteFileGroup> groups) {
    Map<String, String> summary = new HashMap<>(extraProperties);
    summary.putAll(layoutProperties.join());
    if (!plan.options().isLikeBuiltin()) {
      summary.put(RewriteHistory.TARGET_FILE_SIZE, plan.targetSize().bytes() + " " + plan.targetSize().origin());
      summary.put(UnchangedSince.REQUEST, plan.spec().key(table, plan.targetSize().bytes()));
      summary.put(UnchangedSince.REWRITE_ID, id);
      summarized += groups.size();
      if (sampled.failures().isEmpty() && summarized == sampled.groups().size()) {
        plan.endMarker().ifPresent(marker -> summary.put(UnchangedSince.SETTLED_FROM, marker));
      }
    }
    Measured reads = measured(groups.stream().map(this::result).toList());
    Map<String, Map<String, BigDecimal>> fractions = new LinkedHashMap<>();
    put(fractions, "before", reads.before());
    put(fractions, "predicted", reads.predicted());
    put(fractions, "actual", reads.actual());
    summary.put(SCAN_FRACTIONS, MAPPER.valueToTree(fractions).toString());
    long now = System.nanoTime();
    summary.put(RewriteHistory.DURATION, String.valueOf((now - since) / NANOS_PER_MILLI));
    since = now;
    return summary;
  }

  /** The summary properties about layouts. */
  private Map<String, String> layoutProperties() {
    List<Layout> layouts = sampled.layouts();
    Map<String, String> summary = new HashMap<>();
    boolean isPlain = plan.order().curve() == Curve.ZORDER && plan.order().prefix().isEmpty();
    summary.put("zorder.columns", isPlain ? plan.order().names(",") : plan.order().sortOrder());
    summary.put("zorder.cuts", layouts.get(0).cuts().kind());
    summary.put("zorder.layout-hash", Layout.hash(layouts));
    return summary;
  }

  private GroupResult result(RewriteFileGroup group) {
    return results.computeIfAbsent(
        group.info().globalIndex(),
        index -> {
          Set<DataFile> files = group.addedFiles();
          return new GroupResult(byIndex.get(index), sampled.measure().written(table, files), queries.made(files));
        });
  }

  private Measured measured(List<GroupResult> made) {
    // A rewrite in one commit asks for the same groups twice.
    if (!made.equals(measured.groups())) {
      ScanFractions measure = sampled.measure();
      List<SampledGroup> groups = made.stream().map(GroupResult::group).toList();
      List<MeasuredFiles> files = made.stream().map(each -> new MeasuredFiles(each.files(), each.group().sample())).toList();
      measured = new Measured(made, measure.before(groups), measure.predicted(groups), measure.reads(files, false));
    }
    return measured;
  }

  /** The file groups that were committed. */
  synchronized Measured committed(RewriteDataFiles.Result result) {
    return measured(result.rewriteResults().stream().map(group -> results.get(group.info().globalIndex())).toList());
  }

  private static void put(Map<String, Map<String, BigDecimal>> byColumn, String name, TableReads reads) {
    reads.fractions().forEach((column, fraction) -> {
      BigDecimal rounded = new BigDecimal(fraction).setScale(DIGITS, RoundingMode.HALF_EVEN);
      byColumn.computeIfAbsent(column, each -> new LinkedHashMap<>()).put(name, rounded);
    });
  }
}
