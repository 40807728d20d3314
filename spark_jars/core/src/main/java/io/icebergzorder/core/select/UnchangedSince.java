package io.icebergzorder.core.select;

import io.icebergzorder.core.metrics.SnapshotFacts;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * What is unchanged since rewrites by a request: whole partitions, and the files of an unfinished rewrite. Another rewrite by the same
 * request would choose none of these files.
 *
 * @param newer the snapshots that the newest of these rewrites did not see; null if it was incomplete, or if they are unknown
 * @param runs the rewrite of each of their snapshots
 * @param unfinished those of their snapshots that no end marker follows
 */
public record UnchangedSince(Set<Long> newer, Map<Long, String> runs, Set<Long> unfinished) {
  /** Summary key: the key of the rewrite's request, then a blank and the key of its workload, if any. */
  public static final String REQUEST = "zorder.request";

  /** Summary key: the id of the rewrite, common to its commits. */
  public static final String REWRITE_ID = "zorder.rewrite-id";

  /** Summary key of a rewrite's last commit, if it completed its plan: the planned snapshot, or {@link #YOUNG_WAIT}. */
  public static final String SETTLED_FROM = "zorder.settled-from-snapshot-id";

  /** The value of {@link #SETTLED_FROM} if the completed plan left files that were too young. */
  public static final String YOUNG_WAIT = "none";

  /**
   * Returns the rewrites by a request on a branch.
   *
   * @param request the key of the request, see {@link RequestKey}
   * @param snapshots the snapshots of the branch, oldest first, as far as they are kept
   * @return empty if there is no rewrite by that request
   */
  public static Optional<UnchangedSince> rewritesBy(String request, List<SnapshotFacts> snapshots) {
    Map<Long, String> runs = new HashMap<>();
    Set<Long> unfinished = new HashSet<>();
    SnapshotFacts last = null;
    for (SnapshotFacts each : snapshots) {
      // Writers may copy what the summary before theirs has.
      if (each.operation().equals(SnapshotFacts.REPLACE) && request.equals(each.summary().get(REQUEST))) {
        runs.put(each.id(), each.summary().getOrDefault(REWRITE_ID, ""));
        unfinished.add(each.id());
        if (each.summary().containsKey(SETTLED_FROM)) {
          unfinished.clear();
        }
        last = each;
      }
    }
    if (last == null) {
      return Optional.empty();
    }
    int seen = snapshots.stream().map(each -> String.valueOf(each.id())).toList().indexOf(last.summary().getOrDefault(SETTLED_FROM, ""));
    if (seen < 0) {
      return Optional.of(new UnchangedSince(null, runs, unfinished));
    }
    // Partial progress commits one after the other.
    String run = runs.get(last.id());
    Set<Long> newer =
        snapshots.subList(seen + 1, snapshots.size()).stream()
            .map(SnapshotFacts::id)
            .filter(id -> !run.equals(runs.get(id)))
            .collect(Collectors.toSet());
    return Optional.of(new UnchangedSince(newer, runs, unfinished));
  }

  /**
   * Whether a partition is unchanged: one rewrite wrote all of its files, or the newest rewrite saw or wrote them all.
   *
   * @param addedBy the snapshots that added them
   */
  public boolean covers(Collection<Long> addedBy) {
    Set<String> of = addedBy.stream().map(id -> runs.getOrDefault(id, "")).collect(Collectors.toSet());
    boolean areOfOne = of.size() == 1 && addedBy.stream().allMatch(runs::containsKey);
    return areOfOne || (newer != null && addedBy.stream().noneMatch(newer::contains));
  }

  /** The workload key of our rewrite; empty without a workload. */
  public static String workload(SnapshotFacts commit) {
    String request = commit.summary().getOrDefault(REQUEST, "");
    return request.contains(" ") ? request.substring(request.indexOf(' ') + 1) : "";
  }
}
