package io.icebergzorder.core.metrics;

import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * The history of a table's layout, from the snapshots that are kept.
 *
 * @param newerFiles the data files that others have written since our newest rewrite
 */
public record LayoutHistory(boolean isLaidOut, int newerFiles, long newerBytes) {
  /** Reads the snapshots of a branch, oldest first; {@code addedBy} has the snapshot that added each file. */
  public static LayoutHistory of(List<SnapshotFacts> snapshots, long[] addedBy, BoundedFiles files) {
    Set<Long> later = new HashSet<>();
    boolean isLaidOut = false;
    for (SnapshotFacts each : snapshots) {
      if (each.isLayout()) {
        isLaidOut = true;
        later.clear();
      } else if (isLaidOut) {
        later.add(each.id());
      }
    }
    int[] newer = IntStream.range(0, addedBy.length).filter(file -> later.contains(addedBy[file])).toArray();
    return new LayoutHistory(isLaidOut, newer.length, Arrays.stream(newer).mapToLong(file -> files.sizes()[file]).sum());
  }
}
