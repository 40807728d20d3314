"""The history of a branch: files that need no second rewrite, small files that wait, and the byte budget.

Small files of a rewrite wait until as many bytes are beside them. So a byte is rewritten only each time that its table
doubles, as in the tiers of a log-structured merge-tree (O'Neil et al., Acta Informatica 33, 1996).
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import dropwhile, takewhile

import numpy as np
import numpy.typing as npt

from iceberg_zorder.metrics.history import REPLACE, SnapshotFacts
from iceberg_zorder.rewrite.snapshot_keys import REQUEST, REWRITE_ID, SETTLED_FROM

# Options that affect how a rewrite runs, but not its result.
_OF_ONE_RUN = re.compile(
    "dry-run|max-concurrent-file-group-rewrites|max-file-group-size-bytes|max-files-to-rewrite|memory-limit-bytes|"
    "min-age-seconds|on-conflict|partial-progress[.].*|remove-dangling-deletes|rewrite-all|rewrite-job-order|"
    "sample-seed|spill-directory|use-starting-sequence-number"
)


def request_key(
    sort_order: str,
    where: str,
    ids: tuple[int, int],
    target: int,
    options: Mapping[str, str],
    properties: Mapping[str, str],
) -> str:
    """Return the key of a rewrite's request; ``ids`` are the schema and the partition spec."""
    written = [f"{name}={value}" for name, value in options.items() if not _OF_ONE_RUN.fullmatch(name)]
    # How files are written.
    written += [f"{name}={value}" for name, value in properties.items() if name.startswith("write.")]
    return key_of([sort_order, where, f"schema {ids[0]}", f"spec {ids[1]}", f"{target} bytes", *sorted(written)])


def workload_key(queries: Iterable[tuple[str, float]]) -> str:
    """Return the key of a workload's queries, which replaces option ``workload`` in a request's key."""
    # One line per query with the bits of its weight, because the engines print numbers differently.
    return key_of([*(f"{struct.pack('>d', weight).hex()}\t{text}" for text, weight in queries), ""])


def key_of(lines: Iterable[str]) -> str:
    """Return a key of 16 hexadecimal digits for lines of text."""
    # An option may name a directory whose name is no text.
    return hashlib.sha256("\n".join(lines).encode(errors="surrogatepass")).hexdigest()[:16]


def workload_of(commit: SnapshotFacts) -> str:
    """Return the workload key of one of our rewrites; empty without a workload."""
    return commit.summary.get(REQUEST, "").partition(" ")[2]


@dataclass(frozen=True)
class UnchangedSince:
    """What is unchanged since rewrites by a request: whole partitions, and the files of an unfinished rewrite."""

    newer: frozenset[int] | None  # snapshots that the newest rewrite did not see; None if it was incomplete
    runs: Mapping[int, str]  # the rewrite of each of their snapshots
    unfinished: frozenset[int] = frozenset()  # those of their snapshots that no end marker follows

    @staticmethod
    def rewrites_by(request: str, snapshots: Sequence[SnapshotFacts]) -> UnchangedSince | None:
        """Return the rewrites by a request on a branch, given its snapshots oldest first; None without any."""
        runs = {
            each.snapshot_id: each.summary.get(REWRITE_ID, "")
            for each in snapshots
            # Writers may copy the previous summary.
            if each.operation == REPLACE and each.summary.get(REQUEST) == request
        }
        if not runs:
            return None
        newest_first = (each for each in reversed(snapshots) if each.snapshot_id in runs)
        open_ = takewhile(lambda each: SETTLED_FROM not in each.summary, newest_first)
        unfinished = frozenset(each.snapshot_id for each in open_)
        ids, last = [str(each.snapshot_id) for each in snapshots], [*runs][-1]
        planned_on = snapshots[ids.index(str(last))].summary.get(SETTLED_FROM)
        if planned_on not in ids:
            return UnchangedSince(None, runs, unfinished)
        newer = (each.snapshot_id for each in snapshots[ids.index(planned_on) + 1 :])
        # With partial progress, a rewrite has several commits.
        return UnchangedSince(frozenset(each for each in newer if runs.get(each) != runs[last]), runs, unfinished)

    def covers(self, added_by: Collection[int | None]) -> bool:
        """Return whether one rewrite wrote all files of a partition, or the newest one saw or wrote them all.

        ``added_by`` has the snapshot that added each file, None if unknown.
        """
        known = {each for each in added_by if each is not None}
        runs = {self.runs.get(each) for each in known}
        is_of_one = len(runs) == 1 and None not in runs
        return None not in added_by and (is_of_one or (self.newer is not None and self.newer.isdisjoint(known)))


_ADDED, _TOTAL = "added-files-size", "total-files-size"
_BYTES_PER_NEW_BYTE = 17
NO_CAP = 2**63 - 1
"""A budget that allows everything."""


def rewrites_to(snapshots: Iterable[SnapshotFacts], target: int) -> dict[int, str]:
    """Return the rewrite of each snapshot, for rewrites with this target size."""
    return {
        each.snapshot_id: each.summary[REWRITE_ID]
        for each in snapshots
        if each.is_rewrite and REWRITE_ID in each.summary and each.target is not None and each.target[0] == target
    }


def rewrite_budget(like: Mapping[int, str], snapshots: Sequence[SnapshotFacts]) -> int:
    """Return the bytes that the next rewrite for gain may take: 17 per added byte, less the bytes rewritten.

    Commits of one request up to its end marker (:data:`SETTLED_FROM`) are one rewrite, also if calls were killed. Both
    sums begin with the call that ended the oldest rewrite of at least half of the table; without one there is no cap.
    One of the 17 bytes is the first rewrite of an added byte. ``snapshots`` are those of the branch, oldest first;
    ``like`` has the snapshots of rewrites by the same columns and workload.

    Examples
    --------
    >>> facts = (("replace", "900"), ("append", "10"), ("replace", "70"), ("append", "10"), ("replace", "5"))
    >>> ended = {SETTLED_FROM: "7"}
    >>> snapshots = [
    ...     SnapshotFacts(at, 0, op, {"added-files-size": size, **(ended if op == "replace" else {})})
    ...     for at, (op, size) in enumerate(facts)
    ... ]
    >>> rewrite_budget({0: "a", 2: "b"}, snapshots), rewrite_budget({}, snapshots)
    (270, 9223372036854775807)
    """
    total = snapshots[-1].count(_TOTAL) if snapshots else 0
    sizes: Counter[str] = Counter()  # by request, since its last end marker
    for each in snapshots:
        if each.snapshot_id in like:
            request = each.summary.get(REQUEST, "")
            sizes[request] += each.count(_ADDED)
            if SETTLED_FROM in each.summary and 2 * sizes.pop(request) >= total:
                first = like[each.snapshot_id]
                break
    else:
        return NO_CAP
    budget = 0
    for each in dropwhile(lambda each: like.get(each.snapshot_id) != first, snapshots):
        if each.operation != REPLACE:
            budget += _BYTES_PER_NEW_BYTE * each.count(_ADDED)
        elif like.get(each.snapshot_id, first) != first:
            budget -= each.count(_ADDED)
    return max(0, budget)


def small_files_to_merge(sizes: Sequence[int], rewrites: Sequence[str | None]) -> npt.NDArray[np.bool_]:
    """Return which small files are merged: new files, and files of a rewrite if the others have at least as many bytes.

    Examples
    --------
    >>> small_files_to_merge([20, 20, 30, 10, 95], [None, None, "1", "1", "2"]).tolist()
    [True, True, True, True, False]
    """
    bytes_of: Counter[str | None] = Counter()
    for size, rewrite in zip(sizes, rewrites, strict=True):
        bytes_of[rewrite] += size
    taken = bytes_of.pop(None, 0)
    joined: set[str | None] = {None}
    for rewrite, size in reversed(bytes_of.most_common()):
        if size > taken:
            break
        taken += size
        joined.add(rewrite)
    return np.array([rewrite in joined for rewrite in rewrites], np.bool_)
