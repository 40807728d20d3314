"""What the head of a branch holds: its manifests, split by what a rewrite removes of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile, ManifestContent, ManifestEntry, ManifestFile
from pyiceberg.table.snapshots import Snapshot

from iceberg_zorder.pyiceberg.compat.manifests import read_entries, read_in_threads
from iceberg_zorder.pyiceberg.content_files import Partition, partition_of, sequence_number


class AlreadyCommittedError(Exception):
    """A new data file is in the table, so it must not be deleted; the text names it."""


@dataclass(frozen=True)
class DataManifest:
    """A manifest of data files, as the rewrite sees it.

    Parameters
    ----------
    manifest : pyiceberg.manifest.ManifestFile
        The manifest.
    removed, kept : tuple of pyiceberg.manifest.ManifestEntry
        Its live entries, by whether the rewrite removes them; both empty when it removes none.
    lowest : Mapping of tuple to int
        By partition, the lowest data sequence number of the live entries that stay.
    """

    manifest: ManifestFile
    removed: tuple[ManifestEntry, ...]
    kept: tuple[ManifestEntry, ...]
    lowest: Mapping[Partition, int]


@dataclass(frozen=True)
class DeleteManifest:
    """A manifest of delete files and its live entries."""

    manifest: ManifestFile
    entries: tuple[ManifestEntry, ...]


@dataclass(frozen=True)
class Head:
    """What the head of a branch holds."""

    snapshot: Snapshot
    data: tuple[DataManifest, ...]
    deletes: tuple[DeleteManifest, ...]

    @property
    def removed(self) -> list[ManifestEntry]:
        """The entries of the files that the rewrite removes."""
        return [entry for manifest in self.data for entry in manifest.removed]


class HeadReader:
    """Reads heads of a branch, one after the other; a manifest that is in several is read once.

    Parameters
    ----------
    removed, added : collection of pyiceberg.manifest.DataFile
        The data files that the rewrite removes and adds.
    """

    def __init__(self, removed: Collection[DataFile], added: Collection[DataFile]) -> None:
        self._removed = {file.file_path for file in removed}
        self._added = {file.file_path for file in added}
        self._seen: dict[str, DataManifest | DeleteManifest] = {}

    def read(self, snapshot: Snapshot, io: FileIO) -> Head:
        """Read a snapshot's manifests."""
        live = live_manifests(snapshot, io)
        unread = [file for file in live if file.manifest_path not in self._seen]
        read = read_in_threads(lambda manifest: self._read(manifest, io), unread)
        self._seen |= {file.manifest_path: content for file, content in zip(unread, read, strict=True)}
        contents = [self._seen[file.manifest_path] for file in live]
        return Head(
            snapshot,
            tuple(content for content in contents if isinstance(content, DataManifest)),
            tuple(content for content in contents if isinstance(content, DeleteManifest)),
        )

    def _read(self, manifest: ManifestFile, io: FileIO) -> DataManifest | DeleteManifest:
        entries = read_entries(manifest, io)
        if manifest.content == ManifestContent.DELETES:
            return DeleteManifest(manifest, tuple(entries))
        removed, kept = [], []
        lowest: dict[Partition, int] = {}
        for entry in entries:
            if entry.data_file.file_path in self._added:
                raise AlreadyCommittedError(entry.data_file.file_path)
            if entry.data_file.file_path in self._removed:
                removed.append(entry)
                continue
            kept.append(entry)
            key, number = partition_of(entry.data_file), sequence_number(entry)
            lowest[key] = min(number, lowest.get(key, number))
        return DataManifest(manifest, tuple(removed), tuple(kept) if removed else (), lowest)


def live_manifests(snapshot: Snapshot, io: FileIO) -> list[ManifestFile]:
    """List the manifests of a snapshot that the next one takes over: not those of deleted entries only."""
    return [file for file in snapshot.manifests(io) if file.has_added_files() or file.has_existing_files()]
