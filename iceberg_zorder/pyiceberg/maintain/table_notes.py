"""What maintenance notes in the properties of a table: how it is changed, and how far the table's commits have come."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata, TableMetadataV1

from iceberg_zorder.maintain.notes import NOTES, Notes
from iceberg_zorder.pyiceberg.catalog.renewal import refresh
from iceberg_zorder.pyiceberg.commit.table_properties import change_properties


def change_notes(
    table: Table, change: Callable[[Notes], Notes], others: Mapping[str, str] = {}, removed: Collection[str] = ()
) -> None:
    """Change what a table notes, and other properties of it in the same commit.

    Of two that change it at the same moment one may be lost. Nothing but work depends on it: files that are not
    deleted, a table that is not left in peace.
    """
    refresh(table)
    text = change(Notes.of(table.properties)).text
    change_properties(table, {**others, **({NOTES: text} if text else {})}, [*removed, *([] if text else [NOTES])])


def last_commit(metadata: TableMetadata) -> int:
    """Return how far the commits of a table have come: no request that was made before a higher figure is granted.

    That is a sequence number, or in format version 1, where the head must be as it was, the time of the head.
    """
    if not isinstance(metadata, TableMetadataV1):
        return metadata.last_sequence_number
    head = metadata.current_snapshot()
    return 0 if head is None else head.timestamp_ms
