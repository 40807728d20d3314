"""Notice that a catalog has rolled rewrites back for a writer: nothing in the table tells of them any more.

What may be rolled back is noted in a property of the table, with the last snapshot of each write and its sequence
number. A snapshot that is gone was rolled back if its number is free, or another has it; else it has expired.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from pyiceberg.table.metadata import TableMetadata, TableMetadataV1
from pyiceberg.table.snapshots import Snapshot

from iceberg_zorder.pyiceberg.commit.markers import is_marked, marked_run
from iceberg_zorder.pyiceberg.file_names import WRITE_ID

MARKED = "zorder.marked-writes"
"""The table property: writes that may be rolled back, each as ``id@snapshot@number``, with blanks between them."""


@dataclass(frozen=True)
class MarkedWrite:
    """A write that a catalog may roll back.

    Parameters
    ----------
    write_id : str
        What the names of its files have in common.
    snapshot_id : int
        Its last snapshot, with which others of it are rolled back.
    sequence_number : int
        That of this snapshot, from 1 on.

    Examples
    --------
    >>> str(MarkedWrite("w7", 81, 5))
    'w7@81@5'
    """

    write_id: str
    snapshot_id: int
    sequence_number: int

    def __str__(self) -> str:
        return f"{self.write_id}@{self.snapshot_id}@{self.sequence_number}"

    def is_rolled_back(self, metadata: TableMetadata) -> bool:
        """Tell whether it was rolled back, as far as the table shows."""
        # Of format version 1 there are no numbers.
        if isinstance(metadata, TableMetadataV1) or metadata.snapshot_by_id(self.snapshot_id) is not None:
            return False
        is_free = metadata.last_sequence_number < self.sequence_number
        return is_free or any(each.sequence_number == self.sequence_number for each in metadata.snapshots)

    def may_be_rolled_back(self, metadata: TableMetadata) -> bool:
        """Tell whether it may be rolled back yet: once another commit is on top of it, it stays."""
        heads = (metadata.snapshot_by_id(ref.snapshot_id) for ref in metadata.refs.values())
        runs = (marked_run(head, metadata) for head in heads if head is not None)
        return any(each.snapshot_id == self.snapshot_id for run in runs for each in run)


def marked_writes(properties: Mapping[str, str]) -> tuple[MarkedWrite, ...]:
    """Read what is noted in a table's properties; what cannot be read is nothing.

    Examples
    --------
    >>> marked_writes({"zorder.marked-writes": "w7@81@5 nonsense"})
    (MarkedWrite(write_id='w7', snapshot_id=81, sequence_number=5),)
    """
    found = []
    for each in properties.get(MARKED, "").split():
        with suppress(ValueError):
            write_id, snapshot_id, sequence_number = each.split("@")
            found.append(MarkedWrite(write_id, int(snapshot_id), int(sequence_number)))
    return tuple(found)


def marked_text(writes: Iterable[MarkedWrite]) -> str:
    """Write the property that :func:`marked_writes` reads."""
    return " ".join(map(str, writes))


def rolled_back(metadata: TableMetadata) -> tuple[MarkedWrite, ...]:
    """List the writes that are noted in a table's properties and were rolled back."""
    return tuple(each for each in marked_writes(metadata.properties) if each.is_rolled_back(metadata))


def noted(metadata: TableMetadata, write_id: str, files: int) -> tuple[tuple[MarkedWrite, ...], bool]:
    """Find what is to be noted once a write has ended."""
    before = [
        each
        for each in marked_writes(metadata.properties)
        if each.may_be_rolled_back(metadata) or each.is_rolled_back(metadata)
    ]
    own = snapshots_of(metadata, write_id)
    marked = [each for each in own if is_marked(each) and each.sequence_number]
    is_whole = sum(_added(each) for each in own) >= files
    if not marked:
        return tuple(before), is_whole
    last = max(marked, key=lambda each: each.sequence_number or 0)
    return (*before, MarkedWrite(write_id, last.snapshot_id, last.sequence_number or 0)), is_whole


def snapshots_of(metadata: TableMetadata, write_id: str) -> list[Snapshot]:
    """List the snapshots of a table that a write has committed."""
    told = ((each, each.summary.additional_properties) for each in metadata.snapshots if each.summary is not None)
    return [each for each, properties in told if properties.get(WRITE_ID) == write_id]


def _added(snapshot: Snapshot) -> int:
    assert snapshot.summary is not None  # noqa: S101
    return int(snapshot.summary.additional_properties.get("added-data-files") or 0)
