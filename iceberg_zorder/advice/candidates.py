"""The candidate layouts of a table, each simulated on sampled rows.

To add a kind of layout, implement :class:`Candidate` and add it to ``candidates_of``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

import numpy as np
import numpy.typing as npt

from iceberg_zorder.advice.compression import ExpectedFiles, Ordered, Places
from iceberg_zorder.advice.judged_queries import JudgedQuery
from iceberg_zorder.advice.sampled_table import SampledTable
from iceberg_zorder.layout.curve import HILBERT
from iceberg_zorder.layout.fit import LayoutRequest, fit
from iceberg_zorder.layout.keys import NAN, VALUE
from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.layout.sample import Sample

MOST_COLUMNS = 4
MOST_TRIED = 6
"""Number of columns whose sets are all tried: six columns have 56 sets of one to four."""
_LEAST_SHARE = 0.01
"""Smallest share of the scans that must filter by a tried column."""
_SMALL_PARTITION = 0.25
"""Smallest average partition size that is tried, relative to the target file size."""
IDENTITY = "identity"
_TIMES = {"year": "Y", "month": "M", "day": "D", "hour": "h"}
_MOST_VALUES = 1_000
"""Most distinct values of a tried partition column."""
_NULLS, _NANS = -(2**63), -(2**63) + 1
"""Partition values of NaN and NULL, which no transform returns."""
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Candidate(Ordered, Protocol):
    """A layout to simulate."""

    @property
    def kind(self) -> str:
        """``sort``, ``zorder``, ``workload`` or ``partition``."""

    @property
    def columns(self) -> tuple[int, ...]:
        """The places of its columns."""

    @property
    def folds(self) -> tuple[Fold, ...]:
        """Cross-validation folds; empty if no query influences the layout."""

    def text(self, table: SampledTable) -> str:
        """Return the sort order or the partition field."""


@dataclass(frozen=True, eq=False)
class Fold:
    """A layout that is fitted to part of the choosing queries and judged by the others."""

    candidate: Candidate
    unseen: npt.NDArray[np.int64]  # places of the other queries among all choosing ones, shape (queries,)


@dataclass(frozen=True)
class ColumnSet:
    """A layout by a set of columns; with a single column it is a sort."""

    columns: tuple[int, ...]  # places of the columns, at least one

    @property
    def kind(self) -> str:
        """``sort`` for one column, else ``zorder``."""
        return "zorder" if len(self.columns) > 1 else "sort"

    @property
    def folds(self) -> tuple[Fold, ...]:
        """No folds: queries do not influence the layout."""
        return ()

    def text(self, table: SampledTable) -> str:
        """Return the sort order. A sort by one column is written as zorder(a), which may split equal values."""
        return f"zorder({', '.join(table.columns[place].name for place in self.columns)})"

    def placed(
        self, table: SampledTable, expected_files: ExpectedFiles, *, in_order: bool = False
    ) -> tuple[Places, Places]:
        """Fit a layout to each group's rows, as a rewrite does, and assign the rows to its files."""
        columns = [table.columns[place] for place in self.columns]

        def fitted(_: int, sample: Sample, files: int) -> Layout:
            return fit(columns, sample, layout_request(files))

        return cut_groups(table, self.columns, expected_files, fitted, in_order=in_order)


def layout_request(files: int, *, size_tolerance: float = 0.25) -> LayoutRequest:
    """Return the layout request of a candidate; its curve is arbitrary, because it does not affect file bounds."""
    return LayoutRequest(files, curve=HILBERT, size_tolerance=size_tolerance)


def cut_groups(
    table: SampledTable,
    places: Sequence[int],
    expected_files: ExpectedFiles,
    fitted: Callable[[int, Sample, int], Layout],
    *,
    in_order: bool,
) -> tuple[Places, Places]:
    """Fit a layout to each group's rows; return the file of each row, and with ``in_order`` its index in the file.

    No rows are held out, because queries bring their own values. :mod:`iceberg_zorder.advice.tails` estimates how far
    files extend beyond their sampled rows.
    """
    file, index = np.zeros((2, table.sample.rows), np.int64)
    of_columns = table.of_columns(places)
    start = 0
    for group, (rows, size) in enumerate(zip(table.rows_of_groups, table.group_bytes.tolist(), strict=True)):
        if not len(rows):
            continue
        files = expected_files(size)
        file[rows] = start
        if files > 1 or in_order:
            sample = of_columns if len(rows) == of_columns.rows else of_columns.take(rows)
            layout = fitted(group, sample, files)
            # A distinct number for each row spreads rows with equal positions.
            file[rows] += layout.file(sample, (np.arange(len(rows), dtype=np.uint64) * _GOLDEN).view(np.int64))
            if in_order:
                index[rows] = layout.index(sample)
        start += files
    return file, index


@dataclass(frozen=True)
class PartitionBy:
    """An additional partition field; the order of rows within a partition stays as today."""

    column: int  # place of the source column
    transform: str  # Iceberg's name of the transform

    @property
    def kind(self) -> str:
        """``partition``."""
        return "partition"

    @property
    def columns(self) -> tuple[int, ...]:
        """Place of the source column."""
        return (self.column,)

    @property
    def folds(self) -> tuple[Fold, ...]:
        """No folds: queries do not influence the layout."""
        return ()

    def text(self, table: SampledTable) -> str:
        """Return the partition field in Spark SQL."""
        name = table.columns[self.column].name
        return name if self.transform == IDENTITY else f"{self.transform}({name})"

    def placed(
        self,
        table: SampledTable,
        expected_files: ExpectedFiles,
        *,
        in_order: bool = False,  # noqa: ARG002
    ) -> tuple[Places, Places]:
        """Fill each partition's files one after the other."""
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
        return (np.cumsum(counts) - counts)[partition] + within, rank

    def is_sensible(self, table: SampledTable, target: int) -> bool:
        """Return whether the field splits groups into partitions that are not too small for a file."""
        partitions = int(_joined(table.groups, partitions_of(table, self.column, self.transform)).max()) + 1
        groups = len(np.unique(table.groups))
        return groups < partitions <= max(1.0, table.bytes / (_SMALL_PARTITION * target))


def candidates_of(
    table: SampledTable, queries: Sequence[JudgedQuery], target: int, laid_out_by: Sequence[str] = ()
) -> Iterator[Candidate]:
    """Yield the candidates of a table, with the columns that it is laid out by in their own order."""
    places = tried_columns(table, queries)
    sets = [each for count in range(1, MOST_COLUMNS + 1) for each in combinations(places, count)]
    own = tuple(place for name in laid_out_by for place, each in enumerate(table.columns) if each.path == name)
    if own and len(own) == len(laid_out_by):
        sets = [own, *(each for each in sets if set(each) != set(own))]
    yield from (ColumnSet(each) for each in sets)
    for place in places:
        partitions = (PartitionBy(place, each) for each in _transforms(table, place))
        yield from (each for each in partitions if each.is_sensible(table, target))


def tried_columns(table: SampledTable, queries: Sequence[JudgedQuery], most: int = MOST_TRIED) -> list[int]:
    """Return the places of the columns that most scans filter by.

    Columns count if they have bounds and at least two values, and filters use them with more than ``<>``.
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
    """Return a number for each distinct pair."""
    codes = np.unique(other, return_inverse=True)[1].astype(np.int64)
    found: npt.NDArray[np.int64] = np.unique(one * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[1]
    return found


def _transforms(table: SampledTable, place: int) -> Iterator[str]:
    """Yield the partition transforms to try for a column, by Iceberg's names."""
    kind = table.columns[place].type
    distinct = len(table.ranked[place].distinct)
    if kind.startswith("timestamp") or kind == "date":
        yield from (each for each in _TIMES if kind != "date" or each != "hour")
    elif distinct <= _MOST_VALUES and kind not in ("float", "double"):
        yield IDENTITY


def partitions_of(table: SampledTable, place: int, transform: str) -> npt.NDArray[np.int64]:
    """Return the partition value of each row as an integer.

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
    values = np.full(len(column.ranks), _NULLS, np.int64)
    values[column.states == NAN] = _NANS
    valued = column.states == VALUE
    values[valued] = _of_distinct(table, place, transform)[column.ranks[valued]]
    return values


def _of_distinct(table: SampledTable, place: int, transform: str) -> npt.NDArray[np.int64]:
    distinct = table.ranked[place].distinct
    if transform == IDENTITY:
        return np.arange(len(distinct), dtype=np.int64)
    kind = table.columns[place].type
    unit = "D" if kind == "date" else "ns" if kind.endswith("_ns") else "us"
    moments = np.array(distinct, np.int64).view(f"datetime64[{unit}]")
    return moments.astype(f"datetime64[{_TIMES[transform]}]").astype(np.int64)
