"""Read what the snapshots of a branch tell."""

from __future__ import annotations

from collections.abc import Iterator

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from iceberg_zorder.report.history import SnapshotFacts


def snapshots_to(table: Table, head: Snapshot | None) -> list[SnapshotFacts]:
    """List the snapshots that led to one, oldest first, as far as they are kept."""
    found = []
    for each in reversed([*ancestors(table, head)]):
        summary = dict(each.summary.additional_properties) if each.summary else {}
        operation = each.summary.operation.value if each.summary else "append"
        found.append(SnapshotFacts(each.snapshot_id, each.timestamp_ms, operation, summary))
    return found


def ancestors(table: Table, head: Snapshot | None) -> Iterator[Snapshot]:
    """List a snapshot and those before it, newest first, as far as they are kept.

    PyIceberg looks for each among all others, which takes seconds where there are thousands.
    """
    by_id = {each.snapshot_id: each for each in table.metadata.snapshots}
    while head is not None:
        yield head
        head = None if head.parent_snapshot_id is None else by_id.get(head.parent_snapshot_id)
