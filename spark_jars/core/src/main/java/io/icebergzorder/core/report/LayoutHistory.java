package io.icebergzorder.core.report;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
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
 * @param settledFiles the data files of partitions, or of what a filter leaves of them, that one rewrite of ours wrote whole by the order
 *     that is reported on: another one would make the same again
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
    Long undoneByTimestampMillis,
    int settledFiles) {
  /**
   * Reads the history of a branch.
   *
   * @param snapshots the snapshots of the branch, oldest first
   * @param addedBy the snapshot that added each data file; it may not be kept any more
   * @param files the data files
   * @param isSame tells whether a rewrite of ours was by the order that is reported on
   */
  public static LayoutHistory of(
      List<SnapshotFacts> snapshots, long[] addedBy, DataFiles files, Predicate<SnapshotFacts> isSame) {
    List<SnapshotFacts> layouts = snapshots.stream().filter(SnapshotFacts::isLayout).toList();
    if (layouts.isEmpty()) {
      return new LayoutHistory(null, null, null, 0, 0, 0, 0, null, null, 0);
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
        undoneBy.map(SnapshotFacts::timestampMillis).orElse(null),
        settledFiles(snapshots, addedBy, files, isSame));
  }

  private static int[] filesOf(List<SnapshotFacts> snapshots, long[] addedBy) {
    Set<Long> ids = snapshots.stream().map(SnapshotFacts::id).collect(Collectors.toSet());
    return IntStream.range(0, addedBy.length).filter(file -> ids.contains(addedBy[file])).toArray();
  }

  /** Counts the files of partitions that one rewrite of ours wrote whole by the order that is asked about. */
  private static int settledFiles(
      List<SnapshotFacts> snapshots, long[] addedBy, DataFiles files, Predicate<SnapshotFacts> isSame) {
    Map<Long, Integer> rewriteOf = new HashMap<>();
    int number = 0;
    String before = null;
    for (SnapshotFacts each : snapshots) {
      String layouts = each.summary().get(SnapshotFacts.HASH);
      // Partial progress commits one after the other, of the same layouts.
      number += layouts == null || !layouts.equals(before) ? 1 : 0;
      before = layouts;
      if (each.isLayout() && isSame.test(each)) {
        rewriteOf.put(each.id(), number);
      }
    }
    return Arrays.stream(DataFiles.placesByNumber(files.partitions(), files.partitionNumbers()))
        .filter(
            places ->
                Arrays.stream(places).map(file -> rewriteOf.getOrDefault(addedBy[file], -1)).distinct().count() == 1
                    && rewriteOf.containsKey(addedBy[places[0]]))
        .mapToInt(places -> places.length)
        .sum();
  }
}
