"""The rows of a partition, and how much the queries of a workload read of them, today and after a rewrite."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from iceberg_zorder.layout.boundaries import Boundaries
from iceberg_zorder.layout.fit import LayoutRequest, fit
from iceberg_zorder.layout.growth.query_boxes import QueryBoxes
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
        return _Wanted(self._columns[place], first, last, nulls)

    def _reach_of_new(self, new: NewFiles) -> npt.NDArray[np.float64]:
        """Tell what share of the queries reads each new file."""
        slices = self._smaller(new.share)
        weights = np.array([weight for _, weight in self._asked])
        found = np.empty(len(new.starts))
        reads = np.ones((len(new.starts), len(self._query)))
        for wanted in self._wanted:
            reads *= wanted.read(new, slices)
        for file, read in enumerate(reads):
            of_queries = np.minimum(np.bincount(self._query, read, len(self._asked)), 1.0)
            # Summed up in their order, as Java does, where numpy's sum would take an order of its own.
            found[file] = np.cumsum(weights * of_queries)[-1] if len(weights) else 0.0
        return found / self._total

    def _fitted(self, sample: Sample, request: LayoutRequest) -> Layout:
        return fit(self._names, sample, request, self._of_layout, self._queries.share)

    def _of_layout(self, layout: Layout) -> QueryBoxes:
        return query_boxes(self._asked, layout.columns)


@dataclass(frozen=True, eq=False)
class _Wanted:
    """What boxes want of a column.

    Parameters
    ----------
    column : RankedColumn
        The column.
    first, last : ndarray of int64, shape (boxes,)
        The first and the last rank that each box wants.
    nulls : ndarray of bool, shape (boxes,)
        Whether it wants rows without a value.
    """

    column: RankedColumn
    first: npt.NDArray[np.int64]
    last: npt.NDArray[np.int64]
    nulls: _Mask

    def read(self, new: NewFiles, slices: float) -> npt.NDArray[np.float64]:
        """Predict the share of each new file that each box reads by this column, of shape (new files, boxes).

        ``slices`` is the share of a file that a slice has, once the file is cut into as many as there will be.
        """
        low, high = (each[:, np.newaxis] for each in self.column.ends(new.rows, new.starts))
        lacks = np.logical_or.reduceat(self.column.ranks[new.rows] < 0, new.starts)[:, np.newaxis]
        touched = (self.first <= high) & (self.last >= low)
        if slices == 1:
            return np.where(touched | (self.nulls & lacks), 1.0, 0.0)
        inside = np.minimum(self.last, high) - np.maximum(self.first, low) + 1
        # Of what is wanted, and the two slices at its ends, as layouts are grown by.
        read = np.where(touched, np.minimum(inside / np.maximum(1, high - low + 1) + slices, 1.0), 0.0)
        return np.where(self.nulls & lacks, 1.0, read)


def _without(box: Box, names: Collection[Name]) -> Box:
    return Box(tuple(each for each in box.ranges if each[0] not in names)) if names else box
