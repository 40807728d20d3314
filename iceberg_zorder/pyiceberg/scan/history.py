"""Read what the snapshots of a branch tell."""

from __future__ import annotations

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot, ancestors_of

from iceberg_zorder.report.history import SnapshotFacts


def snapshots_to(table: Table, head: Snapshot | None) -> list[SnapshotFacts]:
    """List the snapshots that led to one, oldest first, as far as they are kept."""
    found = []
    for each in reversed(list(ancestors_of(head, table.metadata))):
        summary = dict(each.summary.additional_properties) if each.summary else {}
        operation = each.summary.operation.value if each.summary else "append"
        found.append(SnapshotFacts(each.snapshot_id, each.timestamp_ms, operation, summary))
    return found
