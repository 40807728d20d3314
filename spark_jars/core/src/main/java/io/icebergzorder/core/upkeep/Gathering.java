package io.icebergzorder.core.upkeep;

import io.icebergzorder.core.report.SnapshotFacts;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/**
 * Small files that are gathered into fewer: new ones, and those of earlier rewrites once as many bytes have come.
 *
 * <p>A rewrite may leave files below {@code min-file-size-bytes}: of a small table, or finer ones of a small part of a partition. Were these
 * gathered again with each few files that come, every byte would be written again at each run. Where a rewrite waits for as many bytes as
 * it has itself, a byte is written again as often only as its table doubles: so do the tiers of a log-structured merge-tree (O'Neil et
 * al., "The log-structured merge-tree (LSM-tree)", Acta Informatica 33, 1996).
 */
public final class Gathering {
  /** Why data files of an earlier rewrite are left. */
  public static final String WHY =
      "small, as a rewrite to files of this size left them, and small files with fewer bytes than these have come since";

  /** The rewrite of a new file. */
  public static final long NONE = -1;

  private static final String ADDED = "added-files-size";
  private static final String TOTAL = "total-files-size";
  private static final long BYTES_PER_NEW_BYTE = 17;
  private static final String TARGET = "zorder.target-file-size-bytes";

  private Gathering() {}

  /**
   * Finds the rewrites to files of a size.
   *
   * @param target bytes that new files are to have
   * @param snapshots the snapshots of the branch, as far as they are kept
   * @return the ids of their snapshots
   */
  public static Set<Long> rewritesTo(long target, List<SnapshotFacts> snapshots) {
    // Writers may copy what the summary before theirs has.
    return snapshots.stream()
        .filter(each -> each.operation().equals(SnapshotFacts.REPLACE) && each.summary().containsKey(Settled.HASH))
        .filter(each -> String.valueOf(target).equals(each.summary().get(TARGET)))
        .map(SnapshotFacts::id)
        .collect(Collectors.toSet());
  }

  /**
   * Finds the rewrites by a sort order, for the same queries: what they wrote shows what comes of others.
   *
   * @param target bytes that new files are to have
   * @param isBy whether a rewrite is by the order, see {@link SnapshotFacts#isBy}
   * @param workload the key of the queries, see {@link RequestKey#ofWorkload}; empty for cuts that are made for none
   * @param snapshots the snapshots of the branch, as far as they are kept
   * @return their snapshots, and the rewrite: it is one for all its commits
   */
  public static Map<Long, String> rewritesBy(
      long target, Predicate<SnapshotFacts> isBy, String workload, List<SnapshotFacts> snapshots) {
    Set<Long> wanted = rewritesTo(target, snapshots);
    return snapshots.stream()
        .filter(each -> wanted.contains(each.id()) && isBy.test(each))
        .filter(each -> each.summary().getOrDefault(RequestKey.WORKLOAD, "").equals(workload))
        .collect(Collectors.toMap(SnapshotFacts::id, Settled::rewriteId));
  }

  /**
   * Bytes that the next rewrite for gain may take: 17 for each byte that came, less what rewrites have written. Both are counted from the
   * oldest rewrite of half of the table or more. One byte of the 17 is the first rewrite of the byte.
   *
   * @param runs the snapshots of rewrites by the same order, see {@link #rewritesBy}
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
   * @param rewrites the rewrite that wrote each of them, as {@link #rewritesTo} finds them; {@link #NONE} for a new file
   */
  public static boolean[] gathered(long[] sizes, long[] rewrites) {
    Map<Long, Long> bytesOf = new HashMap<>();
    for (int file = 0; file < sizes.length; file++) {
      if (rewrites[file] != NONE) {
        bytesOf.merge(rewrites[file], sizes[file], Long::sum);
      }
    }
    long taken = LongStream.of(sizes).sum() - bytesOf.values().stream().mapToLong(Long::longValue).sum();
    Set<Long> joined = new HashSet<>(Set.of(NONE));
    for (Map.Entry<Long, Long> rewrite : bytesOf.entrySet().stream().sorted(Comparator.comparing(Map.Entry::getValue)).toList()) {
      if (rewrite.getValue() > taken) {
        break;
      }
      taken += rewrite.getValue();
      joined.add(rewrite.getKey());
    }
    boolean[] are = new boolean[sizes.length];
    for (int file = 0; file < are.length; file++) {
      are[file] = joined.contains(rewrites[file]);
    }
    return are;
  }

  /** Whether new files are so much fewer that this is worth a rewrite, if filters read no more: half as many. */
  public static boolean makesFew(int files, int newFiles) {
    return 2L * newFiles <= files;
  }
}
