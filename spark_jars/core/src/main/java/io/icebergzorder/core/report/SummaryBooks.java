package io.icebergzorder.core.report;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What snapshots have added and removed of one measure, as their summaries tell: of files, rows or bytes.
 *
 * @param gone of what each snapshot has added, what is not there any more
 * @param removed what each snapshot has removed
 * @param leaving what was there before each snapshot and is not now
 * @param hidden what is there and not among the files, because a filter has left it out
 */
record SummaryBooks(long[] gone, long[] removed, long[] leaving, long hidden) {

  /** What summaries call what was added, what was removed, and what is there in all. */
  private record Measure(String added, String removed, String total) {}

  private static final Measure FILES = new Measure("added-data-files", "deleted-data-files", "total-data-files");
  private static final Measure ROWS = new Measure("added-records", "deleted-records", "total-records");
  private static final Measure BYTES = new Measure("added-files-size", "removed-files-size", "total-files-size");
  private static final int MEASURES = 3;

  /**
   * Finds the first rewrite of another tool, after our newest one, that must have replaced files of ours. Summaries tell how much a
   * snapshot removed, and not what. So whatever was removed before is taken to have been ours as far as it can have been: a rewrite
   * that then removed more than all else that was there and is gone took ours.
   *
   * @param snapshots the snapshots of the branch, oldest first, one of ours among them
   * @param addedBy the snapshot that added each data file
   */
  static Optional<SnapshotFacts> undoneBy(List<SnapshotFacts> snapshots, long[] addedBy, DataFiles files) {
    List<SummaryBooks> books = all(snapshots, addedBy, files);
    int last = snapshots.stream().map(SnapshotFacts::isLayout).toList().lastIndexOf(true);
    long[] ours = new long[books.size()];
    for (int place = 0; place < snapshots.size(); place++) {
      SnapshotFacts snapshot = snapshots.get(place);
      boolean isOfAnother = place > last && snapshot.operation().equals(SnapshotFacts.REPLACE);
      boolean isAllOfOthers = books.size() == MEASURES;
      for (int i = 0; i < ours.length; i++) {
        long others = books.get(i).others(place, ours[i]);
        if (isOfAnother && books.get(i).removed[place] > others + books.get(i).hidden) {
          return Optional.of(snapshot);
        }
        // All that others had added and is gone, down to the byte: it was that, and nothing of ours.
        isAllOfOthers &= books.get(i).removed[place] == others;
      }
      for (int i = 0; i < ours.length; i++) {
        ours[i] = isAllOfOthers ? ours[i] : Math.max(0, ours[i] - books.get(i).removed[place]);
        ours[i] += snapshot.isLayout() ? books.get(i).gone[place] : 0;
      }
    }
    return Optional.empty();
  }

  private long others(int place, long ours) {
    return Math.max(0, leaving[place] - ours);
  }

  /** Reads the measures that every snapshot tells, files first. */
  private static List<SummaryBooks> all(List<SnapshotFacts> snapshots, long[] addedBy, DataFiles files) {
    long[] ones = new long[files.count()];
    Arrays.fill(ones, 1);
    List<SummaryBooks> found = new ArrayList<>();
    found.add(of(FILES, snapshots, addedBy, ones));
    if (areTold(ROWS, snapshots)) {
      found.add(of(ROWS, snapshots, addedBy, files.rows()));
    }
    // Sizes are those of delete files, too.
    boolean hasDeletes = snapshots.stream().anyMatch(each -> each.count("added-delete-files") + each.count("removed-delete-files") > 0);
    if (!hasDeletes && areTold(BYTES, snapshots)) {
      found.add(of(BYTES, snapshots, addedBy, files.sizes()));
    }
    return found;
  }

  private static boolean areTold(Measure measure, List<SnapshotFacts> snapshots) {
    return snapshots.stream()
        .allMatch(
            each ->
                (each.count(FILES.added) == 0 || each.summary().containsKey(measure.added))
                    && (each.count(FILES.removed) == 0 || each.summary().containsKey(measure.removed)));
  }

  private static SummaryBooks of(Measure measure, List<SnapshotFacts> snapshots, long[] addedBy, long[] amounts) {
    Map<Long, Long> there = new HashMap<>();
    for (int file = 0; file < amounts.length; file++) {
      there.merge(addedBy[file], amounts[file], Long::sum);
    }
    long[] gone = new long[snapshots.size()];
    long[] removed = new long[gone.length];
    long[] leaving = new long[gone.length];
    long later = 0;
    for (int place = gone.length - 1; place >= 0; place--) {
      SnapshotFacts each = snapshots.get(place);
      // What a snapshot has added without telling how much is not gone.
      gone[place] = Math.max(0, each.count(measure.added) - there.getOrDefault(each.id(), 0L));
      removed[place] = each.count(measure.removed);
      // All that goes is removed once: by this snapshot or a later one, which removed besides what came in between.
      later += removed[place] - gone[place];
      leaving[place] = later;
    }
    long inSight = Arrays.stream(amounts).sum();
    String total = snapshots.get(gone.length - 1).summary().get(measure.total);
    return new SummaryBooks(gone, removed, leaving, total == null ? 0 : Math.max(0, Long.parseLong(total) - inSight));
  }
}
