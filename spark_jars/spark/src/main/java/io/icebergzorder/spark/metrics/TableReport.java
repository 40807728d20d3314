package io.icebergzorder.spark.metrics;

import io.icebergzorder.core.Reason;
import io.icebergzorder.core.metrics.BoundedFiles;
import io.icebergzorder.core.metrics.ClusteringReport;
import io.icebergzorder.core.metrics.ClusteringReport.Recommendation;
import io.icebergzorder.core.metrics.LayoutHistory;
import io.icebergzorder.core.metrics.ScanCost;
import io.icebergzorder.core.metrics.SnapshotFacts;
import io.icebergzorder.core.metrics.TableFacts;
import io.icebergzorder.spark.bounds.FileBounds;
import io.icebergzorder.spark.plan.FileGroup;
import io.icebergzorder.spark.plan.IcebergRules;
import io.icebergzorder.spark.plan.RewriteHistory;
import io.icebergzorder.spark.plan.Selection;
import io.icebergzorder.spark.plan.TablePlan;
import io.icebergzorder.spark.plan.TargetSize;
import io.icebergzorder.spark.spec.CatalogTable;
import io.icebergzorder.spark.spec.FileScope;
import io.icebergzorder.spark.spec.ResolvedReport;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.MetricsConfig;
import org.apache.iceberg.Table;

/** Reports how well a table is clustered, from its metadata alone. */
public final class TableReport {
  private final ResolvedReport request;
  private final Table table;
  private final List<String> columns;

  private TableReport(ResolvedReport request) {
    this.request = request;
    this.table = request.target().table();
    this.columns = request.order().named().stream().map(column -> String.join(".", column.parts())).toList();
  }

  public static ClusteringReport of(CatalogTable target, String columns, String where, String branch) {
    return ClusteringReport.of(new TableReport(ResolvedReport.of(target, columns, where, branch)).facts());
  }

  private TableFacts facts() {
    List<SnapshotFacts> snapshots = request.snapshots();
    Long snapshotId = snapshots.isEmpty() ? null : (Long) snapshots.get(snapshots.size() - 1).id();
    List<FileScanTask> tasks = tasks(snapshotId);
    BoundedFiles files = files(tasks);
    MetricsConfig metrics = MetricsConfig.forTable(table);
    RewriteHistory.AddedBy addedBy = new RewriteHistory.AddedBy(table, snapshots);
    IcebergRules rules =
        TargetSize.rules(
            table, request.options(), snapshotId, files.partitionBytes(), columns.size(), request.rewrite().where() != null);
    TablePlan plan = null;
    String whyRefused = null;
    try {
      plan = Selection.plan(request.target(), request.toRewrite());
    } catch (IllegalArgumentException refused) {
      whyRefused = refused.getMessage();
    }
    return new TableFacts(
        files,
        columns.stream().map(column -> metrics.columnMode(column).toString()).toList(),
        rules.sizes,
        request.order().layoutRequest(request.options().layout(), 1, Map.of()),
        FileScope.flags(tasks, task -> task.file().specId() != table.spec().specId()),
        FileScope.flags(tasks, task -> !task.deletes().isEmpty()),
        (int) tasks.stream().filter(FileScope::hasNoRows).count(),
        LayoutHistory.of(
            snapshots, tasks.stream().mapToLong(task -> addedBy.snapshotOf(task.file())).toArray(), files),
        ScanCost.openCost(table.properties()),
        plan == null ? new Recommendation(0, whyRefused) : recommendation(plan),
        plan == null ? null : costs(plan));
  }

  /** Says why most file groups of a plan were chosen, or why nothing is rewritten. */
  private static Recommendation recommendation(TablePlan plan) {
    Map<String, Long> reasons =
        plan.groups().stream()
            .collect(Collectors.groupingBy(group -> Reason.text(group.reasons()), LinkedHashMap::new, Collectors.counting()));
    String others = reasons.size() > 1 ? String.format(Locale.ROOT, ", and %,d other reasons", reasons.size() - 1) : "";
    return reasons.entrySet().stream()
        .max(Map.Entry.comparingByValue())
        .map(most -> new Recommendation(plan.inputFiles().size(), most.getKey() + others))
        .orElseGet(() -> new Recommendation(0, plan.whyNothing()));
  }

  /** What a filter costs, which a plan gives if it judges all files by that; else null. */
  private TableFacts.Costs costs(TablePlan plan) {
    Map<String, List<Reason>> reasons = new HashMap<>();
    plan.groups().forEach(each -> reasons.computeIfAbsent(FileGroup.partitionPath(table, each.files()), key -> new ArrayList<>()).addAll(each.reasons()));
    plan.left().forEach(each -> reasons.computeIfAbsent(each.partition(), key -> new ArrayList<>()).addAll(each.reasons()));
    List<Reason> judged = reasons.values().stream().flatMap(each -> each.stream().filter(Reason::hasCostsOfColumns).limit(1)).toList();
    boolean isWhole = judged.size() == reasons.size() && reasons.values().stream().flatMap(List::stream).noneMatch(Reason::leavesCostsOut);
    if (judged.isEmpty() || !isWhole) {
      return null;
    }
    Map<String, Object> all = judged.get(0).withCosts(judged).parameters();
    return new TableFacts.Costs((long) all.get("before"), (long) all.get("attainable"));
  }

  /** Lists the data files in the order of their locations: manifests are read by several threads. */
  private List<FileScanTask> tasks(Long snapshotId) {
    List<FileScanTask> tasks = new ArrayList<>();
    if (snapshotId != null) {
      request.scope().forEachWithBounds(table, snapshotId, columns, tasks::add);
    }
    tasks.sort(FileScope.BY_LOCATION);
    return tasks;
  }

  private BoundedFiles files(List<FileScanTask> tasks) {
    FileBounds bounds =
        new FileBounds(request.order().named(), table, visitor -> tasks.forEach(task -> visitor.accept(task.file())));
    return bounds.of(tasks.stream().map(task -> task.file().location()).toList());
  }
}
