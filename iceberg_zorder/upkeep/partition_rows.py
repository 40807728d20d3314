"""The rows of a partition as its files' bounds spread them: how much filters read, today and after a rewrite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from iceberg_zorder.layout.boundaries import Boundaries
from iceberg_zorder.layout.fit import fit
from iceberg_zorder.layout.growth.query_boxes import QueryBoxes
from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.report.data_files import DataFiles
from iceberg_zorder.report.ranks import dense_ranks, distinct_keys
from iceberg_zorder.report.scan_prediction import LaidOutSample
from iceberg_zorder.report.spread_rows import spread_rows
from iceberg_zorder.upkeep.upkeep_request import AskedQueries, UpkeepRequest, finer
from iceberg_zorder.workload.boxes.key_ranges import END
from iceberg_zorder.workload.boxes.position_boxes import query_boxes, value_ranges

LEAST_OF_A_FILE = 40
"""With fewer rows, a new file would look tighter than it is to be: fewer and larger ones are predicted, and scaled."""
_ROOT_STEPS = 64
_MOST_LOOKED_AT = 100_000_000
_Array = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Column:
    """A column of the rows."""

    # What it counts in averages, 0 or more.
    weight: float
    # By row, the rank of its value among these and the bounds of the files; -1 without a value.
    ranks: _Array
    # For each rank and one more, the rows whose values are below.
    below: _Array

    def share(self, lower: _Array, upper: _Array) -> _Floats:
        """Tell what share of the values lies between bounds, both included; none where the upper one is -1."""
        found: _Floats = np.where(upper < 0, 0, self.below[upper + 1] - self.below[lower]) / max(1, self.below[-1])
        return found

    def ends(self, rows: _Array, starts: _Array) -> tuple[_Array, _Array]:
        """Find the least and the largest rank of sets of rows that begin at ``starts``; last and -1 without values."""
        ranks = self.ranks[rows]
        low = np.minimum.reduceat(np.where(ranks < 0, len(self.below) - 2, ranks), starts)
        return low, np.maximum.reduceat(ranks, starts)


class PartitionRows:
    """The rows of a partition, made of nothing but its files' bounds.

    A file costs its bytes times its reach: the share of the filters that read it. The filters are ``column = value``
    with the value of each row, averaged over the columns by weight, or the queries of a workload, averaged by theirs.

    Of a column without any bounds nothing is known, but that every file with values is read for it, and that a layout
    cuts it: its rows get values in an order that no other column follows. Rows of files that are marked as ``like``
    show how columns go together: those of each other file are taken to lie as those of these that are within its
    bounds, where there are as many, and it takes no more than 100,000,000 looks at a row.
    """

    def __init__(
        self, files: DataFiles, rows: int, request: UpkeepRequest, like: npt.NDArray[np.bool_] | None = None
    ) -> None:
        queries = request.queries if request.goes_by_queries(files) else None
        files = replace(files, columns=tuple(each.spanned() if each.is_open else each for each in files.columns))
        self._files, self._request = files, request
        self._sample, self._places = spread_rows(files, rows)
        if like is not None:
            self._sample = self._sample.take(_rows_alike(self._sample, self._places, files, like))
        self._columns: list[_Column] = []
        self.reach = np.zeros(files.count)
        columns = zip(files.columns, self._sample.columns, request.kept, request.weights, strict=True)
        for bounds, keys, cut, weight in columns:
            lower, upper, ranks = dense_ranks([bounds.lower, bounds.upper, keys], cut)
            has_any = bool((ranks >= 0).any())
            count = 1 + max(int(each.max(initial=0)) for each in (lower, upper, ranks))
            below = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(ranks[ranks >= 0], minlength=count))])
            column = _Column(weight if has_any else 0.0, ranks, below)
            # A file without bounds is read for all values, one without values for none.
            others = np.where(bounds.has_values, 1.0, 0.0)
            share = np.where(bounds.bounded, column.share(np.maximum(lower, 0), upper), others)
            self.reach += column.weight * share
            self._columns.append(column)
        self._weight = float(np.cumsum([column.weight for column in self._columns])[-1]) or 1.0
        self.reach /= self._weight
        self._queries = None if queries is None else _Queries(queries, files, self._sample, request)
        if queries is not None:
            self.reach = queries.reach

    def cost(self, files: _Array) -> float:
        """Add up what some files cost, by their places."""
        return _sum(self._files.sizes[files] * self.reach[files])

    def average(self, of_rows: _Floats) -> _Floats:
        """Average what each row has over the rows of each file; 0 for a file without rows."""
        rows = np.bincount(self._places, minlength=self._files.count)
        found: _Floats = np.bincount(self._places, of_rows, self._files.count) / np.maximum(rows, 1)
        return found

    def is_finer(self, files: _Array) -> bool:
        """Tell whether files that are chosen for what they gain are written to more files: those of less than half."""
        return 2 * int(self._files.sizes[files].sum()) < self._files.bytes

    def after(self, files: _Array, *, for_gain: bool = False) -> float:
        """Predict what all files cost once some are rewritten."""
        today = self.cost(np.arange(self._files.count))
        return today - self.cost(files) + self.rewritten(files, for_gain=for_gain)[0] if len(files) else today

    def rewritten(self, files: _Array, *, for_gain: bool = False) -> tuple[float, _Floats]:
        """Predict what the new files cost that are made of some, and the reach of the new file of each row."""
        is_mine = np.zeros(self._files.count, np.bool_)
        is_mine[files] = True
        rows = np.flatnonzero(is_mine[self._places])
        size = int(self._files.sizes[files].sum())
        count = self._request.expected_files(finer(size) if for_gain and self.is_finer(files) else size)
        coarse = max(1, min(count, len(rows) // LEAST_OF_A_FILE))
        file = self._new_files(rows, coarse)
        order = np.argsort(file, kind="stable")
        starts = np.flatnonzero(np.diff(file[order], prepend=-1))
        counts = np.diff(starts, append=len(rows))
        # So many times what extent files have that are so many times as large.
        smaller = _root(coarse / count, sum(each.weight > 0 for each in self._columns))
        reach_of = self._reach_by_equality if self._queries is None else self._reach_by_queries
        reach = reach_of(rows[order], starts, smaller) if len(rows) else np.zeros(0)
        of_row = np.empty(len(rows))
        of_row[order] = np.repeat(reach, counts)
        return _sum(counts * (size / max(1, len(rows))) * reach), of_row

    def _reach_by_equality(self, rows: _Array, starts: _Array, smaller: float) -> _Floats:
        """Tell for what share of the rows each new file is read."""
        counts = np.diff(starts, append=len(rows))
        # So many even draws of an interval span (n - 1) / (n + 1) of it on average.
        spans = np.where(counts > 1, (counts + 1) / np.maximum(counts - 1, 1), 1.0)
        reach = np.zeros(len(starts))
        for column in self._columns:
            low, high = column.ends(rows, starts)
            share = column.share(low, high)
            reach += column.weight * np.where(low < high, np.minimum(share * spans, 1.0), share)
        return reach / self._weight * smaller

    def _reach_by_queries(self, rows: _Array, starts: _Array, smaller: float) -> _Floats:
        """Tell what share of the queries reads each new file."""
        assert self._queries is not None  # noqa: S101
        return self._queries.reach(self._columns, rows, starts, smaller)

    def _new_files(self, rows: _Array, files: int) -> _Array:
        """Find the new file of each row of a rewrite."""
        if files == 1:
            return np.zeros(len(rows), np.int64)
        mine, request = self._sample.take(rows), replace(self._request.layout, files=files)
        columns, half = [bounds.column for bounds in self._files.columns], mine.take(np.arange(0, len(rows), 2))
        if self._queries is None:
            layout = fit(columns, half, request)
        else:
            layout = fit(columns, half, request, self._queries.of_layout, self._queries.share)
        return LaidOutSample(layout, mine, mine, 0, 0).files_of(mine)


class _Queries:
    """What the queries of a workload want of the rows."""

    def __init__(self, queries: AskedQueries, files: DataFiles, sample: Sample, request: UpkeepRequest) -> None:
        self.share, self._total = queries.share, float(np.cumsum(queries.weights)[-1])
        self._asked = [
            (boxes, weight)
            for boxes, weight, is_asked in zip(queries.boxes, queries.weights.tolist(), queries.may_find, strict=True)
            if is_asked and boxes
        ]
        self._query = np.repeat(np.arange(len(self._asked)), [len(boxes) for boxes, _ in self._asked])
        # For each column that counts, the ranks that each box wants, and whether it wants rows without a value.
        self._wanted: list[tuple[int, _Array, _Array, npt.NDArray[np.bool_]]] = []
        for place, (bounds, keys) in enumerate(zip(files.columns, sample.columns, strict=True)):
            if request.weights[place] > 0:
                ranges = [box.range(bounds.column.parts) for boxes, _ in self._asked for box in boxes]
                values = Boundaries(distinct_keys([bounds.lower, bounds.upper, keys], request.kept[place]))
                nulls = np.array([each.stop == (END,) for each in ranges], np.bool_)
                self._wanted.append((place, *value_ranges(ranges, values, request.kept[place]), nulls))

    def of_layout(self, layout: Layout) -> QueryBoxes:
        """Find what the queries want of a layout's columns."""
        return query_boxes(self._asked, layout.columns)

    def reach(self, columns: Sequence[_Column], rows: _Array, starts: _Array, slices: float) -> _Floats:
        """Tell what share of the queries reads each new file; a slice of a file has the share ``slices`` of it."""
        weights = np.array([weight for _, weight in self._asked])
        reads = np.ones((len(starts), len(self._query)))
        for place, first, last, nulls in self._wanted:
            low, high = (each[:, np.newaxis] for each in columns[place].ends(rows, starts))
            lacks = np.logical_or.reduceat(columns[place].ranks[rows] < 0, starts)[:, np.newaxis]
            read = ((first <= high) & (last >= low)).astype(np.float64)
            if slices != 1:
                # Of what is wanted, and the two slices at its ends, as layouts are grown by.
                inside = np.minimum(last, high) - np.maximum(first, low) + 1
                read *= np.minimum(inside / np.maximum(1, high - low + 1) + slices, 1.0)
            reads *= np.where(nulls & lacks, 1.0, read)
        found = np.empty(len(starts))
        for file, read in enumerate(reads):
            of_queries = np.minimum(np.bincount(self._query, read, len(self._asked)), 1.0)
            found[file] = _sum(weights * of_queries)
        return found / self._total


def _rows_alike(sample: Sample, places: _Array, files: DataFiles, like: npt.NDArray[np.bool_]) -> _Array:
    """Find for each row the one that it is taken to lie as: itself, or for other files evenly one of those inside."""
    found, known, others = np.arange(len(places)), np.flatnonzero(like[places]), np.flatnonzero(~like)
    if len(known) * len(others) > _MOST_LOOKED_AT:
        return found
    columns = []
    for bounds, keys in zip(files.columns, sample.columns, strict=True):
        lower, upper, of_rows = dense_ranks([bounds.lower, bounds.upper, keys.take(known)])
        columns.append((bounds.bounded, bounds.valued < 1, lower, upper, of_rows))
    for file in others.tolist():
        is_inside = np.ones(len(known), np.bool_)
        for bounded, lacks, lower, upper, of_rows in columns:
            if bounded[file]:
                # Rows without a value lie in any file that has such rows.
                is_inside &= ((lower[file] <= of_rows) & (of_rows <= upper[file])) | ((of_rows < 0) & lacks[file])
        inside = known[is_inside]
        rows = slice(*np.searchsorted(places, [file, file + 1]).tolist())
        count = rows.stop - rows.start
        if count <= len(inside):
            found[rows] = inside[(2 * np.arange(count) + 1) * len(inside) // (2 * max(1, count))]
    return found


def _sum(values: _Floats) -> float:
    """Add up in order, as Java does, where numpy's sum would take an order of its own."""
    return float(np.cumsum(values)[-1]) if len(values) else 0.0


def _root(share: float, degree: int) -> float:
    """Compute the root of a share in (0, 1] by Newton's method, which Java computes alike.

    A file that is cut into as many boxes has extents that are smaller by this factor, if they are so in each column.
    """
    if share == 1 or degree < 2:
        return share
    root = 1.0
    for _ in range(_ROOT_STEPS):
        power = 1.0
        for _ in range(degree - 1):
            power *= root
        root -= (power * root - share) / (degree * power)
    return root
