package io.icebergzorder.core.report;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * What a table's snapshots tell of its layout, as far as they are kept: how much of it is ours, what has come since, and who undid it.
 *
 * @param lastLayoutSnapshotId our newest rewrite, or null
 * @param lastLayoutTimestampMillis when it was made, or null
 * @param lastLayoutColumns its clustering columns, or null
 * @param laidOutFiles the data files that our rewrites have written
 * @param laidOutBytes their bytes
 * @param newerFiles the data files that others have written since our newest rewrite
 * @param newerBytes their bytes
 * @param undoneBySnapshotId the first rewrite of another tool after it that has replaced files of ours, as counts show; or null
 * @param undoneByTimestampMillis when that was made, or null
 */
public record LayoutHistory(
    Long lastLayoutSnapshotId,
    Long lastLayoutTimestampMillis,
    String lastLayoutColumns,
    long laidOutFiles,
    long laidOutBytes,
    long newerFiles,
    long newerBytes,
    Long undoneBySnapshotId,
    Long undoneByTimestampMillis) {
  /**
   * Reads the history of a branch.
   *
   * @param snapshots the snapshots of the branch, oldest first
   * @param addedBy the snapshot that added each data file; it may not be kept any more
   * @param files the data files
   */
  public static LayoutHistory of(List<SnapshotFacts> snapshots, long[] addedBy, DataFiles files) {
    List<SnapshotFacts> layouts = snapshots.stream().filter(SnapshotFacts::isLayout).toList();
    if (layouts.isEmpty()) {
      return new LayoutHistory(null, null, null, 0, 0, 0, 0, null, null);
    }
    SnapshotFacts last = layouts.get(layouts.size() - 1);
    List<SnapshotFacts> later = snapshots.subList(snapshots.indexOf(last) + 1, snapshots.size());
    int[] ours = filesOf(layouts, addedBy);
    int[] newer = filesOf(later, addedBy);
    Optional<SnapshotFacts> undoneBy = SummaryBooks.undoneBy(snapshots, addedBy, files);
    return new LayoutHistory(
        last.id(),
        last.timestampMillis(),
        last.summary().get(SnapshotFacts.COLUMNS),
        ours.length,
        Arrays.stream(ours).mapToLong(file -> files.sizes()[file]).sum(),
        newer.length,
        Arrays.stream(newer).mapToLong(file -> files.sizes()[file]).sum(),
        undoneBy.map(SnapshotFacts::id).orElse(null),
        undoneBy.map(SnapshotFacts::timestampMillis).orElse(null));
  }

  private static int[] filesOf(List<SnapshotFacts> snapshots, long[] addedBy) {
    Set<Long> ids = snapshots.stream().map(SnapshotFacts::id).collect(Collectors.toSet());
    return IntStream.range(0, addedBy.length).filter(file -> ids.contains(addedBy[file])).toArray();
  }
}
