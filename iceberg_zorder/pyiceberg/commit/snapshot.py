"""The snapshot that replaces data files: conflict checks, manifests, manifest list, summary, markers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from uuid import uuid4

from pyiceberg.io import FileIO
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
)
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table import Table, TableProperties
from pyiceberg.table.metadata import TableMetadata, TableMetadataV1
from pyiceberg.table.snapshots import (
    Operation,
    Snapshot,
    SnapshotSummaryCollector,
    Summary,
    ancestors_of,
    update_snapshot_summaries,
)

from iceberg_zorder.errors import RewriteFailedError, TakenOverError
from iceberg_zorder.pyiceberg.catalog import whole_number
from iceberg_zorder.pyiceberg.commit.head import EntryKey, Head, entry_key
from iceberg_zorder.pyiceberg.compat import (
    ROW_IDS_SINCE,
    content_offset,
    manifest_key,
    read_in_threads,
    with_own_size,
    write_entries,
    write_list,
)
from iceberg_zorder.pyiceberg.files import (
    delete_key,
    is_leased,
    is_unpartitioned,
    partition_of,
    sequence_number,
    single_path,
)
from iceberg_zorder.rewrite.snapshot_keys import REWRITE_ID, TRANSLATED_DELETE_FILES, TRANSLATED_DELETES

MARKERS = {
    "polaris.internal.conflict-resolution.by-operation-type.replace": "rollback",
    "lakekeeper.rollbackable": "true",
}
"""Summary keys by which Polaris and Lakekeeper recognise snapshots to roll back."""


def markers_of(format_version: int) -> dict[str, str]:
    """Return the summary markers of a rewrite; none for tables with row ids (format version 3).

    A catalog that rolls back a rewrite does not release its row ids. Polaris (up to 1.7) then refuses the writer's
    commit with status 400, which is not retried, and Lakekeeper does not roll back.
    """
    return dict(MARKERS) if format_version < ROW_IDS_SINCE else {}


def is_marked(snapshot: Snapshot) -> bool:
    """Return whether a catalog may roll back a snapshot."""
    summary = snapshot.summary
    if summary is None or summary.operation != Operation.REPLACE:
        return False
    return any((summary.additional_properties.get(key) or "").lower() == value for key, value in MARKERS.items())


def may_come_back(snapshot_id: int | None, metadata: TableMetadata) -> bool:
    """Return whether a catalog may make a snapshot the head of a branch again."""
    heads = (metadata.snapshot_by_id(ref.snapshot_id) for ref in metadata.refs.values())
    runs = (takewhile(is_marked, ancestors_of(head, metadata)) for head in heads)
    return any(each.parent_snapshot_id == snapshot_id for run in runs for each in run)


LEASE = "zorder.maintained-by"
"""Table property of the lease: maintainer, write id and end time, separated by blanks."""


class ConflictError(Exception):
    """Another operation changed the rewritten files; the message is the reason, without a leading "Cannot"."""


def check_lease(name: str, metadata: TableMetadata, write_id: str) -> None:
    """Refuse a write whose maintainer lost the table's lease, because another one does the same work."""
    if is_leased(write_id) and write_id not in metadata.properties.get(LEASE, "").split():
        raise TakenOverError(
            f"Cannot commit rewrite of {name}, because another maintainer has taken the table over: this one was"
            " paused or working for longer than its lease. Uncommitted file groups were not rewritten."
        )


def check_history(metadata: TableMetadata, head: Snapshot, ours: Collection[int], branch: str) -> None:
    """Check that the branch descends from the rewrite's starting snapshot, which may have expired."""
    for snapshot in ancestors_of(head, metadata):
        if snapshot.snapshot_id in ours or snapshot.parent_snapshot_id in ours:
            return
    raise ConflictError(
        f"snapshot {next(iter(ours))}, which the rewrite started from, is no longer in the known history of branch"
        f" {branch}"
    )


def is_overtaken(snapshot: Snapshot, metadata: TableMetadata) -> bool:
    """Return whether a pending snapshot can no longer succeed, because its sequence number is taken.

    This happens if another branch was written during an attempt; PyIceberg's catalogs raise no specific exception for
    it. A number taken only by marked rewrites may become free again after a rollback.
    """
    if isinstance(metadata, TableMetadataV1) or metadata.last_sequence_number < (snapshot.sequence_number or 0):
        return False
    return not may_come_back(snapshot.parent_snapshot_id, metadata)


def missing_files(head: Head, removed: Collection[DataFile], start: Snapshot) -> list[str]:
    """Return the paths of files to remove that the head lacks; checks that others are as in the starting snapshot."""
    # A file that was removed and added again would lack the position deletes that the rewrite applied.
    same = [entry for entry in head.removed if sequence_number(entry) <= (start.sequence_number or 0)]
    there = Counter(entry.data_file.file_path for entry in same)
    wanted = Counter(file.file_path for file in removed)
    if twice := sorted(Counter(entry.data_file.file_path for entry in head.removed) - wanted):
        raise ConflictError(f"data file {twice[0]} is in the table more than once")
    missing = sorted(wanted - there)
    if again := {entry.data_file.file_path for entry in head.removed}.intersection(missing):
        raise ConflictError(f"data file {min(again)} was removed")
    return missing


def missing_deletes(head: Head, applied: Collection[str]) -> list[str]:
    """Return the delete files that the rewrite applied and the head lacks: their rows may be live again."""
    return sorted(set(applied) - {delete_key(entry.data_file) for entry in head.delete_entries})


def check_new_files(name: str, io: FileIO, added: Sequence[DataFile]) -> None:
    """Check that the new files are there in full, because a commit without them would lose their rows."""
    for file, size in zip(added, read_in_threads(partial(_size, io), added), strict=True):
        if size != file.file_size_in_bytes:
            fault = "is gone" if size is None else f"has {size:,} bytes instead of {file.file_size_in_bytes:,}"
            raise RewriteFailedError(
                f"Cannot commit rewrite of {name}, because new data file {file.file_path} {fault}: something else, such"
                " as a removal of orphan files, deletes or changes files that are not yet committed. These file groups"
                " were not rewritten, and their new files were deleted. Stop it, and run the rewrite again."
            )


def _size(io: FileIO, file: DataFile) -> int | None:
    try:
        return len(io.new_input(file.file_path))
    except FileNotFoundError:
        return None


def new_deletes(
    head: Head,
    added: Collection[DataFile],
    specs: Mapping[int, PartitionSpec],
    start: Snapshot,
    planned: TableMetadata,
    *,
    use_starting_sequence_number: bool,
) -> list[DataFile]:
    """Return the delete files added since the starting snapshot that may not delete the same rows of the new files."""
    removed = [entry.data_file for entry in head.removed]
    paths = {file.file_path for file in removed}
    partitions = {partition_of(file) for file in removed}
    new_partitions = {partition_of(file) for file in added}
    spec_ids = {file.spec_id for file in (*removed, *added)}
    written = set(planned.schema().field_ids)

    def applies(file: DataFile) -> bool:
        partition = partition_of(file)
        if file.content == DataFileContent.POSITION_DELETES:
            path = single_path(file)
            return path in paths if path is not None else partition in partitions
        everywhere = is_unpartitioned(specs[file.spec_id])
        # Old files may hold a column that was dropped before the plan; the new files lack it.
        lacks_field = any(each <= planned.last_column_id and each not in written for each in file.equality_ids or [])
        if not use_starting_sequence_number or lacks_field:
            return everywhere or partition in partitions
        # Within one spec, a row stays in its partition. With another spec, it may leave or enter the partition that the
        # delete applies to.
        moved = spec_ids != {file.spec_id}
        return not everywhere and moved and partition in partitions | new_partitions

    since = start.sequence_number or 0
    newer = (entry.data_file for entry in head.delete_entries if sequence_number(entry) > since)
    return [file for file in newer if applies(file)]


@dataclass(frozen=True)
class NewSnapshot:
    """A written, uncommitted snapshot."""

    snapshot: Snapshot
    files: frozenset[str]  # manifest list, manifests, and delete files


class SnapshotWriter:
    """Writes a snapshot on top of successive heads, reusing manifests that still fit."""

    def __init__(
        self,
        table: Table,
        added: tuple[DataFile, ...],
        properties: Mapping[str, str],
        operation: Operation = Operation.REPLACE,
    ) -> None:
        self.snapshot_id = table.metadata.new_snapshot_id()
        self.written: list[str] = []
        self._table = table
        self._added = added
        self._properties = properties
        self._operation = operation
        self.write_id = properties.get(REWRITE_ID, "")
        self._manifests: dict[tuple[int, Hashable], ManifestFile] = {}

    def write(
        self,
        head: Head,
        dropped: Collection[EntryKey],
        data_sequence_number: int | None = None,
        deletes: Sequence[DataFile] = (),
    ) -> NewSnapshot:
        """Write the snapshot for a head, with delete files of its own; the table object must be at that head."""
        metadata = self._table.metadata
        manifests = [
            self._once(f"added to spec {spec_id}", partial(self._write, entries, spec_id))
            for spec_id, entries in self._new_entries(self._added, data_sequence_number).items()
        ]
        # Without a number, delete files take that of the snapshot.
        manifests += [
            self._write(entries, spec_id, ManifestContent.DELETES)
            for spec_id, entries in self._new_entries(deletes, None).items()
        ]
        for data in head.data:
            without = partial(self._without, data.manifest, data.removed, data.kept)
            manifests.append(self._once(manifest_key(data.manifest), without) if data.removed else data.manifest)
        dropped_files: list[DataFile] = []
        for each in head.deletes:
            gone = [entry for entry in each.entries if entry_key(entry) in dropped]
            kept = [entry for entry in each.entries if entry_key(entry) not in dropped]
            manifests.append(self._without(each.manifest, gone, kept) if gone else each.manifest)
            dropped_files += [entry.data_file for entry in gone]
        snapshot = Snapshot.model_validate(
            {
                "snapshot-id": self.snapshot_id,
                "parent-snapshot-id": head.snapshot.snapshot_id if head.snapshot else None,
                "manifest-list": self._new_path(f"snap-{self.snapshot_id}"),
                "sequence-number": metadata.next_sequence_number(),
                "summary": self._summary(head, dropped_files, deletes),
                "schema-id": metadata.current_schema_id,
            }
        )
        output = self._table.io.new_output(snapshot.manifest_list)
        snapshot = write_list(manifests, output, metadata=metadata, snapshot=snapshot)
        paths = {manifest.manifest_path for manifest in manifests} | {file.file_path for file in deletes}
        return NewSnapshot(snapshot, frozenset({snapshot.manifest_list, *paths}))

    def _new_entries(self, files: Iterable[DataFile], sequence_number: int | None) -> dict[int, list[ManifestEntry]]:
        """Return manifest entries of new files, by their partition spec."""
        entries = defaultdict(list)
        for file in files:
            new = ManifestEntry.from_args(
                status=ManifestEntryStatus.ADDED,
                snapshot_id=self.snapshot_id,
                sequence_number=sequence_number,
                file_sequence_number=None,
                data_file=file,
            )
            entries[file.spec_id].append(new)
        return entries

    def _new_path(self, stem: str) -> str:
        path = self._table.location_provider().new_metadata_location(f"{stem}-{uuid4()}.avro")
        self.written.append(path)
        return path

    def _write(
        self, entries: Iterable[ManifestEntry], spec_id: int, content: ManifestContent = ManifestContent.DATA
    ) -> ManifestFile:
        return write_entries(
            entries,
            self._table.io.new_output(self._new_path("zorder")),
            metadata=self._table.metadata,
            spec_id=spec_id,
            snapshot_id=self.snapshot_id,
            content=content,
        )

    def _once(self, of: Hashable, write: Callable[[], ManifestFile]) -> ManifestFile:
        """Write a manifest, or reuse the one written for an earlier head in the same format version."""
        key = self._table.metadata.format_version, of
        if key not in self._manifests:
            self._manifests[key] = write()
        return self._manifests[key]

    def _without(
        self, manifest: ManifestFile, removed: Iterable[ManifestEntry], kept: Iterable[ManifestEntry]
    ) -> ManifestFile:
        """Rewrite a manifest with ``removed`` entries marked as deleted and ``kept`` ones as existing."""
        again = (
            *((entry, ManifestEntryStatus.DELETED, self.snapshot_id) for entry in removed),
            *((entry, ManifestEntryStatus.EXISTING, entry.snapshot_id) for entry in kept),
        )
        entries = [
            ManifestEntry.from_args(
                status=status,
                snapshot_id=snapshot_id,
                sequence_number=entry.sequence_number,
                file_sequence_number=entry.file_sequence_number,
                data_file=entry.data_file,
            )
            for entry, status, snapshot_id in again
        ]
        return self._write(entries, manifest.partition_spec_id, manifest.content)

    def _summary(self, head: Head, dropped: Sequence[DataFile], deletes: Sequence[DataFile]) -> Summary:
        metadata = self._table.metadata
        collector = SnapshotSummaryCollector(partition_summary_limit=partition_summary_limit(metadata))
        for file in (*self._added, *deletes):
            collector.add_file(with_own_size(file), metadata.schema(), metadata.specs()[file.spec_id])
        for file in [*(entry.data_file for entry in head.removed), *dropped]:
            collector.remove_file(with_own_size(file), metadata.schema(), metadata.specs()[file.spec_id])
        changes = collector.build()
        for change, files in (("added", deletes), ("removed", dropped)):
            # PyIceberg counts vectors as position delete files.
            if vectors := sum(content_offset(file) is not None for file in files):
                others = int(changes.pop(f"{change}-position-delete-files")) - vectors
                changes |= {f"{change}-dvs": str(vectors)}
                changes |= {f"{change}-position-delete-files": str(others)} if others else {}
        known = None
        if head.snapshot:
            before = head.snapshot.summary.additional_properties if head.snapshot.summary else {}
            # Totals that are missing or wrong in the last summary are left out, where PyIceberg would start from 0.
            known = {"operation": "", **{key: text for key, text in before.items() if text.isdecimal()}}
        # PyIceberg has no replace operation; its totals are computed as for an overwrite.
        totals = update_snapshot_summaries(Summary(Operation.OVERWRITE, **changes), known).additional_properties
        translated = {
            TRANSLATED_DELETES: str(sum(file.record_count for file in deletes)),
            TRANSLATED_DELETE_FILES: str(len(deletes)),
        }
        return Summary(self._operation, **{**self._properties, **(translated if deletes else {}), **totals})


def partition_summary_limit(metadata: TableMetadata) -> int:
    """Return the largest number of partitions that a snapshot's summary lists."""
    default = TableProperties.WRITE_PARTITION_SUMMARY_LIMIT_DEFAULT
    return whole_number(metadata.properties, TableProperties.WRITE_PARTITION_SUMMARY_LIMIT, default)
