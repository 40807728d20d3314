"""The queries that a rewrite lays files out for: what they want of a layout, and what they read of files."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.growth.query_boxes import QueryBoxes
from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.pyiceberg.display import display_name
from iceberg_zorder.pyiceberg.scan.listing import Listing
from iceberg_zorder.pyiceberg.scan.scanned_table import scanned_table
from iceberg_zorder.request.predicate import Name, parse_predicate
from iceberg_zorder.workload.boxes.box import Box
from iceberg_zorder.workload.boxes.boxes import boxes_of
from iceberg_zorder.workload.boxes.position_boxes import query_boxes
from iceberg_zorder.workload.workload import Query
from iceberg_zorder.workload.workload_option import workload_queries


@dataclass(frozen=True, eq=False)
class RequestedWorkload:
    """Queries on a table.

    Parameters
    ----------
    queries : tuple of Query
        The queries, each of a weight above 0, in the order of the workload.
    boxes : tuple of tuple of Box
        What each of them asks for.
    listings : tuple of Listing
        What each of them leaves of data files.
    """

    queries: tuple[Query, ...]
    boxes: tuple[tuple[Box, ...], ...]
    listings: tuple[Listing, ...]

    @staticmethod
    def of(table: Table, text: str, *, case_sensitive: bool) -> RequestedWorkload:
        """Read the option ``workload``; raises InvalidInputError for what is none, and for filters of other tables."""
        queries = workload_queries(text, lambda location: _read(table, location))
        types = scanned_table(table, table.name()).columns
        # Its messages are those of other filters, so that it comes first.
        listings = tuple(Listing(table, each.filter, case_sensitive=case_sensitive) for each in queries)
        return RequestedWorkload(queries, tuple(_boxes(table, each.filter, types) for each in queries), listings)

    @property
    def key(self) -> str:
        """What tells it from other workloads, wherever it was read: 16 hexadecimal digits."""
        # Languages write numbers in different ways.
        lines = [f"{struct.pack('>d', each.weight).hex()}\t{each.filter}\n" for each in self.queries]
        return hashlib.sha256("".join(lines).encode(errors="surrogatepass")).hexdigest()[:16]

    def of_layout(self, layout: Layout) -> QueryBoxes:
        """Find what the queries want of a layout's columns, in its positions."""
        weighted = [(boxes, each.weight) for boxes, each in zip(self.boxes, self.queries, strict=True)]
        return query_boxes(weighted, layout.columns)

    def share_read(self, files: Sequence[DataFile]) -> float | None:
        """Tell which share of the bytes of data files the queries read on average, in [0, 1]; None without bytes."""
        return self._share(files, lambda listing, file: listing.may_match(file))

    def share_of_new(self, files: Sequence[DataFile], *, are_placed: bool) -> float | None:
        """Tell the same of files that do not exist yet, whose partitions may be unknown."""
        if are_placed:
            return self.share_read(files)
        return self._share(files, lambda listing, file: listing.values_may_match(file))

    def _share(self, files: Sequence[DataFile], may_match: Callable[[Listing, DataFile], bool]) -> float | None:
        total = sum(file.file_size_in_bytes for file in files)
        if not total:
            return None
        read = weights = 0.0
        # Summed up in their order, as in Java.
        for listing, query in zip(self.listings, self.queries, strict=True):
            size = sum(file.file_size_in_bytes for file in files if may_match(listing, file))
            read += query.weight * (size / total)
            weights += query.weight
        return read / weights


def _boxes(table: Table, text: str, types: Mapping[Name, str]) -> tuple[Box, ...]:
    try:
        return boxes_of(parse_predicate(text), types)
    except InvalidInputError as error:
        raise InvalidInputError(f"Cannot use the filter '{text}' on {display_name(table)}, because {error}") from error


def mean_share(shares: Iterable[tuple[float | None, int]]) -> float | None:
    """Average shares of what several groups of files have of bytes; None without any.

    Examples
    --------
    >>> mean_share([(0.5, 100), (None, 0), (1.0, 300)]), mean_share([])
    (0.875, None)
    """
    known = [(share, size) for share, size in shares if share is not None]
    total = sum(size for _, size in known)
    return sum(share * size for share, size in known) / total if total else None


def _read(table: Table, location: str) -> bytes:
    with table.io.new_input(location).open() as stream:
        return stream.read()
