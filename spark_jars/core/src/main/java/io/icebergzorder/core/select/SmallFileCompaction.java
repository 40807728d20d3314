package io.icebergzorder.core.select;

import io.icebergzorder.core.metrics.SnapshotFacts;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The history of a branch: the small files that wait, and the bytes that the next rewrite may take.
 *
 * <p>Small files of a rewrite wait until as many bytes are beside them. So a byte is rewritten only each time that its table doubles, as in
 * the tiers of a log-structured merge-tree (O'Neil et al., Acta Informatica 33, 1996).
 */
public final class SmallFileCompaction {
  /** Stands for the rewrite of a new file, which has none. */
  public static final String NONE = "";

  private static final String ADDED = "added-files-size";
  private static final String TOTAL = "total-files-size";
  private static final long BYTES_PER_NEW_BYTE = 17;

  private SmallFileCompaction() {}

  /** Returns the rewrite of each snapshot, for rewrites with this target size. */
  public static Map<Long, String> rewritesTo(List<SnapshotFacts> snapshots, long target) {
    // Writers may copy what the summary before theirs has.
    return snapshots.stream()
        .filter(each -> each.isLayout() && each.operation().equals(SnapshotFacts.REPLACE))
        .filter(each -> each.summary().containsKey(UnchangedSince.REWRITE_ID) && each.targetFileSize() == target)
        .collect(Collectors.toMap(SnapshotFacts::id, each -> each.summary().get(UnchangedSince.REWRITE_ID)));
  }

  /**
   * The bytes that the next rewrite for gain may take: 17 per added byte, less the bytes rewritten. Commits of one request up to its end
   * marker ({@link UnchangedSince#SETTLED_FROM}) are one rewrite, also if calls were killed. Both sums begin with the call that ended the
   * oldest rewrite of at least half of the table. One of the 17 bytes is the first rewrite of an added byte.
   *
   * @param like the rewrites by the same columns and workload, see {@link #rewritesTo}
   * @param snapshots the snapshots of the branch, oldest first, as far as they are kept
   * @return at least 0; {@link Long#MAX_VALUE} without such a rewrite, because there is no cap
   */
  public static long rewriteBudget(Map<Long, String> like, List<SnapshotFacts> snapshots) {
    long total = snapshots.isEmpty() ? 0 : snapshots.get(snapshots.size() - 1).count(TOTAL);
    Map<String, Long> sizes = new HashMap<>(); // by request, since its last end marker
    String first = null;
    for (SnapshotFacts each : snapshots) {
      if (first == null && like.containsKey(each.id())) {
        String request = each.summary().getOrDefault(UnchangedSince.REQUEST, "");
        sizes.merge(request, each.count(ADDED), Long::sum);
        if (each.summary().containsKey(UnchangedSince.SETTLED_FROM) && 2 * sizes.remove(request) >= total) {
          first = like.get(each.id());
        }
      }
    }
    if (first == null) {
      return Long.MAX_VALUE;
    }
    String from = first;
    long budget = 0;
    for (SnapshotFacts each : snapshots.stream().dropWhile(each -> !from.equals(like.get(each.id()))).toList()) {
      if (!each.operation().equals(SnapshotFacts.REPLACE)) {
        budget += BYTES_PER_NEW_BYTE * each.count(ADDED);
      } else if (!like.getOrDefault(each.id(), from).equals(from)) {
        budget -= each.count(ADDED);
      }
    }
    return Math.max(0, budget);
  }

  /**
   * Which small files of a partition are merged: new files, and files of a rewrite if the others have at least as many bytes.
   *
   * @param rewrites the rewrite that wrote each of them; {@link #NONE} for a new file
   */
  public static boolean[] toMerge(long[] sizes, List<String> rewrites) {
    Map<String, Long> bytesOf = new HashMap<>(Map.of(NONE, 0L));
    IntStream.range(0, sizes.length).forEach(file -> bytesOf.merge(rewrites.get(file), sizes[file], Long::sum));
    long taken = bytesOf.remove(NONE);
    Set<String> joined = new HashSet<>(Set.of(NONE));
    for (Map.Entry<String, Long> rewrite : bytesOf.entrySet().stream().sorted(Map.Entry.comparingByValue()).toList()) {
      if (rewrite.getValue() > taken) {
        break;
      }
      taken += rewrite.getValue();
      joined.add(rewrite.getKey());
    }
    boolean[] are = new boolean[sizes.length];
    IntStream.range(0, are.length).forEach(file -> are[file] = joined.contains(rewrites.get(file)));
    return are;
  }
}
