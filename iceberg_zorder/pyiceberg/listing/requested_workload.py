"""A workload's queries on a table: their filters, boxes, and the data files that they read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import NestedField

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.keys import VALUE
from iceberg_zorder.pyiceberg.files import BytesRead, by_partition, display_name, joined_file
from iceberg_zorder.pyiceberg.listing.listing import FileFilter, column_bounds, scanned_table
from iceberg_zorder.rewrite.predicate import And, Comparison, Name, Predicate, parse_predicate
from iceberg_zorder.select.branch_history import workload_key
from iceberg_zorder.select.gain import AskedQueries
from iceberg_zorder.workload.boxes import MOST_BOXES, Box, boxes_of
from iceberg_zorder.workload.workload import Query
from iceberg_zorder.workload.workload_option import workload_queries

_COMPARED = {
    "int": "integer",
    "long": "integer",
    "date": "date",
    "timestamp": "timestamp_ntz",
    "timestamptz": "timestamp",
}
"""For each column type, the type of values whose keys compare like bounds."""
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
_MOST_AT_ONCE = 1_000_000
"""Number of pairs of conditions and files that are tested at once."""
_OPERATORS = ("=", "<", "<=", ">", ">=")


def read_queries(table: Table, text: str) -> tuple[Query, ...]:
    """Read the queries of option ``workload``; raises InvalidInputError."""

    def content(location: str, most: int) -> bytes:
        with table.io.new_input(location).open() as stream:
            return stream.read(most)

    return tuple(workload_queries(text, content))


@dataclass(frozen=True, eq=False)
class RequestedWorkload:
    """Queries on a table with weights above 0: their filters and boxes, and the data files that they read."""

    schema: Schema
    queries: tuple[Query, ...]
    conditions: tuple[Predicate, ...]
    boxes: tuple[tuple[Box, ...], ...]
    filters: tuple[FileFilter, ...]
    ranges: SureRanges  # a fast test before the filters

    @staticmethod
    def of_queries(
        table: Table, queries: Sequence[Query], *, case_sensitive: bool = False, most_boxes: int = MOST_BOXES
    ) -> RequestedWorkload:
        """Resolve queries' filters in Spark SQL on a table's current schema; raises InvalidInputError."""
        types = scanned_table(table, table.name()).columns
        # First, so that its messages equal those for other filters.
        filters = tuple(FileFilter.from_where(table, each.filter, case_sensitive=case_sensitive) for each in queries)
        read = [_read(table, each.filter, types, most_boxes) for each in queries]
        conditions, boxes = tuple(each for each, _ in read), tuple(each for _, each in read)
        return RequestedWorkload(table.schema(), tuple(queries), conditions, boxes, filters, SureRanges.of(read, types))

    @property
    def key(self) -> str:
        """Identity of the workload's content: 16 hexadecimal digits."""
        return workload_key((each.filter, each.weight) for each in self.queries)

    def asked_of(self, file: DataFile | None, share: float) -> AskedQueries:
        """Return the queries that may match the partition of a data file, or any partition if None."""
        asked = [
            (boxes, query.weight)
            for boxes, query, by in zip(self.boxes, self.queries, self.filters, strict=True)
            if file is None or by.partition_may_match(file)
        ]
        return AskedQueries(asked, float(np.cumsum([each.weight for each in self.queries])[-1]), share)

    def may_match(self, files: Sequence[DataFile], *, are_placed: bool = True) -> npt.NDArray[np.bool_]:
        """Return which data files each query reads; without ``are_placed`` partitions are unknown."""
        may_match, is_sure = self.ranges.may_match(files, self.schema)
        partitions = by_partition(files) if are_placed else {}
        for mine in partitions.values():
            for number in np.flatnonzero(may_match[:, mine].any(axis=1)).tolist():
                if not self.filters[number].partition_may_match(files[mine[0]]):
                    may_match[number, mine] = False
        for number, place in zip(*(each.tolist() for each in np.nonzero(may_match & ~is_sure)), strict=True):
            may_match[number, place] = self.filters[number].values_may_match(files[place])
        return may_match

    def read_of(self, files: Sequence[DataFile], *, are_placed: bool = True) -> BytesRead:
        """Return the bytes and files that the queries read."""
        sizes = np.array([file.file_size_in_bytes for file in files], np.int64)
        read = self.may_match(files, are_placed=are_placed)
        return BytesRead(int(sizes.sum()), read @ sizes, read.sum(axis=1))

    def may_find(self, files: Sequence[DataFile], kept: Sequence[NestedField]) -> npt.NDArray[np.bool_]:
        """Return which queries may read new files of these data files' rows, by joint bounds of ``kept`` columns."""
        together = joined_file(files, kept)
        return np.array([each.values_may_match(together) for each in self.filters])

    def mean(self, parts: Iterable[BytesRead | None]) -> float | None:
        """Return the average share of the bytes that a query reads, in [0, 1]; None without bytes."""
        known = [each for each in parts if each is not None]
        total = sum(each.all for each in known)
        if not total:
            return None
        return self._average(np.sum([each.read for each in known], axis=0) / total)

    def mean_cost(self, parts: Iterable[BytesRead | None], open_cost: int) -> float | None:
        """Return the average cost of a query in bytes; None if nothing is known."""
        known = [each.read + open_cost * each.files for each in parts if each is not None]
        return self._average(np.sum(known, axis=0)) if known else None

    def _average(self, of_queries: npt.NDArray[Any]) -> float:
        weights = np.array([each.weight for each in self.queries])
        # Summed in order, as in Java; numpy's sum uses another order.
        return float(np.cumsum(weights * of_queries)[-1] / np.cumsum(weights)[-1])


def _read(table: Table, text: str, types: Mapping[Name, str], most_boxes: int) -> tuple[Predicate, tuple[Box, ...]]:
    try:
        predicate = parse_predicate(text)
        return predicate, boxes_of(predicate, types, most_boxes)
    except InvalidInputError as error:
        raise InvalidInputError(f"Cannot use the filter '{text}' on {display_name(table)}, because {error}") from error


@dataclass(frozen=True)
class SureRanges:
    """Ranges of integer columns in conditions, for a fast test of many conditions and files.

    PyIceberg's evaluators take about 20 microseconds per condition and file, too long for thousands of both.
    """

    columns: tuple[tuple[Name, str], ...]  # names and types
    ranges: tuple[Mapping[int, tuple[int, int]], ...]  # per condition, by a column's place: lowest and highest key
    are_all: tuple[bool, ...]  # per condition, whether the ranges are the whole condition

    @staticmethod
    def of(conditions: Sequence[tuple[Predicate, Sequence[Box]]], types: Mapping[Name, str]) -> SureRanges:
        """Return the ranges of conditions that are comparisons joined by AND, given their boxes.

        Boxes of other conditions may be narrower than bounds can test: ``a IN (1, 9) AND a > 5`` is only 9, but a file
        from 1 to 8 passes both tests.
        """
        columns = tuple((name, kind) for name, kind in types.items() if kind in _COMPARED)
        place_of = {name: place for place, (name, _) in enumerate(columns)}
        of_conditions = [_ranges(*each, types, place_of) for each in conditions]
        return SureRanges(
            columns, tuple(ranges for ranges, _ in of_conditions), tuple(is_all for _, is_all in of_conditions)
        )

    def may_match(
        self, files: Sequence[DataFile], schema: Schema
    ) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Return which files are not ruled out, and for which pairs that is certain."""
        may_match = np.ones((len(self.ranges), len(files)), np.bool_)
        has_rows = np.array([file.record_count > 0 for file in files], np.bool_)
        is_sure = np.array(self.are_all, np.bool_)[:, np.newaxis] & has_rows
        for place in sorted({place for each in self.ranges for place in each}):
            name, kind = self.columns[place]
            bounds = column_bounds(files, schema.find_field(".".join(name)), ClusteringColumn(name, kind))
            low, high = np.asarray(bounds.lower.keys), np.asarray(bounds.upper.keys)
            has_low, has_high = bounds.lower.states == VALUE, bounds.upper.states == VALUE
            asking = np.array([at for at, each in enumerate(self.ranges) if place in each])
            ends = np.array([self.ranges[at][place] for at in asking.tolist()], np.int64)
            # Few files: test all conditions at once. Many files: one condition at a time, to save memory.
            for some in np.array_split(np.arange(len(asking)), -(-len(asking) * len(files) // _MOST_AT_ONCE) or 1):
                least, most = ends[some, :1], ends[some, 1:]
                may_match[asking[some]] &= ~((has_high & (high < least)) | (has_low & (low > most)))
            is_sure[asking] &= bounds.bounded
        return may_match, is_sure | ~may_match


def _ranges(
    predicate: Predicate, boxes: Sequence[Box], types: Mapping[Name, str], place_of: Mapping[Name, int]
) -> tuple[dict[int, tuple[int, int]], bool]:
    """Return the ranges of a condition's columns by their places, and whether they are the whole condition."""
    kinds: dict[Name, set[str]] = {}
    for each in _conjuncts(predicate):
        if not isinstance(each, Comparison) or each.operator not in _OPERATORS:
            return {}, False
        kinds.setdefault(tuple(map(str.lower, each.column)), set()).add(each.values[0].type)
    ranges = {}
    for name, keys in boxes[0].ranges if len(boxes) == 1 else ():
        if name in place_of and kinds[tuple(map(str.lower, name))] == {_COMPARED[types[name]]}:
            least = keys.start[1] if len(keys.start) == 2 else _LEAST
            most = keys.stop[1] - 1 if len(keys.stop) == 2 and isinstance(keys.stop[1], int) else _MOST
            # The extreme numbers rule out no file.
            if isinstance(least, int) and least <= _MOST and most >= _LEAST:
                ranges[place_of[name]] = least, most
    return ranges, bool(ranges) and len(ranges) == len(kinds)


def _conjuncts(predicate: Predicate) -> Iterator[Predicate]:
    if isinstance(predicate, And):
        for each in predicate.predicates:
            yield from _conjuncts(each)
    else:
        yield predicate
