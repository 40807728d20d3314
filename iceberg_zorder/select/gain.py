"""Choose the data files of a partition whose rewrite saves the most filter cost for each byte rewritten.

``docs/design/choice-of-files.md`` has the rules: step 4 decides on the called files, and step 5 scores sets of files.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from iceberg_zorder.layout.boundaries import Boundaries
from iceberg_zorder.layout.fit import LayoutRequest, fit
from iceberg_zorder.layout.keys import Beginning, KeyColumn
from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.layout.split_costs import QueryBoxes
from iceberg_zorder.metrics.data_files import ColumnBounds, DataFiles, dense_ranks, distinct_keys
from iceberg_zorder.metrics.file_sizes import FileSizes
from iceberg_zorder.metrics.scan_cost import mean_cost, planning_cost, root
from iceberg_zorder.metrics.scan_fraction import LaidOutSample, coarse
from iceberg_zorder.metrics.spread_rows import spread_rows
from iceberg_zorder.rewrite.messages import costs_less
from iceberg_zorder.workload.boxes import END, Box, KeyRange, query_boxes, value_ranges


def size_for_smaller_target(size: int) -> int:
    """Return 1.5 times the size, so that its files at the full target are as many as the size's at 2/3 of it."""
    return 3 * size // 2


@dataclass(frozen=True, eq=False)
class AskedQueries:
    """The queries of a workload that concern one partition."""

    queries: Sequence[tuple[Sequence[Box], float]]  # boxes and weight of each query that may match its rows
    weight: float  # the sum of the weights of all queries, by which costs are divided
    share: float  # the share of all queries that the workload has, in [0, 1]

    def boxes_in(self, layout: Layout) -> QueryBoxes:
        """Return the boxes of the queries in the positions of a layout."""
        return query_boxes(self.queries, layout.columns)


@dataclass(frozen=True, eq=False)
class UpkeepRequest:
    """The rules by which the files of a partition are chosen."""

    max_scan_ratio: float  # sets are scored if filters cost more than so many times the attainable cost; at least 1
    spare_files: int  # and more than so many open costs above the attainable cost; at least 0
    sizes: FileSizes  # the sizes of new files, and so their number
    layout: LayoutRequest  # how layouts are fitted; its number of files is not used
    kept: Sequence[Beginning | None]  # by column, what new lower/upper bounds keep of a key; None: all of it
    weights: Sequence[float]  # by column, its weight in averages: 0 if new files get no bounds
    open_cost: int  # what opening a file costs, in bytes
    workload: AskedQueries | None = None  # the queries that files are judged by; None: column = value

    def limit(self, attainable: float) -> float:
        """Return the cost up to which no set of files is scored, given the attainable cost."""
        return max(self.max_scan_ratio * attainable, attainable + self.spare_files * self.open_cost)

    def column_limit(self, attainable: float) -> float:
        """Return the limit for filters on one column: it may be 1.5 times as far above its best as the average may."""
        return attainable + _COLUMN_SHARE * (self.limit(attainable) - attainable)

    def goes_by_queries(self, files: DataFiles) -> bool:
        """Return whether a workload judges files; each column with values then needs bounds in at least one file."""
        return self.workload is not None and not any(bounds.is_open for bounds in files.columns)


_MOST_COMPARISONS = 100_000_000
_COLUMN_SHARE = 1.5
"""How far a column may exceed its attainable cost, in units of how far the average may."""
_ROUNDING = 1 + 1e-9
"""Tolerance of limits, because sums are rounded."""
_Array = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]


class _RankRanges(NamedTuple):
    """The range of ranks in a column, both ends included, for each file or query box."""

    low: _Array
    high: _Array  # -1 for a file without values
    has_nulls: npt.NDArray[np.bool_]  # whether the file has rows without a value, NULL or NaN, or the box reaches NULL


@dataclass(frozen=True, eq=False)
class _Column:
    """A column with a weight. Ranks are places among the values of its rows and its files' bounds."""

    weight: float  # 0 if no row has a value
    ranks: _Array  # of each row; -1 without a value
    rows_below: _Array  # for each rank, and one rank more: how many rows have a lower rank
    of_files: _RankRanges
    of_boxes: _RankRanges

    @staticmethod
    def from_bounds(
        bounds: ColumnBounds, keys: KeyColumn, kept: Beginning | None, weight: float, boxes: Sequence[KeyRange]
    ) -> _Column:
        all_keys = [bounds.lower, bounds.upper, keys]
        lower, upper, ranks = dense_ranks(all_keys, kept)
        count = 1 + max(int(each.max(initial=0)) for each in (lower, upper, ranks))
        rows_below = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(ranks[ranks >= 0], minlength=count))])
        # A file without bounds is read for every value. A file without values is read for none.
        low = np.where(bounds.bounded, lower, 0)
        high = np.where(bounds.bounded, upper, np.where(bounds.has_values, count - 1, -1))
        nulls = np.array([each.stop == (END,) for each in boxes], np.bool_)
        of_boxes = _RankRanges(np.zeros(0, np.int64), np.zeros(0, np.int64), nulls)
        if boxes:
            of_boxes = _RankRanges(*value_ranges(boxes, Boundaries(distinct_keys(all_keys, kept)), kept), nulls)
        return _Column(
            weight if rows_below[-1] else 0.0, ranks, rows_below, _RankRanges(low, high, bounds.valued < 1), of_boxes
        )

    def extent(self, files: _Array) -> int:
        """Return the share of the values that lies between the bounds of some files, in thousandths, rounded up."""
        low, high = self.of_files.low[files], self.of_files.high[files]
        has_values, valued = high >= 0, int(self.rows_below[-1])
        if not valued or not has_values.any():
            return 1_000
        inside = int(self.rows_below[high.max() + 1] - self.rows_below[low[has_values].min()])
        return max(1, -(-1_000 * inside // valued))

    def ranges(self, rows: _Array, starts: _Array) -> _RankRanges:
        """Return the rank ranges of sets of rows; the sets begin at ``starts``."""
        ranks = self.ranks[rows]
        low = np.minimum.reduceat(np.where(ranks < 0, len(self.rows_below) - 2, ranks), starts)
        return _RankRanges(low, np.maximum.reduceat(ranks, starts), np.logical_or.reduceat(ranks < 0, starts))

    def share_read(self, ranges: _RankRanges, file: int, scale: float) -> _Floats:
        """Return the share of a file that each box reads, once it is cut to ``scale`` times its range."""
        low, high = ranges.low[file], ranges.high[file]
        first, last, nulls = self.of_boxes
        share = ((first <= high) & (last >= low)).astype(np.float64)
        if scale != 1:
            # A range that covers a share s touches slices of width w that cover s + w on average, as in the fit.
            inside = np.minimum(last, high) - np.maximum(first, low) + 1
            share *= np.minimum(inside / max(1, high - low + 1) + scale, 1.0)
        return np.where(nulls & ranges.has_nulls[file], 1.0, share)


class PartitionRows:
    """Made-up rows of a partition, spread between the bounds of its files, and what filters cost on them.

    A filter that reads a file pays its bytes and the open cost; the share of the filters that read it is its *read
    probability*. Planning adds 1/32 of the open cost for each file, read or not. Filters are ``column = value`` with
    the value of each row, or the queries of a workload by their weights. Costs of filters are lists with one item for
    each column, or with a single item for a workload.

    If no file has bounds of a column, filters on it read every file with values. Layouts cut this column, too: its rows
    get values in an order that is independent of the other columns.
    """

    def __init__(self, files: DataFiles, rows: int, request: UpkeepRequest, alike: _Array | None = None) -> None:
        self._workload = request.workload if request.goes_by_queries(files) else None
        self._queries = [each for each in (self._workload.queries if self._workload else ()) if each[0]]
        self._query_of_box = np.repeat(np.arange(len(self._queries)), [len(boxes) for boxes, _ in self._queries])
        files = replace(files, columns=tuple(each.spanned() if each.is_open else each for each in files.columns))
        self._files, self._request = files, request
        sample, self._file_of_row = spread_rows(files, rows)
        self._sample = sample if alike is None else sample.take(alike)
        self._columns = []
        for bounds, sampled, kept, weight in zip(
            files.columns, self._sample.columns, request.kept, request.weights, strict=True
        ):
            if weight > 0:
                boxes = [box.range(bounds.column.parts) for boxes, _ in self._queries for box in boxes]
                self._columns.append(_Column.from_bounds(bounds, sampled, kept, weight, boxes))
        self._weights = [1.0] if self._workload else [column.weight for column in self._columns]
        self.read_costs = files.sizes + request.open_cost
        """The cost of reading each file."""
        self._probabilities_today = self._read_probabilities(
            [column.of_files for column in self._columns], np.ones(files.count)
        )
        self.read_probability = self._mean(self._probabilities_today, files.count)

    def rows_alike(self, like: npt.NDArray[np.bool_]) -> _Array:
        """Return for each row the row whose values it takes: its own, or that of a row of the files in ``like``.

        Rows of another file take evenly chosen rows of ``like`` that lie inside its bounds. They keep their own values
        if fewer rows lie inside than the file has, or if it took more than 100,000,000 comparisons to find out.
        """
        found, known, others = (
            np.arange(len(self._file_of_row)),
            np.flatnonzero(like[self._file_of_row]),
            np.flatnonzero(~like),
        )
        for file in others.tolist() if len(known) * len(others) <= _MOST_COMPARISONS else ():
            is_inside = np.ones(len(known), np.bool_)
            for column in self._columns:
                ranks, (low, high, has_nulls) = column.ranks[known], column.of_files
                # Rows without a value lie in any file that has such rows.
                is_inside &= np.where(ranks < 0, has_nulls[file], (low[file] <= ranks) & (ranks <= high[file]))
            inside = known[is_inside]
            rows = slice(*np.searchsorted(self._file_of_row, [file, file + 1]).tolist())
            count = rows.stop - rows.start
            if 0 < count <= len(inside):
                found[rows] = inside[(2 * np.arange(count) + 1) * len(inside) // (2 * count)]
        return found

    def cost(self, files: _Array) -> list[float]:
        """Return what filters on some files cost today, by column; given are the places of the files."""
        planning = planning_cost(len(files), self._request.open_cost)
        return [_sum(self.read_costs[files] * of_column[files]) + planning for of_column in self._probabilities_today]

    def mean(self, costs: Sequence[float]) -> float:
        """Average costs over the columns by weight."""
        return mean_cost(costs, self._weights)

    def is_within(self, costs: Sequence[float], attainable: Sequence[float]) -> bool:
        """Return whether costs are within the limit on average, and those of each column within its own limit."""
        limits = zip(costs, attainable, self._weights, strict=True)
        return self.mean(costs) <= self._request.limit(self.mean(attainable)) * _ROUNDING and all(
            cost <= self._request.column_limit(best) * _ROUNDING for cost, best, weight in limits if weight > 0
        )

    def gains_enough(self, files: _Array, new: Sequence[float]) -> bool:
        """Return whether filters on some files cost at least 5% less once they are rewritten to files of new costs."""
        return len(files) > 0 and costs_less(self.mean(self.cost(files)), self.mean(new))

    def file_means(self, of_rows: _Floats) -> _Floats:
        """Average a figure of the rows over each file; 0 for a file without rows."""
        rows = np.bincount(self._file_of_row, minlength=self._files.count)
        found: _Floats = np.bincount(self._file_of_row, of_rows, self._files.count) / np.maximum(rows, 1)
        return found

    def uses_smaller_target(self, files: _Array) -> bool:
        """Return whether a scored set has less than half of the partition's bytes, and so gets 2/3 of the target."""
        return 2 * int(self._files.sizes[files].sum()) < self._files.bytes

    def costs_after(self, files: _Array, new: Sequence[float]) -> list[float]:
        """Return what filters on the partition cost once some files are rewritten to files of new costs."""
        today = self.cost(np.arange(self._files.count))
        return [whole - old + of_new for whole, old, of_new in zip(today, self.cost(files), new, strict=True)]

    def extents(self, files: _Array) -> list[int]:
        """Return for each column the share of the rows' values that lies between the bounds of some files.

        Shares are in thousandths, from 1 to 1,000, and 1,000 in columns that do not count. All files, and none, are not
        a part of the partition, so the list is empty.
        """
        if len(files) in (0, self._files.count):
            return []
        counting = iter(self._columns)
        return [next(counting).extent(files) if weight > 0 else 1_000 for weight in self._request.weights]

    def predict_rewrite(self, files: _Array, *, for_gain: bool = False) -> tuple[list[float], _Floats, int]:
        """Predict a rewrite of some files: the new files' costs, each row's read probability, the new files' number.

        ``files`` ascends.
        """
        is_rewritten = np.zeros(self._files.count, np.bool_)
        is_rewritten[files] = True
        rows = np.flatnonzero(is_rewritten[self._file_of_row])
        if not len(rows):
            return [0.0] * len(self._weights), np.zeros(0), 0
        size = int(self._files.sizes[files].sum())
        count = self._request.sizes.expected_files(
            size_for_smaller_target(size) if for_gain and self.uses_smaller_target(files) else size
        )
        predicted_count = coarse(count, len(rows))
        file = self._new_files(rows, predicted_count, self.extents(files))
        order = np.argsort(file, kind="stable")
        starts = np.flatnonzero(np.diff(file[order], prepend=-1))
        counts = np.diff(starts, append=len(rows))
        scale = root(predicted_count / count, sum(column.weight > 0 for column in self._columns))
        ranges = [column.ranges(rows[order], starts) for column in self._columns]
        found = self._read_probabilities(ranges, counts, scale)
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
        self, ranges: Sequence[_RankRanges], sampled_rows: npt.NDArray[Any], scale: float = 1.0
    ) -> list[_Floats]:
        """Return the share of the filters that read each file, by column or for the workload.

        ``sampled_rows`` tells from how many rows each file's range was found: 1 of real bounds, which are not widened.
        The files are to be cut to ``scale`` times their ranges.
        """
        if self._workload is None:
            # The values of n rows span (n - 1) / (n + 1) of the interval that they are drawn from, on average.
            widening = np.where(sampled_rows > 1, (sampled_rows + 1) / np.maximum(sampled_rows - 1, 1), 1.0)
            found = []
            for column, of_column in zip(self._columns, ranges, strict=True):
                share = np.where(
                    of_column.high < 0, 0, column.rows_below[of_column.high + 1] - column.rows_below[of_column.low]
                )
                share = share / max(1, int(column.rows_below[-1]))
                found.append(np.where(of_column.low < of_column.high, np.minimum(share * widening, 1.0) * scale, share))
            return found
        weights = np.array([weight for _, weight in self._queries])
        of_queries = np.zeros(len(sampled_rows))
        for file in range(len(sampled_rows)):
            read = np.ones(len(self._query_of_box))
            for column, of_column in zip(self._columns, ranges, strict=True):
                read *= column.share_read(of_column, file, scale)
            of_queries[file] = _sum(weights * np.minimum(np.bincount(self._query_of_box, read, len(weights)), 1.0))
        return [of_queries / self._workload.weight]

    def _new_files(self, rows: _Array, files: int, extents: Sequence[int]) -> _Array:
        """Return the new file of each row of a rewrite; the layout is fitted to every second row."""
        if files == 1:
            return np.zeros(len(rows), np.int64)
        mine, of_layout = self._sample.take(rows), self._request.layout
        request = replace(of_layout, files=files).spanning(extents[len(of_layout.leading_orders) :])
        columns, half = [bounds.column for bounds in self._files.columns], mine.take(np.arange(0, len(rows), 2))
        if self._workload is None:
            layout = fit(columns, half, request)
        else:
            layout = fit(columns, half, request, self._workload.boxes_in, self._workload.share)
        return LaidOutSample(layout, mine, mine, 0, 0, files).files_of(mine)


def _sum(values: _Floats) -> float:
    """Add up in order, as Java does."""
    return float(np.cumsum(values)[-1]) if len(values) else 0.0


_ROWS_PER_FILE = 200
_LEAST_ROWS, _MOST_ROWS = 2_000, 40_000
_LEAST_ROWS_OF_MANY, _MOST_ROWS_IN_ALL = 500, 500_000
_GROWTH = 1.5


@dataclass(frozen=True, eq=False)
class Choice:
    """The files chosen in a partition, and what a filter on the partition costs on average, in bytes."""

    files: npt.NDArray[np.int64]  # places of the chosen files; of a scored set the required ones first, then by excess
    today: float
    expected: float  # after a rewrite of ``files``
    attainable: float  # after a rewrite of all files
    is_within: bool  # whether filters cost at most the limits today, so that no set is scored
    uses_smaller_target: bool  # whether ``files`` are written to 1.5 times as many files as usual
    will_be_within: bool  # whether filters cost at most the limits after a rewrite of ``files``
    extents: list[int]  # by column, the share of the partition that ``files`` span, see :meth:`PartitionRows.extents`


def rows_to_spread(expected: Sequence[int]) -> list[int]:
    """Return how many rows to spread in each partition, given how many files each would be written to.

    Examples
    --------
    >>> rows_to_spread([1, 64]), rows_to_spread([64] * 1000)[0], rows_to_spread([100_000])
    ([2000, 12800], 500, [40000])
    """
    wanted = [min(max(_ROWS_PER_FILE * files, _LEAST_ROWS), _MOST_ROWS) for files in expected]
    total = sum(wanted)
    return (
        wanted
        if total <= _MOST_ROWS_IN_ALL
        else [max(each * _MOST_ROWS_IN_ALL // total, _LEAST_ROWS_OF_MANY) for each in wanted]
    )


def choose(
    files: DataFiles,
    called_for: npt.NDArray[np.bool_],
    must_rewrite: npt.NDArray[np.bool_],
    budget: int,
    rows: int,
    request: UpkeepRequest,
) -> Choice:
    """Choose which files of a partition, which has at least one, are to be rewritten.

    ``called_for`` marks the called files, ``must_rewrite`` those that are rewritten whatever they gain.
    A rewrite for gain takes at most ``budget`` bytes. ``rows`` is the number of rows to spread.

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
    >>> request = UpkeepRequest(1.2, 0, FileSizes.around(100), LayoutRequest(1), [None], [1.0], 10)
    >>> choice = choose(files, *np.zeros((2, 5), bool), 1000, 1000, request)
    >>> choice.files.tolist(), round(choice.today), round(choice.expected)
    ([0, 1, 2], 222, 112)
    """
    everything = np.arange(files.count)
    partition = PartitionRows(files, rows, request)
    # Wide bounds hide correlation, so files that are read more than the average take rows of the narrower ones.
    planning = planning_cost(files.count, request.open_cost)
    average = partition.mean(partition.cost(everything)) - planning
    is_narrow = partition.read_costs.sum() * partition.read_probability < average
    if is_narrow.any():
        partition = PartitionRows(files, rows, request, partition.rows_alike(is_narrow))
    costs_today = partition.cost(everything)
    today = partition.mean(costs_today)
    costs_attainable, row_probabilities, new_files = partition.predict_rewrite(everything)
    is_within = partition.is_within(costs_today, costs_attainable)
    chosen, uses_smaller_target = np.flatnonzero(called_for), False
    # Often all files are called for.
    new = costs_attainable if len(chosen) == files.count else partition.predict_rewrite(chosen)[0]
    costs, gains = partition.costs_after(chosen, new), partition.gains_enough(chosen, new)
    if not gains or not partition.is_within(costs, costs_attainable):
        required = np.flatnonzero(must_rewrite)
        costs_required = partition.costs_after(required, partition.predict_rewrite(required)[0])
        if not gains:
            chosen, costs = required, costs_required
        if not partition.is_within(costs_required, costs_attainable):
            limit = request.limit(partition.mean(costs_attainable))
            attainable_probability = partition.file_means(row_probabilities)
            excess = np.divide(
                partition.read_probability,
                attainable_probability,
                out=np.zeros(files.count),
                where=attainable_probability > 0,
            )
            by_excess = np.argsort(-excess, kind="stable")
            order = np.concatenate([required, by_excess[~must_rewrite[by_excess]]])
            # No set costs less: its rows are read at least as often as after a rewrite of everything.
            shares = files.sizes / max(1, files.bytes)
            new_file_costs = files.sizes + request.open_cost * new_files * shares
            saved = partition.read_costs * partition.read_probability - new_file_costs * attainable_probability
            saved += planning / files.count - planning_cost(new_files, request.open_cost) * shares
            best_costs = today - np.cumsum(saved[order])
            sizes = files.sizes[order]
            if found := _best(partition, sizes, order, best_costs, costs_attainable, len(required), limit, budget):
                chosen, costs = found
                uses_smaller_target = partition.uses_smaller_target(chosen)
    return Choice(
        chosen,
        today,
        partition.mean(costs),
        partition.mean(costs_attainable),
        is_within,
        uses_smaller_target,
        partition.is_within(costs, costs_attainable),
        partition.extents(chosen),
    )


def _best(
    partition: PartitionRows,
    sizes: npt.NDArray[np.int64],
    order: npt.NDArray[np.int64],
    best_costs: npt.NDArray[np.float64],
    costs_attainable: list[float],
    required: int,
    limit: float,
    budget: int,
) -> tuple[npt.NDArray[np.int64], list[float]] | None:
    """Return the prefix with the highest score of those that gain and are longer than ``required``; and its costs."""
    ends = np.cumsum(sizes)
    found, best, count = None, -1.0, max(1, required)
    while count < len(order):
        enough = int(np.searchsorted(ends, _GROWTH * ends[count - 1], "left"))
        count = min(max(count, enough) + 1, len(order))
        size = int(ends[count - 1])
        if size > budget:
            break
        is_all = count == len(order)
        # Fitting a layout is slow: skip a prefix that cannot beat the best score.
        if not is_all and _score(limit - float(best_costs[count - 1]), size) <= max(best, 0.0):
            continue
        places = np.sort(order[:count])
        new = costs_attainable if is_all else partition.predict_rewrite(places, for_gain=True)[0]
        costs = costs_attainable if is_all else partition.costs_after(places, new)
        score = _score(limit - partition.mean(costs), size)
        # If only a column is above its limit, the mean is not, and even a set that costs more may have the best score.
        if score > best and partition.is_within(costs, costs_attainable) and partition.gains_enough(places, new):
            found, best = (order[:count], costs), score
    return found


def _score(below_limit: float, size: int) -> float:
    """Return the score of a rewrite of so many bytes, after which filters cost so much less than the limit.

    Each append costs more than the next one. So the power of 1.5 favours rewrites after which more appends stay below.
    """
    far = max(0.0, below_limit)
    return far * math.sqrt(far) / max(1, size)
