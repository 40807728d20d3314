package io.icebergzorder.spark.plan;

import io.icebergzorder.core.metrics.SnapshotFacts;
import io.icebergzorder.core.select.SmallFileCompaction;
import io.icebergzorder.core.select.UnchangedSince;
import io.icebergzorder.spark.spec.ResolvedReport;
import io.icebergzorder.spark.spec.ResolvedSortOrder;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotSummary;
import org.apache.iceberg.Table;
import org.apache.iceberg.util.SnapshotUtil;

/** The earlier rewrites of a branch, read from its snapshots. */
public final class RewriteHistory {
  /** The target size of the files of a rewrite, in bytes, and after a blank who has set it: an option, a property, or the data. */
  public static final String TARGET_FILE_SIZE = "zorder.target-file-size";

  /** How long a rewrite took until its commit, in milliseconds. */
  public static final String DURATION = "zorder.rewrite-duration-ms";

  /** Rewrites that tell how long another one will take: older ones may be of another cluster. */
  private static final int NEWEST = 5;

  private final Table table;
  private final long snapshotId;

  RewriteHistory(Table table, long snapshotId) {
    this.table = table;
    this.snapshotId = snapshotId;
  }

  private Stream<Snapshot> newestFirst() {
    return StreamSupport.stream(SnapshotUtil.ancestorsOf(snapshotId, table::snapshot).spliterator(), false);
  }

  /** The target size of the last rewrite that tells it. */
  Optional<TargetSize> lastTarget() {
    return newestFirst()
        .map(ResolvedReport::facts)
        .filter(snapshot -> snapshot.targetFileSize() > 0)
        .findFirst()
        .map(snapshot -> TargetSize.ofLastLayout(snapshot.targetFileSize(), snapshot.targetFrom()));
  }

  /** The rewrites by a request, if there are any, and which snapshots have added files. */
  record Unchanged(UnchangedSince since, AddedBy addedBy) {
    static final Unchanged NOTHING = new Unchanged(null, null);

    /** Whether the data files of a partition are unchanged since a rewrite by the same request. */
    boolean covers(List<FileScanTask> files) {
      return since != null && since.covers(files.stream().map(task -> addedBy.snapshotOf(task.file())).toList());
    }

    /** Whether an unfinished rewrite by the same request has written a data file. */
    boolean isWritten(FileScanTask task) {
      return since != null && since.unfinished().contains(addedBy.snapshotOf(task.file()));
    }
  }

  Unchanged unchangedSince(String request) {
    List<SnapshotFacts> snapshots = ResolvedReport.snapshotsTo(table, snapshotId);
    return UnchangedSince.rewritesBy(request, snapshots).map(since -> new Unchanged(since, new AddedBy(table, snapshots))).orElse(Unchanged.NOTHING);
  }

  /** Which earlier rewrite to files of the same size wrote a data file, {@link SmallFileCompaction#NONE} for others; and bytes for the next one. */
  record Like(Function<FileScanTask, String> rewriteOf, long budget) {}

  Like like(ResolvedSortOrder order, String workload, long target) {
    List<SnapshotFacts> snapshots = ResolvedReport.snapshotsTo(table, snapshotId);
    Map<Long, String> runs = SmallFileCompaction.rewritesTo(snapshots, target);
    AddedBy addedBy = runs.isEmpty() ? null : new AddedBy(table, snapshots);
    List<SnapshotFacts> like =
        snapshots.stream().filter(each -> each.isBy(order.sortOrder()) && UnchangedSince.workload(each).equals(workload)).toList();
    return new Like(
        task -> runs.isEmpty() ? SmallFileCompaction.NONE : runs.getOrDefault(addedBy.snapshotOf(task.file()), SmallFileCompaction.NONE),
        SmallFileCompaction.rewriteBudget(SmallFileCompaction.rewritesTo(like, target), snapshots));
  }

  /** The last rewrite of ours. */
  public Optional<SnapshotFacts> lastLayout() {
    return newestFirst().map(ResolvedReport::facts).filter(SnapshotFacts::isLayout).findFirst();
  }

  /** How many data files the table has, if the snapshot tells. */
  OptionalLong dataFiles() {
    long files = number(table.snapshot(snapshotId), SnapshotSummary.TOTAL_DATA_FILES_PROP);
    return files < 0 ? OptionalLong.empty() : OptionalLong.of(files);
  }

  /** How long a rewrite of so many bytes will take, by the rewrites before it. */
  public OptionalDouble expectedSeconds(long bytes) {
    long[] sums =
        newestFirst()
            .filter(each -> number(each, DURATION) >= 0 && number(each, SnapshotSummary.REMOVED_FILE_SIZE_PROP) >= 0)
            .limit(NEWEST)
            .map(each -> new long[] {number(each, DURATION), number(each, SnapshotSummary.REMOVED_FILE_SIZE_PROP)})
            .reduce(new long[2], (sum, each) -> new long[] {sum[0] + each[0], sum[1] + each[1]});
    return sums[1] > 0 ? OptionalDouble.of((double) bytes * ((double) sums[0] / sums[1]) / 1000) : OptionalDouble.empty();
  }

  /** A number of a snapshot's summary; -1 if there is none. */
  private static long number(Snapshot snapshot, String name) {
    String text = snapshot.summary().get(name);
    return text != null && text.matches("[0-9]{1,18}") ? Long.parseLong(text) : -1;
  }
}
