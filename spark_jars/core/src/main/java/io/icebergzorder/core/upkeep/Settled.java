package io.icebergzorder.core.upkeep;

import io.icebergzorder.core.report.SnapshotFacts;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * What the newest rewrite by a request has settled: no other by the same request would choose anything of it.
 *
 * @param newer the snapshots whose data files it has not seen
 */
public record Settled(Set<Long> newer) {
  /** In a snapshot's summary: the key of what the rewrite was asked for. */
  public static final String REQUEST = "zorder.request";

  /** In a snapshot's summary, once a rewrite has done all it was to do: the snapshot that it was planned on. */
  public static final String SETTLED_FROM = "zorder.settled-from-snapshot-id";

  /** Why data files are left that are settled. */
  public static final String WHY = "as the last rewrite by the same request left them, and nothing has come since";

  private static final String HASH = "zorder.layout-hash";

  /** Takes a copy of the set. */
  public Settled {
    newer = Set.copyOf(newer);
  }

  /**
   * Finds what is settled.
   *
   * @param request the key of the request, see {@link RequestKey}
   * @param snapshots the snapshots of the branch, oldest first, as far as they are kept
   * @return empty if the newest rewrite by that request has left something to do, or it cannot be told what came since
   */
  public static Optional<Settled> by(String request, List<SnapshotFacts> snapshots) {
    SnapshotFacts last = null;
    for (SnapshotFacts each : snapshots) {
      last = request.equals(each.summary().get(REQUEST)) ? each : last;
    }
    String first = last == null ? null : last.summary().get(SETTLED_FROM);
    List<String> ids = snapshots.stream().map(each -> String.valueOf(each.id())).toList();
    if (first == null || !ids.contains(first)) {
      return Optional.empty();
    }
    // Partial progress commits one after the other, of the same layouts.
    String layouts = last.summary().get(HASH);
    Set<Long> newer =
        snapshots.subList(ids.indexOf(first) + 1, ids.size()).stream()
            .filter(each -> !request.equals(each.summary().get(REQUEST)) || !Objects.equals(layouts, each.summary().get(HASH)))
            .map(SnapshotFacts::id)
            .collect(Collectors.toSet());
    return Optional.of(new Settled(newer));
  }

  /** Why nothing is rewritten where all files are settled. */
  public static String whyNothing(String table, int files) {
    return String.format(
        Locale.ROOT,
        "Nothing to rewrite in %s: its %,d data files are %s. To rewrite them anyway, set option rewrite-all to true.",
        table, files, WHY);
  }
}
