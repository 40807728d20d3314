"""Simulated new files: their bounds from sampled rows, and the bytes that queries read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from iceberg_zorder.advice.judged_queries import JudgedQuery
from iceberg_zorder.advice.sampled_table import SampledTable
from iceberg_zorder.advice.tails import reached
from iceberg_zorder.layout.keys import NAN, NULL, VALUE
from iceberg_zorder.workload.boxes import EVERYTHING, KeyRange

_MOST_CELLS = 1 << 24


@dataclass(frozen=True, eq=False)
class SimulatedFiles:
    """Files simulated from sampled rows."""

    sizes: npt.NDArray[np.float64]  # bytes of each file, shape (files,)
    # Expected smallest and largest rank of each column, shape (files, columns); the largest integer and -1 without a
    # value.
    lower: npt.NDArray[np.int64]
    upper: npt.NDArray[np.int64]
    with_nan: npt.NDArray[np.bool_]  # whether the file has NaN, shape (files, columns)
    with_null: npt.NDArray[np.bool_]  # whether the file has NULL, shape (files, columns)

    @staticmethod
    def of(table: SampledTable, files: npt.NDArray[np.int64]) -> SimulatedFiles:
        """Return the files of sampled rows; ``files`` holds the file of each row."""
        seen, first, file = np.unique(files, return_index=True, return_inverse=True)
        shape = len(seen), len(table.columns)
        lower, upper = np.empty((2, *shape), np.int64)
        with_nan, with_null = np.zeros((2, *shape), np.bool_)
        scale = table.rows_of_sampled[first]
        for place, column in enumerate(table.ranked):
            valued = column.states == VALUE
            lower[:, place], upper[:, place] = reached(column.ranks[valued], file[valued], column.counts, scale)
            for flags, state in ((with_nan, NAN), (with_null, NULL)):
                flags[:, place] = np.bincount(file[column.states == state], minlength=len(seen)) > 0
        sizes = np.bincount(file, table.row_bytes, len(seen)).astype(np.float64)
        return SimulatedFiles(sizes, lower, upper, with_nan, with_null)

    @property
    def count(self) -> int:
        """Number of files."""
        return len(self.sizes)


@dataclass(frozen=True, eq=False)
class RankedBoxes:
    """The boxes of queries in the ranks of a table's sample."""

    queries: npt.NDArray[np.int64]  # query of each box, ascending, shape (boxes,)
    count: int  # number of queries
    # For each limited column: its place; the lowest and highest rank of each box, both included, shape (boxes, 2); and
    # whether each box limits the column, holds NaN, holds NULL, shape (boxes, 3).
    limits: tuple[tuple[int, npt.NDArray[np.int64], npt.NDArray[np.bool_]], ...]

    @staticmethod
    def of(table: SampledTable, queries: Sequence[JudgedQuery]) -> RankedBoxes:
        """Convert boxes to ranks; ranges of columns outside the sample or without bounds are left out."""
        owners, ranges = [], []
        for owner, query in enumerate(queries):
            for box in query.boxes:
                places = ((table.place(name), each) for name, each in box.ranges)
                ranges.append({at: each for at, each in places if at is not None and table.are_bounded[at]})
                owners.append(owner)
        limits = []
        for place in sorted({place for each in ranges for place in each}):
            column = table.ranked[place]
            ranks, flags = np.zeros((len(ranges), 2), np.int64), np.zeros((len(ranges), 3), np.bool_)
            for at, each in enumerate(ranges):
                key_range = each.get(place, EVERYTHING)
                ranks[at] = column.first(key_range.start), column.behind(key_range.stop) - 1
                flags[at] = (
                    place in each,
                    _holds_nan(key_range),
                    not key_range.met(KeyRange((NULL,), (NULL + 1,))).is_empty,
                )
            limits.append((place, ranks, flags))
        return RankedBoxes(np.array(owners, np.int64), len(queries), tuple(limits))


def files_read(files: SimulatedFiles, boxes: RankedBoxes) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Return the bytes and the number of files that each query reads after pruning by bounds.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from iceberg_zorder.layout.columns import ClusteringColumn
    >>> from iceberg_zorder.layout.keys import encode
    >>> from iceberg_zorder.layout.sample import Sample
    >>> from iceberg_zorder.rewrite.predicate import parse_predicate
    >>> from iceberg_zorder.workload.boxes import boxes_of
    >>> sample = Sample((encode(pa.array([1, 2, 7, 9]), "long"),))
    >>> rows, size = np.array([4]), np.array([100])
    >>> table = SampledTable(
    ...     (ClusteringColumn(("a",), "long"),), sample, (None,), (True,), np.zeros(4, np.int64), rows, size
    ... )
    >>> def query(text):
    ...     return JudgedQuery(text, 1.0, boxes_of(parse_predicate(text), {("a",): "long"}), ())
    >>> boxes = RankedBoxes.of(table, [query("a < 3"), query("a = 8"), query("a = 5"), query("TRUE")])
    >>> size, count = files_read(SimulatedFiles.of(table, np.array([0, 0, 0, 1])), boxes)
    >>> size.tolist(), count.tolist()
    ([75.0, 0.0, 75.0, 100.0], [1, 0, 1, 2])
    """
    size, count = np.zeros(boxes.count), np.zeros(boxes.count, np.int64)
    for owners, of_query in _met(files, boxes):
        size[owners], count[owners] = of_query @ files.sizes, of_query.sum(axis=1)
    return size, count


def files_met(files: SimulatedFiles, boxes: RankedBoxes) -> npt.NDArray[np.bool_]:
    """Return which files each query reads, shape (queries, files)."""
    found = np.zeros((boxes.count, files.count), np.bool_)
    for owners, of_query in _met(files, boxes):
        found[owners] = of_query
    return found


def _met(files: SimulatedFiles, boxes: RankedBoxes) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]]:
    """Yield runs of queries with the files that each of them reads."""
    for start, stop in _runs(boxes.queries, max(1, _MOST_CELLS // max(1, files.count))):
        some = slice(start, stop)
        read = np.ones((stop - start, files.count), np.bool_)
        for place, ranks, flags in boxes.limits:
            low, high = ranks[some, :1], ranks[some, 1:]
            limits, nan, null = flags[some, :1], flags[some, 1:2], flags[some, 2:]
            meets = (files.upper[:, place] >= low) & (files.lower[:, place] <= high)
            meets |= (nan & files.with_nan[:, place]) | (null & files.with_null[:, place])
            read &= meets | ~limits
        owners, begins = np.unique(boxes.queries[some], return_index=True)
        yield owners, np.logical_or.reduceat(read, begins)


def _runs(owners: npt.NDArray[np.int64], most: int) -> list[tuple[int, int]]:
    """Divide boxes into runs of about ``most``, without splitting a query."""
    ends = np.searchsorted(owners, np.unique(owners), side="right")
    found, start = [], 0
    for place, end in enumerate(ends.tolist()):
        if place + 1 == len(ends) or ends[place + 1] - start > most:
            found.append((start, end))
            start = end
    return found


def _holds_nan(wanted: KeyRange) -> bool:
    """Return whether a range asks for NaN; Iceberg does not read files of NaN for an open range above a value."""
    is_open = len(wanted.start) == 2 and wanted.stop > (NAN,)
    return not is_open and not wanted.met(KeyRange((NAN,), (NULL,))).is_empty
