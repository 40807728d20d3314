"""The history of a branch: files that need no second rewrite, small files that wait, and the budget in bytes.

The small files of a rewrite wait for as many bytes beside them, so that a byte is written again only as often as its
table doubles: the tiers of a log-structured merge-tree (O'Neil et al., Acta Informatica 33, 1996).
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import dropwhile

import numpy as np
import numpy.typing as npt

from iceberg_zorder.metrics.history import REPLACE, SnapshotFacts

REQUEST = "zorder.request"
"""In a snapshot's summary: the key of what the rewrite was asked for, and after a blank that of its workload."""
REWRITE_ID = "zorder.rewrite-id"
"""In a snapshot's summary: what tells the commits of a rewrite, and its files by their names, from those of others."""
SETTLED_FROM = "zorder.settled-from-snapshot-id"
"""In a snapshot's summary, once a rewrite has done all it was to do: the snapshot that it was planned on."""

# Options that change how a rewrite goes about it, and not how well it leaves files.
_OF_ONE_RUN = re.compile(
    "dry-run|max-concurrent-file-group-rewrites|max-files-to-rewrite|memory-limit-bytes|"
    "min-age-seconds|partial-progress[.].*|remove-dangling-deletes|rewrite-all|rewrite-job-order|sample-seed|"
    "spill-directory|use-starting-sequence-number"
)


def request_key(
    sort_order: str,
    where: str,
    ids: tuple[int, int],
    target: int,
    options: Mapping[str, str],
    properties: Mapping[str, str],
) -> str:
    """Make the key of what a rewrite is asked for; the ids are those of the schema and of the partition spec."""
    written = [f"{name}={value}" for name, value in options.items() if not _OF_ONE_RUN.fullmatch(name)]
    # How files are written.
    written += [f"{name}={value}" for name, value in properties.items() if name.startswith("write.")]
    return key_of([sort_order, where, f"schema {ids[0]}", f"spec {ids[1]}", f"{target} bytes", *sorted(written)])


def workload_key(queries: Iterable[tuple[str, float]]) -> str:
    """Make the key of a workload's queries, which stands for option ``workload`` in that of a request."""
    # Of each a line with the bits of its weight, for the engines write numbers differently; the last one ends, too.
    return key_of([*(f"{struct.pack('>d', weight).hex()}\t{text}" for text, weight in queries), ""])


def key_of(lines: Iterable[str]) -> str:
    """Make a key of 16 hexadecimal digits of lines of text."""
    # An option may name a directory whose name is no text.
    return hashlib.sha256("\n".join(lines).encode(errors="surrogatepass")).hexdigest()[:16]


def workload_of(commit: SnapshotFacts) -> str:
    """Return the key of the queries that a rewrite of ours was for; empty where there were none."""
    return commit.summary.get(REQUEST, "").partition(" ")[2]


@dataclass(frozen=True)
class UnchangedSince:
    """The partitions that are unchanged since rewrites by a request."""

    newer: frozenset[int] | None  # snapshots whose files the newest one has not seen; None if it has left some to do
    runs: Mapping[int, str]  # of each of their snapshots, the rewrite: it is one for all its commits

    @staticmethod
    def rewrites_by(request: str, snapshots: Sequence[SnapshotFacts]) -> UnchangedSince | None:
        """Return what is unchanged since the rewrites by a request; the branch's snapshots are oldest first."""
        runs = {
            each.snapshot_id: each.summary.get(REWRITE_ID, "")
            for each in snapshots
            # Writers may copy what the summary before theirs has.
            if each.operation == REPLACE and each.summary.get(REQUEST) == request
        }
        if not runs:
            return None
        ids, last = [str(each.snapshot_id) for each in snapshots], [*runs][-1]
        planned_on = snapshots[ids.index(str(last))].summary.get(SETTLED_FROM)
        if planned_on not in ids:
            return UnchangedSince(None, runs)
        newer = (each.snapshot_id for each in snapshots[ids.index(planned_on) + 1 :])
        # Partial progress commits one after the other.
        return UnchangedSince(frozenset(each for each in newer if runs.get(each) != runs[last]), runs)

    def covers(self, added_by: Collection[int | None]) -> bool:
        """Return whether one rewrite wrote all files of a partition, or the newest one has seen or written them all.

        Given are the snapshots that added them, None where unknown.
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
    """Return the rewrites to files of a size: the rewrite of each snapshot, which is one for all its commits."""
    return {
        each.snapshot_id: each.summary[REWRITE_ID]
        for each in snapshots
        if each.is_rewrite and REWRITE_ID in each.summary and each.target is not None and each.target[0] == target
    }


def rewrite_budget(like: Mapping[int, str], snapshots: Sequence[SnapshotFacts]) -> int:
    """Bytes that the next rewrite for gain may take: 17 for each byte that came, less what rewrites have written.

    Both are counted from the oldest rewrite of half of the table or more; without one there is no cap. One byte of the
    17 is the first rewrite of the byte. The snapshots are those of the branch, oldest first; of some, ``like`` has the
    rewrite: those by the same columns and workload.

    Examples
    --------
    >>> facts = (("replace", "900"), ("append", "10"), ("replace", "70"), ("append", "10"), ("replace", "5"))
    >>> snapshots = [SnapshotFacts(at, 0, op, {"added-files-size": size}) for at, (op, size) in enumerate(facts)]
    >>> rewrite_budget({0: "a", 2: "b"}, snapshots), rewrite_budget({}, snapshots)
    (270, 9223372036854775807)
    """
    total = snapshots[-1].count(_TOTAL) if snapshots else 0
    sizes: Counter[str] = Counter()
    for each in snapshots:
        if each.snapshot_id in like:
            sizes[like[each.snapshot_id]] += each.count(_ADDED)
    oldest = next((rewrite for rewrite, size in sizes.items() if 2 * size >= total), None)
    if oldest is None:
        return NO_CAP
    budget = 0
    for each in dropwhile(lambda each: like.get(each.snapshot_id) != oldest, snapshots):
        if each.operation != REPLACE:
            budget += _BYTES_PER_NEW_BYTE * each.count(_ADDED)
        elif like.get(each.snapshot_id, oldest) != oldest:
            budget -= each.count(_ADDED)
    return max(0, budget)


def small_files_to_merge(sizes: Sequence[int], rewrites: Sequence[str | None]) -> npt.NDArray[np.bool_]:
    """Return which small files are merged: new ones, and those of a rewrite that are no more bytes than the others.

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
