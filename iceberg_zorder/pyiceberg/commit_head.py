"""What the head of a branch holds: its manifests, split by what a rewrite removes of them."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass

from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile, ManifestContent, ManifestEntry, ManifestFile
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.transforms import VoidTransform
from pyiceberg.utils.concurrent import ExecutorFactory

from iceberg_zorder.pyiceberg.commit_internals import read_entries, referenced_data_file

_FILE_PATH = 2147483546
"""Field id of ``file_path`` in a position delete file."""

Partition = tuple[Hashable, ...]
"""A partition spec's id and the values of a partition: hashable, and equal for equal partitions, NaN included."""


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


def single_path(delete_file: DataFile) -> str | None:
    """Tell which one data file a position delete file names.

    Parameters
    ----------
    delete_file : pyiceberg.manifest.DataFile
        The position delete file.

    Returns
    -------
    str or None
        The data file's path; None if it may name several.

    Examples
    --------
    >>> bounds = {2147483546: b"s3://lake/a.parquet"}
    >>> single_path(DataFile.from_args(lower_bounds=bounds, upper_bounds=bounds))
    's3://lake/a.parquet'
    >>> single_path(DataFile.from_args(lower_bounds=bounds, upper_bounds={2147483546: b"s3://lake/b.parquet"}))
    """
    if path := referenced_data_file(delete_file):
        return path
    lower = (delete_file.lower_bounds or {}).get(_FILE_PATH)
    upper = (delete_file.upper_bounds or {}).get(_FILE_PATH)
    return lower.decode() if lower is not None and lower == upper else None


def sequence_number(entry: ManifestEntry) -> int:
    """Return an entry's data sequence number; those of a version 1 table are 0.

    Parameters
    ----------
    entry : pyiceberg.manifest.ManifestEntry
        The entry.

    Returns
    -------
    int
        The number.

    Examples
    --------
    >>> sequence_number(ManifestEntry.from_args(sequence_number=7)), sequence_number(ManifestEntry.from_args())
    (7, 0)
    """
    return entry.sequence_number or 0


def partition_of(file: DataFile) -> Partition:
    """Return a file's partition, so that it can be compared.

    Parameters
    ----------
    file : pyiceberg.manifest.DataFile
        A data file or delete file.

    Returns
    -------
    tuple
        The spec's id and the values.

    Examples
    --------
    >>> from pyiceberg.typedef import Record
    >>> file = DataFile.from_args(partition=Record("a", None, float("nan")))
    >>> file.spec_id = 3
    >>> partition_of(file)
    (3, 'a', None, 'NaN')
    """
    values = (file.partition[position] for position in range(len(file.partition)))
    return (
        file.spec_id,
        *("NaN" if isinstance(value, float) and math.isnan(value) else value for value in values),
    )


def is_unpartitioned(spec: PartitionSpec) -> bool:
    """Tell whether a spec has no partitions, which is when its equality deletes apply to all data files.

    Parameters
    ----------
    spec : pyiceberg.partitioning.PartitionSpec
        The spec.

    Returns
    -------
    bool
        Whether it has no field, or only dropped ones.

    Examples
    --------
    >>> is_unpartitioned(PartitionSpec())
    True
    """
    return all(isinstance(field.transform, VoidTransform) for field in spec.fields)
