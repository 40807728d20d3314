package io.icebergzorder.core.metrics;

import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.IntStream;

/**
 * The history of a table's layout, from the snapshots that are kept.
 *
 * @param newerFiles the data files that others have written since our newest rewrite
 * @param settledFiles the data files of partitions, or of what a filter leaves of them, that one rewrite of ours wrote whole by the order
 *     that is reported on: another one would make the same again
 */
public record LayoutHistory(boolean isLaidOut, int newerFiles, long newerBytes, int settledFiles) {
  /** Reads the snapshots of a branch, oldest first; {@code addedBy} has the snapshot that added each file. */
  public static LayoutHistory of(
      List<SnapshotFacts> snapshots, long[] addedBy, BoundedFiles files, Predicate<SnapshotFacts> isSame) {
    Set<Long> later = new HashSet<>();
    boolean isLaidOut = false;
    Map<Long, Integer> rewriteOf = new HashMap<>();
    int number = 0;
    String before = null;
    for (SnapshotFacts each : snapshots) {
      String layouts = each.summary().get(SnapshotFacts.HASH);
      // Partial progress commits one after the other, of the same layouts.
      number += layouts == null || !layouts.equals(before) ? 1 : 0;
      before = layouts;
      if (each.isLayout()) {
        isLaidOut = true;
        later.clear();
        if (isSame.test(each)) {
          rewriteOf.put(each.id(), number);
        }
      } else if (isLaidOut) {
        later.add(each.id());
      }
    }
    int[] newer = IntStream.range(0, addedBy.length).filter(file -> later.contains(addedBy[file])).toArray();
    int settled =
        Arrays.stream(BoundedFiles.placesByNumber(files.partitions(), files.partitionNumbers()))
            .filter(places -> places.length > 0 && rewriteOf.containsKey(addedBy[places[0]]))
            .filter(places -> Arrays.stream(places).map(file -> rewriteOf.getOrDefault(addedBy[file], -1)).distinct().count() == 1)
            .mapToInt(places -> places.length)
            .sum();
    return new LayoutHistory(isLaidOut, newer.length, Arrays.stream(newer).mapToLong(file -> files.sizes()[file]).sum(), settled);
  }
}
