package io.icebergzorder.spark.plan;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.upkeep.Gathering;
import io.icebergzorder.spark.bounds.FileBounds;
import io.icebergzorder.spark.bounds.KeptBounds;
import io.icebergzorder.spark.plan.selection.IcebergRules;
import io.icebergzorder.spark.plan.selection.Selection;
import io.icebergzorder.spark.queries.Workload;
import io.icebergzorder.spark.request.CatalogTable;
import io.icebergzorder.spark.request.FileScope;
import io.icebergzorder.spark.request.PartitionColumn;
import io.icebergzorder.spark.request.ResolvedRequest;
import io.icebergzorder.spark.request.RewriteRequest;
import io.icebergzorder.spark.request.RowOrder;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.RewriteDataFiles;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.util.StructLikeMap;

/**
 * From a request, of which {@link ResolvedRequest} has refused what cannot be honoured, to a plan: data files are listed, and {@link
 * Selection} chooses among them. {@link IcebergRules} tell how many files of which size come of each file group.
 */
public final class RewritePlanner {
  private RewritePlanner() {}

  /** Lists the data files that a rewrite may take, as the newest snapshot has them, from the manifests. */
  public static List<FileScanTask> list(ResolvedRequest request, StartingPoint start) {
    if (start.snapshotId() == null) {
      return List.of();
    }
    Table table = request.target().table();
    EqualityDeleteTypes.check(table, start.snapshotId());
    return request.scope().files(table, start.snapshotId());
  }

  /** Selects among the listed data files. Manifests may be read again, for lower/upper bounds. */
  public static TablePlan select(ResolvedRequest request, StartingPoint start, List<FileScanTask> listed) {
    Table table = request.target().table();
    Map<String, String> options = request.options().forPlanner();
    if (start.snapshotId() == null) {
      TargetSize target = TargetSize.of(table, request.written(), options, null, List.of());
      new IcebergRules(table, target.in(options));
      String message = nothingIn(table.name(), "branch main has no snapshot yet");
      return new TablePlan(request, start, null, target, request.order(), List.of(), List.of(), message);
    }
    List<Selection.SelectedGroup> scope = byPartition(table, listed);
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
            younger(rules.minAgeSeconds(), start.plannedAtMs(), table),
            isSettled,
            like.rewriteOf(),
            mends ? Long.MAX_VALUE : like.budget(),
            once(() -> bounds(request, start)),
            mends ? kept.mended() : kept);
    Selection.Selected chosen =
        scope.isEmpty() && request.written().where() == null
            ? Selection.Selected.nothing(nothingIn(table.name(), "the table has no data file"))
            : new Selection(rules, request, facts).select(scope);
    List<FileGroup> groups = groups(rules, table, chosen.chosen());
    List<LeftGroup> left = chosen.left().stream().map(each -> LeftGroup.of(table, each.files(), each.reasons())).toList();
    return new TablePlan(request, start, history, target, within(request, groups), groups, left, chosen.whyNothing());
  }

  private static Predicate<FileScanTask> younger(long seconds, long now, Table table) {
    Predicate<DataFile> younger = new FileScope.LeastAge(seconds, now).younger(table);
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
    StructLikeMap<List<FileScanTask>> byPartition = StructLikeMap.create(type);
    for (FileScanTask file : files) {
      StructLike partition = FileGroup.partition(table, file);
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

  private static List<FileGroup> groups(
      IcebergRules rules, Table table, List<Selection.SelectedGroup> chosen) {
    Function<List<FileScanTask>, RewriteDataFiles.FileGroupInfo> numbering = FileGroup.numbering(table);
    return chosen.stream()
        .map(
            group ->
                new FileGroup(
                    numbering.apply(group.files()),
                    group.files(),
                    rules.newSpecId(),
                    rules.maxOutputFileSize(),
                    rules.expectedFiles(group),
                    group.reasons(),
                    group.files().stream().anyMatch(rules::isDue)))
        .sorted(Comparator.comparing(FileGroup::toRewrite, RewriteFileGroup.comparator(rules.jobOrder())))
        .toList();
  }

  /**
   * Finds the files of a plan that was written down, by this engine or the other.
   *
   * @throws IllegalStateException if the plan is stale, or of another table
   */
  public static TablePlan restored(CatalogTable target, StoredPlan stored) {
    StartingPoint start = stored.start();
    Table table = target.table();
    boolean isEmpty = stored.fileGroups().isEmpty();
    if (isEmpty) {
      start.checkIsSame(table);
    }
    Long head = isEmpty ? null : (Long) start.check(table);
    ResolvedRequest request = ResolvedRequest.resolved(target, stored.request(target.name()));
    List<FileScanTask> files = isEmpty ? List.of() : start.find(table, request.scope(), head, stored.files());
    Function<List<FileScanTask>, RewriteDataFiles.FileGroupInfo> numbering = FileGroup.numbering(table);
    List<FileGroup> groups = new ArrayList<>();
    Iterator<FileScanTask> next = files.iterator();
    for (StoredPlan.Group group : stored.fileGroups()) {
      List<FileScanTask> ofGroup = group.dataFiles().stream().map(each -> next.next()).toList();
      groups.add(
          new FileGroup(
              numbering.apply(ofGroup),
              ofGroup,
              group.specId(),
              group.maxOutputFileSizeBytes(),
              group.expectedDataFilesCount(),
              group.reasons(),
              group.isDue()));
    }
    RewriteHistory history = isEmpty ? null : new RewriteHistory(table, start.snapshotId());
    return new TablePlan(
        request, start, history, stored.target(history), within(request, groups), groups, stored.left(), stored.message());
  }

  /** Where rows may change their partition, they are cut and sorted by that before all else. */
  private static RowOrder within(ResolvedRequest request, List<FileGroup> groups) {
    Table table = request.target().table();
    return groups.stream().anyMatch(group -> group.changesSpec())
        ? request.order().within(PartitionColumn.of(table, ResolvedRequest.outputSpec(table, request.options())))
        : request.order();
  }
}
