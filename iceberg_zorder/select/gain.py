"""Choose the data files of a partition whose rewrite saves filters the most cost for each byte rewritten.

``docs/how-it-works.md`` has the rules: step 4 decides on the files that sizes call for, step 5 scores sets of files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from iceberg_zorder.layout.boundaries import Boundaries
from iceberg_zorder.layout.fit import LayoutRequest, fit
from iceberg_zorder.layout.keys import KeyColumn
from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.layout.split_costs import QueryBoxes
from iceberg_zorder.metrics.data_files import ColumnBounds, DataFiles, Kept, dense_ranks, distinct_keys
from iceberg_zorder.metrics.scan_cost import judged_cost, planning_cost, root
from iceberg_zorder.metrics.scan_fraction import LaidOutSample
from iceberg_zorder.metrics.spread_rows import spread_rows
from iceberg_zorder.rewrite.messages import costs_less
from iceberg_zorder.workload.boxes import END, Box, KeyRange, query_boxes, value_ranges


def size_for_smaller_target(size: int) -> int:
    """Return the bytes that are written to as many files of the usual size as so many are to files of two thirds."""
    return 3 * size // 2


@dataclass(frozen=True, eq=False)
class AskedQueries:
    """The queries of a workload as they are asked of one partition."""

    queries: Sequence[tuple[Sequence[Box], float]]  # those that may find rows in it: what each asks for, and its weight
    weight: float  # of all queries, which are averaged over
    share: float  # of the queries that the workload knows, in [0, 1]

    def boxes_in(self, layout: Layout) -> QueryBoxes:
        """Return what they ask for in the positions of a layout."""
        return query_boxes(self.queries, layout.columns)


@dataclass(frozen=True, eq=False)
class UpkeepRequest:
    """How the files of a partition are chosen."""

    max_scan_ratio: float  # so many times the attainable cost is left alone, at least 1
    spare_files: int  # so many files more may be opened than that, at least 0
    expected_files: Callable[[int], int]  # from bytes to the number of files that they are written to
    layout: LayoutRequest  # what is asked of layouts, but for the number of files
    kept: Sequence[Kept | None]  # by column, what new lower/upper bounds keep of a key; None where it is all
    weights: Sequence[float]  # by column, what it counts in averages: 0 where new files get no bounds
    open_cost: int  # bytes that opening a file costs
    loss_factor: float  # so many times counts what a column loses
    workload: AskedQueries | None = None  # by what files are judged, if not by filters column = value

    def limit(self, attainable: float) -> float:
        """Return the cost that is left alone, given the attainable one."""
        return max(self.max_scan_ratio * attainable, attainable + self.spare_files * self.open_cost)

    def goes_by_queries(self, files: DataFiles) -> bool:
        """Return whether files are judged by queries: not where no file has bounds of a column."""
        return self.workload is not None and not any(bounds.is_open for bounds in files.columns)


LEAST_OF_A_FILE = 40
"""With fewer rows, a new file would look tighter than it is to be: fewer and larger ones are predicted, and scaled."""
_MOST_LOOKED_AT = 100_000_000
_Array = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]


class _Extents(NamedTuple):
    """Between which ranks of a column files lie, the last one being -1 without values; which have rows without one."""

    low: _Array
    high: _Array
    lacks: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class _Column:
    """A column that counts, and its values' ranks among these and the bounds of the files."""

    weight: float  # 0 where there is no value
    ranks: _Array  # of each row; -1 without a value
    below: _Array  # for each rank and one more, the rows whose values are below
    today: _Extents  # of each file
    wanted: _Extents  # of each box of the queries, and whether it wants rows without a value

    @staticmethod
    def from_bounds(
        bounds: ColumnBounds, keys: KeyColumn, kept: Kept | None, weight: float, boxes: Sequence[KeyRange]
    ) -> _Column:
        of_column = [bounds.lower, bounds.upper, keys]
        lower, upper, ranks = dense_ranks(of_column, kept)
        count = 1 + max(int(each.max(initial=0)) for each in (lower, upper, ranks))
        below = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(ranks[ranks >= 0], minlength=count))])
        # A file without bounds is read for all values, one without values for none.
        low = np.where(bounds.bounded, lower, 0)
        high = np.where(bounds.bounded, upper, np.where(bounds.has_values, count - 1, -1))
        nulls = np.array([each.stop == (END,) for each in boxes], np.bool_)
        wanted = _Extents(np.zeros(0, np.int64), np.zeros(0, np.int64), nulls)
        if boxes:
            wanted = _Extents(*value_ranges(boxes, Boundaries(distinct_keys(of_column, kept)), kept), nulls)
        return _Column(weight if below[-1] else 0.0, ranks, below, _Extents(low, high, bounds.valued < 1), wanted)

    def extents(self, rows: _Array, starts: _Array) -> _Extents:
        """Return the extents of sets of rows that begin at ``starts``."""
        ranks = self.ranks[rows]
        low = np.minimum.reduceat(np.where(ranks < 0, len(self.below) - 2, ranks), starts)
        return _Extents(low, np.maximum.reduceat(ranks, starts), np.logical_or.reduceat(ranks < 0, starts))

    def read(self, of: _Extents, file: int, smaller: float) -> _Floats:
        """Return the share of a file that each box reads by this column, once it is cut into so much smaller ones."""
        low, high = of.low[file], of.high[file]
        first, last, nulls = self.wanted
        share = ((first <= high) & (last >= low)).astype(np.float64)
        if smaller != 1:
            # What is wanted and a slice at each of its ends, as layouts are grown by.
            inside = np.minimum(last, high) - np.maximum(first, low) + 1
            share *= np.minimum(inside / max(1, high - low + 1) + smaller, 1.0)
        return np.where(nulls & of.lacks[file], 1.0, share)


class PartitionRows:
    """The rows of a partition, made of nothing but its files' bounds.

    A file costs its bytes and the open cost, times its read probability: the share of the filters that read it. The
    filters are ``column = value`` with the value of each row, or the queries of a workload, averaged by their weights.
    Costs are lists by column, or have one item with a workload. Of a column without any bounds nothing is known, but
    that every file with values is read for it, and that a layout cuts it: its rows get values in an order that no other
    column follows.
    """

    def __init__(self, files: DataFiles, rows: int, request: UpkeepRequest, alike: _Array | None = None) -> None:
        self._workload = request.workload if request.goes_by_queries(files) else None
        self._asked = [each for each in (self._workload.queries if self._workload else ()) if each[0]]
        self._query = np.repeat(np.arange(len(self._asked)), [len(boxes) for boxes, _ in self._asked])
        files = replace(files, columns=tuple(each.spanned() if each.is_open else each for each in files.columns))
        self._files, self._request = files, request
        sample, self._places = spread_rows(files, rows)
        self._sample = sample if alike is None else sample.take(alike)
        self._columns = []
        for bounds, sampled, kept, weight in zip(
            files.columns, self._sample.columns, request.kept, request.weights, strict=True
        ):
            if weight > 0:
                boxes = [box.range(bounds.column.parts) for boxes, _ in self._asked for box in boxes]
                self._columns.append(_Column.from_bounds(bounds, sampled, kept, weight, boxes))
        self._weights = [1.0] if self._workload else [column.weight for column in self._columns]
        self.costs = files.sizes + request.open_cost
        """By file, what reading it costs."""
        self._today = self._read_probabilities([column.today for column in self._columns], np.ones(files.count))
        self.read_probability = self._mean(self._today, files.count)

    def rows_alike(self, like: npt.NDArray[np.bool_]) -> _Array:
        """Return for each row the one that it is taken to lie as: in other files, evenly, rows of ``like`` inside them.

        Rows stay as they are where fewer are inside, or where it took more than 100,000,000 looks at a row.
        """
        found, known, others = np.arange(len(self._places)), np.flatnonzero(like[self._places]), np.flatnonzero(~like)
        for file in others.tolist() if len(known) * len(others) <= _MOST_LOOKED_AT else ():
            is_inside = np.ones(len(known), np.bool_)
            for column in self._columns:
                ranks, (low, high, lacks) = column.ranks[known], column.today
                # Rows without a value lie in any file that has such rows.
                is_inside &= np.where(ranks < 0, lacks[file], (low[file] <= ranks) & (ranks <= high[file]))
            inside = known[is_inside]
            rows = slice(*np.searchsorted(self._places, [file, file + 1]).tolist())
            count = rows.stop - rows.start
            if 0 < count <= len(inside):
                found[rows] = inside[(2 * np.arange(count) + 1) * len(inside) // (2 * count)]
        return found

    def cost(self, files: _Array) -> list[float]:
        """Add up what some files cost today, by their places."""
        planning = planning_cost(len(files), self._request.open_cost)
        return [_sum(self.costs[files] * of_column[files]) + planning for of_column in self._today]

    def mean(self, costs: Sequence[float]) -> float:
        """Average costs over the columns."""
        return judged_cost(costs, costs, self._weights, 1)

    def judge(self, today: Sequence[float], costs: Sequence[float]) -> float:
        """Average what files cost after a rewrite over the columns, what a column loses since today counting more."""
        factor = 1.0 if self._workload else self._request.loss_factor
        return judged_cost(today, costs, self._weights, factor)

    def gains(self, files: _Array) -> bool:
        """Return whether a rewrite of some files is predicted to make filters on these cost less."""
        today = self.cost(files)
        return len(files) > 0 and costs_less(self.mean(today), self.judge(today, self.rewritten(files)[0]))

    def average(self, of_rows: _Floats) -> _Floats:
        """Average what each row has over the rows of each file; 0 for a file without rows."""
        rows = np.bincount(self._places, minlength=self._files.count)
        found: _Floats = np.bincount(self._places, of_rows, self._files.count) / np.maximum(rows, 1)
        return found

    def uses_smaller_target(self, files: _Array) -> bool:
        """Return whether files chosen for gain are written to more files: those of less than half of the bytes."""
        return 2 * int(self._files.sizes[files].sum()) < self._files.bytes

    def after(self, files: _Array, *, for_gain: bool = False) -> list[float]:
        """Predict what all files cost once some are rewritten, whose places ascend."""
        today = self.cost(np.arange(self._files.count))
        if not len(files):
            return today
        new = self.rewritten(files, for_gain=for_gain)[0]
        return [whole - old + of_new for whole, old, of_new in zip(today, self.cost(files), new, strict=True)]

    def rewritten(self, files: _Array, *, for_gain: bool = False) -> tuple[list[float], _Floats, int]:
        """Predict what new files cost that are made of some files, each row's read probability, and their number."""
        is_mine = np.zeros(self._files.count, np.bool_)
        is_mine[files] = True
        rows = np.flatnonzero(is_mine[self._places])
        if not len(rows):
            return [0.0] * len(self._weights), np.zeros(0), 0
        size = int(self._files.sizes[files].sum())
        count = self._request.expected_files(
            size_for_smaller_target(size) if for_gain and self.uses_smaller_target(files) else size
        )
        coarse = max(1, min(count, len(rows) // LEAST_OF_A_FILE))
        file = self._new_files(rows, coarse)
        order = np.argsort(file, kind="stable")
        starts = np.flatnonzero(np.diff(file[order], prepend=-1))
        counts = np.diff(starts, append=len(rows))
        smaller = root(coarse / count, sum(column.weight > 0 for column in self._columns))
        extents = [column.extents(rows[order], starts) for column in self._columns]
        found = self._read_probabilities(extents, counts, smaller)
        of_row = np.empty(len(rows))
        of_row[order] = np.repeat(self._mean(found, len(counts)), counts)
        costs = counts * ((size + self._request.open_cost * count) / len(rows))
        planning = planning_cost(count, self._request.open_cost)
        return [_sum(costs * of_column) + planning for of_column in found], of_row, count

    def _mean(self, found: Sequence[_Floats], files: int) -> _Floats:
        """Average the read probabilities of files over the columns; 0 where no column counts."""
        total = np.zeros(files)
        for weight, of_column in zip(self._weights, found, strict=True):
            total += weight * of_column
        return total / (_sum(np.array(self._weights)) or 1.0)

    def _read_probabilities(
        self, extents: Sequence[_Extents], rows: npt.NDArray[Any], smaller: float = 1.0
    ) -> list[_Floats]:
        """Return the share of the filters that read each file, by its extent in each column and its rows."""
        if self._workload is None:
            # So many even draws of an interval span (n - 1) / (n + 1) of it on average.
            spans = np.where(rows > 1, (rows + 1) / np.maximum(rows - 1, 1), 1.0)
            found = []
            for column, of in zip(self._columns, extents, strict=True):
                share = np.where(of.high < 0, 0, column.below[of.high + 1] - column.below[of.low])
                share = share / max(1, int(column.below[-1]))
                found.append(np.where(of.low < of.high, np.minimum(share * spans, 1.0), share) * smaller)
            return found
        weights = np.array([weight for _, weight in self._asked])
        of_queries = np.zeros(len(rows))
        for file in range(len(rows)):
            read = np.ones(len(self._query))
            for column, of in zip(self._columns, extents, strict=True):
                read *= column.read(of, file, smaller)
            of_queries[file] = _sum(weights * np.minimum(np.bincount(self._query, read, len(weights)), 1.0))
        return [of_queries / self._workload.weight]

    def _new_files(self, rows: _Array, files: int) -> _Array:
        """Return the new file of each row of a rewrite: a layout is fitted to every second one."""
        if files == 1:
            return np.zeros(len(rows), np.int64)
        mine, request = self._sample.take(rows), replace(self._request.layout, files=files)
        columns, half = [bounds.column for bounds in self._files.columns], mine.take(np.arange(0, len(rows), 2))
        if self._workload is None:
            layout = fit(columns, half, request)
        else:
            layout = fit(columns, half, request, self._workload.boxes_in, self._workload.share)
        return LaidOutSample(layout, mine, mine, 0, 0).files_of(mine)


def _sum(values: _Floats) -> float:
    """Add up in order, as Java does."""
    return float(np.cumsum(values)[-1]) if len(values) else 0.0


_ROWS_OF_A_FILE = 200
_LEAST_ROWS, _MOST_ROWS = 2_000, 200_000
_LEAST_OF_MANY, _ROWS_IN_ALL = 500, 500_000
_GROWTH = 1.5
_AS_MUCH = 1 + 1e-9
"""So many times as much is the same, of sums that are rounded."""


@dataclass(frozen=True, eq=False)
class Choice:
    """What is chosen of a partition, and what a filter costs in it on average, in bytes."""

    files: npt.NDArray[np.int64]  # places of files, those that must be rewritten and those that are read most first
    today: float
    expected: float  # after a rewrite of these
    attainable: float  # after a rewrite of all
    limit: float  # nothing is rewritten for gain where it costs less; above what is attainable by what columns lose
    uses_smaller_target: bool  # whether they are written to half as many files again as usual


def rows_to_spread(expected: Sequence[int]) -> list[int]:
    """Share out the rows that partitions are judged by, by the files that each would be written to.

    Examples
    --------
    >>> rows_to_spread([1, 64]), rows_to_spread([64] * 1000)[0], rows_to_spread([100_000])
    ([2000, 12800], 500, [200000])
    """
    wanted = [min(max(_ROWS_OF_A_FILE * files, _LEAST_ROWS), _MOST_ROWS) for files in expected]
    total = sum(wanted)
    return wanted if total <= _ROWS_IN_ALL else [max(each * _ROWS_IN_ALL // total, _LEAST_OF_MANY) for each in wanted]


def choose(
    files: DataFiles,
    called_for: npt.NDArray[np.bool_],
    must_rewrite: npt.NDArray[np.bool_],
    budget: int,
    rows: int,
    request: UpkeepRequest,
) -> Choice:
    """Choose the files of a partition that are to be rewritten; there is one at least.

    Sizes call for some files; those of ``must_rewrite`` are rewritten whatever comes of it. A rewrite for gain may take
    as many bytes as the budget has.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from iceberg_zorder.layout.columns import ClusteringColumn
    >>> from iceberg_zorder.layout.fit import LayoutRequest
    >>> from iceberg_zorder.layout.keys import encode
    >>> from iceberg_zorder.metrics.data_files import ColumnBounds
    >>> lower, upper = ([0, 0, 100, 200, 300], [199, 199, 199, 299, 399])
    >>> ends = [encode(pa.array(each), "long") for each in (lower, upper)]
    >>> bounds = ColumnBounds(ClusteringColumn(("ts",), "long"), *ends, np.ones(5))
    >>> files = DataFiles(np.zeros(5, int), np.full(5, 100), np.full(5, 100), (bounds,))
    >>> request = UpkeepRequest(1.2, 0, lambda size: size // 100, LayoutRequest(1), [None], [1.0], 10, 4.0)
    >>> choice = choose(files, *np.zeros((2, 5), bool), 1000, 1000, request)
    >>> choice.files.tolist(), round(choice.today), round(choice.expected)
    ([0, 1, 2], 222, 112)
    """
    everything = np.arange(files.count)
    partition = PartitionRows(files, rows, request)
    # Bounds hide that columns are correlated: files that are read for more than the average are taken to be as others.
    planning = planning_cost(files.count, request.open_cost)
    average = partition.mean(partition.cost(everything)) - planning
    is_like = partition.costs.sum() * partition.read_probability < average
    if is_like.any():
        partition = PartitionRows(files, rows, request, partition.rows_alike(is_like))
    of_today = partition.cost(everything)
    today = partition.mean(of_today)
    of_everything, attained, new_files = partition.rewritten(everything)
    limit = request.limit(partition.judge(of_today, of_everything))
    chosen, uses_smaller_target = np.flatnonzero(called_for), False
    costs, gains = partition.after(chosen), partition.gains(chosen)
    if not gains or partition.judge(of_today, costs) > limit * _AS_MUCH:
        required = np.flatnonzero(must_rewrite)
        of_required = partition.after(required)
        if not gains:
            chosen, costs = required, of_required
        if partition.judge(of_today, of_required) > limit:
            attained = partition.average(attained)
            excess = np.divide(partition.read_probability, attained, out=np.zeros(files.count), where=attained > 0)
            by_excess = np.argsort(-excess, kind="stable")
            order = np.concatenate([required, by_excess[~must_rewrite[by_excess]]])
            # At best, the rows of a set are read for what they are after a rewrite of everything.
            shares = files.sizes / max(1, files.bytes)
            new = files.sizes + request.open_cost * new_files * shares
            saved = partition.costs * partition.read_probability - new * attained
            saved += planning / files.count - planning_cost(new_files, request.open_cost) * shares
            at_best = today - np.cumsum(saved[order])
            sizes = files.sizes[order]
            if found := _best(partition, sizes, order, at_best, of_today, of_everything, len(required), limit, budget):
                chosen, costs = found
                uses_smaller_target = partition.uses_smaller_target(chosen)
    return Choice(chosen, today, partition.mean(costs), partition.mean(of_everything), limit, uses_smaller_target)


def _best(
    partition: PartitionRows,
    sizes: npt.NDArray[np.int64],
    order: npt.NDArray[np.int64],
    at_best: npt.NDArray[np.float64],
    of_today: list[float],
    of_everything: list[float],
    required: int,
    limit: float,
    budget: int,
) -> tuple[npt.NDArray[np.int64], list[float]] | None:
    """Return the first files of an order, beyond the required ones, whose cost is furthest below the limit per byte."""
    ends = np.cumsum(sizes)
    found, best, count = None, -1.0, max(1, required)
    while count < len(order):
        enough = int(np.searchsorted(ends, _GROWTH * ends[count - 1], "left"))
        count = min(max(count, enough) + 1, len(order))
        size = int(ends[count - 1])
        if size > budget:
            break
        costs = of_everything
        if count < len(order):
            # Growing trees is what takes the time.
            if (limit - float(at_best[count - 1])) / max(1, size) <= max(best, 0.0):
                continue
            costs = partition.after(np.sort(order[:count]), for_gain=True)
        expected = partition.judge(of_today, costs)
        score = (limit - expected) / max(1, size)
        if expected <= limit and score > best:
            found, best = (order[:count], costs), score
    return found
