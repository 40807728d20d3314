"""Fit a layout to a sample: boundaries, then a box tree grown from the sample's positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from iceberg_zorder.layout.boundaries import find_boundaries
from iceberg_zorder.layout.box_tree import ADAPTIVE, BoxTree, EvenCuts, Leaf, Positions, Split, even_cuts
from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.curve import HILBERT, MAX_HILBERT_COLUMNS, ZORDER, curve_index, position_bits
from iceberg_zorder.layout.keys import NAN, NULL, VALUE, KeyColumn
from iceberg_zorder.layout.layout import Layout, LayoutColumn, global_index
from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.layout.split_costs import Costs, Ends, Extents, QueryBoxes, QueryCosts

WORKLOAD_SHARE = 0.95
"""Default share of all queries that a workload represents."""

WORKLOAD_TOLERANCE = 0.5
"""Default size tolerance with a workload, whose savings justify less even sizes."""

_RUNS = 8
"""Number of runs per leaf for the comparison of the two curves."""

_POINTS = 9
"""Split points tried for each share of the files."""

_PLACES = np.arange(1.0, _POINTS + 1.0)

_ENDS = 12
"""Most ends of queries tried, heaviest first."""

_FIRST = np.ones(1, np.bool_)

_Integers = npt.NDArray[np.int64]
_Edges = npt.NDArray[np.uint16]


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
    costs_with: Callable[[Costs], Costs] | None = None,
) -> BoxTree:
    """Grow a tree with a wanted number of files on the positions of sampled rows, by active column.

    A file's share of the rows is within ``tolerance`` of the mean; if no split keeps to it, the most even split is
    used. The leading columns are split first, one after the other. The ``workload`` represents ``workload_share`` of
    all queries; the others are assumed to filter by values of rows, on each column in proportion to its weight. Equal
    rows are in one leaf; a leaf has several files if all of its sampled rows are equal. ``costs_with`` returns costs of
    splits in place of those.

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
    if costs_with is not None:
        costs = costs_with(costs)
    mean = table.shape[1] / files
    grower = _Grower(len(table), bits, leading, RowsPerFile(mean, (1.0 - tolerance) * mean, (1.0 + tolerance) * mean))
    grower.node(table, files, costs)
    return BoxTree(tuple(grower.nodes))


def tighter_curve(tree: BoxTree, positions: Positions, bits: int, leading: int = 0) -> str:
    """Choose the curve that orders the rows inside the leaves in tighter runs, z-order of equal ones.

    Each leaf's sampled rows are put in the order of each curve and cut into 8 even runs; a curve's cost is the sum,
    over all runs and columns, of largest less smallest position, times the run's rows.

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
    # Rows of equal index are sorted by position, so that the sample's order does not matter.
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


class _Candidate(NamedTuple):
    cost: float
    column: int
    start: int
    files: int


class _Tried(NamedTuple):
    """Splits of a column: by split its column, start, and rows and files on the left side.

    The smallest and largest positions on both sides have shape (sides, columns, splits).
    """

    columns: _Integers
    starts: _Edges
    cuts: _Integers
    shares: _Integers
    lows: _Edges
    highs: _Edges


class RowsPerFile(NamedTuple):
    """Sampled rows per file: average, least, most."""

    mean: float
    least: float
    most: float

    def tolerate(self, rows: _Integers, files: _Integers) -> npt.NDArray[np.bool_]:
        """Return whether ``rows`` rows fit into ``files`` files within the tolerance."""
        tolerated: npt.NDArray[np.bool_] = (files * self.least <= rows) & (rows <= files * self.most)
        return tolerated

    def cuts(self, ordered: _Edges, files: int, ends: Ends) -> tuple[_Integers, _Integers]:
        """Return candidate splits of sorted positions: rows and files on the left side.

        About 1/4, 1/2 and 3/4 of the files are tried with up to 9 evenly spread cuts each. The cuts at the 12 heaviest
        ends of queries are tried with the nearest number of files.

        Examples
        --------
        >>> ends = Ends(np.array([7]), np.array([1.0]))
        >>> RowsPerFile(4.0, 3.0, 5.0).cuts(np.arange(16, dtype=np.uint16), 4, ends)
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
                allowed = allowed[_without_repeats(_nearest(allowed, targets))]
            cuts.append(allowed)
            shares.append(np.full(len(allowed), share))
        if len(ends.starts):
            of_ends = self._cuts_at(ends, ordered, files)
            cuts.append(of_ends)
            shares.append(_nearest_shares(of_ends, rows, files))
        return np.concatenate(cuts), np.concatenate(shares)

    def _cuts_at(self, ends: Ends, ordered: _Edges, files: int) -> _Integers:
        """List the rows on the left side of the heaviest ends; of equal ones the first."""
        rows = len(ordered)
        # A count by weight adds one after the other.
        weights = np.bincount(np.searchsorted(ordered, ends.starts), weights=ends.weights, minlength=rows)
        cuts = np.flatnonzero(weights[1:rows]) + 1
        shares = _nearest_shares(cuts, rows, files)
        cuts = cuts[self.tolerate(cuts, shares) & self.tolerate(rows - cuts, files - shares)]
        return np.sort(cuts[np.argsort(-weights[cuts], kind="stable")[:_ENDS]])


def _nearest_shares(cuts: _Integers, rows: int, files: int) -> _Integers:
    """Round the files for so many of the rows to the nearest number, in integers."""
    return np.minimum(np.maximum((2 * files * cuts + rows) // (2 * rows), 1), files - 1)


def _nearest(sorted_values: _Integers, targets: npt.NDArray[np.float64]) -> _Integers:
    """Return the place of the value nearest to each target, the lower one of two."""
    above = np.minimum(np.searchsorted(sorted_values, targets, side="left"), len(sorted_values) - 1)
    below = np.maximum(above - 1, 0)
    nearer = sorted_values[above] - targets < targets - sorted_values[below]
    return np.where(nearer, above, below)


def _without_repeats(ordered: _Integers) -> _Integers:
    """Drop repeated neighbours; np.unique would sort again, which is several times slower."""
    others: _Integers = ordered[np.concatenate((_FIRST[: len(ordered)], ordered[1:] != ordered[:-1]))]
    return others


class _Grower:
    def __init__(self, columns: int, bits: int, leading: int, sizes: RowsPerFile) -> None:
        self.nodes: list[Split | Leaf] = []
        self._columns = columns
        self._top = (1 << bits) - 1
        self._leading = leading
        self._sizes = sizes

    def node(self, table: _Edges, files: int, costs: Costs) -> None:
        """Add the node of some sampled rows, and all nodes below it."""
        if not table.size:
            self.nodes.append(Leaf(files, (0,) * self._columns, (self._top,) * self._columns))
            return
        lower, upper = table.min(axis=1), table.max(axis=1)
        best = None
        if files > 1:
            costs = costs.inside(lower, upper)
            best = self._best(table, files, costs)
        if best is None:
            self.nodes.append(Leaf(files, tuple(lower.tolist()), tuple(upper.tolist())))
            return
        self.nodes.append(Split(best.column, best.start))
        left = table[best.column] < best.start
        self.node(table[:, left], best.files, costs)
        self.node(table[:, ~left], files - best.files, costs)

    def _best(self, table: _Edges, files: int, costs: Costs) -> _Candidate | None:
        """Return the split with the least cost within the tolerance, else the most even one, else none."""
        for column in range(self._leading):
            if table[column].min() < table[column].max():
                best = self._between_values(table, files, column)
                if best:
                    return best
                break
        return self._within_tolerance(table, files, costs) or self._most_even(table, files)

    def _within_tolerance(self, table: _Edges, files: int, costs: Costs) -> _Candidate | None:
        """Return the split of a clustering column with the least cost within the tolerance."""
        tried = [
            self._tried(table, files, column, costs.ends(column)) for column in range(self._leading, self._columns)
        ]
        tried = [each for each in tried if len(each.cuts)]
        if not tried:
            return None
        columns, starts, cuts, shares, *sides = (np.concatenate(each, axis=-1) for each in zip(*tried, strict=True))
        # All left sides first, then all right sides.
        lows, highs = (np.concatenate(each, axis=1) for each in sides)
        left, right = np.split(costs.of(lows, highs, np.concatenate((shares, files - shares))), 2)
        total = cuts * left + (table.shape[1] - cuts) * right
        place = int(total.argmin())
        return _Candidate(float(total[place]), int(columns[place]), int(starts[place]), int(shares[place]))

    def _tried(self, table: _Edges, files: int, column: int, ends: Ends) -> _Tried:
        """Return the candidate splits of a column, with the boxes on both sides."""
        order = np.argsort(table[column], kind="stable")
        ordered = table.take(order, axis=1)
        cuts, shares = self._sizes.cuts(ordered[column], files, ends)
        edges = _without_repeats(np.sort(cuts))
        place = np.searchsorted(edges, cuts)
        # Rows between two edges are processed once for all cuts.
        segments = np.concatenate(([0], edges))
        sides = []
        for extreme in (np.minimum, np.maximum):
            reduced = extreme.reduceat(ordered[self._leading :], segments, axis=1)
            left = extreme.accumulate(reduced, axis=1)[:, :-1]
            right = extreme.accumulate(reduced[:, ::-1], axis=1)[:, :-1][:, ::-1]
            sides.append(np.stack((left[:, place], right[:, place])))
        return _Tried(np.full(len(cuts), column), ordered[column, cuts], cuts, shares, *sides)

    def _between_values(self, table: _Edges, files: int, column: int) -> _Candidate | None:
        """Return the split of a leading column within the tolerance that is most even, then most central.

        Unevenness counts in sixteenths of the mean, so that the most central of similar splits wins and the tree stays
        flat.
        """
        rows = table.shape[1]
        ordered = np.sort(table[column], kind="stable")
        cuts = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
        shares = _nearest_shares(cuts, rows, files)
        kept = self._sizes.tolerate(cuts, shares) & self._sizes.tolerate(rows - cuts, files - shares)
        cuts, shares = cuts[kept], shares[kept]
        if not len(cuts):
            return None
        mean = self._sizes.mean
        left, right = np.abs(cuts / shares - mean), np.abs((rows - cuts) / (files - shares) - mean)
        uneven = np.floor(np.maximum(left, right) / mean * 16.0)
        place = int(np.lexsort((np.abs(2 * shares - files), uneven))[0])
        return _Candidate(0.0, column, int(ordered[cuts[place]]), int(shares[place]))

    def _most_even(self, table: _Edges, files: int) -> _Candidate | None:
        """Return the most even split with any share of the files."""
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


@dataclass(frozen=True)
class LayoutRequest:
    """The request for a layout.

    Parameters
    ----------
    files : int
        Wanted number of files, at least 1.
    cuts : str
        How rows are cut into files: ``"adaptive"`` or ``"even"``.
    curve : str
        ``"zorder"`` or ``"hilbert"``, the latter for at most 8 columns. With adaptive cuts the curve orders the rows
        inside each file only, and for ``"zorder"`` the tighter one of the two on the sample is taken.
    leading_orders : tuple of (bool, bool)
        For each leading column that rows are sorted by before the curve: whether larger values, and whether NULL, come
        first.
    boundaries : int
        Wanted boundaries per column, in [1, 65536].
    size_tolerance : float
        How far a file's share of the sampled rows may lie from the mean with adaptive cuts, in [0, 1).
    weights : tuple of float
        Positive weights of the columns after the leading ones; empty for equal ones.
    """

    files: int
    cuts: str = ADAPTIVE
    curve: str = ZORDER
    leading_orders: tuple[tuple[bool, bool], ...] = ()
    boundaries: int = 4096
    size_tolerance: float = 0.25
    weights: tuple[float, ...] = ()

    def spanning(self, extents: Sequence[int]) -> LayoutRequest:
        """Return the request for rows of a part of a partition, given the share of it that they span in each column.

        Filters that miss the part do not read it, so a column's weight is multiplied by its share. ``extents`` are the
        shares in the columns after the leading ones, in thousandths; empty if the rows are not a part.

        Examples
        --------
        >>> LayoutRequest(8, weights=(2.0, 1.0)).spanning([1_000, 50]).weights
        (2.0, 0.05)
        """
        pairs = zip(self.weights or [1.0] * len(extents), extents, strict=True)
        return replace(self, weights=tuple(weight * extent / 1_000 for weight, extent in pairs)) if extents else self


def fit(
    columns: Sequence[ClusteringColumn],
    sample: Sample,
    request: LayoutRequest,
    workload: Callable[[Layout], QueryBoxes] | None = None,
    workload_share: float = WORKLOAD_SHARE,
) -> Layout:
    """Fit a layout to a sample of the leading and the clustering columns, 63 at most.

    Adaptive cuts minimise what a workload's queries read. ``workload`` maps a layout without cuts to the queries' boxes
    in its positions; the queries represent ``workload_share`` of all queries.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from iceberg_zorder.layout.keys import encode
    >>> x, y = np.meshgrid(np.arange(8), np.arange(8))
    >>> sample = Sample((encode(pa.array(x.ravel()), "long"), encode(pa.array(y.ravel()), "long")))
    >>> columns = [ClusteringColumn(("x",), "long"), ClusteringColumn(("y",), "long")]
    >>> layout = fit(columns, sample, LayoutRequest(files=4))
    >>> layout.file(sample).reshape(8, 8)[::4, ::4]
    array([[0, 2],
           [1, 3]])
    """
    return cut(uncut(columns, sample, request), sample, request, workload, workload_share)


def uncut(columns: Sequence[ClusteringColumn], sample: Sample, request: LayoutRequest) -> Layout:
    """Fit the parts of a layout that do not depend on the number of files; :func:`cut` adds the cuts."""
    position_bits(len(columns))  # refuses too many
    active = [place for place, keys in enumerate(sample.columns) if _separates(keys)]
    bits = position_bits(len(active))
    leading = sum(place < len(request.leading_orders) for place in active)
    orders = [*request.leading_orders, *[(False, False)] * len(columns)]
    fitted = []
    for place in active:
        keys, (descending, nulls_first) = sample.columns[place], orders[place]
        boundaries = find_boundaries(keys, request.boundaries)
        mapped = boundaries.positions(keys, bits, descending=descending, nulls_first=nulls_first)
        fitted.append(LayoutColumn(place, columns[place], boundaries, mapped))
    return Layout(
        tuple(fitted),
        leading,
        tuple(column.name for place, column in enumerate(columns) if place not in active),
        bits,
        request.curve,
        EvenCuts(()),
    )


def cut(
    layout: Layout,
    sample: Sample,
    request: LayoutRequest,
    workload: Callable[[Layout], QueryBoxes] | None = None,
    workload_share: float = WORKLOAD_SHARE,
    costs_with: Callable[[Costs], Costs] | None = None,
) -> Layout:
    """Return the layout with new cuts for the requested number of files; see :func:`fit` and :func:`grow`."""
    positions, bits, leading = layout.positions(sample), layout.bits, layout.leading
    if request.cuts != ADAPTIVE:
        index = global_index(positions, sample.rows, leading, request.curve, bits)
        return replace(layout, cuts=even_cuts(np.sort(index), request.files))
    leading_weights = [1.0] * len(request.leading_orders)
    weights = [*leading_weights, *request.weights] if request.weights else None
    tree = grow(
        positions,
        bits,
        request.files,
        tolerance=request.size_tolerance,
        weights=[weights[column.ordinal] if weights else 1.0 for column in layout.columns],
        leading=leading,
        workload=workload(layout) if workload else None,
        workload_share=workload_share,
        costs_with=costs_with,
    )
    curve = request.curve if request.curve == HILBERT else tighter_curve(tree, positions, bits, leading)
    return replace(layout, curve=curve, cuts=tree)


def _separates(keys: KeyColumn) -> bool:
    """Return whether the sampled rows have at least two distinct values, counting NaN and NULL as values."""
    present = [state for state in (VALUE, NAN, NULL) if (keys.states == state).any()]
    values = keys.values
    if len(present) != 1 or len(values) == 0:
        return len(present) > 1
    if isinstance(values, np.ndarray):
        return bool((values != values[0]).any())
    return bool(pc.any(pc.not_equal(values, values[0])).as_py())
