"""Replace data files of a table by new ones, in one snapshot, whatever other writers do meanwhile.

PyIceberg's own overwrite does not fit: it commits an ``overwrite``, fails on appends, and lets deleted rows come back.
A commit has one of three outcomes: done; failed, and then the new files are deleted; or unknown, and then nothing is
deleted, because the new files may be the table's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from iceberg_zorder.pyiceberg.catalog.retry import check_properties
from iceberg_zorder.pyiceberg.commit.attempts import CommitAttempts
from iceberg_zorder.pyiceberg.commit.head import HeadReader, dangling_deletes, released_deletes
from iceberg_zorder.pyiceberg.commit.snapshot import NewSnapshot, SnapshotWriter, partition_summary_limit
from iceberg_zorder.pyiceberg.commit.validation import check_deletes, check_files, check_history
from iceberg_zorder.pyiceberg.compat.manifests import avro_codec
from iceberg_zorder.pyiceberg.display import display_name


@dataclass(frozen=True)
class Replacement:
    """Data files of the starting snapshot to remove, and new ones that hold their rows, of any of the table's specs."""

    removed: tuple[DataFile, ...]
    added: tuple[DataFile, ...]


def commit_replacement(
    table: Table,
    replacement: Replacement,
    *,
    start: Snapshot,
    ours: Collection[int] = (),
    branch: str = "main",
    use_starting_sequence_number: bool = True,
    snapshot_properties: Mapping[str, str],
) -> int:
    """Replace data files in one snapshot, unless another operation changed the rows that they hold.

    Appends that were made meanwhile survive. The table's ``commit.retry.*`` properties hold.
    """
    name = display_name(table)
    writer = SnapshotWriter(table, replacement.added, snapshot_properties)
    reader = HeadReader(replacement.removed, replacement.added)

    def prepare(snapshot: Snapshot) -> NewSnapshot:
        """Validate the rewrite against the branch as it is now, and write a snapshot on top of it."""
        metadata = table.metadata
        # First of all, for it finds the new files where they must not be deleted.
        head = reader.read(snapshot, table.io)
        check_history(metadata, snapshot, (start.snapshot_id, *ours), branch)
        check_files(head, replacement.removed, start)
        check_deletes(
            head,
            replacement.added,
            metadata.specs(),
            start,
            use_starting_sequence_number=use_starting_sequence_number,
        )
        number = (start.sequence_number or 0) if use_starting_sequence_number else None
        new_files = number if replacement.added else None
        return writer.write(head, released_deletes(head, metadata.specs(), new_files), number)

    committed = CommitAttempts(table, branch, writer, prepare).run(
        f"the rewrite of {name}",
        lambda why: (
            f"Cannot commit rewrite of {name}, because it conflicted with another operation on the same files: {why}. "
            "The new files were deleted and the table is as that operation left it. Run the rewrite again; to lose "
            "less to a conflict, set partial-progress.enabled to true, which commits file groups independently, or "
            "narrow it with where."
        ),
        replacement.added,
    )
    assert committed is not None  # noqa: S101
    return committed.snapshot_id


def check_committable(table: Table) -> None:
    """Refuse a table whose properties no snapshot can be committed with, before anything is read."""
    avro_codec(table.metadata)
    partition_summary_limit(table.metadata)
    check_properties(table.metadata.properties)


def remove_dangling_deletes(table: Table, *, branch: str = "main") -> int:
    """Remove the delete files that apply to no data file of a branch, in a snapshot of its own if there are any.

    What applies is judged anew at the head of every attempt, so that no commit of others is in the way.
    """
    name = display_name(table)
    writer = SnapshotWriter(table, (), {})
    removed = 0

    def prepare(snapshot: Snapshot) -> NewSnapshot | None:
        nonlocal removed
        head, dangling = dangling_deletes(snapshot, table.io, table.metadata.specs())
        removed = len(dangling)
        return writer.write(head, dangling) if dangling else None

    committed = CommitAttempts(table, branch, writer, prepare).run(
        f"the removal of dangling delete files after the rewrite of {name}, which was,",
        lambda why: f"Cannot remove dangling delete files of {name}, because {why}. What was committed before stands.",
    )
    return removed if committed else 0
