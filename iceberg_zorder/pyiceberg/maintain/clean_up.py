"""Delete what writes have left that came to no end, or that a catalog has rolled back, once that is safe."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from pyiceberg.table import Table

from iceberg_zorder.pyiceberg.commit.table_properties import change_properties
from iceberg_zorder.pyiceberg.display import display_name
from iceberg_zorder.pyiceberg.file_names import is_written_at
from iceberg_zorder.pyiceberg.maintain.abandoned_files import delete_abandoned_files
from iceberg_zorder.pyiceberg.maintain.marked_writes import MARKED, marked_text, marked_writes, rolled_back
from iceberg_zorder.pyiceberg.maintain.table_address import table_address
from iceberg_zorder.pyiceberg.maintain.table_notes import (
    ABANDONED,
    LAST_REWRITE,
    AbandonedWrite,
    abandoned_text,
    abandoned_writes,
)

_LOG = logging.getLogger("iceberg_zorder")


def clean_up(table: Table, now: datetime, older_than: timedelta) -> None:
    """Delete files of abandoned writes that are old enough, and note what is not."""
    gone, metadata = rolled_back(table.metadata), table.metadata
    lost = {each.write_id: AbandonedWrite(now, was_rolled_back=True) for each in gone}
    writes = {key: each.seen(metadata) for key, each in {**abandoned_writes(table.properties), **lost}.items()}
    # Others came with a copy of the metadata, and their files are those of the table that it was copied from.
    address = table_address(table)
    over = {key for key, each in writes.items() if each.is_over(now - older_than, metadata)}
    due = {key for key in over if is_written_at(key, address)}
    if due:
        deleted = delete_abandoned_files(table, due, {key for key in due if writes[key].was_rolled_back})
        _LOG.info("Deleted %s files of %s that no snapshot has", len(deleted), display_name(table))
    wanted = {ABANDONED: abandoned_text({key: each for key, each in writes.items() if key not in due})}
    if gone:
        # What was rolled back may be done again at once.
        wanted |= {MARKED: marked_text([each for each in marked_writes(table.properties) if each not in gone])}
        wanted |= {LAST_REWRITE: ""}
    if any(table.properties.get(key, "") != text for key, text in wanted.items()):
        change_properties(
            table,
            {key: text for key, text in wanted.items() if text},
            [key for key, text in wanted.items() if not text and key in table.properties],
        )
