"""Grow a box tree on a sample: split where the files that come of it are expected to be read least.

The expected cost of a side is its rows times the cost of its box: by its extents, see
:class:`~iceberg_zorder.layout.growth.extents.Extents`, or by the queries of a workload, see
:class:`~iceberg_zorder.layout.growth.query_costs.QueryCosts`.

Every operation on doubles is a comparison, a halving, an addition, a product or one division, in a fixed order with
ties to the first, so that Java's ``BoxTreeGrower`` computes the same tree bit for bit.

Source: k-d trees with a cost model, as in the greedy cuts of Z. Yang and others, "Qd-tree: learning data layouts for
big data analytics", SIGMOD 2020, with extents in place of a workload, or beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from iceberg_zorder.layout.box_tree import BoxTree, Leaf, Positions, Split
from iceberg_zorder.layout.curve import HILBERT, MAX_HILBERT_COLUMNS, ZORDER, curve_index
from iceberg_zorder.layout.growth.costs import Costs, Ends
from iceberg_zorder.layout.growth.extents import Extents
from iceberg_zorder.layout.growth.query_boxes import QueryBoxes
from iceberg_zorder.layout.growth.query_costs import QueryCosts
from iceberg_zorder.layout.growth.split_points import FileSizes, nearest_shares, without_repeats

WORKLOAD_SHARE = 0.95
"""The share of the queries that a workload is taken to know."""

WORKLOAD_TOLERANCE = 0.5
"""How far files lie from the mean where a workload is known: what it spares is worth less even sizes."""

_RUNS = 8
"""Runs of rows in a leaf that the two curves are compared by."""


def grow(
    positions: Positions,
    bits: int,
    files: int,
    *,
    tolerance: float,
    weights: Sequence[float],
    leading: int = 0,
    workload: QueryBoxes | None = None,
    workload_share: float = WORKLOAD_SHARE,
) -> BoxTree:
    """Grow a tree with a wanted number of files.

    Parameters
    ----------
    positions : sequence of ndarray of int64
        Positions of the sampled rows, one array per active column, in [0, 2^bits).
    bits : int
        Bits of a position, in [0, 16].
    files : int
        Wanted number of files, at least 1; there are as many.
    tolerance : float
        How far a file's share of the sampled rows may lie from the mean, in [0, 1). Where no split keeps to it, the
        most even one is taken.
    weights : sequence of float
        Weight of every active column, positive; the leading ones are not looked at.
    leading : int
        Number of leading columns that are split first, one after the other.
    workload : QueryBoxes, optional
        What queries want of the active columns.
    workload_share : float, optional
        The share of the queries that the workload knows, in [0, 1]; the others are taken to ask for values of rows, by
        each column as often as its weight says.

    Returns
    -------
    BoxTree
        The tree. Equal rows are in one leaf; a leaf has several files where its sampled rows are all equal.

    Examples
    --------
    >>> x, y = (axis.ravel() for axis in np.meshgrid(np.arange(8) * 8192, np.arange(8) * 8192))
    >>> tree = grow([x, y], 16, 4, tolerance=0.25, weights=[1.0, 1.0])
    >>> [node for node in tree.nodes if isinstance(node, Split)]
    [Split(column=0, start=32768), Split(column=1, start=32768), Split(column=1, start=32768)]

    Nine queries out of ten ask for the first value of ``y``, the others for the second:

    >>> lower, upper = np.array([[0, 0], [0, 8192]]), np.array([[65535, 65535], [0, 8192]])
    >>> workload = QueryBoxes(lower, upper, np.array([0, 1]), np.array([9.0, 1.0]))
    >>> tree = grow([x, y], 16, 4, tolerance=0.5, weights=[1.0, 1.0], workload=workload)
    >>> [node for node in tree.nodes if isinstance(node, Split)]
    [Split(column=1, start=8192), Split(column=1, start=24576), Split(column=1, start=40960)]
    """
    table = np.stack(positions).astype(np.uint16) if len(positions) else np.empty((0, 0), np.uint16)
    below = [np.concatenate(([0], np.cumsum(np.bincount(column, minlength=1 << bits)))) for column in table]
    extents = Extents(below[leading:], weights[leading:])
    costs: Costs = extents
    if workload is not None and table[leading:].size:
        of_queries = QueryCosts(below, workload, extents, share=workload_share, leading=leading)
        costs = of_queries if of_queries.are_any else extents
    grower = _Grower(len(table), bits, leading, FileSizes(table.shape[1] / files, tolerance))
    grower.node(table, files, costs)
    return BoxTree(tuple(grower.nodes))


def tighter_curve(tree: BoxTree, positions: Positions, bits: int, leading: int = 0) -> str:
    """Choose the curve that orders the rows inside the leaves in tighter runs.

    Each leaf's sampled rows are put in the order of each curve and cut into 8 even runs; a curve's cost is the sum,
    over all runs and columns, of largest less smallest position, times the run's rows.

    Parameters
    ----------
    tree : BoxTree
        The tree.
    positions : sequence of ndarray of int64
        Positions of the sampled rows, one array per active column.
    bits : int
        Bits of a position.
    leading : int
        Number of leading columns that are no part of the curve.

    Returns
    -------
    str
        ``"zorder"`` or ``"hilbert"``; the former for equal costs, and where Hilbert has too many or too few columns.

    Examples
    --------
    >>> tighter_curve(BoxTree((Leaf(1, (0,), (9,)),)), [np.arange(10)], 4)
    'zorder'
    """
    columns = len(positions) - leading
    if not 2 <= columns <= MAX_HILBERT_COLUMNS or not len(positions[0]):
        return ZORDER
    leaf = tree.leaf(positions)
    stretched = [tree.rescaled(column, positions[column], leaf, bits) for column in range(leading, len(positions))]
    costs = [_runs_cost(curve_index(curve, stretched, bits), leaf, positions[leading:]) for curve in (ZORDER, HILBERT)]
    return HILBERT if costs[1] < costs[0] else ZORDER


def _runs_cost(index: npt.NDArray[np.int64], leaf: npt.NDArray[np.int64], positions: Positions) -> int:
    # Rows of one index come by their positions, so that the order of the sample does not count.
    order = np.lexsort((*reversed(positions), index, leaf))
    ordered = leaf[order]
    sizes = np.bincount(ordered)
    place = np.arange(len(ordered)) - (np.cumsum(sizes) - sizes)[ordered]
    starts = np.flatnonzero(np.diff(ordered * _RUNS + place * _RUNS // sizes[ordered], prepend=-1))
    rows = np.diff(starts, append=len(ordered))
    return sum(
        int((rows * (np.maximum.reduceat(each[order], starts) - np.minimum.reduceat(each[order], starts))).sum())
        for each in positions
    )


@dataclass(frozen=True)
class _Candidate:
    cost: float
    column: int
    start: int
    files: int


@dataclass(frozen=True)
class _Tried:
    """Splits of a column: by split its column, start, and rows and files on the left side.

    The smallest and largest positions on both sides have shape (sides, columns, splits).
    """

    columns: npt.NDArray[np.int64]
    starts: npt.NDArray[np.uint16]
    cuts: npt.NDArray[np.int64]
    shares: npt.NDArray[np.int64]
    lows: npt.NDArray[np.uint16]
    highs: npt.NDArray[np.uint16]


class _Grower:
    def __init__(self, columns: int, bits: int, leading: int, sizes: FileSizes) -> None:
        self.nodes: list[Split | Leaf] = []
        self._columns = columns
        self._top = (1 << bits) - 1
        self._leading = leading
        self._sizes = sizes

    def node(self, table: npt.NDArray[np.uint16], files: int, costs: Costs) -> None:
        """Add the node of some sampled rows, and all nodes below it."""
        best = None
        if files > 1 and table.size:
            costs = costs.inside(table.min(axis=1), table.max(axis=1))
            best = self._best(table, files, costs)
        if best is None:
            self.nodes.append(self._leaf(table, files))
            return
        self.nodes.append(Split(best.column, best.start))
        left = table[best.column] < best.start
        self.node(table[:, left], best.files, costs)
        self.node(table[:, ~left], files - best.files, costs)

    def _leaf(self, table: npt.NDArray[np.uint16], files: int) -> Leaf:
        if not table.size:
            return Leaf(files, (0,) * self._columns, (self._top,) * self._columns)
        return Leaf(files, tuple(table.min(axis=1).tolist()), tuple(table.max(axis=1).tolist()))

    def _best(self, table: npt.NDArray[np.uint16], files: int, costs: Costs) -> _Candidate | None:
        """Find the split with the least cost within the tolerance, else the most even one, else none."""
        for column in range(self._leading):
            if table[column].min() < table[column].max():
                best = self._between_values(table, files, column)
                if best:
                    return best
                break
        return self._within_tolerance(table, files, costs) or self._most_even(table, files)

    def _within_tolerance(self, table: npt.NDArray[np.uint16], files: int, costs: Costs) -> _Candidate | None:
        """Find the split of a clustering column with the least cost within the tolerance."""
        tried = [
            self._tried(table, files, column, costs.ends(column)) for column in range(self._leading, self._columns)
        ]
        tried = [each for each in tried if len(each.cuts)]
        if not tried:
            return None
        columns, starts, cuts, shares = (
            np.concatenate(each) for each in zip(*[(t.columns, t.starts, t.cuts, t.shares) for t in tried], strict=True)
        )
        # First all left sides, then all right ones.
        lows = np.concatenate([each.lows[side] for side in (0, 1) for each in tried], axis=1)
        highs = np.concatenate([each.highs[side] for side in (0, 1) for each in tried], axis=1)
        expected = costs.of(lows, highs, np.concatenate((shares, files - shares)))
        total = cuts * expected[: len(cuts)] + (table.shape[1] - cuts) * expected[len(cuts) :]
        place = int(total.argmin())
        return _Candidate(float(total[place]), int(columns[place]), int(starts[place]), int(shares[place]))

    def _tried(self, table: npt.NDArray[np.uint16], files: int, column: int, ends: Ends) -> _Tried:
        """List the splits of a column that are tried, with the boxes on both sides."""
        order = np.argsort(table[column], kind="stable")
        ordered = table.take(order, axis=1)
        cuts, shares = self._sizes.cuts(ordered[column], files, ends)
        edges = without_repeats(np.sort(cuts))
        place = np.searchsorted(edges, cuts)
        # The rows between two edges are looked at once, however many cuts they lie left or right of.
        segments = np.concatenate(([0], edges))
        lows = np.minimum.reduceat(ordered[self._leading :], segments, axis=1)
        highs = np.maximum.reduceat(ordered[self._leading :], segments, axis=1)
        return _Tried(
            np.full(len(cuts), column),
            ordered[column, cuts],
            cuts,
            shares,
            np.stack((_left_of_edges(np.minimum, lows)[:, place], _right_of_edges(np.minimum, lows)[:, place])),
            np.stack((_left_of_edges(np.maximum, highs)[:, place], _right_of_edges(np.maximum, highs)[:, place])),
        )

    def _between_values(self, table: npt.NDArray[np.uint16], files: int, column: int) -> _Candidate | None:
        """Split a leading column where files keep to the tolerance, come out even, and as many on either side.

        How uneven the files come out counts in sixteenths of the mean, so that of many splits about as good the most
        central one is taken and the tree stays flat.
        """
        rows = table.shape[1]
        ordered = np.sort(table[column], kind="stable")
        cuts = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
        shares = nearest_shares(cuts, rows, files)
        kept = self._sizes.tolerate(cuts, shares) & self._sizes.tolerate(rows - cuts, files - shares)
        cuts, shares = cuts[kept], shares[kept]
        if not len(cuts):
            return None
        left, right = (
            np.abs(cuts / shares - self._sizes.mean),
            np.abs((rows - cuts) / (files - shares) - self._sizes.mean),
        )
        uneven = np.floor(np.maximum(left, right) / self._sizes.mean * 16.0)
        place = int(np.lexsort((np.abs(2 * shares - files), uneven))[0])
        return _Candidate(0.0, column, int(ordered[cuts[place]]), int(shares[place]))

    def _most_even(self, table: npt.NDArray[np.uint16], files: int) -> _Candidate | None:
        """Find the split with any share of the files that is the most even."""
        best = None
        rows = table.shape[1]
        for column in range(self._columns):
            ordered = np.sort(table[column], kind="stable")
            cuts = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
            if not len(cuts):
                continue
            shares = nearest_shares(cuts, rows, files)
            uneven = np.abs(cuts * files - shares * rows) / np.minimum(shares, files - shares)
            place = int(uneven.argmin())
            if best is None or uneven[place] < best.cost:
                best = _Candidate(float(uneven[place]), column, int(ordered[cuts[place]]), int(shares[place]))
        return best


def _left_of_edges(extreme: np.ufunc, segments: npt.NDArray[np.uint16]) -> npt.NDArray[np.uint16]:
    """Reduce, for each edge between two segments, shape (columns, segments), all segments on its left."""
    reduced: npt.NDArray[np.uint16] = extreme.accumulate(segments, axis=1)[:, :-1]
    return reduced


def _right_of_edges(extreme: np.ufunc, segments: npt.NDArray[np.uint16]) -> npt.NDArray[np.uint16]:
    """Reduce the segments on the right of each edge: in a mirror they are on its left."""
    return _left_of_edges(extreme, segments[:, ::-1])[:, ::-1]
