"""The head of a branch: its manifests, split by the files that a rewrite removes, and its dangling deletes.

Iceberg's rules: a position delete applies to the data file that it names, or else to the files of its partition that
are not newer. An equality delete applies to older files of its partition, or of the whole table if its spec is
unpartitioned.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile, DataFileContent, ManifestContent, ManifestEntry, ManifestFile
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table.snapshots import Snapshot

from iceberg_zorder.errors import UnknownOutcomeError
from iceberg_zorder.pyiceberg.compat import ManifestKey, manifest_key, manifests_of, read_entries, read_in_threads
from iceberg_zorder.pyiceberg.files import (
    Partition,
    delete_key,
    is_unpartitioned,
    partition_of,
    sequence_number,
    single_path,
)

EntryKey = tuple[str, int]
"""A delete file's :func:`~iceberg_zorder.pyiceberg.files.delete_key` and its data sequence number."""


@dataclass(frozen=True)
class DataManifest:
    """A manifest of data files, split by what a rewrite removes."""

    manifest: ManifestFile
    removed: tuple[ManifestEntry, ...]
    kept: tuple[ManifestEntry, ...]  # the other live entries, if any is removed
    lowest: Mapping[Partition, int]  # lowest data sequence number of the remaining entries, by partition


@dataclass(frozen=True)
class DeleteManifest:
    """A manifest of delete files and its live entries."""

    manifest: ManifestFile
    entries: tuple[ManifestEntry, ...]


@dataclass(frozen=True)
class Head:
    """The manifests at the head of a branch."""

    snapshot: Snapshot | None  # None before the branch's first one
    data: tuple[DataManifest, ...]
    deletes: tuple[DeleteManifest, ...]

    @property
    def removed(self) -> list[ManifestEntry]:
        """Entries of the files that the rewrite removes."""
        return [entry for manifest in self.data for entry in manifest.removed]

    @property
    def delete_entries(self) -> list[ManifestEntry]:
        """Entries of all delete files."""
        return [entry for manifest in self.deletes for entry in manifest.entries]


def unread_head(snapshot: Snapshot, io: FileIO) -> Head:
    """Return the head for a commit that removes no file, whatever the manifests hold."""
    live = _live_manifests(snapshot, io)
    return Head(
        snapshot,
        tuple(DataManifest(each, (), (), {}) for each in live if each.content == ManifestContent.DATA),
        tuple(DeleteManifest(each, ()) for each in live if each.content == ManifestContent.DELETES),
    )


class HeadReader:
    """Reads successive heads of a branch; a manifest that several heads share is read once."""

    def __init__(self, removed: Collection[DataFile], added: Collection[DataFile]) -> None:
        self._removed = {file.file_path for file in removed}
        self._added = {file.file_path for file in added}
        self._seen: dict[ManifestKey, DataManifest | DeleteManifest] = {}

    def read(self, snapshot: Snapshot, io: FileIO) -> Head:
        """Read a snapshot's manifests."""
        live = _live_manifests(snapshot, io)
        unread = [file for file in live if manifest_key(file) not in self._seen]
        read = read_in_threads(lambda manifest: self._read(manifest, io), unread)
        self._seen |= {manifest_key(file): content for file, content in zip(unread, read, strict=True)}
        contents = [self._seen[manifest_key(file)] for file in live]
        return Head(
            snapshot,
            tuple(content for content in contents if isinstance(content, DataManifest)),
            tuple(content for content in contents if isinstance(content, DeleteManifest)),
        )

    def _read(self, manifest: ManifestFile, io: FileIO) -> DataManifest | DeleteManifest:
        entries = read_entries(manifest, io)
        if manifest.content == ManifestContent.DELETES:
            return DeleteManifest(manifest, tuple(entries))
        removed: list[ManifestEntry] = []
        kept: list[ManifestEntry] = []
        for entry in entries:
            path = entry.data_file.file_path
            if path in self._added:
                raise UnknownOutcomeError(
                    f"Cannot confirm the commit of the rewrite, because the table already has new data file {path}, "
                    "but not the rewrite's snapshot. Most likely the rewrite was committed and its snapshot has "
                    "expired. No file was deleted. Check the table before you run the rewrite again."
                )
            (removed if path in self._removed else kept).append(entry)
        return DataManifest(manifest, tuple(removed), tuple(kept) if removed else (), _lowest(kept))


def entry_key(entry: ManifestEntry) -> EntryKey:
    """Return the identity of a delete file's entry."""
    return delete_key(entry.data_file), sequence_number(entry)


def released_deletes(head: Head, specs: Mapping[int, PartitionSpec], new_files: int | None) -> frozenset[EntryKey]:
    """Return the delete files that only the removed files needed, given the new files' data sequence number.

    Other dangling deletes stay: removing them is not part of a rewrite.
    """
    paths = {entry.data_file.file_path for entry in head.removed}
    partitions = {partition_of(entry.data_file) for entry in head.removed}
    lowest: dict[Partition, int] = {}
    for manifest in head.data:
        for partition, number in manifest.lowest.items():
            lowest[partition] = min(number, lowest.get(partition, number))
    everywhere = min(lowest.values(), default=None)
    released = set()
    for entry in head.delete_entries:
        number, partition = sequence_number(entry), partition_of(entry.data_file)
        if path := single_path(entry.data_file):
            is_released = path in paths
        elif _is_positional(entry):
            # It refers to files by path, and the new files have new paths.
            is_released = partition in partitions and not _is_older(lowest.get(partition), number + 1)
        else:
            is_global = is_unpartitioned(specs[entry.data_file.spec_id])
            oldest = everywhere if is_global else lowest.get(partition)
            is_needed = _is_older(new_files, number) or _is_older(oldest, number)
            is_released = (is_global or partition in partitions) and not is_needed
        if is_released:
            released.add(entry_key(entry))
    return frozenset(released)


def dangling_deletes(
    snapshot: Snapshot, io: FileIO, specs: Mapping[int, PartitionSpec]
) -> tuple[Head, frozenset[EntryKey]]:
    """Return all delete files of a snapshot that apply to none of its data files."""
    live = _live_manifests(snapshot, io)
    deletes = [
        DeleteManifest(manifest, tuple(read_entries(manifest, io)))
        for manifest in live
        if manifest.content == ManifestContent.DELETES
    ]
    data = [DataManifest(manifest, (), (), {}) for manifest in live if manifest.content == ManifestContent.DATA]
    head = Head(snapshot, tuple(data), tuple(deletes))
    if not head.delete_entries:
        return head, frozenset()
    named = {single_path(entry.data_file) for entry in head.delete_entries}
    lowest: dict[Partition, int] = {}
    of_path: dict[str, int] = {}
    for manifest in data:
        entries = read_entries(manifest.manifest, io)
        for partition, number in _lowest(entries).items():
            lowest[partition] = min(number, lowest.get(partition, number))
        for entry in entries:
            path, number = entry.data_file.file_path, sequence_number(entry)
            if path in named:
                of_path[path] = min(number, of_path.get(path, number))
    everywhere = min(lowest.values(), default=None)

    def applies(entry: ManifestEntry) -> bool:
        file, number = entry.data_file, sequence_number(entry)
        if _is_positional(entry):
            path = single_path(file)
            return _is_older(of_path.get(path) if path else lowest.get(partition_of(file)), number + 1)
        oldest = everywhere if is_unpartitioned(specs[file.spec_id]) else lowest.get(partition_of(file))
        return _is_older(oldest, number)

    return head, frozenset(entry_key(entry) for entry in head.delete_entries if not applies(entry))


def _is_positional(entry: ManifestEntry) -> bool:
    return bool(entry.data_file.content == DataFileContent.POSITION_DELETES)


def _is_older(data: int | None, number: int) -> bool:
    return data is not None and data < number


def _lowest(entries: Iterable[ManifestEntry]) -> dict[Partition, int]:
    """Return the lowest data sequence number of each partition."""
    lowest: dict[Partition, int] = {}
    for entry in entries:
        partition, number = partition_of(entry.data_file), sequence_number(entry)
        lowest[partition] = min(number, lowest.get(partition, number))
    return lowest


def _live_manifests(snapshot: Snapshot, io: FileIO) -> list[ManifestFile]:
    """Return a snapshot's manifests, except those with deleted entries only."""
    return [file for file in manifests_of(snapshot, io) if file.has_added_files() or file.has_existing_files()]
