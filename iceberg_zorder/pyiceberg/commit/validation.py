"""Whether a rewrite that started at an earlier snapshot still fits the head of its branch.

Everything is judged by the live entries at the head, not by the operations in between: they say which files are there
and, by their sequence numbers, which of them came after the starting snapshot. So no operation can be overlooked, and
whatever other engines did in between, and in how many snapshots, comes out the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from pyiceberg.manifest import DataFile, DataFileContent
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata, TableMetadataV1
from pyiceberg.table.snapshots import Snapshot, ancestors_of

from iceberg_zorder.errors import InvalidInputError, TakenOverError
from iceberg_zorder.pyiceberg.commit.head import Head
from iceberg_zorder.pyiceberg.commit.markers import may_come_back
from iceberg_zorder.pyiceberg.content_files import is_unpartitioned, partition_of, sequence_number, single_path
from iceberg_zorder.pyiceberg.display import display_name
from iceberg_zorder.pyiceberg.file_names import is_leased

NEWEST_FORMAT = 2
"""The newest format version of tables that PyIceberg writes."""
USE_SPARK = "use the Spark engine (iceberg_zorder.spark.rewrite_data_files)"
LEASE = "zorder.maintained-by"
"""The table property: the maintainer, the id of its write, and until when, with blanks between them."""


class ConflictError(Exception):
    """Another operation changed what the rewrite had read; the text says how, and is a part of a sentence."""


def check_format(table: Table) -> None:
    """Refuse a table of a format version that PyIceberg does not write; it may have been upgraded since the plan."""
    if table.format_version > NEWEST_FORMAT:
        raise InvalidInputError(
            f"Cannot rewrite data files of {display_name(table)}, because it is of format version "
            f"{table.format_version} and PyIceberg writes versions 1 and 2: {USE_SPARK}"
        )


def check_lease(name: str, metadata: TableMetadata, write_id: str) -> None:
    """Refuse a write whose maintainer has lost the lease of the table: its new files may be deleted as abandoned."""
    if is_leased(write_id) and write_id not in metadata.properties.get(LEASE, "").split():
        raise TakenOverError(
            f"Cannot commit rewrite of {name}, because another maintainer has taken the table over: this one was"
            " stopped for longer than its lease, or has worked for longer. What it had not committed was left undone."
        )


def check_history(metadata: TableMetadata, head: Snapshot, ours: Collection[int], branch: str) -> None:
    """Check that a branch goes on from the snapshot that a rewrite started from, though that may be expired."""
    for snapshot in ancestors_of(head, metadata):
        if snapshot.snapshot_id in ours or snapshot.parent_snapshot_id in ours:
            return
    raise ConflictError(
        f"snapshot {next(iter(ours))}, which the rewrite started from, is no longer in the known history of branch"
        f" {branch}"
    )


def is_overtaken(snapshot: Snapshot, metadata: TableMetadata) -> bool:
    """Tell whether a snapshot that a table does not have can never get there, for its sequence number is taken.

    So ends an attempt during which another branch was written, for which PyIceberg's catalogs raise no exception of
    their own. A number that only marked rewrites have taken may be free again.
    """
    if isinstance(metadata, TableMetadataV1) or metadata.last_sequence_number < (snapshot.sequence_number or 0):
        return False
    return not may_come_back(snapshot.parent_snapshot_id, metadata)


def check_files(head: Head, removed: Collection[DataFile], start: Snapshot) -> None:
    """Check that the files to remove are at the head as they were in the starting snapshot."""
    # A file that was added again later would not have the position deletes that the rewrite has applied.
    same = [entry for entry in head.removed if sequence_number(entry) <= (start.sequence_number or 0)]
    there = Counter(entry.data_file.file_path for entry in same)
    wanted = Counter(file.file_path for file in removed)
    if missing := sorted(wanted - there):
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise ConflictError(f"data file {missing[0]}{more} is no longer there")
    if twice := sorted(Counter(entry.data_file.file_path for entry in head.removed) - wanted):
        raise ConflictError(f"data file {twice[0]} is there more than once")


def check_deletes(
    head: Head,
    added: Collection[DataFile],
    specs: Mapping[int, PartitionSpec],
    start: Snapshot,
    *,
    use_starting_sequence_number: bool,
) -> None:
    """Check that delete files added since the starting snapshot delete the same rows of new files as of old ones."""
    removed = [entry.data_file for entry in head.removed]
    paths = {file.file_path for file in removed}
    partitions = {partition_of(file) for file in removed}
    new_partitions = {partition_of(file) for file in added}
    spec_ids = {file.spec_id for file in (*removed, *added)}
    for entry in head.delete_entries:
        file = entry.data_file
        if sequence_number(entry) <= (start.sequence_number or 0):
            continue
        partition = partition_of(file)
        if file.content == DataFileContent.POSITION_DELETES:
            kind = "position"
            path = single_path(file)
            applies = path in paths if path is not None else partition in partitions
        else:
            kind = "equality"
            everywhere = is_unpartitioned(specs[file.spec_id])
            if not use_starting_sequence_number:
                applies = everywhere or partition in partitions
            else:
                # In one spec a row stays in its partition. From one spec to another it may leave the partition that
                # the delete is for, or enter it.
                moved = spec_ids != {file.spec_id}
                applies = not everywhere and moved and partition in partitions | new_partitions
        if applies:
            raise ConflictError(
                f"{kind} delete file {file.file_path} was added, which may delete rows of the rewritten files"
            )
