"""Small files that are gathered into fewer: new ones, and those of earlier rewrites once as many bytes have come.

A rewrite may leave files below ``min-file-size-bytes``: of a small table, or finer ones of a small part of a partition.
Were these gathered again with each few files that come, every byte would be written again at each run. Where a rewrite
waits for as many bytes as it has itself, a byte is written again as often only as its table doubles: so do the tiers of
a log-structured merge-tree (O'Neil et al., "The log-structured merge-tree (LSM-tree)", Acta Informatica 33, 1996).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from iceberg_zorder.report.history import SnapshotFacts
from iceberg_zorder.upkeep.settled import rewrite_id, workload_of

WHY = "small, as a rewrite to files of this size left them, and small files with fewer bytes than these have come since"
"""Why data files of an earlier rewrite are left."""


def rewrites_to(target: int, snapshots: Sequence[SnapshotFacts]) -> frozenset[int]:
    """Find the rewrites to files of a size.

    Examples
    --------
    >>> summary = {"zorder.columns": "a,b", "zorder.target-file-size": "100 data"}
    >>> sorted(rewrites_to(100, [SnapshotFacts(7, 0, "replace", summary), SnapshotFacts(8, 0, "append", summary)]))
    [7]
    """
    return frozenset(
        each.snapshot_id
        for each in snapshots
        if each.is_rewrite and each.target is not None and each.target[0] == target
    )


def rewrites_by(
    sort_order: str, workload: str, rewrites: Collection[int], snapshots: Sequence[SnapshotFacts]
) -> dict[int, str]:
    """Find the rewrites by a sort order, for the same queries: what they wrote shows what comes of others.

    Examples
    --------
    >>> summary = {"zorder.columns": "a,b", "zorder.request": "1f", "zorder.rewrite-id": "f00"}
    >>> snapshots = [SnapshotFacts(7, 0, "replace", summary)]
    >>> [rewrites_by("zorder(a, b)", workload, {7}, snapshots) for workload in ("", "0123456789abcdef")]
    [{7: 'f00'}, {}]
    """
    wanted = frozenset(rewrites)
    return {
        each.snapshot_id: rewrite_id(each)
        for each in snapshots
        if each.snapshot_id in wanted and each.is_by(sort_order) and workload_of(each) == workload
    }


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
