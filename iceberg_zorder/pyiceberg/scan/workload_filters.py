"""The filters of a workload: what each asks for, and what it leaves of data files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.table import Table

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.pyiceberg.content_files import Partition, partition_of
from iceberg_zorder.pyiceberg.display import display_name
from iceberg_zorder.pyiceberg.scan.listing import Listing
from iceberg_zorder.pyiceberg.scan.scanned_table import scanned_table
from iceberg_zorder.pyiceberg.scan.sure_ranges import SureRanges
from iceberg_zorder.request.predicate import Name, Predicate, parse_predicate
from iceberg_zorder.workload.boxes.box import Box
from iceberg_zorder.workload.boxes.boxes import MOST_BOXES, boxes_of


@dataclass(frozen=True, eq=False)
class WorkloadFilters:
    """Filters on a table.

    Parameters
    ----------
    conditions : tuple of Predicate
        The filters as they were read.
    boxes : tuple of tuple of Box
        What each of them asks for.
    listings : tuple of Listing
        What each of them leaves of data files.
    ranges : SureRanges
        The same for all at once, as far as it goes.
    schema : pyiceberg.schema.Schema
        The table's schema.
    """

    conditions: tuple[Predicate, ...]
    boxes: tuple[tuple[Box, ...], ...]
    listings: tuple[Listing, ...]
    ranges: SureRanges
    schema: Schema

    @staticmethod
    def of(
        table: Table, texts: Sequence[str], *, case_sensitive: bool = False, most_boxes: int = MOST_BOXES
    ) -> WorkloadFilters:
        """Read conditions of Spark SQL."""
        types = scanned_table(table, table.name()).columns
        # Its messages are those of other filters, so that it comes first.
        listings = tuple(Listing(table, text, case_sensitive=case_sensitive) for text in texts)
        read = [_read(table, text, types, most_boxes) for text in texts]
        conditions, boxes = tuple(each for each, _ in read), tuple(each for _, each in read)
        return WorkloadFilters(conditions, boxes, listings, SureRanges.of(read, types), table.schema())

    def may_match(self, files: Sequence[DataFile], *, are_placed: bool = True) -> npt.NDArray[np.bool_]:
        """Tell which data files each filter does not rule out."""
        found, is_sure = self.ranges.may_match(files, self.schema)
        partitions = by_partition(files) if are_placed else {}
        for mine in partitions.values():
            for number in np.flatnonzero(found[:, mine].any(axis=1)).tolist():
                if not self.listings[number].partition_may_match(files[mine[0]]):
                    found[number, mine] = False
        for number, place in zip(*(each.tolist() for each in np.nonzero(found & ~is_sure)), strict=True):
            found[number, place] = self.listings[number].values_may_match(files[place])
        return found


def by_partition(files: Sequence[DataFile]) -> dict[Partition, list[int]]:
    """Find the places of the files of each partition."""
    places: dict[Partition, list[int]] = {}
    for place, file in enumerate(files):
        places.setdefault(partition_of(file), []).append(place)
    return places


def _read(table: Table, text: str, types: Mapping[Name, str], most_boxes: int) -> tuple[Predicate, tuple[Box, ...]]:
    try:
        predicate = parse_predicate(text)
        return predicate, boxes_of(predicate, types, most_boxes)
    except InvalidInputError as error:
        raise InvalidInputError(f"Cannot use the filter '{text}' on {display_name(table)}, because {error}") from error
