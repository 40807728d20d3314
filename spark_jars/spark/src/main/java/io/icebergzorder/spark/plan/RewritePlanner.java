package io.icebergzorder.spark.plan;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.upkeep.Gathering;
import io.icebergzorder.spark.bounds.FileBounds;
import io.icebergzorder.spark.bounds.KeptBounds;
import io.icebergzorder.spark.plan.selection.IcebergRules;
import io.icebergzorder.spark.plan.selection.Selection;
import io.icebergzorder.spark.queries.Workload;
import io.icebergzorder.spark.request.FileScope;
import io.icebergzorder.spark.request.PartitionColumn;
import io.icebergzorder.spark.request.ResolvedRequest;
import io.icebergzorder.spark.request.RowOrder;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.ImmutableRewriteDataFiles;
import org.apache.iceberg.actions.RewriteDataFiles;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.util.StructLikeMap;

/**
 * From a request to a plan:
 *
 * <ol>
 *   <li>{@link ResolvedRequest} refuses what cannot be honoured;
 *   <li>{@link FileScope} lists every data file that may be rewritten, from the manifests;
 *   <li>{@link Selection} chooses among them;
 *   <li>{@link IcebergRules} tell how many files of which size come of each file group.
 * </ol>
 */
public final class RewritePlanner {
  private RewritePlanner() {}

  /**
   * Plans a rewrite. Manifests are read, and no data.
   *
   * @throws IllegalArgumentException if the request cannot be honoured
   */
  public static TablePlan plan(ResolvedRequest request) {
    Table table = request.target().table();
    Map<String, String> options = request.options().forPlanner();
    if (table.snapshot(request.branch()) == null) {
      TargetSize target = TargetSize.of(table, request.written(), options, null, List.of());
      new IcebergRules(table, target.in(options));
      String message = nothingIn(table.name(), "branch main has no snapshot yet");
      return new TablePlan(
          request,
          null,
          null,
          target,
          request.order(),
          List.of(),
          Selection.Selected.nothing(message));
    }
    StartingPoint start = StartingPoint.of(table, request.branch());
    EqualityDeleteTypes.check(table, start.snapshotId());
    List<Selection.SelectedGroup> scope = byPartition(table, request.scope().files(table, start.snapshotId()));
    RewriteHistory history = new RewriteHistory(table, start.snapshotId());
    TargetSize target = TargetSize.of(table, request.written(), options, history, scope);
    IcebergRules rules = new IcebergRules(table, target.in(options));
    boolean mayLeave = TablePlan.mayLeaveGroups(request);
    KeptBounds kept = KeptBounds.of(table, request.order().named());
    // New files are then to have bounds that those of today have not, and are written with that.
    boolean mends = request.options().layout().fixesMetrics() && !kept.missing().isEmpty();
    // Of tables of version 1 manifests are read for it.
    RewriteHistory.Like like =
        mayLeave
            ? history.like(request.order(), request.workload().map(Workload::key).orElse(""), target.bytes())
            : new RewriteHistory.Like(file -> Gathering.NONE, Long.MAX_VALUE);
    Predicate<List<FileScanTask>> isSettled =
        mayLeave && !mends ? history.settled(TablePlan.requestKey(request, target)) : files -> false;
    Selection.Facts facts =
        new Selection.Facts(
            younger(rules.minAgeSeconds(), table),
            isSettled,
            like.rewriteOf(),
            mends ? Long.MAX_VALUE : like.budget(),
            once(() -> bounds(request, start)),
            mends ? kept.mended() : kept);
    Selection.Selected chosen =
        scope.isEmpty() && request.written().where() == null
            ? Selection.Selected.nothing(nothingIn(table.name(), "the table has no data file"))
            : new Selection(rules, request, facts).select(scope);
    List<PlannedGroup> groups = groups(rules, table, chosen.chosen());
    return new TablePlan(request, start, history, target, within(request, groups), groups, chosen);
  }

  private static Predicate<FileScanTask> younger(long seconds, Table table) {
    Predicate<DataFile> younger = new FileScope.LeastAge(seconds, System.currentTimeMillis()).younger(table);
    return task -> younger.test(task.file());
  }

  /** Bounds are read only if they are looked at, for metrics of many files are large. */
  private static FileBounds bounds(ResolvedRequest request, StartingPoint start) {
    Table table = request.target().table();
    List<ClusteringColumn> columns = request.order().named();
    List<String> names = columns.stream().map(column -> String.join(".", column.parts())).toList();
    return new FileBounds(
        columns, table.schema(), visitor -> request.scope().forEachWithBounds(table, start.snapshotId(), names, visitor));
  }

  private static <T> Supplier<T> once(Supplier<T> source) {
    List<T> found = new ArrayList<>();
    return () -> {
      if (found.isEmpty()) {
        found.add(source.get());
      }
      return found.get(0);
    };
  }

  private static String nothingIn(String table, String why) {
    return String.format("Nothing to rewrite in %s: %s.", table, why);
  }

  /** Data files by partition of the table's current spec. */
  private static List<Selection.SelectedGroup> byPartition(Table table, List<FileScanTask> files) {
    Types.StructType type = table.spec().partitionType();
    StructLike ofOtherSpecs = GenericRecord.create(type);
    StructLikeMap<List<FileScanTask>> byPartition = StructLikeMap.create(type);
    for (FileScanTask file : files) {
      boolean isOfSpec = file.file().specId() == table.spec().specId();
      StructLike partition = isOfSpec ? file.file().partition() : ofOtherSpecs;
      List<FileScanTask> together = byPartition.get(partition);
      if (together == null) {
        together = new ArrayList<>();
        byPartition.put(partition, together);
      }
      together.add(file);
    }
    return byPartition.entrySet().stream()
        .map(entry -> new Selection.SelectedGroup(entry.getKey(), entry.getValue()))
        .toList();
  }

  private static List<PlannedGroup> groups(
      IcebergRules rules, Table table, List<Selection.SelectedGroup> chosen) {
    Map<StructLike, Integer> numbers = StructLikeMap.create(table.spec().partitionType());
    List<PlannedGroup> groups = new ArrayList<>();
    for (Selection.SelectedGroup group : chosen) {
      int number = numbers.merge(group.partition(), 1, Integer::sum);
      RewriteDataFiles.FileGroupInfo info =
          ImmutableRewriteDataFiles.FileGroupInfo.builder()
              .globalIndex(groups.size() + 1)
              .partitionIndex(number)
              .partition(group.partition())
              .build();
      boolean isDue = group.files().stream().anyMatch(rules::isDue);
      groups.add(new PlannedGroup(rules.fileGroup(info, group), group.reason(), isDue));
    }
    groups.sort(Comparator.comparing(PlannedGroup::planned, RewriteFileGroup.comparator(rules.jobOrder())));
    return groups;
  }

  /** Where rows may change their partition, they are cut and sorted by that before all else. */
  private static RowOrder within(ResolvedRequest request, List<PlannedGroup> groups) {
    Table table = request.target().table();
    return groups.stream().anyMatch(group -> group.changesSpec())
        ? request.order().within(PartitionColumn.of(table, ResolvedRequest.outputSpec(table, request.options())))
        : request.order();
  }
}
