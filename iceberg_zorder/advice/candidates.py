"""The candidate layouts of a table, each simulated on sampled rows.

One more kind of layout is one more class with what :class:`Candidate` asks for, and its place in ``candidates_of``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

import numpy as np
import numpy.typing as npt

from iceberg_zorder.advice.compression import WRITTEN_FILES
from iceberg_zorder.advice.judged_queries import JudgedQuery
from iceberg_zorder.advice.sampled_table import SampledTable
from iceberg_zorder.advice.simulated_files import SimulatedFiles
from iceberg_zorder.layout.curve import HILBERT
from iceberg_zorder.layout.fit import LayoutRequest, fit
from iceberg_zorder.layout.keys import NAN, VALUE
from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.layout.sample import Sample

ExpectedFiles = Callable[[int], int]
"""From bytes that are written together to the number of their files."""

MOST_COLUMNS = 4
MOST_TRIED = 6
"""Of so many columns every set is tried: 56 sets of one to four."""
_LEAST_SHARE = 0.01
"""A column in fewer of the scans is not tried."""
_SMALL_PARTITION = 0.25
"""Partitions are not to be smaller than this share of a file, on average."""
IDENTITY = "identity"
_TIMES = {"year": "Y", "month": "M", "day": "D", "hour": "h"}
_MOST_VALUES = 1_000
"""Of more different values nobody makes partitions."""
_NULLS, _NANS = -(2**63), -(2**63) + 1
"""No transform comes to these."""
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Candidate(Protocol):
    """A layout that a table may get."""

    @property
    def kind(self) -> str:
        """``sort``, ``zorder``, ``workload`` or ``partition``."""

    @property
    def columns(self) -> tuple[int, ...]:
        """The places of its columns."""

    @property
    def folds(self) -> tuple[Fold, ...]:
        """How it comes out for queries that it was not fitted to; empty where none had a part in it."""

    def text(self, table: SampledTable) -> str:
        """Write it as a sort order, or as a partition field."""

    def files(self, table: SampledTable, expected_files: ExpectedFiles) -> SimulatedFiles:
        """Simulate its files."""


@dataclass(frozen=True, eq=False)
class Fold:
    """A layout that is fitted to some of the queries that choose, and judged by others of them.

    Parameters
    ----------
    candidate : Candidate
        The layout.
    unseen : ndarray of int64, shape (queries,)
        The places of the others among all that choose.
    """

    candidate: Candidate
    unseen: npt.NDArray[np.int64]


@dataclass(frozen=True)
class ColumnSet:
    """Files that are boxes over columns; over a single one it is a sort.

    Parameters
    ----------
    columns : tuple of int
        The places of the columns, one at least.
    """

    columns: tuple[int, ...]

    @property
    def kind(self) -> str:
        """``sort`` of one column, else ``zorder``."""
        return "zorder" if len(self.columns) > 1 else "sort"

    @property
    def folds(self) -> tuple[Fold, ...]:
        """None: it knows no query."""
        return ()

    def text(self, table: SampledTable) -> str:
        """Write it as a sort order.

        Rows that are alike in the one column of a sort may lie in several files.
        """
        return f"zorder({', '.join(table.columns[place].name for place in self.columns)})"

    def files(self, table: SampledTable, expected_files: ExpectedFiles) -> SimulatedFiles:
        """Fit a layout to the rows of each group, as a rewrite does, and send them to its files."""
        columns = [table.columns[place] for place in self.columns]
        return cut_groups(
            table, self.columns, expected_files, lambda _, sample, files: fit(columns, sample, layout_request(files))
        )


def layout_request(files: int, *, size_tolerance: float = 0.25) -> LayoutRequest:
    """Ask for a layout: which of the curves orders the rows of a file has no part in what it has bounds of."""
    return LayoutRequest(files, curve=HILBERT, size_tolerance=size_tolerance)


def cut_groups(
    table: SampledTable,
    places: Sequence[int],
    expected_files: ExpectedFiles,
    fitted: Callable[[int, Sample, int], Layout],
) -> SimulatedFiles:
    """Send the rows of each group to the files of a layout that is fitted to them.

    They say nothing of how far the files go beyond them, see :mod:`iceberg_zorder.advice.tails`, and need not be held
    out as for predictions of rows' own values: the values that are looked for are those of queries.
    """
    found = np.empty(table.sample.rows, np.int64)
    of_columns = table.of_columns(places)
    counts = [
        expected_files(size) if len(rows) else 0
        for rows, size in zip(table.rows_of_groups, table.group_bytes.tolist(), strict=True)
    ]
    start, every = 0, -(-sum(counts) // WRITTEN_FILES)
    written: list[npt.NDArray[np.int64]] = []
    for group, (rows, files) in enumerate(zip(table.rows_of_groups, counts, strict=True)):
        wanted = range(-(-start // every) * every - start, files, every)
        if files > 1:
            sample = of_columns if len(rows) == of_columns.rows else of_columns.take(rows)
            layout = fitted(group, sample, files)
            # Any number that differs from row to row, for rows that nothing else tells apart.
            spread = (np.arange(len(rows), dtype=np.uint64) * _GOLDEN).view(np.int64)
            file = layout.file(sample, spread)
            found[rows] = start + file
            written += [rows[_in_order(layout, sample, np.flatnonzero(file == each))] for each in wanted]
        else:
            found[rows] = start
            written += [rows for _ in wanted]
        start += files
    return SimulatedFiles.of(table, found, written=written)


def _in_order(layout: Layout, sample: Sample, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return rows[np.argsort(layout.index(sample.take(rows)), kind="stable")]


@dataclass(frozen=True)
class PartitionBy:
    """A partition field beside those that the table has, and files of each partition in the order of today.

    Parameters
    ----------
    column : int
        The place of its column.
    transform : str
        As Iceberg writes it.
    """

    column: int
    transform: str

    @property
    def kind(self) -> str:
        """``partition``."""
        return "partition"

    @property
    def columns(self) -> tuple[int, ...]:
        """The place of its column."""
        return (self.column,)

    @property
    def folds(self) -> tuple[Fold, ...]:
        """None: it knows no query."""
        return ()

    def text(self, table: SampledTable) -> str:
        """Write it as Spark SQL has partition fields."""
        name = table.columns[self.column].name
        return name if self.transform == IDENTITY else f"{self.transform}({name})"

    def files(self, table: SampledTable, expected_files: ExpectedFiles) -> SimulatedFiles:
        """Fill the files of each partition one after the other."""
        codes = partitions_of(table, self.column, self.transform)
        partition = _joined(table.groups, codes)
        order = np.argsort(partition, kind="stable")
        sizes = np.bincount(partition, table.row_bytes)
        counts = np.array([expected_files(round(size)) for size in sizes.tolist()], np.int64)
        ends = np.searchsorted(partition[order], np.arange(len(sizes) + 1))
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        rows = np.diff(ends)[partition]
        within = (rank - ends[partition]) * counts[partition] // rows
        file = (np.cumsum(counts) - counts)[partition] + within
        numbers = np.unique(file)
        written = [np.flatnonzero(file == each) for each in numbers[:: -(-len(numbers) // WRITTEN_FILES)].tolist()]
        return SimulatedFiles.of(table, file, written=written)

    def is_sensible(self, table: SampledTable, target: int) -> bool:
        """Tell whether it divides groups, into partitions that fill a good part of a file on average."""
        partitions = int(_joined(table.groups, partitions_of(table, self.column, self.transform)).max()) + 1
        groups = len(np.unique(table.groups))
        return groups < partitions <= max(1.0, table.bytes / (_SMALL_PARTITION * target))


def candidates_of(table: SampledTable, queries: Sequence[JudgedQuery], target: int) -> Iterator[Candidate]:
    """List the layouts that are worth a try."""
    places = tried_columns(table, queries)
    for count in range(1, MOST_COLUMNS + 1):
        yield from (ColumnSet(each) for each in combinations(places, count))
    for place in places:
        partitions = (PartitionBy(place, each) for each in _transforms(table, place))
        yield from (each for each in partitions if each.is_sensible(table, target))


def tried_columns(table: SampledTable, queries: Sequence[JudgedQuery], most: int = MOST_TRIED) -> list[int]:
    """Choose the columns that are tried: those in most scans, by their places.

    A column counts that has bounds and more than one value, and that filters ask for by more than ``<>``.
    """
    weights: dict[int, float] = {}
    for query in queries:
        for name, kind in query.kinds:
            place = table.place(name)
            if place is not None and kind != "other" and table.are_bounded[place] and table.separates(place):
                weights[place] = weights.get(place, 0.0) + query.weight
    least = _LEAST_SHARE * sum(query.weight for query in queries)
    heaviest = sorted((each for each in weights if weights[each] >= least), key=lambda each: (-weights[each], each))
    return heaviest[:most]


def _joined(one: npt.NDArray[np.int64], other: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Give each pair that occurs a number."""
    codes = np.unique(other, return_inverse=True)[1].astype(np.int64)
    found: npt.NDArray[np.int64] = np.unique(one * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[1]
    return found


def _transforms(table: SampledTable, place: int) -> Iterator[str]:
    """List the transforms by which a column may be partitioned, as Iceberg writes them."""
    kind = table.columns[place].type
    distinct = len(table.ranked[place].distinct)
    if kind.startswith("timestamp") or kind == "date":
        yield from (each for each in _TIMES if kind != "date" or each != "hour")
    elif distinct <= _MOST_VALUES and kind not in ("float", "double"):
        yield IDENTITY


def partitions_of(table: SampledTable, place: int, transform: str) -> npt.NDArray[np.int64]:
    """Find the partitions of rows, as numbers.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from iceberg_zorder.layout.columns import ClusteringColumn
    >>> from iceberg_zorder.layout.keys import encode
    >>> from iceberg_zorder.layout.sample import Sample
    >>> sample = Sample((encode(pa.array([-1, 0, 40, None]), "date"),))
    >>> one = np.array([100])
    >>> table = SampledTable(
    ...     (ClusteringColumn(("d",), "date"),), sample, (None,), (True,), np.zeros(4, np.int64), one, one
    ... )
    >>> partitions_of(table, 0, "month").tolist()
    [-1, 0, 1, -9223372036854775808]
    """
    column = table.ranked[place]
    found = np.full(len(column.ranks), _NULLS, np.int64)
    found[column.states == NAN] = _NANS
    valued = column.states == VALUE
    found[valued] = _of_distinct(table, place, transform)[column.ranks[valued]]
    return found


def _of_distinct(table: SampledTable, place: int, transform: str) -> npt.NDArray[np.int64]:
    distinct = table.ranked[place].distinct
    if transform == IDENTITY:
        return np.arange(len(distinct), dtype=np.int64)
    kind = table.columns[place].type
    unit = "D" if kind == "date" else "ns" if kind.endswith("_ns") else "us"
    moments = np.array(distinct, np.int64).view(f"datetime64[{unit}]")
    return moments.astype(f"datetime64[{_TIMES[transform]}]").astype(np.int64)
