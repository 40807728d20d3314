package io.icebergzorder.spark.plan;

import static org.apache.iceberg.actions.BinPackRewriteFilePlanner.MAX_FILES_TO_REWRITE;

import io.icebergzorder.core.Reason;
import io.icebergzorder.core.select.UnchangedSince;
import io.icebergzorder.spark.bounds.FileBounds;
import io.icebergzorder.spark.plan.StartingPoint.PlannedFile;
import io.icebergzorder.spark.spec.PartitionColumn;
import io.icebergzorder.spark.spec.ResolvedSortOrder;
import io.icebergzorder.spark.spec.ResolvedSpec;
import io.icebergzorder.spark.spec.RewriteOptions;
import io.icebergzorder.spark.spec.Workload;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.apache.iceberg.ContentScanTask;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Table;

/**
 * The plan of a rewrite, from metadata alone: file groups, files that stay, and reasons.
 *
 * @param start the state of the table that the plan was made from
 * @param history the branch's snapshots; empty in a stored plan without file groups
 * @param order the order of the rows, within each partition of the files to be written
 * @param groups the chosen file groups, in the order of their rewrite
 * @param whyNothing why there is no file group, and which option would force one; null if there is one
 * @param bounds of the data files that the filter selects, if the plan has been made from them
 */
public record TablePlan(
    ResolvedSpec spec,
    StartingPoint start,
    RewriteHistory history,
    TargetSize targetSize,
    ResolvedSortOrder order,
    List<FileGroup> groups,
    List<LeftGroup> left,
    String whyNothing,
    Optional<FileBounds> bounds) {
  /** Takes copies of the lists. */
  public TablePlan {
    groups = List.copyOf(groups);
    left = List.copyOf(left);
  }

  /** Takes what was planned. Where rows may change their partition, they are cut and sorted by that before all else. */
  static TablePlan of(
      Table table,
      ResolvedSpec spec,
      StartingPoint start,
      RewriteHistory history,
      TargetSize targetSize,
      List<FileGroup> groups,
      List<LeftGroup> left,
      String whyNothing,
      Optional<FileBounds> bounds) {
    ResolvedSortOrder order =
        groups.stream().anyMatch(FileGroup::spansPartitions)
            ? spec.order().partitionedBy(PartitionColumn.of(table, ResolvedSpec.outputSpec(table, spec.options())))
            : spec.order();
    return new TablePlan(spec, start, history, targetSize, order, groups, left, whyNothing, bounds);
  }

  /**
   * The plan of what the table's newest snapshot has of some file groups of this plan, and of no other files; without groups if it has none.
   *
   * @throws IllegalStateException if the schema, the partition spec, the branch or the table is another
   */
  public TablePlan withRemainingFiles(Table table, Collection<FileGroup> some) {
    start.check(table);
    StartingPoint now = StartingPoint.of(table, spec.branch());
    Map<String, FileScanTask> listed = new HashMap<>();
    now.list(table, spec.scope()).forEach(task -> listed.put(task.file().location(), task));
    List<FileGroup> remaining = new ArrayList<>();
    for (FileGroup group : some) {
      List<FileScanTask> files = group.locations().stream().map(listed::get).filter(Objects::nonNull).toList();
      if (!files.isEmpty()) {
        remaining.add(group.withRemaining(table, files));
      }
    }
    int others = listed.size() - remaining.stream().mapToInt(group -> group.files().size()).sum();
    String why =
        "Nothing left to rewrite in %s: other operations changed the data files of %d file groups meanwhile.".formatted(table.name(), some.size());
    return new TablePlan(
        spec,
        now,
        RewriteHistory.of(table, now.snapshotId()),
        targetSize,
        order,
        FileGroup.numbered(table, remaining),
        others == 0 ? List.of() : List.of(LeftGroup.notInPlan(others)),
        remaining.isEmpty() ? why : null,
        Optional.empty());
  }

  public RewriteOptions options() {
    return spec.options();
  }

  /** The queries that files are cut for, if there are any. */
  public Optional<Workload> workload() {
    return spec.workload();
  }

  /** The data files of all groups. */
  public List<DataFile> inputFiles() {
    return groups.stream().flatMap(group -> group.files().stream()).map(ContentScanTask::file).toList();
  }

  /** A hint at {@code max-files-to-rewrite} for plans that rewrite nothing; may be empty. */
  public String limitMessage() {
    List<LeftGroup> later = left.stream().filter(each -> each.isFor(Reason.MAX_FILES_TO_REWRITE)).toList();
    if (later.isEmpty()) {
      return "";
    }
    int files = later.stream().mapToInt(LeftGroup::dataFilesCount).sum();
    // The limit is that of the plan: maintenance has one of its own.
    Object limit = later.get(0).reasons().get(0).parameters().get("max_files_to_rewrite");
    return String.format(
        Locale.ROOT, " %,d more data files wait behind %s %,d: raise it to reach them.", files, MAX_FILES_TO_REWRITE, limit);
  }

  /** What the last commit writes as {@link UnchangedSince#SETTLED_FROM}; empty if the plan is not all there is. */
  public Optional<String> endMarker() {
    if (left.stream().anyMatch(each -> each.isFor(Reason.MAX_FILES_TO_REWRITE) || each.isFor(Reason.NOT_IN_PLAN))) {
      return Optional.empty();
    }
    boolean doYoungWait = left.stream().anyMatch(each -> each.isFor(Reason.YOUNG));
    return Optional.of(doYoungWait ? UnchangedSince.YOUNG_WAIT : String.valueOf(start.snapshotId()));
  }

  /** Whether a file group is left as it is if its rewrite is not predicted to gain. */
  public boolean mayLeave(FileGroup group) {
    return options().mayLeaveGroups() && !group.mustRewrite() && !Double.isInfinite(options().maxScanRatio());
  }

  /** How many data files the table has, or if its snapshot does not tell, how many the filter selects. */
  public long dataFiles() {
    int listed = groups.stream().mapToInt(group -> group.files().size()).sum();
    return history.dataFiles().orElse(listed + left.stream().mapToInt(LeftGroup::dataFilesCount).sum());
  }

  /** The bounds of the columns that rows are ordered by, of the data files that the filter selects; reads manifests unless the plan has them. */
  public FileBounds boundsOrRead(Table table) {
    return bounds.orElseGet(() -> spec.bounds(table, start.snapshotId()));
  }

  /**
   * Checks that the plan is not stale.
   *
   * @throws IllegalStateException if a planned file was removed or has other deletes, the schema or the partition spec has changed, or the
   *     branch or the table was replaced
   */
  public void checkIsCurrent(Table table) {
    if (groups.isEmpty()) {
      return;
    }
    long head = start.check(table);
    if (head != start.snapshotId()) {
      List<PlannedFile> planned = groups.stream().flatMap(group -> group.files().stream()).map(PlannedFile::of).toList();
      start.find(table, spec.scope().files(table, head), planned);
    }
  }
}
