"""Scan fractions: the share of bytes that bounds do not rule out, by files, row groups and pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

PREDICATES = 100
"""Predicates per class and column."""

RANGES = (0.01, 0.1)
"""Shares of the rows that range predicates hold."""


def drawn_evenly(values: Sequence[Any], count: int = 1_000) -> list[Any]:
    """Return values at evenly spaced ranks.

    Examples
    --------
    >>> drawn_evenly([5, 3, 1, 2, 4, 6], count=3)
    [1, 3, 5]
    """
    ordered = sorted(values)
    drawn = min(count, len(ordered))
    return [ordered[place * len(ordered) // drawn] for place in range(drawn)]


def scan_fraction(values: Sequence[Any], lower: Sequence[Any], upper: Sequence[Any], sizes: Sequence[int]) -> float:
    """Average the scan fraction of ``column = value`` over values, by its definition.

    Examples
    --------
    >>> scan_fraction([1, 5], lower=[0, 4, None], upper=[3, 9, None], sizes=[10, 10, 20])
    0.75
    """
    files = list(zip(lower, upper, sizes, strict=True))
    read = sum(
        size for value in values for low, high, size in files if low is None or high is None or low <= value <= high
    )
    return read / (len(values) * sum(sizes))


@dataclass(frozen=True)
class Boxes:
    """The bounds of files, row groups or pages, as ranks among the distinct values of each column.

    Parameters
    ----------
    lower, upper : ndarray of int64, shape (columns, boxes)
        Ranks, both included; ``lower`` above ``upper`` where a box has no value, ``lower`` -1 and ``upper`` beyond all
        ranks where its bounds are not known.
    sizes : ndarray of int64, shape (columns, boxes)
        Bytes that are read if the box is not ruled out, for a filter on each column.
    """

    lower: npt.NDArray[np.int64]
    upper: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]


@dataclass(frozen=True)
class ScanFractions:
    """Average scan fractions of a layout, in percent.

    Parameters
    ----------
    equality : float
        Of ``column = value``, averaged over columns: the scan fraction of the glossary.
    ranges : tuple of float
        Of ranges that hold 1% and 10% of the rows.
    conjunction : float or None
        Of two ranges of 10% on two columns at once; None where they have no meaning.
    """

    equality: float
    ranges: tuple[float, ...]
    conjunction: float | None

    @property
    def average(self) -> float:
        """The average over all classes."""
        classes = [self.equality, *self.ranges]
        return float(np.mean(classes if self.conjunction is None else [*classes, self.conjunction]))


@dataclass(frozen=True)
class Predicates:
    """Intervals of ranks, both ends included, by column and predicate; NULL and NaN are in none."""

    equality: npt.NDArray[np.int64]
    ranges: tuple[npt.NDArray[np.int64], ...]
    conjunctions: tuple[tuple[int, int, int, int], ...]

    @staticmethod
    def drawn(ranks: Sequence[npt.NDArray[np.int64]]) -> Predicates:
        """Draw predicates from the rows.

        Parameters
        ----------
        ranks : sequence of ndarray of int64
            For every column, the ranks of all rows that have a value.

        Returns
        -------
        Predicates
            The same for the same rows.
        """
        ordered = [np.sort(column) for column in ranks]
        shares = (np.arange(PREDICATES) + 0.5) / PREDICATES

        def intervals(width: float) -> npt.NDArray[np.int64]:
            found = []
            for column in ordered:
                first = (shares * (1 - width) * (len(column) - 1)).astype(np.int64)
                last = np.minimum(first + int(width * len(column)), len(column) - 1)
                found.append(np.stack([column[first], column[last]]))
            return np.stack(found)

        rng = np.random.default_rng(0)
        pairs = [(i, j) for i in range(len(ordered)) for j in range(i)]
        conjunctions = tuple(
            (*pairs[k % len(pairs)], int(rng.integers(PREDICATES)), int(rng.integers(PREDICATES)))
            for k in range(PREDICATES * len(pairs))
        )
        return Predicates(intervals(0.0), tuple(intervals(width) for width in RANGES), conjunctions)


def scan_fractions(boxes: Boxes, predicates: Predicates) -> ScanFractions:
    """Measure a layout.

    Parameters
    ----------
    boxes : Boxes
        Its bounds.
    predicates : Predicates
        What is asked for.

    Returns
    -------
    ScanFractions
        In percent of the bytes.

    Examples
    --------
    >>> rows = np.arange(100)
    >>> halves = Boxes(np.array([[0, 50]]), np.array([[49, 99]]), np.array([[10, 10]]))
    >>> predicates = Predicates(np.stack([[rows, rows]]), (), ())
    >>> scan_fractions(halves, Predicates(predicates.equality, (), ())).equality
    50.0
    """
    columns = len(boxes.lower)

    def kept(column: int, intervals: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        low, high = intervals[:, :, None]
        found: npt.NDArray[np.bool_] = (boxes.lower[column] <= high) & (boxes.upper[column] >= low)
        return found

    def single(intervals: npt.NDArray[np.int64]) -> float:
        shares = [
            (kept(column, intervals[column]) * boxes.sizes[column]).sum(axis=1).mean() / boxes.sizes[column].sum()
            for column in range(columns)
        ]
        return float(np.mean(shares)) * 100

    both = None
    if predicates.conjunctions:
        wide = [kept(column, predicates.ranges[-1][column]) for column in range(columns)]
        whole = boxes.sizes.sum(axis=0)
        kept_bytes = [whole[wide[i][a] & wide[j][b]].sum() for i, j, a, b in predicates.conjunctions]
        both = float(np.mean(kept_bytes)) * 100 / float(whole.sum())
    return ScanFractions(single(predicates.equality), tuple(single(r) for r in predicates.ranges), both)


def average(fractions: Mapping[str, ScanFractions], *, equality: bool) -> float:
    """Average over sets, of the equality class alone or of all classes."""
    return float(np.mean([each.equality if equality else each.average for each in fractions.values()]))
