"""Estimate how far the values of a file reach beyond those of its sampled rows.

Of a file's rows a few are sampled, and of the others some lie above the highest, or below the lowest, of these. Where a
file was cut there, they do not lie far off. Where it was not, its values end as those of the whole table do, of which
many more rows are sampled: it has its share of them. The few sampled values at the end tell what that share is, and
whether the file should have been seen to go on if it had it::

    table   . . .. . ...:.:.::::::::::::.::..:. .. .  . .     .
    file             cut |: .:.: :.:. ..  .  |    ends as the table does: reaches as far as one of its rows is expected
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_AT_THE_END = 64
"""So many sampled values tell a file's share of the table's values there."""
_UNLIKELY = 3.0
"""Where so many sampled rows are expected and there is none, the file was cut: by chance that is in one of 20 files."""
_GOLDEN = (5**0.5 - 1) / 2


def _waits(files: int) -> npt.NDArray[np.float64]:
    """Draw how many rows are to be expected for a file to have one, evenly from their distribution.

    A file has a row where ``e`` are expected with the probability 1 - exp(-e).
    """
    found: npt.NDArray[np.float64] = -np.log1p(-((np.arange(files) + 0.5) * _GOLDEN % 1.0))
    return found


def reached(
    ranks: npt.NDArray[np.int64],
    files: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
    scale: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Find the lowest and the highest ranks that files are expected to reach.

    Examples
    --------
    >>> ranks, files = np.arange(100), np.arange(100) % 2
    >>> counts = np.ones(100, np.int64)
    >>> [reached(ranks, files, counts, np.full(2, each))[1].tolist() for each in (1.0, 10.0)]
    [[98, 99], [99, 99]]
    >>> [each.tolist() for each in reached(ranks, ranks // 50, counts, np.full(2, 10.0))]
    [[0, 50], [49, 99]]
    """
    lowest, highest = np.full(len(scale), np.iinfo(np.int64).max), np.full(len(scale), -1, np.int64)
    sizes = np.bincount(files, minlength=len(scale))
    present = np.flatnonzero(sizes)
    if not len(present):
        return lowest, highest
    # Numbers are sorted many times faster than their places.
    ordered = np.sort(files * len(counts) + ranks) % len(counts)
    ends = np.cumsum(sizes)[present]
    starts = ends - sizes[present]
    taken = np.minimum(sizes[present], _AT_THE_END)
    waits = _waits(len(scale))[present]
    last = len(counts) - 1
    upper = _reach(ordered[ends - 1], ordered[ends - taken], taken, counts, scale[present], waits)
    lower = _reach(
        last - ordered[starts], last - ordered[starts + taken - 1], taken, counts[::-1], scale[present], waits
    )
    lowest[present], highest[present] = last - lower, upper
    return lowest, highest


def _reach(
    top: npt.NDArray[np.int64],
    first: npt.NDArray[np.int64],
    taken: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
    scale: npt.NDArray[np.float64],
    waits: npt.NDArray[np.float64],
) -> npt.NDArray[np.int64]:
    """Find the highest ranks, of files by their highest rank and by the first of those that are looked at."""
    # Rows of the table above each rank.
    above = np.cumsum(counts[::-1])[::-1] - counts
    share = np.minimum(1.0, taken / np.maximum(1, above[first] + counts[first]))
    goes_on = (share * above[top] < _UNLIKELY) & (scale > 1)
    # As many rows of the table's sample lie above as are expected when the file has one.
    reach = len(counts) - np.searchsorted(above[::-1], waits / (share * scale), side="right")
    found: npt.NDArray[np.int64] = np.where(goes_on, np.maximum(top, np.minimum(reach, len(counts) - 1)), top)
    return found
