"""What rewrites have settled: no other by the same request would choose anything of it."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from iceberg_zorder.report.history import LAYOUT_HASH, REPLACE, SnapshotFacts

REQUEST = "zorder.request"
"""In a snapshot's summary: the key of what the rewrite was asked for, and after a blank that of its workload."""
REWRITE_ID = "zorder.rewrite-id"
"""In a snapshot's summary: what tells the commits of a rewrite, and its files by their names, from those of others."""
SETTLED_FROM = "zorder.settled-from-snapshot-id"
"""In a snapshot's summary, once a rewrite has done all it was to do: the snapshot that it was planned on."""

WRITE = "write."
"""What the table properties begin with that tell how files are written."""

WHY = "as a rewrite by the same request left them, and nothing has come since"
"""Why data files are left that are settled."""

_OF_ONE_RUN = frozenset(
    (
        "dry-run",
        "max-concurrent-file-group-rewrites",
        "max-file-group-input-files",
        "max-files-to-rewrite",
        "memory-limit-bytes",
        "min-age-seconds",
        "partial-progress.enabled",
        "partial-progress.max-commits",
        "partial-progress.max-failed-commits",
        "remove-dangling-deletes",
        "rewrite-all",
        "rewrite-job-order",
        "sample-seed",
        "spill-directory",
        "use-starting-sequence-number",
    )
)
"""Options that change how a rewrite goes about it, and not how well it leaves files."""
_KEY = 16


def request_key(
    sort_order: str,
    where: str,
    ids: tuple[int, int],
    target: int,
    options: Mapping[str, str],
    properties: Mapping[str, str],
) -> str:
    """Make the key of what a rewrite is asked for.

    Examples
    --------
    >>> one = request_key("zorder(a, b)", "", (1, 0), 100, {"rewrite-all": "true"}, {"owner": "me"})
    >>> one == request_key("zorder(a, b)", "", (1, 0), 100, {}, {}), one == request_key(
    ...     "zorder(a, b)", "", (2, 0), 100, {}, {}
    ... )
    (True, False)
    """
    written = [f"{name}={value}" for name, value in options.items() if name not in _OF_ONE_RUN]
    written += [f"{name}={value}" for name, value in properties.items() if name.startswith(WRITE)]
    lines = [sort_order, where, f"schema {ids[0]}", f"spec {ids[1]}", f"{target} bytes", *sorted(written)]
    return key_of(lines)


def workload_key(queries: Iterable[tuple[str, float]]) -> str:
    """Make the key of a workload's queries, which stands for option ``workload`` in that of a request.

    Who has them laid elsewhere asks for the same, and who changes the file for something else.

    Examples
    --------
    >>> workload_key([("a = 1", 2.0), ("TRUE", 1.0)])
    'ad6b2f6e2391ad81'
    """
    # Of each a line with the bits of its weight, for the engines write numbers differently; the last one ends, too.
    return key_of([*(f"{struct.pack('>d', weight).hex()}\t{text}" for text, weight in queries), ""])


def key_of(lines: Iterable[str]) -> str:
    """Make a key of 16 hexadecimal digits of lines of text.

    Examples
    --------
    >>> key_of(["a", "b"])
    '7e18f737311b2dc3'
    """
    # An option may name a directory whose name is no text.
    return hashlib.sha256("\n".join(lines).encode(errors="surrogatepass")).hexdigest()[:_KEY]


def rewrite_id(commit: SnapshotFacts) -> str:
    """Tell what the commits of a rewrite of ours have in common.

    Examples
    --------
    >>> rewrite_id(SnapshotFacts(7, 0, "replace", {"zorder.rewrite-id": "f00"}))
    'f00'
    """
    return commit.summary.get(REWRITE_ID, commit.summary.get(LAYOUT_HASH, ""))


def workload_of(commit: SnapshotFacts) -> str:
    """Return the key of the queries that a rewrite of ours was for; empty where there were none."""
    return commit.summary.get(REQUEST, "").partition(" ")[2]


@dataclass(frozen=True)
class Settled:
    """What rewrites by a request have settled.

    Parameters
    ----------
    newer : frozenset of int or None
        The snapshots whose data files the newest of them has not seen; None if it has left something to do, or what
        came since cannot be told.
    runs : mapping of int to str
        The snapshots of these rewrites, and the rewrite: it is one for all its commits.
    """

    newer: frozenset[int] | None
    runs: Mapping[int, str]

    @staticmethod
    def by(request: str, snapshots: Sequence[SnapshotFacts]) -> Settled | None:
        """Find what is settled.

        Examples
        --------
        >>> ours = {"zorder.request": "1f", "zorder.settled-from-snapshot-id": "1", "zorder.rewrite-id": "ab"}
        >>> append, rewrite = SnapshotFacts(2, 20, "append", {}), SnapshotFacts(3, 30, "replace", ours)
        >>> settled = Settled.by("1f", [SnapshotFacts(1, 10, "append", {}), append, rewrite])
        >>> sorted(settled.newer), settled.covers([1, 3, 3]), settled.covers([2, 3])
        ([2], True, False)
        >>> Settled.by("2e", [append, rewrite]) is None
        True
        """
        runs = {
            each.snapshot_id: rewrite_id(each)
            for each in snapshots
            # Writers may copy what the summary before theirs has.
            if each.operation == REPLACE and each.summary.get(REQUEST) == request
        }
        if not runs:
            return None
        ids = [each.snapshot_id for each in snapshots]
        last = snapshots[ids.index(list(runs)[-1])]
        seen = next((place for place, each in enumerate(ids) if str(each) == last.summary.get(SETTLED_FROM)), None)
        if seen is None:
            return Settled(None, runs)
        # Partial progress commits one after the other.
        return Settled(frozenset(each for each in ids[seen + 1 :] if runs.get(each) != runs[last.snapshot_id]), runs)

    def covers(self, added_by: Collection[int | None]) -> bool:
        """Tell whether the files of a partition are settled, by the snapshots that added them, None where unknown.

        They are if one rewrite wrote them all, or the newest one has seen or written them all.
        """
        if None in added_by:
            return False
        runs = {None if each is None else self.runs.get(each) for each in added_by}
        is_of_one = len(runs) == 1 and None not in runs
        return is_of_one or (self.newer is not None and self.newer.isdisjoint(added_by))


def why_nothing(table: str, files: int) -> str:
    """Say why all files are left.

    Examples
    --------
    >>> why_nothing("lake.db.t", 2)
    'Nothing to rewrite in lake.db.t: its 2 data files are as a rewrite by the same request left them, and nothing has \
come since. To rewrite them anyway, set option rewrite-all to true.'
    """
    return (
        f"Nothing to rewrite in {table}: its {files:,} data files are {WHY}. To rewrite them anyway, set option "
        "rewrite-all to true."
    )
