"""Where a node may be split: between values, so that the files on both sides keep to a size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from iceberg_zorder.layout.growth.costs import Ends

_POINTS = 9
"""Split points tried for each share of the files."""

_PLACES = np.arange(1.0, _POINTS + 1.0)

_ENDS = 12
"""Ends of queries tried, the heaviest ones."""

_FIRST = np.ones(1, np.bool_)

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class FileSizes:
    """How many sampled rows a file may have.

    Parameters
    ----------
    mean : float
        Sampled rows of a file on average.
    tolerance : float
        How far a file may lie from it, as a share of it, in [0, 1).
    """

    mean: float
    tolerance: float

    @property
    def least(self) -> float:
        """The fewest rows of a file."""
        return (1.0 - self.tolerance) * self.mean

    @property
    def most(self) -> float:
        """The most rows of a file."""
        return (1.0 + self.tolerance) * self.mean

    def tolerate(self, rows: Integers, files: Integers) -> npt.NDArray[np.bool_]:
        """Find whether so many rows can be in so many files.

        Examples
        --------
        >>> FileSizes(100.0, 0.25).tolerate(np.array([74, 150, 251]), np.array([1, 2, 2]))
        array([False,  True, False])
        """
        tolerated: npt.NDArray[np.bool_] = (files * self.least <= rows) & (rows <= files * self.most)
        return tolerated

    def cuts(self, ordered: npt.NDArray[np.uint16], files: int, ends: Ends) -> tuple[Integers, Integers]:
        """List the rows to try on the left side of a split, and its files.

        About a quarter, a half and three quarters of the files are tried with up to 9 evenly spread cuts each, and as
        many files as fit with the cuts at the 12 heaviest ends.

        Parameters
        ----------
        ordered : ndarray of uint16
            Positions of the node's rows, sorted.
        files : int
            The node's files, at least 2.
        ends : Ends
            Ends of queries.

        Returns
        -------
        cuts, shares : ndarray of int64
            Rows and files on the left side.

        Examples
        --------
        >>> ends = Ends(np.array([7]), np.array([1.0]))
        >>> FileSizes(4.0, 0.25).cuts(np.arange(16, dtype=np.uint16), 4, ends)
        (array([ 3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13,  7]), array([1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 2]))
        """
        rows = len(ordered)
        starts = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
        half, quarter = files // 2, max(1, files // 4)
        tried = [share for share in (half - quarter, half, half + quarter) if 1 <= share < files]
        low = [max(share * self.least, rows - (files - share) * self.most) for share in tried]
        high = [min(share * self.most, rows - (files - share) * self.least) for share in tried]
        first = np.searchsorted(starts, low, side="left").tolist()
        end = np.searchsorted(starts, high, side="right").tolist()
        cuts, shares = [], []
        for share, lowest, highest, begin, stop in zip(tried, low, high, first, end, strict=True):
            allowed = starts[begin:stop]
            if stop - begin > _POINTS:
                targets = lowest + (highest - lowest) * _PLACES / 10.0
                allowed = allowed[without_repeats(_nearest(allowed, targets))]
            cuts.append(allowed)
            shares.append(np.full(len(allowed), share))
        if len(ends.starts):
            of_ends = self._cuts_at(ends, ordered, files)
            cuts.append(of_ends)
            shares.append(nearest_shares(of_ends, rows, files))
        return np.concatenate(cuts), np.concatenate(shares)

    def _cuts_at(self, ends: Ends, ordered: npt.NDArray[np.uint16], files: int) -> Integers:
        """List the rows on the left side of the heaviest ends; of equal ones the first."""
        rows = len(ordered)
        # A count by weight adds one after the other.
        weights = np.bincount(np.searchsorted(ordered, ends.starts), weights=ends.weights, minlength=rows)
        cuts = np.flatnonzero(weights[1:rows]) + 1
        shares = nearest_shares(cuts, rows, files)
        cuts = cuts[self.tolerate(cuts, shares) & self.tolerate(rows - cuts, files - shares)]
        return np.sort(cuts[np.argsort(-weights[cuts], kind="stable")[:_ENDS]])


def nearest_shares(cuts: Integers, rows: int, files: int) -> Integers:
    """Round the files for so many of the rows to the nearest number, in integers.

    Examples
    --------
    >>> nearest_shares(np.array([1, 7, 15]), 16, 4)
    array([1, 2, 3])
    """
    return np.minimum(np.maximum((2 * files * cuts + rows) // (2 * rows), 1), files - 1)


def _nearest(sorted_values: Integers, targets: npt.NDArray[np.float64]) -> Integers:
    """Find the place of the value nearest to each target, the lower one of two."""
    above = np.minimum(np.searchsorted(sorted_values, targets, side="left"), len(sorted_values) - 1)
    below = np.maximum(above - 1, 0)
    nearer = sorted_values[above] - targets < targets - sorted_values[below]
    return np.where(nearer, above, below)


def without_repeats(ordered: Integers) -> Integers:
    """Leave equal neighbours out: np.unique sorts once more, and takes several times as long for so few.

    Examples
    --------
    >>> without_repeats(np.array([1, 1, 4, 5, 5]))
    array([1, 4, 5])
    """
    others: Integers = ordered[np.concatenate((_FIRST[: len(ordered)], ordered[1:] != ordered[:-1]))]
    return others
