package io.icebergzorder.core.select;

import io.icebergzorder.core.metrics.SnapshotFacts;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The partitions that are unchanged since rewrites by a request: another rewrite by the same request would choose none of their files.
 *
 * @param newer the snapshots whose data files the newest of them has not seen; null if it has left something to do, or what came since
 *     cannot be told
 * @param runs the snapshots of these rewrites, and the rewrite: it is one for all its commits
 */
public record UnchangedSince(Set<Long> newer, Map<Long, String> runs) {
  /** In a snapshot's summary: the key of what the rewrite was asked for, and after a blank that of its workload. */
  public static final String REQUEST = "zorder.request";

  /** In a snapshot's summary: what tells the commits of a rewrite from those of others. */
  public static final String REWRITE_ID = "zorder.rewrite-id";

  /** In a snapshot's summary, once a rewrite has done all it was to do: the snapshot that it was planned on. */
  public static final String SETTLED_FROM = "zorder.settled-from-snapshot-id";

  /**
   * What is unchanged since the rewrites by a request.
   *
   * @param request the key of the request, see {@link RequestKey}
   * @param snapshots the snapshots of the branch, oldest first, as far as they are kept
   * @return empty if there is no rewrite by that request
   */
  public static Optional<UnchangedSince> rewritesBy(String request, List<SnapshotFacts> snapshots) {
    Map<Long, String> runs = new HashMap<>();
    SnapshotFacts last = null;
    for (SnapshotFacts each : snapshots) {
      // Writers may copy what the summary before theirs has.
      if (each.operation().equals(SnapshotFacts.REPLACE) && request.equals(each.summary().get(REQUEST))) {
        runs.put(each.id(), each.summary().getOrDefault(REWRITE_ID, ""));
        last = each;
      }
    }
    if (last == null) {
      return Optional.empty();
    }
    int seen = snapshots.stream().map(each -> String.valueOf(each.id())).toList().indexOf(last.summary().getOrDefault(SETTLED_FROM, ""));
    if (seen < 0) {
      return Optional.of(new UnchangedSince(null, runs));
    }
    // Partial progress commits one after the other.
    String run = runs.get(last.id());
    Set<Long> newer =
        snapshots.subList(seen + 1, snapshots.size()).stream()
            .map(SnapshotFacts::id)
            .filter(id -> !run.equals(runs.get(id)))
            .collect(Collectors.toSet());
    return Optional.of(new UnchangedSince(newer, runs));
  }

  /**
   * Whether a partition is unchanged: one rewrite wrote them all, or the newest one has seen or written them all.
   *
   * @param addedBy the snapshots that added them
   */
  public boolean covers(Collection<Long> addedBy) {
    Set<String> of = addedBy.stream().map(id -> runs.getOrDefault(id, "")).collect(Collectors.toSet());
    boolean areOfOne = of.size() == 1 && addedBy.stream().allMatch(runs::containsKey);
    return areOfOne || (newer != null && addedBy.stream().noneMatch(newer::contains));
  }

  /** The key of the queries that a rewrite of ours was for; empty where there were none. */
  public static String workload(SnapshotFacts commit) {
    String request = commit.summary().getOrDefault(REQUEST, "");
    return request.contains(" ") ? request.substring(request.indexOf(' ') + 1) : "";
  }
}
