package io.icebergzorder.core.upkeep;

import io.icebergzorder.core.report.SnapshotFacts;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * What the history of a branch says of the next rewrite: which small files wait, and how many bytes it may take.
 *
 * <p>Were the small files of a rewrite gathered again with each few files that come, every byte would be written again each time. Where a
 * rewrite waits for as many bytes as it has itself, a byte is written again as often only as its table doubles: so do the tiers of a
 * log-structured merge-tree (O'Neil et al., "The log-structured merge-tree (LSM-tree)", Acta Informatica 33, 1996).
 */
public final class Gathering {
  /** The rewrite of a new file. */
  public static final String NONE = "";

  private static final String ADDED = "added-files-size";
  private static final String TOTAL = "total-files-size";
  private static final long BYTES_PER_NEW_BYTE = 17;

  private Gathering() {}

  /**
   * Finds the rewrites to files of a size.
   *
   * @param snapshots the snapshots of the branch, as far as they are kept
   * @param target bytes that new files are to have
   * @return their snapshots, and the rewrite: it is one for all its commits
   */
  public static Map<Long, String> rewritesTo(List<SnapshotFacts> snapshots, long target) {
    // Writers may copy what the summary before theirs has.
    return snapshots.stream()
        .filter(each -> each.isLayout() && each.operation().equals(SnapshotFacts.REPLACE))
        .filter(each -> each.summary().containsKey(Settled.REWRITE_ID))
        .filter(each -> each.targetFileSize() == target)
        .collect(Collectors.toMap(SnapshotFacts::id, each -> each.summary().get(Settled.REWRITE_ID)));
  }

  /**
   * Finds those of them that are by a sort order, and for the same queries.
   *
   * @param isBy whether a rewrite is by the order, see {@link SnapshotFacts#isBy}
   * @param workload the key of the queries, see {@link RequestKey#ofWorkload}; empty for cuts that are made for none
   */
  public static Map<Long, String> rewritesLike(
      List<SnapshotFacts> snapshots, long target, Predicate<SnapshotFacts> isBy, String workload) {
    return rewritesTo(
        snapshots.stream().filter(isBy).filter(each -> Settled.workload(each).equals(workload)).toList(),
        target);
  }

  /**
   * Bytes that the next rewrite for gain may take: 17 for each byte that came, less what rewrites have written. Both are counted from the
   * oldest rewrite of half of the table or more. One byte of the 17 is the first rewrite of the byte.
   *
   * @param runs the snapshots of rewrites by the same order, see {@link #rewritesLike}
   * @param snapshots the snapshots of the branch, oldest first, as far as they are kept
   * @return 0 or more; {@link Long#MAX_VALUE} without such a rewrite, for there is no cap
   */
  public static long rewriteBudget(Map<Long, String> runs, List<SnapshotFacts> snapshots) {
    long total = snapshots.isEmpty() ? 0 : snapshots.get(snapshots.size() - 1).count(TOTAL);
    Map<String, Long> sizes = new LinkedHashMap<>();
    snapshots.stream()
        .filter(each -> runs.containsKey(each.id()))
        .forEach(each -> sizes.merge(runs.get(each.id()), each.count(ADDED), Long::sum));
    String oldest = sizes.keySet().stream().filter(run -> 2 * sizes.get(run) >= total).findFirst().orElse(null);
    if (oldest == null) {
      return Long.MAX_VALUE;
    }
    boolean isSince = false;
    long budget = 0;
    for (SnapshotFacts each : snapshots) {
      String run = runs.getOrDefault(each.id(), oldest);
      if (isSince && !each.operation().equals(SnapshotFacts.REPLACE)) {
        budget += BYTES_PER_NEW_BYTE * each.count(ADDED);
      }
      if (isSince && !run.equals(oldest)) {
        budget -= each.count(ADDED);
      }
      isSince |= oldest.equals(runs.get(each.id()));
    }
    return Math.max(0, budget);
  }

  /**
   * Which small files of a partition are gathered: new ones, and those of a rewrite if they are no more bytes than all that are gathered
   * without them.
   *
   * @param sizes their bytes
   * @param rewrites the rewrite that wrote each of them, as {@link #rewritesTo} finds them; empty for a new file
   */
  public static boolean[] gathered(long[] sizes, List<String> rewrites) {
    Map<String, Long> bytesOf = new HashMap<>(Map.of(NONE, 0L));
    for (int file = 0; file < sizes.length; file++) {
      bytesOf.merge(rewrites.get(file), sizes[file], Long::sum);
    }
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

  /** Whether new files are so much fewer that this is worth a rewrite, if filters read no more: half as many. */
  public static boolean makesFew(int files, int newFiles) {
    return 2L * newFiles <= files;
  }
}
