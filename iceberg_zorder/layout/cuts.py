"""Cuts: the splits of the curve between output files."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

EVEN = "even"


@dataclass(frozen=True)
class EvenCuts:
    """Files of equal counts along the curve, by the first index of every file but the first, strictly increasing.

    Examples
    --------
    >>> EvenCuts((10, 20)).file(np.array([9, 10, 19, 20]))
    array([0, 1, 1, 2])
    """

    starts: tuple[int, ...]

    @property
    def files(self) -> int:
        """How many files there are."""
        return len(self.starts) + 1

    def file(self, index: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Find the files of rows."""
        return np.searchsorted(np.array(self.starts, np.int64), index, side="right").astype(np.int64)


def even_cuts(index: npt.NDArray[np.int64], files: int) -> EvenCuts:
    """Cut a sample into files of equal counts, between distinct indexes only.

    Where a cut would part equal indexes it moves to the nearer end of their run, so many equal indexes may leave
    fewer files than wanted.

    Examples
    --------
    >>> even_cuts(np.arange(100), files=4).starts
    (25, 50, 75)
    >>> even_cuts(np.array([1, 5, 5, 5, 5, 5, 9]), files=3).starts
    (5, 9)
    """
    rows = len(index)
    starts: list[int] = []
    if rows == 0:
        return EvenCuts(())
    ranks = (np.arange(1, files, dtype=np.int64) * rows) // files
    values = index[ranks]
    lows = np.searchsorted(index, values, side="left")
    highs = np.searchsorted(index, values, side="right")
    for rank, low, high in zip(ranks.tolist(), lows.tolist(), highs.tolist(), strict=True):
        if low > 0 and (high == rows or rank - low <= high - rank):
            candidate = int(index[low])
        elif high < rows:
            candidate = int(index[high])
        else:
            continue
        if not starts or candidate > starts[-1]:
            starts.append(candidate)
    return EvenCuts(tuple(starts))
