"""Estimate how far a file's values extend beyond its sampled rows.

Some rows outside the sample lie above the highest or below the lowest sampled one. If the file was cut there, they lie
near. Otherwise the file's values end like the whole table's, which has many more sampled rows, and the file holds its
share of them. The file's last few sampled values give that share. A file that has too few sampled rows beyond them for
this share was cut::

    table   . . .. . ...:.:.::::::::::::.::..:. .. .  . .     .
    file             cut |: .:.: :.:. ..  .  |    ends as the table does: reaches as far as one of its rows is expected
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_AT_THE_END = 64
"""Number of sampled values at an end that estimate the file's share there."""
_UNLIKELY = 3.0
"""Expected number of sampled rows from which finding none means a cut; by chance that happens in 1 of 20 files."""
_GOLDEN = (5**0.5 - 1) / 2


def _waits(files: int) -> npt.NDArray[np.float64]:
    """Return, for each file, the expected number of rows at which it has its first; evenly spaced quantiles.

    A file has a row where ``e`` rows are expected with probability 1 - exp(-e).
    """
    found: npt.NDArray[np.float64] = -np.log1p(-((np.arange(files) + 0.5) * _GOLDEN % 1.0))
    return found


def reached(
    ranks: npt.NDArray[np.int64],
    files: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
    scale: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the expected lowest and highest rank of each file.

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
    # Sorting numbers is much faster than argsort.
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
    """Return the expected highest ranks, given each file's highest sampled rank and the first of its last few."""
    # Rows of the table above each rank.
    above = np.cumsum(counts[::-1])[::-1] - counts
    share = np.minimum(1.0, taken / np.maximum(1, above[first] + counts[first]))
    goes_on = (share * above[top] < _UNLIKELY) & (scale > 1)
    # The rank with as many sampled rows of the table above it as are expected for one row of the file.
    reach = len(counts) - np.searchsorted(above[::-1], waits / (share * scale), side="right")
    found: npt.NDArray[np.int64] = np.where(goes_on, np.maximum(top, np.minimum(reach, len(counts) - 1)), top)
    return found
