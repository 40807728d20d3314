"""Depth and overlaps: how many files' boxes lie over each other, over all clustering columns at once.

A file's box is the space between its lower and upper bounds, and the middle of the box stands for the file's rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from iceberg_zorder.metrics.data_files import ColumnBounds, DataFiles, dense_ranks
from iceberg_zorder.metrics.spread_rows import middles

MOST_MEASURED = 2_048
"""Most files per partition that are compared with all others; of more, an even selection is used."""
_COMPARED_AT_ONCE = 1 << 21
_LAST_SINGLE_DEPTH = 16


@dataclass(frozen=True, eq=False)
class Overlap:
    """How much data files overlap with others of their partition."""

    # The number of boxes that hold the middle of the file's own box, 1 or more; 0 if the file was not measured. In
    # partitions of more than :data:`MOST_MEASURED` files, only some are measured. Shape (files,).
    depths: npt.NDArray[np.int64]
    overlaps: npt.NDArray[np.int64]  # number of other boxes that overlap the file's own box, shape (files,)

    @property
    def measured(self) -> npt.NDArray[np.bool_]:
        """Whether each file was measured."""
        found: npt.NDArray[np.bool_] = self.depths > 0
        return found

    def take(self, places: npt.NDArray[np.int64]) -> Overlap:
        """Return the overlaps of the files at some places."""
        return Overlap(self.depths[places], self.overlaps[places])

    def average_depth(self, rows: npt.NDArray[np.int64]) -> float | None:
        """Return the average depth, weighted by the rows of the files; None without files."""
        measured = self.measured
        if not measured.any():
            return None
        weights = rows[measured] if rows[measured].any() else np.ones(int(measured.sum()), np.int64)
        return float((self.depths[measured] * weights).sum()) / float(weights.sum())

    def average_overlaps(self) -> float | None:
        """Return the average number of overlaps of a file; None without files."""
        measured = self.measured
        return float(self.overlaps[measured].sum()) / float(measured.sum()) if measured.any() else None

    def histogram(self) -> dict[str, int]:
        """Count the files by depth, in Snowflake's classes: one each up to 16, then each twice as wide as the last.

        Examples
        --------
        >>> depths = np.array([1, 1, 3, 17, 40])
        >>> Overlap(depths, depths - 1).histogram()
        {'00001': 2, '00003': 1, '00032': 1, '00064': 1}
        """
        depths = self.depths[self.measured]
        above = np.maximum(depths, _LAST_SINGLE_DEPTH)
        doubled = _LAST_SINGLE_DEPTH << np.ceil(np.log2(above / _LAST_SINGLE_DEPTH)).astype(np.int64)
        uppers, counts = np.unique(np.where(depths <= _LAST_SINGLE_DEPTH, depths, doubled), return_counts=True)
        return {f"{upper:05d}": count for upper, count in zip(uppers.tolist(), counts.tolist(), strict=True)}


def measure_overlap(files: DataFiles, most: int = MOST_MEASURED) -> Overlap:
    """Measure depths and overlaps.

    A file without bounds of a column may hold any value of it; one without values lies apart, after all values.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from iceberg_zorder.layout.columns import ClusteringColumn
    >>> from iceberg_zorder.layout.keys import encode
    >>> lower, upper = (encode(pa.array(each), "long") for each in ([0, 4, 8], [5, 9, 9]))
    >>> bounds = ColumnBounds(ClusteringColumn(("a",), "long"), lower, upper, np.ones(3))
    >>> found = measure_overlap(DataFiles(np.zeros(3, int), np.full(3, 10), np.full(3, 100), (bounds,)))
    >>> found.depths.tolist(), found.overlaps.tolist(), found.average_overlaps()
    ([1, 1, 2], [1, 2, 1], 1.3333333333333333)
    """
    boxes = [_places(column) for column in files.columns]
    lower, middle, upper = (np.stack([box[place] for box in boxes]) for place in range(3))
    depths, overlaps = np.zeros(files.count, np.int64), np.zeros(files.count, np.int64)
    for together in _partitions(files.partitions):
        measured = together[np.arange(min(len(together), most)) * len(together) // min(len(together), most)]
        own = lower[:, measured], middle[:, measured], upper[:, measured]
        depths[measured], overlaps[measured] = _in_partition(lower[:, together], upper[:, together], *own)
    return Overlap(depths, overlaps)


def _places(
    bounds: ColumnBounds,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Rank the lower bound, the middle and the upper bound of each file's box together."""
    lower, middle, upper = dense_ranks([bounds.lower, middles(bounds), bounds.upper])
    last = max(int(each.max(initial=0)) for each in (lower, middle, upper))
    bounded, has_values = bounds.bounded, bounds.has_values
    lower, upper = np.where(bounded, lower, 0), np.where(bounded, upper, last + 1)
    # Files without values come after all that have some.
    return np.where(has_values, lower, last + 1), np.where(has_values, np.maximum(middle, 0), last + 1), upper


def _partitions(numbers: npt.NDArray[np.int64]) -> Iterator[npt.NDArray[np.int64]]:
    order = np.argsort(numbers, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1) if len(order) else []


def _in_partition(
    lower: npt.NDArray[np.int64],
    upper: npt.NDArray[np.int64],
    own_lower: npt.NDArray[np.int64],
    own_middle: npt.NDArray[np.int64],
    own_upper: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Compare some files with all of their partition."""
    count = own_lower.shape[1]
    if lower.shape[1] == 1:
        return np.ones(1, np.int64), np.zeros(1, np.int64)
    # Narrower integers are compared several at a time.
    low, high, first, middle, last = (
        each.astype(np.int32) for each in (lower, upper, own_lower, own_middle, own_upper)
    )
    depths, overlaps = np.empty(count, np.int64), np.empty(count, np.int64)
    step = max(1, _COMPARED_AT_ONCE // lower.shape[1])
    for start in range(0, count, step):
        part = slice(start, start + step)
        depths[part] = _holding(low, high, middle[:, part], middle[:, part])
        overlaps[part] = _holding(low, high, first[:, part], last[:, part]) - 1
    return depths, overlaps


def _holding(
    low: npt.NDArray[np.int32],
    high: npt.NDArray[np.int32],
    first: npt.NDArray[np.int32],
    last: npt.NDArray[np.int32],
) -> npt.NDArray[np.int64]:
    """Return, for each of some boxes, the number of boxes that overlap it."""
    common = np.ones((first.shape[1], low.shape[1]), np.bool_)
    for place in range(len(low)):
        common &= low[place] <= last[place][:, None]
        common &= high[place] >= first[place][:, None]
    counts: npt.NDArray[np.int64] = common.sum(axis=1, dtype=np.int64)
    return counts
