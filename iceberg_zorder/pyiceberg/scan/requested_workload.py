"""The queries that a rewrite lays files out for: what they want of a layout, and what they read of files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from iceberg_zorder.layout.growth.query_boxes import QueryBoxes
from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.pyiceberg.joined_file import joined_file
from iceberg_zorder.pyiceberg.scan.workload_filters import WorkloadFilters, by_partition
from iceberg_zorder.upkeep.settled import workload_key
from iceberg_zorder.upkeep.upkeep_request import AskedQueries
from iceberg_zorder.workload.boxes.box import Box
from iceberg_zorder.workload.boxes.position_boxes import query_boxes
from iceberg_zorder.workload.workload import Query
from iceberg_zorder.workload.workload_option import workload_queries


@dataclass(frozen=True, eq=False)
class BytesRead:
    """What queries read of a set of files.

    Parameters
    ----------
    all : int
        The bytes of the files.
    read : ndarray of int64, shape (queries,)
        The bytes of those that each query does not rule out.
    """

    all: int
    read: npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RequestedWorkload:
    """Queries on a table.

    Parameters
    ----------
    queries : tuple of Query
        The queries, each of a weight above 0, in the order of the workload.
    filters : WorkloadFilters
        Their filters.
    """

    queries: tuple[Query, ...]
    filters: WorkloadFilters

    @staticmethod
    def of(table: Table, text: str, *, case_sensitive: bool) -> RequestedWorkload:
        """Read the option ``workload``; raises InvalidInputError for what is none, and for filters of other tables."""
        queries = workload_queries(text, lambda location, most: _content(table, location, most))
        return _asked_of(table, queries, case_sensitive)

    def on(self, table: Table, *, case_sensitive: bool) -> RequestedWorkload:
        """Ask the same queries of the table as it is by now; raises InvalidInputError for filters of other tables."""
        return _asked_of(table, self.queries, case_sensitive)

    @property
    def key(self) -> str:
        """What tells it from other workloads, wherever it was read: 16 hexadecimal digits."""
        return workload_key((each.filter, each.weight) for each in self.queries)

    def of_layout(self, layout: Layout, like: DataFile | None) -> QueryBoxes:
        """Find what the queries want of a layout's columns, in its positions.

        Those count that may find rows in the partition of a data file; all of them without one.
        """
        return query_boxes(self._asked_in(like), layout.columns)

    def _asked_in(self, like: DataFile | None) -> list[tuple[tuple[Box, ...], float]]:
        return [
            (boxes, query.weight)
            for boxes, query, listing in zip(self.filters.boxes, self.queries, self.filters.listings, strict=True)
            if like is None or listing.partition_may_match(like)
        ]

    def read_of(self, files: Sequence[DataFile]) -> BytesRead:
        """Tell what the queries read of data files."""
        return self._read(files, are_placed=True)

    def may_find(self, files: Sequence[DataFile]) -> npt.NDArray[np.bool_]:
        """Tell which queries may read files that are made of the rows of data files, by what these hold together."""
        fields = {field.field_id: field for each in self.filters.listings for field in each.kept_fields}
        together = joined_file(files, fields.values())
        return np.array([each.values_may_match(together) for each in self.filters.listings])

    def read_of_new(self, files: Sequence[DataFile], may_find: npt.NDArray[np.bool_], *, are_placed: bool) -> BytesRead:
        """Tell the same of files that do not exist yet, whose partitions may be unknown, by what :meth:`may_find`."""
        found = self._read(files, are_placed=are_placed)
        return BytesRead(found.all, np.where(may_find, found.read, 0))

    def _read(self, files: Sequence[DataFile], *, are_placed: bool) -> BytesRead:
        sizes = np.array([file.file_size_in_bytes for file in files], np.int64)
        return BytesRead(int(sizes.sum()), self.filters.may_match(files, are_placed=are_placed) @ sizes)

    def asked_of(self, files: Sequence[DataFile], share: float) -> AskedQueries:
        """Tell how the queries, which are a share of all that are asked, are asked of data files."""
        first = [files[mine[0]] for mine in by_partition(files).values()]
        may_find = [any(map(listing.partition_may_match, first)) for listing in self.filters.listings]
        weights = np.array([each.weight for each in self.queries])
        reads = self.filters.may_match(files)
        return AskedQueries(self.filters.boxes, weights, np.array(may_find, np.bool_), reads, share)

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


def _asked_of(table: Table, queries: tuple[Query, ...], case_sensitive: bool) -> RequestedWorkload:
    filters = WorkloadFilters.of(table, [each.filter for each in queries], case_sensitive=case_sensitive)
    return RequestedWorkload(queries, filters)


def _content(table: Table, location: str, most: int) -> bytes:
    with table.io.new_input(location).open() as stream:
        return stream.read(most)
