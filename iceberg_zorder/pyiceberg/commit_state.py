"""What the head of a branch holds, and whether a rewrite that started at an earlier snapshot still fits it.

Everything is judged by the live entries at the head, not by the operations in between: they say which files are there
and, by their sequence numbers, which of them came after the starting snapshot. So no operation can be overlooked, and
whatever other engines did in between, and in how many snapshots, comes out the same.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass

from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile, DataFileContent, ManifestContent, ManifestEntry, ManifestFile
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table.metadata import TableMetadata, TableMetadataV1
from pyiceberg.table.snapshots import Snapshot, ancestors_of
from pyiceberg.transforms import VoidTransform
from pyiceberg.utils.concurrent import ExecutorFactory

from iceberg_zorder.pyiceberg.commit_internals import read_entries, referenced_data_file

_FILE_PATH = 2147483546
"""Field id of ``file_path`` in a position delete file."""

Partition = tuple[Hashable, ...]
"""A partition spec's id and the values of a partition: hashable, and equal for equal partitions, NaN included."""


class ConflictError(Exception):
    """Another operation changed what the rewrite had read; the text says how, and is a part of a sentence."""


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
        """Read a snapshot's manifests.

        Raises
        ------
        AlreadyCommittedError
            When an added data file is there already.
        """
        # A manifest of deleted entries tells of its own snapshot; the next one does not take it over.
        live = [file for file in snapshot.manifests(io) if file.has_added_files() or file.has_existing_files()]
        unread = [file for file in live if file.manifest_path not in self._seen]
        read = ExecutorFactory.get_or_create().map(lambda manifest: self._read(manifest, io), unread)
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


def starting_snapshot(metadata: TableMetadata, head: Snapshot, starting_snapshot_id: int, branch: str) -> Snapshot:
    """Find the snapshot that a rewrite started from in the history of a branch.

    Parameters
    ----------
    metadata : pyiceberg.table.metadata.TableMetadata
        The table's.
    head : pyiceberg.table.snapshots.Snapshot
        The head of the branch.
    starting_snapshot_id : int
        The snapshot to find.
    branch : str
        The branch's name.

    Returns
    -------
    pyiceberg.table.snapshots.Snapshot
        The snapshot.

    Raises
    ------
    ConflictError
        When it is not there: the branch was rolled back or replaced, or snapshots in between are expired.
    """
    for snapshot in ancestors_of(head, metadata):
        if snapshot.snapshot_id == starting_snapshot_id:
            return snapshot
    raise ConflictError(
        f"snapshot {starting_snapshot_id}, which the rewrite started from, is no longer in the known history of branch"
        f" {branch}"
    )


def is_overtaken(snapshot: Snapshot, metadata: TableMetadata) -> bool:
    """Tell whether a snapshot that a table does not have can never get there, for its sequence number is taken.

    So ends an attempt during which another branch was written, for which PyIceberg's catalogs raise no exception of
    their own.
    """
    return not isinstance(metadata, TableMetadataV1) and metadata.last_sequence_number >= (
        snapshot.sequence_number or 0
    )


def check_files(head: Head, removed: Collection[DataFile], start: Snapshot) -> None:
    """Check that the files to remove are at the head as they were in the starting snapshot.

    Parameters
    ----------
    head : Head
        The head of the branch.
    removed : collection of pyiceberg.manifest.DataFile
        The files to remove.
    start : pyiceberg.table.snapshots.Snapshot
        The starting snapshot.

    Raises
    ------
    ConflictError
        When one is gone, or is there more or less often than it was read.
    """
    # A file that was added again later would not have the position deletes that the rewrite has applied.
    same = [entry for entry in head.removed if sequence_number(entry) <= (start.sequence_number or 0)]
    there = Counter(entry.data_file.file_path for entry in same)
    wanted = Counter(file.file_path for file in removed)
    if missing := sorted(wanted - there):
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise ConflictError(f"data file {missing[0]}{more} is no longer there")
    if twice := sorted(Counter(entry.data_file.file_path for entry in head.removed) - wanted):
        raise ConflictError(f"data file {twice[0]} is there more than once")


def check_deletes(head: Head, specs: Mapping[int, PartitionSpec], start: Snapshot, *, equality_deletes: bool) -> None:
    """Check that no delete file was added since the starting snapshot that the new files would escape.

    Parameters
    ----------
    head : Head
        The head of the branch.
    specs : Mapping of int to pyiceberg.partitioning.PartitionSpec
        The table's partition specs.
    start : pyiceberg.table.snapshots.Snapshot
        The starting snapshot.
    equality_deletes : bool
        Whether equality deletes count: not if the new files get the data sequence number of the starting snapshot,
        for they apply to them as to the removed ones.

    Raises
    ------
    ConflictError
        When there is such a delete file.
    """
    paths = {entry.data_file.file_path for entry in head.removed}
    partitions = {partition_of(entry.data_file) for entry in head.removed}
    for manifest in head.deletes:
        for entry in manifest.entries:
            file = entry.data_file
            if sequence_number(entry) <= (start.sequence_number or 0):
                continue
            if file.content == DataFileContent.POSITION_DELETES:
                path = single_path(file)
                applies = path in paths if path is not None else partition_of(file) in partitions
            else:
                applies = equality_deletes and (
                    is_unpartitioned(specs[file.spec_id]) or partition_of(file) in partitions
                )
            if applies:
                kind = "position" if file.content == DataFileContent.POSITION_DELETES else "equality"
                raise ConflictError(
                    f"{kind} delete file {file.file_path} was added, which may delete rows of the rewritten files"
                )


def single_path(delete_file: DataFile) -> str | None:
    """Return the one data file that a position delete file names, or None if it may name several."""
    if path := referenced_data_file(delete_file):
        return path
    lower = (delete_file.lower_bounds or {}).get(_FILE_PATH)
    upper = (delete_file.upper_bounds or {}).get(_FILE_PATH)
    return lower.decode() if lower is not None and lower == upper else None


def sequence_number(entry: ManifestEntry) -> int:
    """Return an entry's data sequence number; those of a version 1 table are 0."""
    return entry.sequence_number or 0


def partition_of(file: DataFile) -> Partition:
    """Return a file's partition, so that it can be compared."""
    values = (file.partition[position] for position in range(len(file.partition)))
    return (
        file.spec_id,
        *("NaN" if isinstance(value, float) and math.isnan(value) else value for value in values),
    )


def is_unpartitioned(spec: PartitionSpec) -> bool:
    """Tell whether a spec has no partitions, which is when its equality deletes apply to all data files."""
    return all(isinstance(field.transform, VoidTransform) for field in spec.fields)
