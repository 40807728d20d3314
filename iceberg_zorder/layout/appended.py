"""Fit a layout to appended rows, whose files should lie in few boxes of the files that are there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_zorder.layout.boundaries import MAX_BOUNDARIES, Boundaries
from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.fit import LayoutRequest, cut, uncut
from iceberg_zorder.layout.keys import KeyColumn
from iceberg_zorder.layout.layout import Layout, LayoutColumn
from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.layout.split_costs import Costs, Ends

_Edges = npt.NDArray[np.uint16]


@dataclass(frozen=True, eq=False)
class Boxes:
    """Files that have bounds of every column: keys by column, and sizes in bytes."""

    lower: tuple[KeyColumn, ...]
    upper: tuple[KeyColumn, ...]
    sizes: npt.NDArray[np.int64]


class TouchedBoxes:
    """Adds to other costs the boxes that the files of a split would touch.

    A file that touches a box will be merged with it some day. So a box of rows that is still to be cut into f files
    costs, per row, 1/f of the share of all bytes that its box touches, times the number of all rows, besides its other
    costs. Of equal splits, the one that cuts through the fewest bytes is left.

    Parameters
    ----------
    others : Costs
        The other costs, in sampled rows.
    lower, upper : ndarray of int64, shape (columns, boxes)
        By clustering column, the positions of the boxes' ends, both included.
    shares : ndarray of float64, shape (boxes,)
        The share of each box in all bytes.
    rows : int
        The number of sampled rows.

    Examples
    --------
    >>> from iceberg_zorder.layout.split_costs import Extents
    >>> extents = Extents([np.arange(17)], [1.0])
    >>> costs = TouchedBoxes(extents, np.array([[0, 6]]), np.array([[5, 15]]), np.array([0.5, 0.5]), 16)
    >>> lows, highs = np.array([[0, 6, 0, 8]], np.uint16), np.array([[5, 15, 7, 15]], np.uint16)
    >>> costs.of(lows, highs, np.array([1, 1, 1, 1]))
    array([14., 18., 24., 16.])
    """

    def __init__(
        self,
        others: Costs,
        lower: npt.NDArray[np.int64],
        upper: npt.NDArray[np.int64],
        shares: npt.NDArray[np.float64],
        rows: int,
    ) -> None:
        self._others, self._lower, self._upper, self._shares, self._rows = others, lower, upper, shares, rows

    def inside(self, lows: _Edges, highs: _Edges) -> TouchedBoxes:
        """Keep the boxes that a box of rows touches."""
        kept = ((self._lower <= highs[:, None]) & (self._upper >= lows[:, None])).all(axis=0)
        others = self._others.inside(lows, highs)
        return TouchedBoxes(others, self._lower[:, kept], self._upper[:, kept], self._shares[kept], self._rows)

    def ends(self, column: int) -> Ends:
        """Return where boxes begin, the largest first."""
        return Ends(self._lower[column], self._shares)

    def of(self, lows: _Edges, highs: _Edges, files: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return the costs of boxes of rows."""
        touched = np.ones((len(files), len(self._shares)), np.bool_)
        for lower, upper, low, high in zip(self._lower, self._upper, lows, highs, strict=True):
            touched &= (lower <= high[:, None]) & (upper >= low[:, None])
        costs: npt.NDArray[np.float64] = self._others.of(lows, highs, files)
        return costs + touched @ self._shares * (self._rows / files)


_FEW = 16
"""Partitions whose files are not limited."""


def append_files(sizes: Sequence[int], least: int, target: int) -> list[int]:
    """Return how many files the rows of each partition are written to, given their bytes.

    They are as many as have ``least`` bytes. Of more than 16 partitions, the largest come first, until there are a
    quarter more files than of ``target`` bytes, or 16 more.

    Examples
    --------
    >>> append_files([100, 35, 9], least=10, target=1_000)
    [10, 3, 1]
    >>> sum(append_files([20] * 400, least=10, target=1_000))
    500
    """
    most = [max(1, size // least) for size in sizes]
    if len(sizes) <= _FEW:
        return most
    files = [min(each, -(-size // target) or 1) for each, size in zip(most, sizes, strict=True)]
    room = max(_FEW, sum(files) // 4)
    for place in sorted(range(len(sizes)), key=lambda each: -sizes[each]):
        more = min(room, most[place] - files[place])
        files[place] += more
        room -= more
    return files


def fit_appended(columns: Sequence[ClusteringColumn], sample: Sample, request: LayoutRequest, boxes: Boxes) -> Layout:
    """Fit a layout to a sample of appended rows.

    Boxes begin at boundaries of the layout, so that a file can begin where a box does. A column in which the rows span
    little of the table counts little: filters miss them by that column anyway. The request is for adaptive cuts.
    Without boxes, this is :func:`.fit` without a workload.

    Examples
    --------
    >>> from iceberg_zorder.layout.keys import encode
    >>> rows = np.arange(100)
    >>> sample = Sample((encode(pa.array(rows), "long"),))
    >>> ends = [KeyColumn(np.array(each), np.zeros(2, np.uint8)) for each in ([0, 45], [44, 99])]
    >>> boxes = Boxes((ends[0],), (ends[1],), np.array([1000, 1000]))
    >>> layout = fit_appended([ClusteringColumn(("a",), "long")], sample, LayoutRequest(files=2), boxes)
    >>> np.bincount(layout.file(sample))
    array([45, 55])
    """
    leading = len(request.leading_orders)
    pairs = [*zip(sample.columns, boxes.lower, boxes.upper, strict=True)][leading:]
    request = request.spanning([_spanned(*each, boxes.sizes) for each in pairs])
    layout = uncut(columns, sample, request)
    if not len(boxes.sizes):
        return cut(layout, sample, request)
    orders = [*request.leading_orders, *[(False, False)] * len(columns)]
    layout = replace(
        layout,
        columns=tuple(
            _with_starts(each, boxes.lower[each.ordinal], sample, layout.bits, orders[each.ordinal])
            for each in layout.columns
        ),
    )
    lower, upper = (
        np.array(
            [each.positions[each.boundaries.bucket_of(ends[each.ordinal])] for each in layout.columns[layout.leading :]]
        ).reshape(-1, len(boxes.sizes))
        for ends in (boxes.lower, boxes.upper)
    )
    shares = boxes.sizes / max(1, int(boxes.sizes.sum()))
    return cut(layout, sample, request, costs_with=lambda of: TouchedBoxes(of, lower, upper, shares, sample.rows))


def _spanned(sample: KeyColumn, lower: KeyColumn, upper: KeyColumn, sizes: npt.NDArray[np.int64]) -> int:
    """Return the share of bytes in boxes that lie in the range of some rows' values, in thousandths, at least 1."""
    ends = pc.min_max(sample.values)
    if not len(sizes) or not ends["min"].is_valid:
        return 1_000
    inside = pc.and_(pc.less_equal(_arrow(lower), ends["max"]), pc.greater_equal(_arrow(upper), ends["min"]))
    return max(1, int(1_000 * sizes[inside.to_numpy(zero_copy_only=False)].sum() / sizes.sum()))


def _arrow(column: KeyColumn) -> pa.Array:
    return pa.array(column.keys, pa.int64()) if isinstance(column.keys, np.ndarray) else column.keys


def _with_starts(
    column: LayoutColumn, starts: KeyColumn, sample: Sample, bits: int, order: tuple[bool, bool]
) -> LayoutColumn:
    """Return a column that has boundaries where boxes begin, too: as many of them as there is room for."""
    keys = column.boundaries.keys
    more = _sorted(starts.values)
    more = more[:: -(-len(more) // max(1, MAX_BOUNDARIES - len(keys)))]
    joined = np.concatenate((keys, more)) if isinstance(keys, np.ndarray) else pa.concat_arrays([keys, more])
    boundaries = Boundaries(_sorted(joined))
    descending, nulls_first = order
    of_rows = sample.columns[column.ordinal]
    positions = boundaries.positions(of_rows, bits, descending=descending, nulls_first=nulls_first)
    return replace(column, boundaries=boundaries, positions=positions)


def _sorted(
    keys: npt.NDArray[np.int64] | pa.LargeBinaryArray,
) -> npt.NDArray[np.int64] | pa.LargeBinaryArray:
    """Return distinct keys in order."""
    if isinstance(keys, np.ndarray):
        return np.unique(keys)
    distinct = keys.unique()
    return distinct.take(pc.sort_indices(distinct))
