"""Which delete files apply to no data file any more, by Iceberg's rules of what a delete file applies to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFileContent, ManifestContent, ManifestEntry
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table.snapshots import Snapshot

from iceberg_zorder.pyiceberg.commit.head import DataManifest, DeleteManifest, Head, live_manifests
from iceberg_zorder.pyiceberg.compat.manifests import read_entries
from iceberg_zorder.pyiceberg.content_files import (
    Partition,
    is_unpartitioned,
    partition_of,
    sequence_number,
    single_path,
)

EntryKey = tuple[str, int]
"""A delete file's path and its data sequence number."""


def entry_key(entry: ManifestEntry) -> EntryKey:
    """Return what tells a delete file's entry from all others."""
    return entry.data_file.file_path, sequence_number(entry)


def released_deletes(head: Head, specs: Mapping[int, PartitionSpec], new_files: int | None) -> frozenset[EntryKey]:
    """Find the delete files that only the removed files needed.

    Only those of which a removed file was, or may have been, the last: others are not a rewrite's to judge.
    """
    paths = {entry.data_file.file_path for entry in head.removed}
    partitions = {partition_of(entry.data_file) for entry in head.removed}
    lowest = _lowest(head.data)
    everywhere = min(lowest.values(), default=None)
    released = set()
    for entry in (entry for manifest in head.deletes for entry in manifest.entries):
        file, number = entry.data_file, sequence_number(entry)
        if file.content == DataFileContent.POSITION_DELETES:
            # It names files by their paths, and the new ones have new paths.
            if path := single_path(file):
                gone = path in paths
            else:
                key = partition_of(file)
                gone = key in partitions and not _reaches(number + 1, lowest.get(key))
        else:
            key = partition_of(file)
            anywhere = is_unpartitioned(specs[file.spec_id])
            gone = (anywhere or key in partitions) and not (
                _reaches(number, new_files) or _reaches(number, everywhere if anywhere else lowest.get(key))
            )
        if gone:
            released.add(entry_key(entry))
    return frozenset(released)


def dangling_deletes(
    snapshot: Snapshot, io: FileIO, specs: Mapping[int, PartitionSpec]
) -> tuple[Head, frozenset[EntryKey]]:
    """Find all delete files of a snapshot that apply to none of its data files.

    That is a position delete file of one data file, where that is not there, or is newer; one of several files, where
    its partition has no file that is not newer; and an equality delete file, where its partition, or for a spec without
    partitions the table, has no older file.
    """
    live = live_manifests(snapshot, io)
    deletes = [
        DeleteManifest(manifest, tuple(read_entries(manifest, io)))
        for manifest in live
        if manifest.content == ManifestContent.DELETES
    ]
    data = [DataManifest(manifest, (), (), {}) for manifest in live if manifest.content == ManifestContent.DATA]
    head = Head(snapshot, tuple(data), tuple(deletes))
    entries = [entry for manifest in deletes for entry in manifest.entries]
    if not entries:
        return head, frozenset()
    named = {single_path(entry.data_file) for entry in entries if _is_positional(entry)}
    # By data file that a delete file names, and by partition: the lowest data sequence number.
    of_path: dict[str, int] = {}
    lowest: dict[Partition, int] = {}
    for manifest in data:
        for entry in read_entries(manifest.manifest, io):
            path, key, number = entry.data_file.file_path, partition_of(entry.data_file), sequence_number(entry)
            lowest[key] = min(number, lowest.get(key, number))
            if path in named:
                of_path[path] = min(number, of_path.get(path, number))
    everywhere = min(lowest.values(), default=None)

    def applies(entry: ManifestEntry) -> bool:
        file, number = entry.data_file, sequence_number(entry)
        if _is_positional(entry):
            path = single_path(file)
            return _reaches(number + 1, of_path.get(path) if path else lowest.get(partition_of(file)))
        return _reaches(number, everywhere if is_unpartitioned(specs[file.spec_id]) else lowest.get(partition_of(file)))

    return head, frozenset(entry_key(entry) for entry in entries if not applies(entry))


def _is_positional(entry: ManifestEntry) -> bool:
    return bool(entry.data_file.content == DataFileContent.POSITION_DELETES)


def _reaches(number: int, data: int | None) -> bool:
    """Tell whether an equality delete reaches a data file: the delete must be newer."""
    return data is not None and data < number


def _lowest(manifests: Iterable[DataManifest]) -> dict[Partition, int]:
    """Return by partition the lowest data sequence number of the data files that stay."""
    lowest: dict[Partition, int] = {}
    for manifest in manifests:
        for partition, number in manifest.lowest.items():
            lowest[partition] = min(number, lowest.get(partition, number))
    return lowest
