"""The rows of a partition, and how much the queries of a workload read of them, today and after a rewrite."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from iceberg_zorder.layout.boundaries import Boundaries
from iceberg_zorder.layout.box_tree import BoxTree
from iceberg_zorder.layout.fit import LayoutRequest, fit
from iceberg_zorder.layout.growth.query_boxes import QueryBoxes
from iceberg_zorder.layout.keys import VALUE, KeyColumn
from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.report.data_files import ColumnBounds, DataFiles
from iceberg_zorder.report.ranks import Kept, distinct_keys
from iceberg_zorder.request.predicate import Name
from iceberg_zorder.upkeep.partition_rows import NewFiles, PartitionRows, RankedColumn
from iceberg_zorder.upkeep.upkeep_request import UpkeepRequest
from iceberg_zorder.workload.boxes.box import Box
from iceberg_zorder.workload.boxes.key_ranges import END, KeyRange
from iceberg_zorder.workload.boxes.position_boxes import query_boxes, value_ranges

_Mask = npt.NDArray[np.bool_]


def rows_of(files: DataFiles, rows: int, request: UpkeepRequest, like: _Mask | None = None) -> PartitionRows:
    """Spread the rows of a partition, for what its files are judged by; parameters are those of the classes."""
    if goes_by_queries(files, request):
        return WorkloadRows(files, rows, request, like)
    return PartitionRows(files, rows, request.kept, request.weights, like)


def goes_by_queries(files: DataFiles, request: UpkeepRequest) -> bool:
    """Tell whether files are judged by queries, and not by equality.

    What the queries want is nowhere among the values of a column of which no file has bounds.
    """
    pairs = zip(files.columns, request.weights, strict=True)
    return request.queries is not None and not any(bounds.is_open and weight > 0 for bounds, weight in pairs)


class WorkloadRows(PartitionRows):
    """The rows of a partition as queries of a workload read them.

    What a file costs is its bytes by the share of the queries, by their weights, that read it: summed up over all
    files, that is the bytes which a query reads on average.

    Parameters
    ----------
    files : DataFiles
        The data files, at least one; of a column that counts, one has bounds at least.
    rows : int
        How many rows are spread, about.
    request : UpkeepRequest
        How files are written, and the queries.
    like : ndarray of bool, shape (files,), optional
        Files whose rows show how columns go together, see :class:`.PartitionRows`.

    Attributes
    ----------
    reach : ndarray of float64, shape (files,)
        For each file, the share of the queries that read it, in [0, 1].

    Examples
    --------
    >>> import pyarrow as pa
    >>> from iceberg_zorder.layout.columns import ClusteringColumn
    >>> from iceberg_zorder.layout.keys import encode
    >>> from iceberg_zorder.upkeep.upkeep_request import AskedQueries
    >>> ends = [encode(pa.array(each), "long") for each in ([0, 0], [399, 399])]
    >>> bounds = ColumnBounds(ClusteringColumn(("a",), "long"), *ends, np.ones(2))
    >>> files = DataFiles(np.zeros(2, int), np.full(2, 100), np.full(2, 100), (bounds,))
    >>> boxes = tuple((Box.of({("a",): KeyRange((0, low), (0, low + 50))}),) for low in (0, 300))
    >>> reads, all_of_them = np.ones((2, 2), bool), np.ones(2, bool)
    >>> queries = AskedQueries(boxes, np.array([3.0, 1.0]), all_of_them, reads, 0.95)
    >>> size = lambda each: each // 50
    >>> rows = WorkloadRows(files, 800, UpkeepRequest(1.2, size, size, LayoutRequest(1), [None], [1.0], queries))
    >>> rows.reach.tolist(), round(rows.rewritten(np.arange(2), 4, LayoutRequest(1))[0])
    ([1.0, 1.0], 43)
    """

    def __init__(self, files: DataFiles, rows: int, request: UpkeepRequest, like: _Mask | None = None) -> None:
        super().__init__(files, rows, request.kept, request.weights, like)
        assert request.queries is not None  # noqa: S101
        self._queries = request.queries
        self._total = float(np.cumsum(self._queries.weights)[-1])
        self.reach = self._queries.reach / self._total
        # The values of a column without any bounds stand for others, of which queries say nothing.
        unknown = {bounds.column.parts for bounds in files.columns if bounds.is_open}
        self._asked = [
            (tuple(_without(box, unknown) for box in boxes), weight)
            for boxes, weight, is_asked in zip(
                self._queries.boxes, self._queries.weights.tolist(), self._queries.may_find, strict=True
            )
            if is_asked and boxes
        ]
        boxes = [box for boxes, _ in self._asked for box in boxes]
        self._query = np.repeat(np.arange(len(self._asked)), [len(boxes) for boxes, _ in self._asked])
        self._wanted = [
            self._wanted_of(place, [box.range(bounds.column.parts) for box in boxes], bounds, request.kept[place])
            for place, bounds in enumerate(files.columns)
            if request.weights[place] > 0
        ]

    def _wanted_of(self, place: int, ranges: Sequence[KeyRange], bounds: ColumnBounds, kept: Kept | None) -> _Wanted:
        """Find what boxes want of a column."""
        values = Boundaries(distinct_keys([bounds.lower, bounds.upper, self._sample.columns[place]], kept))
        first, last = value_ranges(ranges, values, kept)
        nulls = np.array([each.stop == (END,) for each in ranges], np.bool_)
        return _Wanted(place, self._columns[place], values, first, last, nulls)

    def _reach_of_new(self, new: NewFiles) -> npt.NDArray[np.float64]:
        """Tell what share of the queries reads each new file."""
        slices = self._smaller(new.share)
        parts = _Parts.of(new, self._places)
        ends = [wanted.of_files(parts) for wanted in self._wanted]
        weights = np.array([weight for _, weight in self._asked])
        found = np.empty(len(new.starts))
        for file in range(len(new.starts)):
            read = np.ones(len(self._query))
            for wanted, of_files in zip(self._wanted, ends, strict=True):
                read *= wanted.read(of_files, file, slices)
            of_queries = np.minimum(np.bincount(self._query, read, len(self._asked)), 1.0)
            # Summed up in their order, as Java does, where numpy's sum would take an order of its own.
            found[file] = np.cumsum(weights * of_queries)[-1] if len(weights) else 0.0
        return found / self._total

    def _fitted(self, sample: Sample, request: LayoutRequest) -> Layout:
        return fit(self._names, sample, request, self._of_layout, self._queries.share)

    def _of_layout(self, layout: Layout) -> QueryBoxes:
        return query_boxes(self._asked, layout.columns)


@dataclass(frozen=True, eq=False)
class _Parts:
    """The rows of new files by the data file that each is of today.

    Parameters
    ----------
    new : NewFiles
        The new files.
    rows : ndarray of int64
        Their rows, one part after the other, and one new file after the other.
    starts, counts : ndarray of int64, shape (parts,)
        Where the rows of each part begin, and how many they are.
    source, file : ndarray of int64, shape (parts,)
        The data file that each part is of, and the place of its new file.
    first : ndarray of int64, shape (new files,)
        The first part of each new file.
    """

    new: NewFiles
    rows: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    source: npt.NDArray[np.int64]
    file: npt.NDArray[np.int64]
    first: npt.NDArray[np.int64]

    @staticmethod
    def of(new: NewFiles, places: npt.NDArray[np.int64]) -> _Parts:
        """Divide new files, by the data file of each row."""
        file = np.repeat(np.arange(len(new.starts)), np.diff(new.starts, append=len(new.rows)))
        order = np.lexsort((places[new.rows], file))
        rows, file = new.rows[order], file[order]
        source = places[rows]
        starts = np.flatnonzero((np.diff(file, prepend=-1) != 0) | (np.diff(source, prepend=-1) != 0))
        first = np.searchsorted(file[starts], np.arange(len(new.starts)))
        return _Parts(new, rows, starts, np.diff(starts, append=len(rows)), source[starts], file[starts], first)


@dataclass(frozen=True, eq=False)
class _OfFiles:
    """Of new files the smallest and the largest rank in a column, and whether they have rows without a value."""

    low: npt.NDArray[np.int64]
    high: npt.NDArray[np.int64]
    lacks: _Mask


@dataclass(frozen=True, eq=False)
class _Wanted:
    """What boxes want of a column.

    Parameters
    ----------
    place : int
        The column's place.
    column : RankedColumn
        The column.
    values : Boundaries
        The values, by their ranks.
    first, last : ndarray of int64, shape (boxes,)
        The first and the last rank that each box wants.
    nulls : ndarray of bool, shape (boxes,)
        Whether it wants rows without a value.
    """

    place: int
    column: RankedColumn
    values: Boundaries
    first: npt.NDArray[np.int64]
    last: npt.NDArray[np.int64]
    nulls: _Mask

    def of_files(self, parts: _Parts) -> _OfFiles:
        """Find between which ranks new files are.

        Of the few rows that are spread in a part, the outermost lie inside of what the part's real rows span: n even
        draws leave as much again, at either end, as lies between two of them. But no row lies outside of the bounds of
        its file of today, or of what the layout sends to the new one.
        """
        low, high = self.column.ends(parts.rows, parts.starts)
        lacks = np.logical_or.reduceat(self.column.ranks[parts.rows] < 0, parts.starts)
        least, most = self.column.lower[parts.source], self.column.upper[parts.source]
        is_bounded = (least >= 0) & (most >= 0)
        gap = np.where(parts.counts > 1, (high - low) // np.maximum(parts.counts - 1, 1), self.values.size)
        begins, ends = self._regions(parts.new)
        first = np.maximum(np.maximum(low - gap, np.where(is_bounded, least, 0)), begins[parts.file])
        last = np.minimum(np.minimum(high + gap, np.where(is_bounded, most, self.values.size - 1)), ends[parts.file])
        has_values = high >= 0
        low = np.where(has_values, np.minimum(low, first), low)
        high = np.where(has_values, np.maximum(high, last), high)
        return _OfFiles(
            np.minimum.reduceat(low, parts.first),
            np.maximum.reduceat(high, parts.first),
            np.logical_or.reduceat(lacks, parts.first),
        )

    def _regions(self, new: NewFiles) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Tell between which ranks a layout cuts new files; those of a column that is sorted by leave no room."""
        begins, ends = np.zeros(len(new.numbers), np.int64), np.full(len(new.numbers), self.values.size - 1)
        if new.layout is None or not isinstance(new.layout.cuts, BoxTree):
            return begins, ends
        active = [column.ordinal for column in new.layout.columns]
        if self.place not in active:
            return begins, ends
        number = active.index(self.place)
        if number < new.layout.leading:
            return ends + 1, begins - 1
        column = new.layout.columns[number]
        states = np.full(self.values.size, VALUE, np.uint8)
        positions = column.positions[column.boundaries.bucket_of(KeyColumn(self.values.keys, states))]
        first, last = (edges[new.numbers, number] for edges in new.layout.cuts.regions(len(active)))
        return np.searchsorted(positions, first), np.searchsorted(positions, last, "right") - 1

    def read(self, files: _OfFiles, file: int, slices: float) -> npt.NDArray[np.float64]:
        """Tell what share of a file each box reads by this column, once it is cut into slices of so large a share."""
        low, high, lacks = int(files.low[file]), int(files.high[file]), bool(files.lacks[file])
        touched = (self.first <= high) & (self.last >= low)
        if slices == 1:
            return np.where(touched | (self.nulls & lacks), 1.0, 0.0)
        inside = np.minimum(self.last, high) - np.maximum(self.first, low) + 1
        # Of what is wanted, and the two slices at its ends, as layouts are grown by.
        read = np.where(touched, np.minimum(inside / max(1, high - low + 1) + slices, 1.0), 0.0)
        return np.where(self.nulls & lacks, 1.0, read)


def _without(box: Box, names: Collection[Name]) -> Box:
    return Box(tuple(each for each in box.ranges if each[0] not in names)) if names else box
