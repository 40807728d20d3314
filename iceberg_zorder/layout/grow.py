"""Grow a box tree on a sample: split where the files that come of it are expected to be read least.

The expected cost of a side is its rows times the cost of its box, and a box that is still to be cut into f files costs
what is left of its extents when they are halved, the largest first, until f files are reached (as water fills a
vessel from the deepest point). An extent is the number of all sampled rows between the smallest and the largest
position in the box, both included, so that a heavy value counts with its whole mass.

Every operation on doubles is a comparison, a halving, an addition, a product or one division, in a fixed order with
ties to the first, so that Java's ``BoxTreeGrower`` computes the same tree bit for bit.

Source: k-d trees with a cost model, as in the greedy cuts of Z. Yang and others, "Qd-tree: learning data layouts for
big data analytics", SIGMOD 2020, with extents in place of a workload.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from iceberg_zorder.layout.box_tree import BoxTree, Leaf, Positions, Split
from iceberg_zorder.layout.curve import HILBERT, MAX_HILBERT_COLUMNS, ZORDER, curve_index

_POINTS = 9
"""Split points tried for each share of the files."""

_RUNS = 8
"""Runs of rows in a leaf that the two curves are compared by."""


def grow(
    positions: Positions, bits: int, files: int, *, tolerance: float, weights: Sequence[float], leading: int = 0
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
    """
    table = np.stack(positions).astype(np.uint16) if len(positions) else np.empty((0, 0), np.uint16)
    grower = _Grower(table, bits, files, tolerance, np.array(weights, np.float64), leading)
    grower.node(table, files)
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


class _Grower:
    def __init__(
        self,
        table: npt.NDArray[np.uint16],
        bits: int,
        files: int,
        tolerance: float,
        weights: npt.NDArray[np.float64],
        leading: int,
    ) -> None:
        self.nodes: list[Split | Leaf] = []
        self._columns, rows = table.shape
        self._top = (1 << bits) - 1
        self._weights = weights
        self._leading = leading
        self._per_file = rows / files
        self._least, self._most = (1.0 - tolerance) * self._per_file, (1.0 + tolerance) * self._per_file
        counts = [np.bincount(column, minlength=1 << bits) for column in table]
        self._below = [np.concatenate(([0], np.cumsum(count))) for count in counts]

    def node(self, table: npt.NDArray[np.uint16], files: int) -> None:
        """Add the node of some sampled rows, and all nodes below it."""
        best = self._best(table, files) if files > 1 and table.size else None
        if best is None:
            self.nodes.append(self._leaf(table, files))
            return
        self.nodes.append(Split(best.column, best.start))
        left = table[best.column] < best.start
        self.node(table[:, left], best.files)
        self.node(table[:, ~left], files - best.files)

    def _leaf(self, table: npt.NDArray[np.uint16], files: int) -> Leaf:
        if not table.size:
            return Leaf(files, (0,) * self._columns, (self._top,) * self._columns)
        return Leaf(files, tuple(table.min(axis=1).tolist()), tuple(table.max(axis=1).tolist()))

    def _best(self, table: npt.NDArray[np.uint16], files: int) -> _Candidate | None:
        """Find the split with the least cost within the tolerance, else the most even one, else none."""
        for column in range(self._leading):
            if table[column].min() < table[column].max():
                best = self._between_values(table, files, column)
                if best:
                    return best
                break
        return self._within_tolerance(table, files) or self._most_even(table, files)

    def _within_tolerance(self, table: npt.NDArray[np.uint16], files: int) -> _Candidate | None:
        """Find the split of a clustering column with the least cost within the tolerance."""
        best = None
        for column in range(self._leading, self._columns):
            order = np.argsort(table[column], kind="stable")
            ordered = table[:, order]
            starts = np.flatnonzero(ordered[column, 1:] != ordered[column, :-1]) + 1
            cuts, shares = self._cuts(starts, table.shape[1], files)
            if not cuts:
                continue
            costs = self._costs(ordered[self._leading :], np.array(cuts), np.array(shares), files)
            place = int(costs.argmin())
            if best is None or costs[place] < best.cost:
                best = _Candidate(float(costs[place]), column, int(ordered[column, cuts[place]]), shares[place])
        return best

    def _cuts(self, starts: npt.NDArray[np.int64], rows: int, files: int) -> tuple[list[int], list[int]]:
        """List the rows to try on the left side, and its files: about a quarter, a half, and three quarters of all."""
        cuts: list[int] = []
        shares: list[int] = []
        half, quarter = files // 2, max(1, files // 4)
        for share in (half - quarter, half, half + quarter):
            if not 1 <= share < files:
                continue
            low = max(share * self._least, rows - (files - share) * self._most)
            high = min(share * self._most, rows - (files - share) * self._least)
            allowed = starts[np.searchsorted(starts, low, side="left") : np.searchsorted(starts, high, side="right")]
            if len(allowed) > _POINTS:
                allowed = allowed[np.unique(_nearest(allowed, low + (high - low) * np.arange(1, _POINTS + 1) / 10.0))]
            cuts += allowed.tolist()
            shares += [share] * len(allowed)
        return cuts, shares

    def _costs(
        self,
        ordered: npt.NDArray[np.uint16],
        cuts: npt.NDArray[np.int64],
        shares: npt.NDArray[np.int64],
        files: int,
    ) -> npt.NDArray[np.float64]:
        """Find the cost of every cut of rows in order."""
        edges, place = np.unique(cuts, return_inverse=True)
        # The rows between two edges are looked at once, however many cuts they lie left or right of.
        segments = np.concatenate(([0], edges))
        lows = np.minimum.reduceat(ordered, segments, axis=1)
        highs = np.maximum.reduceat(ordered, segments, axis=1)
        left = self._extents(_left_of_edges(np.minimum, lows)[:, place], _left_of_edges(np.maximum, highs)[:, place])
        right = self._extents(_right_of_edges(np.minimum, lows)[:, place], _right_of_edges(np.maximum, highs)[:, place])
        rows = ordered.shape[1]
        costs: npt.NDArray[np.float64] = cuts * _filled(left, shares) + (rows - cuts) * _filled(right, files - shares)
        return costs

    def _extents(self, lows: npt.NDArray[np.uint16], highs: npt.NDArray[np.uint16]) -> npt.NDArray[np.float64]:
        """Find the weighted extents of boxes, shape (columns, boxes)."""
        return np.stack(
            [
                self._weights[column] * (self._below[column][high.astype(np.int64) + 1] - self._below[column][low])
                for column, (low, high) in enumerate(zip(lows, highs, strict=True), self._leading)
            ]
        )

    def _between_values(self, table: npt.NDArray[np.uint16], files: int, column: int) -> _Candidate | None:
        """Split a leading column where files keep to the tolerance, come out even, and as many on either side.

        How uneven the files come out counts in sixteenths of the mean, so that of many splits about as good the most
        central one is taken and the tree stays flat.
        """
        rows = table.shape[1]
        ordered = np.sort(table[column], kind="stable")
        cuts = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
        shares = _nearest_shares(cuts, rows, files)
        kept = self._tolerated(cuts, shares) & self._tolerated(rows - cuts, files - shares)
        cuts, shares = cuts[kept], shares[kept]
        if not len(cuts):
            return None
        left, right = np.abs(cuts / shares - self._per_file), np.abs((rows - cuts) / (files - shares) - self._per_file)
        uneven = np.floor(np.maximum(left, right) / self._per_file * 16.0)
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
            shares = _nearest_shares(cuts, rows, files)
            uneven = np.abs(cuts * files - shares * rows) / np.minimum(shares, files - shares)
            place = int(uneven.argmin())
            if best is None or uneven[place] < best.cost:
                best = _Candidate(float(uneven[place]), column, int(ordered[cuts[place]]), int(shares[place]))
        return best

    def _tolerated(self, rows: npt.NDArray[np.int64], files: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        tolerated: npt.NDArray[np.bool_] = (files * self._least <= rows) & (rows <= files * self._most)
        return tolerated


def _left_of_edges(extreme: np.ufunc, segments: npt.NDArray[np.uint16]) -> npt.NDArray[np.uint16]:
    """Reduce, for each edge between two segments, shape (columns, segments), all segments on its left."""
    reduced: npt.NDArray[np.uint16] = extreme.accumulate(segments, axis=1)[:, :-1]
    return reduced


def _right_of_edges(extreme: np.ufunc, segments: npt.NDArray[np.uint16]) -> npt.NDArray[np.uint16]:
    """Reduce the segments on the right of each edge: in a mirror they are on its left."""
    return np.flip(_left_of_edges(extreme, np.flip(segments, axis=1)), axis=1)


def _nearest_shares(cuts: npt.NDArray[np.int64], rows: int, files: int) -> npt.NDArray[np.int64]:
    """Round the files for so many of the rows to the nearest number, in integers."""
    return np.clip((2 * files * cuts + rows) // (2 * rows), 1, files - 1)


def _nearest(sorted_values: npt.NDArray[np.int64], targets: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Find the place of the value nearest to each target, the lower one of two."""
    above = np.clip(np.searchsorted(sorted_values, targets, side="left"), 0, len(sorted_values) - 1)
    below = np.maximum(above - 1, 0)
    nearer = sorted_values[above] - targets < targets - sorted_values[below]
    return np.where(nearer, above, below)


def _filled(extents: npt.NDArray[np.float64], files: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Find what is left of the extents of boxes, shape (columns, boxes), when each box is cut into its files."""
    left = extents.copy()
    f = files.astype(np.float64)
    boxes = np.arange(len(f))
    while (cutting := f >= 2.0).any():
        largest = left.argmax(axis=0)
        left[largest[cutting], boxes[cutting]] /= 2.0
        f[cutting] /= 2.0
    left[left.argmax(axis=0), boxes] /= f
    total = np.zeros(len(f))
    for column in left:
        total += column
    return total
