package io.icebergzorder.spark.plan;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.upkeep.Gathering;
import io.icebergzorder.spark.bounds.FileBounds;
import io.icebergzorder.spark.bounds.KeptBounds;
import io.icebergzorder.spark.plan.selection.AgedSelection;
import io.icebergzorder.spark.plan.selection.FileLimit;
import io.icebergzorder.spark.plan.selection.GainSelection;
import io.icebergzorder.spark.plan.selection.GroupBound;
import io.icebergzorder.spark.plan.selection.IcebergRules;
import io.icebergzorder.spark.plan.selection.Selection;
import io.icebergzorder.spark.plan.selection.SettledSelection;
import io.icebergzorder.spark.plan.selection.SizeSelection;
import io.icebergzorder.spark.queries.AskedFiles;
import io.icebergzorder.spark.queries.Workload;
import io.icebergzorder.spark.request.FileScope;
import io.icebergzorder.spark.request.PartitionColumn;
import io.icebergzorder.spark.request.ResolvedRequest;
import io.icebergzorder.spark.request.RewriteOptions;
import io.icebergzorder.spark.request.RowOrder;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;
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
 *   <li>{@link Selection} chooses among them, {@link GroupBound} cuts what it chose and {@link FileLimit} leaves some;
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
          FileLimit.Limited.not(new Selection.Selected(List.of(), List.of(), message)),
          true);
    }
    StartingPoint start = StartingPoint.of(table, request.branch());
    EqualityDeleteTypes.check(table, start.snapshotId());
    List<Selection.PartitionFiles> scope = byPartition(table, request.scope().files(table, start.snapshotId()));
    RewriteHistory history = new RewriteHistory(table, start.snapshotId());
    TargetSize target = TargetSize.of(table, request.written(), options, history, scope);
    IcebergRules rules = new IcebergRules(table, target.in(options));
    Predicate<FileScanTask> isYounger = younger(rules.minAgeSeconds(), table);
    // Of tables of version 1 manifests are read for it.
    Optional<Predicate<List<FileScanTask>>> settled =
        TablePlan.mayLeaveGroups(request) && !mends(table, request)
            ? history.settled(TablePlan.requestKey(request, target))
            : Optional.empty();
    Supplier<FileBounds> bounds = once(() -> bounds(request, start));
    Supplier<KeptBounds> kept = once(() -> kept(table, request));
    Supplier<Optional<AskedFiles>> queries = once(() -> queries(request, start));
    ToLongFunction<FileScanTask> sizedBy =
        TablePlan.mayLeaveGroups(request) ? history.rewritesTo(target.bytes()) : file -> Gathering.NONE;
    SizeSelection sizes = new SizeSelection(rules, sizedBy);
    Supplier<RewriteHistory.Ours> ours =
        once(() -> history.rewritesBy(request.order(), request.workload().map(Workload::key).orElse(""), target.bytes()));
    Selection.Selected chosen =
        scope.isEmpty() && request.written().where() == null
            ? new Selection.Selected(List.of(), List.of(), nothingIn(table.name(), "the table has no data file"))
            : new AgedSelection(isYounger, rules, unsettled(rules, sizes, request, settled, ours, bounds, kept, queries)).select(scope);
    FileLimit.Limited taken = FileLimit.taken(rules, new GroupBound(rules, bounds, kept, request).cut(chosen));
    List<PlannedGroup> groups = groups(rules, rules.ofAnySize(), table, taken.selected().chosen());
    boolean isWhole = taken.isAll() && !isAnyYounger(scope, isYounger);
    return new TablePlan(request, start, history, target, within(request, groups), groups, taken, isWhole);
  }

  /** Leaves what is settled, and chooses among the rest. */
  private static Selection unsettled(
      IcebergRules rules,
      SizeSelection sizes,
      ResolvedRequest request,
      Optional<Predicate<List<FileScanTask>>> settled,
      Supplier<RewriteHistory.Ours> ours,
      Supplier<FileBounds> bounds,
      Supplier<KeptBounds> kept,
      Supplier<Optional<AskedFiles>> queries) {
    boolean isLikeBuiltin = request.written().likeBuiltin() && !request.options().all().containsKey(RewriteOptions.MAX_SCAN_RATIO);
    boolean isBySize = rules.rewriteAll() || isLikeBuiltin || Double.isInfinite(rules.maxScanRatio());
    Selection others = isBySize ? sizes : new GainSelection(rules, sizes, bounds, kept.get(), queries, request, ours.get());
    return settled.isEmpty() ? others : new SettledSelection(settled.get(), rules, others);
  }

  private static Predicate<FileScanTask> younger(long seconds, Table table) {
    Predicate<DataFile> younger = new FileScope.LeastAge(seconds, System.currentTimeMillis()).younger(table);
    return task -> younger.test(task.file());
  }

  private static boolean isAnyYounger(List<Selection.PartitionFiles> scope, Predicate<FileScanTask> isYounger) {
    return scope.stream().anyMatch(partition -> partition.files().stream().anyMatch(isYounger));
  }

  /** Bounds are read only if they are looked at, for metrics of many files are large. */
  private static FileBounds bounds(ResolvedRequest request, StartingPoint start) {
    Table table = request.target().table();
    List<ClusteringColumn> columns = request.order().named();
    List<String> names = columns.stream().map(column -> String.join(".", column.parts())).toList();
    return new FileBounds(
        columns, table.schema(), visitor -> request.scope().forEachWithBounds(table, start.snapshotId(), names, visitor));
  }

  /** What the queries of the workload read, if there is one: metrics are read for that. */
  private static Optional<AskedFiles> queries(ResolvedRequest request, StartingPoint start) {
    Table table = request.target().table();
    return request
        .workload()
        .map(
            workload ->
                new AskedFiles(
                    workload,
                    table,
                    request.target().isCaseSensitive(),
                    (columns, visitor) -> request.scope().forEachWithBounds(table, start.snapshotId(), columns, visitor)));
  }

  /** What new files keep of bounds; where the rewrite sets what is missing, they are written with that. */
  private static KeptBounds kept(Table table, ResolvedRequest request) {
    KeptBounds kept = KeptBounds.of(table, request.order().named());
    return mends(table, request) ? kept.mended() : kept;
  }

  /** Whether new files are to have bounds that those of today have not. */
  private static boolean mends(Table table, ResolvedRequest request) {
    return request.options().layout().fixesMetrics() && !KeptBounds.of(table, request.order().named()).missing().isEmpty();
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
  private static List<Selection.PartitionFiles> byPartition(Table table, List<FileScanTask> files) {
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
        .map(entry -> new Selection.PartitionFiles(entry.getKey(), entry.getValue()))
        .toList();
  }

  private static List<PlannedGroup> groups(
      IcebergRules rules, IcebergRules ofAnySize, Table table, List<Selection.SelectedGroup> chosen) {
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
      boolean isDue = !ofAnySize.worthRewriting(group.files()).isEmpty();
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
