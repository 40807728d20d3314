"""The queries of a workload on a table: what they ask for, want of a layout, and read of data files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.growth.query_boxes import QueryBoxes
from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.pyiceberg.content_files import by_partition, joined_file
from iceberg_zorder.pyiceberg.display import display_name
from iceberg_zorder.pyiceberg.scan.listing import Listing
from iceberg_zorder.pyiceberg.scan.scanned_table import scanned_table
from iceberg_zorder.pyiceberg.scan.sure_ranges import SureRanges
from iceberg_zorder.request.predicate import Name, Predicate, parse_predicate
from iceberg_zorder.upkeep.settled import workload_key
from iceberg_zorder.upkeep.upkeep_request import AskedQueries
from iceberg_zorder.workload.boxes.box import Box
from iceberg_zorder.workload.boxes.boxes import MOST_BOXES, boxes_of
from iceberg_zorder.workload.boxes.position_boxes import query_boxes
from iceberg_zorder.workload.workload import Query
from iceberg_zorder.workload.workload_option import workload_queries


class BytesRead(NamedTuple):
    """The bytes of a set of files, and of those that each query does not rule out."""

    all: int
    read: npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RequestedWorkload:
    """Queries on a table, each of a weight above 0: their filters, what these ask for and leave of data files."""

    table: Table
    queries: tuple[Query, ...]
    conditions: tuple[Predicate, ...]
    boxes: tuple[tuple[Box, ...], ...]
    listings: tuple[Listing, ...]
    ranges: SureRanges  # what the listings leave, for all at once, as far as it goes

    @staticmethod
    def of(table: Table, text: str, *, case_sensitive: bool) -> RequestedWorkload:
        """Read the option ``workload``; raises InvalidInputError for what is none, and for filters of other tables."""

        def content(location: str, most: int) -> bytes:
            with table.io.new_input(location).open() as stream:
                return stream.read(most)

        return RequestedWorkload.of_queries(table, workload_queries(text, content), case_sensitive=case_sensitive)

    @staticmethod
    def of_queries(
        table: Table, queries: Sequence[Query], *, case_sensitive: bool = False, most_boxes: int = MOST_BOXES
    ) -> RequestedWorkload:
        """Read the filters of queries, which are conditions of Spark SQL, against a table as it is by now."""
        types = scanned_table(table, table.name()).columns
        # Its messages are those of other filters, so that it comes first.
        listings = tuple(Listing(table, each.filter, case_sensitive=case_sensitive) for each in queries)
        read = [_read(table, each.filter, types, most_boxes) for each in queries]
        conditions, boxes = tuple(each for each, _ in read), tuple(each for _, each in read)
        return RequestedWorkload(table, tuple(queries), conditions, boxes, listings, SureRanges.of(read, types))

    @property
    def key(self) -> str:
        """What tells it from other workloads, wherever it was read: 16 hexadecimal digits."""
        return workload_key((each.filter, each.weight) for each in self.queries)

    def of_layout(self, layout: Layout, like: DataFile | None) -> QueryBoxes:
        """Find what the queries want of a layout's columns, in its positions.

        Those count that may find rows in the partition of a data file; all of them without one.
        """
        asked = [
            (boxes, query.weight)
            for boxes, query, listing in zip(self.boxes, self.queries, self.listings, strict=True)
            if like is None or listing.partition_may_match(like)
        ]
        return query_boxes(asked, layout.columns)

    def may_match(self, files: Sequence[DataFile], *, are_placed: bool = True) -> npt.NDArray[np.bool_]:
        """Tell which data files, whose partitions may be unknown, each query does not rule out."""
        found, is_sure = self.ranges.may_match(files, self.table.schema())
        partitions = by_partition(files) if are_placed else {}
        for mine in partitions.values():
            for number in np.flatnonzero(found[:, mine].any(axis=1)).tolist():
                if not self.listings[number].partition_may_match(files[mine[0]]):
                    found[number, mine] = False
        for number, place in zip(*(each.tolist() for each in np.nonzero(found & ~is_sure)), strict=True):
            found[number, place] = self.listings[number].values_may_match(files[place])
        return found

    def read_of(self, files: Sequence[DataFile], *, are_placed: bool = True) -> BytesRead:
        """Tell what the queries read of data files."""
        sizes = np.array([file.file_size_in_bytes for file in files], np.int64)
        return BytesRead(int(sizes.sum()), self.may_match(files, are_placed=are_placed) @ sizes)

    def may_find(self, files: Sequence[DataFile]) -> npt.NDArray[np.bool_]:
        """Tell which queries may read files that are made of the rows of data files, by what these hold together."""
        fields = {field.field_id: field for each in self.listings for field in each.kept_fields}
        together = joined_file(files, fields.values())
        return np.array([each.values_may_match(together) for each in self.listings])

    def read_of_new(self, files: Sequence[DataFile], may_find: npt.NDArray[np.bool_], *, are_placed: bool) -> BytesRead:
        """Tell what they read of files that do not exist yet, by what :meth:`may_find` told of those they are of."""
        found = self.read_of(files, are_placed=are_placed)
        return BytesRead(found.all, np.where(may_find, found.read, 0))

    def asked_of(self, files: Sequence[DataFile], share: float) -> AskedQueries:
        """Tell how the queries, which are a share of all that are asked, are asked of data files."""
        first = [files[mine[0]] for mine in by_partition(files).values()]
        may_find = [any(map(listing.partition_may_match, first)) for listing in self.listings]
        weights = np.array([each.weight for each in self.queries])
        return AskedQueries(self.boxes, weights, np.array(may_find, np.bool_), self.may_match(files), share)

    def mean(self, parts: Iterable[BytesRead | None]) -> float | None:
        """Average the share of the bytes of several sets of files that a query reads, in [0, 1]; None without bytes."""
        known = [each for each in parts if each is not None]
        total = sum(each.all for each in known)
        if not total:
            return None
        shares = np.sum([each.read for each in known], axis=0) / total
        weights = np.array([each.weight for each in self.queries])
        # Summed up in their order, as Java does, where numpy's sum would take an order of its own.
        return float(np.cumsum(weights * shares)[-1] / np.cumsum(weights)[-1])


def _read(table: Table, text: str, types: Mapping[Name, str], most_boxes: int) -> tuple[Predicate, tuple[Box, ...]]:
    try:
        predicate = parse_predicate(text)
        return predicate, boxes_of(predicate, types, most_boxes)
    except InvalidInputError as error:
        raise InvalidInputError(f"Cannot use the filter '{text}' on {display_name(table)}, because {error}") from error
