"""What the history of a branch says of the next rewrite: which small files wait, and how many bytes it may take.

Were the small files of a rewrite gathered again with each few files that come, every byte would be written again each
time. Where a rewrite waits for as many bytes as it has itself, a byte is written again as often only as its table
doubles: so do the tiers of a log-structured merge-tree (O'Neil et al., "The log-structured merge-tree (LSM-tree)", Acta
Informatica 33, 1996).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from iceberg_zorder.report.history import REPLACE, SnapshotFacts
from iceberg_zorder.upkeep.settled import REWRITE_ID, workload_of

_ADDED, _TOTAL = "added-files-size", "total-files-size"
_BYTES_PER_NEW_BYTE = 17
NO_CAP = 2**63 - 1
"""A budget that allows everything."""


def rewrites_to(snapshots: Sequence[SnapshotFacts], target: int) -> dict[int, str]:
    """Find the rewrites to files of a size: the rewrite of each snapshot, which is one for all its commits."""
    return {
        each.snapshot_id: each.summary[REWRITE_ID]
        for each in snapshots
        if each.is_rewrite and REWRITE_ID in each.summary and each.target is not None and each.target[0] == target
    }


def rewrites_like(snapshots: Sequence[SnapshotFacts], target: int, sort_order: str, workload: str) -> dict[int, str]:
    """Find those of them that are by a sort order, and for the same queries."""
    others = [each for each in snapshots if each.is_by(sort_order) and workload_of(each) == workload]
    return rewrites_to(others, target)


def rewrite_budget(runs: Mapping[int, str], snapshots: Sequence[SnapshotFacts]) -> int:
    """Bytes that the next rewrite for gain may take: 17 for each byte that came, less what rewrites have written.

    Both are counted from the oldest rewrite of half of the table or more; without one there is no cap. One byte of the
    17 is the first rewrite of the byte. The snapshots are those of the branch, oldest first.

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
        if each.snapshot_id in runs:
            sizes[runs[each.snapshot_id]] += each.count(_ADDED)
    oldest = next((run for run, size in sizes.items() if 2 * size >= total), None)
    if oldest is None:
        return NO_CAP
    start = next(place for place, each in enumerate(snapshots) if runs.get(each.snapshot_id) == oldest)
    later = [(each.count(_ADDED), each.operation, runs.get(each.snapshot_id, oldest)) for each in snapshots[start:]]
    came = sum(size for size, operation, _ in later if operation != REPLACE)
    written = sum(size for size, _, run in later if run != oldest)
    return max(0, _BYTES_PER_NEW_BYTE * came - written)


def gathered(sizes: Sequence[int], rewrites: Sequence[str | None]) -> npt.NDArray[np.bool_]:
    """Tell which small files are gathered: new ones, and those of a rewrite that are no more bytes than the others.

    Examples
    --------
    >>> gathered([20, 20, 30, 10, 95], [None, None, "1", "1", "2"]).tolist()
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
