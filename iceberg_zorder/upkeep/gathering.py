"""What the history of a branch says of the next rewrite: which small files wait, and how many bytes it may take.

The small files of a rewrite wait for as many bytes beside them, so that a byte is written again only as often as its
table doubles: the tiers of a log-structured merge-tree (O'Neil et al., Acta Informatica 33, 1996).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import dropwhile

import numpy as np
import numpy.typing as npt

from iceberg_zorder.report.history import REPLACE, SnapshotFacts
from iceberg_zorder.upkeep.settled import REWRITE_ID

_ADDED, _TOTAL = "added-files-size", "total-files-size"
_BYTES_PER_NEW_BYTE = 17
NO_CAP = 2**63 - 1
"""A budget that allows everything."""


def rewrites_to(snapshots: Iterable[SnapshotFacts], target: int) -> dict[int, str]:
    """Find the rewrites to files of a size: the rewrite of each snapshot, which is one for all its commits."""
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
