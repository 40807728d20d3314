"""Small files that are gathered into fewer: new ones, and those of earlier rewrites once as many bytes have come.

A rewrite may leave files below ``min-file-size-bytes``: of a small table, or finer ones of a small part of a partition.
Were these gathered again with each few files that come, every byte would be written again at each run. Where a rewrite
waits for as many bytes as it has itself, a byte is written again as often only as its table doubles: so do the tiers of
a log-structured merge-tree (O'Neil et al., "The log-structured merge-tree (LSM-tree)", Acta Informatica 33, 1996).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from iceberg_zorder.report.history import REPLACE, SnapshotFacts
from iceberg_zorder.upkeep.settled import WORKLOAD, rewrite_id

_HASH = "zorder.layout-hash"
_TARGET = "zorder.target-file-size-bytes"
_ADDED = "added-files-size"
_TOTAL = "total-files-size"
_BYTES_PER_NEW_BYTE = 17
NO_CAP = 2**63 - 1
"""A budget that allows everything."""

WHY = "small, as a rewrite to files of this size left them, and small files with fewer bytes than these have come since"
"""Why data files of an earlier rewrite are left."""


def rewrites_to(target: int, snapshots: Sequence[SnapshotFacts]) -> frozenset[int]:
    """Find the rewrites to files of a size.

    Examples
    --------
    >>> summary = {"zorder.layout-hash": "ab", "zorder.target-file-size-bytes": "100"}
    >>> sorted(rewrites_to(100, [SnapshotFacts(7, 0, "replace", summary), SnapshotFacts(8, 0, "append", summary)]))
    [7]
    """
    return frozenset(
        each.snapshot_id
        for each in snapshots
        # Writers may copy what the summary before theirs has.
        if each.operation == REPLACE and _HASH in each.summary and each.summary.get(_TARGET) == str(target)
    )


def rewrites_by(
    sort_order: tuple[str, str, str], workload: str, rewrites: Collection[int], snapshots: Sequence[SnapshotFacts]
) -> dict[int, str]:
    """Find the rewrites by a sort order, for the same queries: what they wrote shows what comes of others.

    Examples
    --------
    >>> summary = {"zorder.columns": "a,b", "zorder.layout-hash": "ab", "zorder.rewrite-id": "f00"}
    >>> snapshots = [SnapshotFacts(7, 0, "replace", summary)]
    >>> [rewrites_by(("a,b", "", "zorder"), workload, {7}, snapshots) for workload in ("", "0123456789abcdef")]
    [{7: 'f00'}, {}]
    """
    wanted = frozenset(rewrites)
    return {
        each.snapshot_id: rewrite_id(each)
        for each in snapshots
        if each.snapshot_id in wanted and each.is_by(*sort_order) and each.summary.get(WORKLOAD, "") == workload
    }


def rewrite_budget(runs: Mapping[int, str], snapshots: Sequence[SnapshotFacts]) -> int:
    """Bytes that the next rewrite for gain may take: 17 for each byte that came, less what rewrites have written.

    Both are counted from the oldest rewrite of half of the table or more. Without such a rewrite in the history there
    is no cap. One byte of the 17 is the first rewrite of the byte.

    Parameters
    ----------
    runs : mapping of int to str
        The snapshots of rewrites by the same order, see :func:`rewrites_by`.
    snapshots : sequence of SnapshotFacts
        The snapshots of the branch, oldest first, as far as they are kept.

    Returns
    -------
    int
        The bytes, 0 or more; ``NO_CAP`` without such a rewrite.

    Examples
    --------
    >>> facts = (("replace", "900"), ("append", "10"), ("replace", "70"), ("append", "10"), ("replace", "5"))
    >>> snapshots = [SnapshotFacts(at, 0, op, {"added-files-size": size}) for at, (op, size) in enumerate(facts)]
    >>> rewrite_budget({0: "a", 2: "b"}, snapshots), rewrite_budget({}, snapshots)
    (270, 9223372036854775807)
    """
    total = snapshots[-1].count(_TOTAL) if snapshots else 0
    sizes: dict[str, int] = {}
    for each in snapshots:
        if each.snapshot_id in runs:
            run = runs[each.snapshot_id]
            sizes[run] = sizes.get(run, 0) + each.count(_ADDED)
    oldest = next((run for run, size in sizes.items() if 2 * size >= total), None)
    if oldest is None:
        return NO_CAP
    start = next(place for place, each in enumerate(snapshots) if runs.get(each.snapshot_id) == oldest)
    later = snapshots[start + 1 :]
    came = sum(each.count(_ADDED) for each in later if each.operation != REPLACE)
    written = sum(each.count(_ADDED) for each in later if runs.get(each.snapshot_id, oldest) != oldest)
    return max(0, _BYTES_PER_NEW_BYTE * came - written)


def gathered(sizes: Sequence[int], rewrites: Sequence[int | None]) -> npt.NDArray[np.bool_]:
    """Tell which small files of a partition are gathered.

    Examples
    --------
    >>> gathered([20, 20, 30, 10, 95], [None, None, 1, 1, 2]).tolist()
    [True, True, True, True, False]
    >>> gathered([20, 20, 30, 10, 80], [None, None, 1, 1, 2]).tolist()
    [True, True, True, True, True]
    """
    bytes_of: dict[int, int] = {}
    for size, rewrite in zip(sizes, rewrites, strict=True):
        if rewrite is not None:
            bytes_of[rewrite] = bytes_of.get(rewrite, 0) + size
    taken = sum(sizes) - sum(bytes_of.values())
    joined = set()
    for rewrite, size in sorted(bytes_of.items(), key=lambda each: each[1]):
        if size > taken:
            break
        taken += size
        joined.add(rewrite)
    return np.array([rewrite is None or rewrite in joined for rewrite in rewrites], np.bool_)


def makes_few(files: int, new_files: int) -> bool:
    """Tell whether new files are so much fewer that this is worth a rewrite, if filters read no more: half as many.

    Examples
    --------
    >>> makes_few(5, 2), makes_few(5, 3)
    (True, False)
    """
    return 2 * new_files <= files


@dataclass(frozen=True)
class MoreFiles:
    """Into how many files a group may be laid out that would not gain as it was planned.

    Parameters
    ----------
    share : int
        One for each so many of its data files, at most; 0 for no more than planned.
    is_by_size : bool
        Whether few files are worth a rewrite whatever filters read.

    Examples
    --------
    >>> list(MoreFiles(1, False).than(1, 5)), list(MoreFiles(2, False).than(1, 5)), list(MoreFiles(0, False).than(1, 5))
    ([2, 4, 5], [2], [])
    """

    share: int
    is_by_size: bool

    def than(self, files: int, of: int) -> Iterator[int]:
        """Double a number of files, up to the most that come of so many."""
        most = of // self.share if self.share else 0
        while files < most:
            files = min(2 * files, most)
            yield files


AS_PLANNED = MoreFiles(0, False)
"""No more than planned."""
