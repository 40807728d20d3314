package io.icebergzorder.spark.plan;

import io.icebergzorder.core.metrics.SnapshotFacts;
import io.icebergzorder.core.select.SmallFileCompaction;
import io.icebergzorder.core.select.UnchangedSince;
import io.icebergzorder.spark.spec.CatalogTable;
import io.icebergzorder.spark.spec.ResolvedSortOrder;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotSummary;
import org.apache.iceberg.Table;

/** The snapshots of a branch, oldest first, as far as they are kept: empty for a branch without any. */
public record RewriteHistory(List<SnapshotFacts> snapshots) {
  /** The target size of the files of a rewrite, in bytes, and after a blank who has set it: an option, a property, or the data. */
  public static final String TARGET_FILE_SIZE = "zorder.target-file-size";

  /** How long a rewrite took until its commit, in milliseconds. */
  public static final String DURATION = "zorder.rewrite-duration-ms";

  /** Rewrites that tell how long another one will take: older ones may be of another cluster. */
  private static final int NEWEST = 5;

  /** Takes a copy of the list. */
  public RewriteHistory {
    snapshots = List.copyOf(snapshots);
  }

  /** Reads a table's metadata; {@code snapshotId} is null if the branch has no snapshot. */
  static RewriteHistory of(Table table, Long snapshotId) {
    return new RewriteHistory(snapshotId == null ? List.of() : CatalogTable.snapshotsTo(table, snapshotId));
  }

  private Stream<SnapshotFacts> newestFirst() {
    return IntStream.rangeClosed(1, snapshots.size()).mapToObj(i -> snapshots.get(snapshots.size() - i));
  }

  /** The target size of the last rewrite that tells it. */
  Optional<TargetSize> lastTarget() {
    return newestFirst()
        .filter(snapshot -> snapshot.targetFileSize() > 0)
        .findFirst()
        .map(snapshot -> TargetSize.ofLastLayout(snapshot.targetFileSize(), snapshot.targetFrom()));
  }

  /** The last rewrite of ours. */
  public Optional<SnapshotFacts> lastLayout() {
    return newestFirst().filter(SnapshotFacts::isLayout).findFirst();
  }

  /** How many data files the table has, if the newest snapshot tells. */
  OptionalLong dataFiles() {
    return snapshots.isEmpty() ? OptionalLong.empty() : snapshots.get(snapshots.size() - 1).number(SnapshotSummary.TOTAL_DATA_FILES_PROP);
  }

  /** How long a rewrite of so many bytes will take, by the rewrites before it. */
  public OptionalDouble expectedSeconds(long bytes) {
    List<SnapshotFacts> measured =
        newestFirst()
            .filter(each -> each.number(DURATION).isPresent() && each.number(SnapshotSummary.REMOVED_FILE_SIZE_PROP).isPresent())
            .limit(NEWEST)
            .toList();
    long millis = measured.stream().mapToLong(each -> each.count(DURATION)).sum();
    long rewritten = measured.stream().mapToLong(each -> each.count(SnapshotSummary.REMOVED_FILE_SIZE_PROP)).sum();
    return rewritten > 0 ? OptionalDouble.of((double) bytes * ((double) millis / rewritten) / 1000) : OptionalDouble.empty();
  }

  /**
   * The rewrites that a new one takes into account.
   *
   * @param since the rewrites by the same request; empty without any
   * @param runs the rewrites to files of the same size, by their snapshots
   * @param addedBy which snapshots have added files; null if both of these are empty
   * @param budget the bytes that the new one may take for gain
   */
  record Earlier(Optional<UnchangedSince> since, Map<Long, String> runs, AddedBy addedBy, long budget) {
    static final Earlier NONE = new Earlier(Optional.empty(), Map.of(), null, Long.MAX_VALUE);

    /** Whether the data files of a partition are unchanged since a rewrite by the same request. */
    boolean covers(List<FileScanTask> files) {
      return since.isPresent() && since.get().covers(files.stream().map(task -> addedBy.snapshotOf(task.file())).toList());
    }

    /** Whether an unfinished rewrite by the same request has written a data file. */
    boolean hasWritten(FileScanTask task) {
      return since.isPresent() && since.get().unfinished().contains(addedBy.snapshotOf(task.file()));
    }

    /** The rewrite to files of the same size that wrote a data file; {@link SmallFileCompaction#NONE} for others. */
    String rewriteOf(FileScanTask task) {
      return runs.isEmpty() ? SmallFileCompaction.NONE : runs.getOrDefault(addedBy.snapshotOf(task.file()), SmallFileCompaction.NONE);
    }
  }

  /**
   * Finds what a rewrite takes into account. Of tables of version 1 manifests may be read for it.
   *
   * @param request the key of the rewrite; null if files that the same one has written count as any others
   * @param workload the key of its workload; empty without one
   */
  Earlier earlier(Table table, String request, ResolvedSortOrder order, String workload, long target) {
    Optional<UnchangedSince> since = Optional.ofNullable(request).flatMap(key -> UnchangedSince.rewritesBy(key, snapshots));
    Map<Long, String> runs = SmallFileCompaction.rewritesTo(snapshots, target);
    List<SnapshotFacts> like =
        snapshots.stream().filter(each -> each.isBy(order.sortOrder()) && UnchangedSince.workload(each).equals(workload)).toList();
    return new Earlier(
        since,
        runs,
        since.isEmpty() && runs.isEmpty() ? null : new AddedBy(table, snapshots),
        SmallFileCompaction.rewriteBudget(SmallFileCompaction.rewritesTo(like, target), snapshots));
  }

  /** Finds the snapshot that has added a data file: the one whose sequence number the file has. */
  // Snapshots of tables of version 1 have none, so that what they added is read from their manifests; that is done only where one of our
  // rewrites is among them, for nobody asks else.
  public static final class AddedBy {
    /** Of a file that was added by a snapshot which is not kept any more. */
    private static final long UNKNOWN = -1;

    private final Map<Long, Long> bySequenceNumber = new HashMap<>();
    private final Map<String, Long> byLocation = new HashMap<>();

    /** Takes note of what the snapshots of a branch, oldest first, have added. */
    public AddedBy(Table table, List<SnapshotFacts> history) {
      for (Snapshot snapshot : table.snapshots()) {
        if (snapshot.sequenceNumber() > 0) {
          bySequenceNumber.put(snapshot.sequenceNumber(), snapshot.snapshotId());
        }
      }
      history.stream()
          .dropWhile(each -> !each.isLayout())
          .map(each -> table.snapshot(each.id()))
          .filter(snapshot -> snapshot.sequenceNumber() == 0)
          .forEach(
              snapshot ->
                  snapshot
                      .addedDataFiles(table.io())
                      .forEach(file -> byLocation.put(file.location(), snapshot.snapshotId())));
    }

    /** The id of the snapshot that has added a file; -1 if that is not kept, or adds nothing of ours. */
    public long snapshotOf(DataFile file) {
      Long sequenceNumber = file.fileSequenceNumber();
      return sequenceNumber != null && sequenceNumber > 0
          ? bySequenceNumber.getOrDefault(sequenceNumber, UNKNOWN)
          : byLocation.getOrDefault(file.location(), UNKNOWN);
    }
  }
}
