"""Marks on rewrites, by which a catalog that is set up for it rolls them back for a writer that it would refuse.

Polaris (``ICEBERG_ROLLBACK_COMPACTION_ON_CONFLICTS``) and Lakekeeper do so where a commit asks for a snapshot to be the
head of a branch still, and all that has come on top of it are snapshots with such a mark. These are removed, with their
sequence numbers, and the commit takes their place. What is refused today may so be granted tomorrow.
"""

from __future__ import annotations

from itertools import takewhile

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Operation, Snapshot, ancestors_of

MARKERS = {
    "polaris.internal.conflict-resolution.by-operation-type.replace": "rollback",
    "lakekeeper.rollbackable": "true",
}
"""In a snapshot's summary: what Polaris and Lakekeeper go by."""


_ROW_IDS_SINCE = 3


def markers_of(format_version: int) -> dict[str, str]:
    """Say what marks a rewrite of a table of a format version: nothing of one whose rows have ids.

    A catalog that rolls a rewrite back does not give the ids free that it has taken. Polaris then answers to the writer
    that its commit is wrong (400, up to 1.7), where it would else try again; Lakekeeper does not roll back.

    Examples
    --------
    >>> len(markers_of(2)), len(markers_of(3))
    (2, 0)
    """
    return dict(MARKERS) if format_version < _ROW_IDS_SINCE else {}


def is_marked(snapshot: Snapshot) -> bool:
    """Tell whether a catalog may roll a snapshot back.

    Examples
    --------
    >>> from pyiceberg.table.snapshots import Summary
    >>> def snapshot(operation, **summary):
    ...     return Snapshot(snapshot_id=1, manifest_list="", summary=Summary(operation, **summary))
    >>> is_marked(snapshot(Operation.REPLACE, **MARKERS)), is_marked(snapshot(Operation.REPLACE))
    (True, False)
    >>> is_marked(snapshot(Operation.APPEND, **MARKERS))
    False
    """
    summary = snapshot.summary
    if summary is None or summary.operation != Operation.REPLACE:
        return False
    return any((summary.additional_properties.get(key) or "").lower() == value for key, value in MARKERS.items())


def may_come_back(snapshot_id: int | None, metadata: TableMetadata) -> bool:
    """Tell whether a catalog may make a snapshot the head of a branch again."""
    heads = (metadata.snapshot_by_id(ref.snapshot_id) for ref in metadata.refs.values())
    runs = (takewhile(is_marked, ancestors_of(head, metadata)) for head in heads)
    return any(each.parent_snapshot_id == snapshot_id for run in runs for each in run)
