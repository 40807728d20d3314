"""Make the snapshot that replaces data files: its manifests, its manifest list and its summary."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from pyiceberg.manifest import (
    DataFile,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
)
from pyiceberg.table import Table, TableProperties
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Operation, Snapshot, SnapshotSummaryCollector, Summary

from iceberg_zorder.pyiceberg.commit.head import DataManifest, EntryKey, Head, entry_key
from iceberg_zorder.pyiceberg.compat.manifests import write_entries, write_list
from iceberg_zorder.pyiceberg.file_names import manifest_list_name, manifest_name
from iceberg_zorder.pyiceberg.properties import whole_number
from iceberg_zorder.upkeep.settled import REWRITE_ID

_TOTALS = {
    "total-data-files": ("added-data-files", "deleted-data-files"),
    "total-delete-files": ("added-delete-files", "removed-delete-files"),
    "total-records": ("added-records", "deleted-records"),
    "total-files-size": ("added-files-size", "removed-files-size"),
    "total-position-deletes": ("added-position-deletes", "removed-position-deletes"),
    "total-equality-deletes": ("added-equality-deletes", "removed-equality-deletes"),
}
"""By total, what adds to it and what takes from it, as Iceberg names them in a snapshot's summary."""


@dataclass(frozen=True)
class NewSnapshot:
    """A snapshot that is written, but not committed."""

    snapshot: Snapshot
    files: frozenset[str]  # its manifest list and manifests


class SnapshotWriter:
    """Writes a rewrite's snapshot on top of a head, and again on the next head; manifests that fit again stay."""

    def __init__(self, table: Table, added: tuple[DataFile, ...], properties: Mapping[str, str]) -> None:
        self.snapshot_id = table.metadata.new_snapshot_id()
        self.written: list[str] = []
        self._table = table
        self._added = added
        self._properties = properties
        self.write_id = properties.get(REWRITE_ID, "")
        self._manifests: dict[tuple[int, str], ManifestFile] = {}

    def write(self, head: Head, dropped: Collection[EntryKey], data_sequence_number: int | None = None) -> NewSnapshot:
        """Write the snapshot for a head, whose manifests the table object must know."""
        metadata = self._table.metadata
        manifests = [*self._added_manifests(data_sequence_number), *map(self._data_manifest, head.data)]
        dropped_files: list[DataFile] = []
        for manifest in head.deletes:
            gone = [entry for entry in manifest.entries if entry_key(entry) in dropped]
            kept = [entry for entry in manifest.entries if entry_key(entry) not in dropped]
            manifests.append(self._without(manifest.manifest, gone, kept) if gone else manifest.manifest)
            dropped_files += [entry.data_file for entry in gone]
        snapshot = Snapshot.model_validate(
            {
                "snapshot-id": self.snapshot_id,
                "parent-snapshot-id": head.snapshot.snapshot_id,
                "manifest-list": self._new_path(manifest_list_name(self.snapshot_id, self.write_id)),
                "sequence-number": metadata.next_sequence_number(),
                "summary": self._summary(head, dropped_files),
                "schema-id": metadata.current_schema_id,
            }
        )
        write_list(manifests, self._table.io.new_output(snapshot.manifest_list), metadata=metadata, snapshot=snapshot)
        paths = {manifest.manifest_path for manifest in manifests}
        return NewSnapshot(snapshot, frozenset({snapshot.manifest_list, *paths}))

    def _new_path(self, name: str) -> str:
        path = self._table.location_provider().new_metadata_location(name)
        self.written.append(path)
        return path

    def _write(
        self, entries: Iterable[ManifestEntry], spec_id: int, content: ManifestContent = ManifestContent.DATA
    ) -> ManifestFile:
        return write_entries(
            entries,
            self._table.io.new_output(self._new_path(manifest_name(self.write_id))),
            metadata=self._table.metadata,
            spec_id=spec_id,
            snapshot_id=self.snapshot_id,
            content=content,
        )

    def _added_manifests(self, number: int | None) -> list[ManifestFile]:
        entries = defaultdict(list)
        for file in self._added:
            entries[file.spec_id].append(self._entry(ManifestEntryStatus.ADDED, self.snapshot_id, file, number))
        return [
            self._once(f"added to spec {spec_id}", partial(self._write, mine, spec_id))
            for spec_id, mine in entries.items()
        ]

    def _data_manifest(self, manifest: DataManifest) -> ManifestFile:
        if not manifest.removed:
            return manifest.manifest
        again = partial(self._without, manifest.manifest, manifest.removed, manifest.kept)
        return self._once(manifest.manifest.manifest_path, again)

    def _once(self, of: str, write: Callable[[], ManifestFile]) -> ManifestFile:
        """Write a manifest, or take the one that was written for another head in the same format version."""
        key = self._table.metadata.format_version, of
        if key not in self._manifests:
            self._manifests[key] = write()
        return self._manifests[key]

    def _without(
        self, manifest: ManifestFile, removed: Iterable[ManifestEntry], kept: Iterable[ManifestEntry]
    ) -> ManifestFile:
        """Write a manifest again: some entries as deleted by this snapshot, the others as existing before it."""
        entries = [
            *(self._again(entry, ManifestEntryStatus.DELETED, self.snapshot_id) for entry in removed),
            *(self._again(entry, ManifestEntryStatus.EXISTING, entry.snapshot_id) for entry in kept),
        ]
        return self._write(entries, manifest.partition_spec_id, manifest.content)

    def _again(self, entry: ManifestEntry, status: ManifestEntryStatus, snapshot_id: int | None) -> ManifestEntry:
        return self._entry(status, snapshot_id, entry.data_file, entry.sequence_number, entry.file_sequence_number)

    @staticmethod
    def _entry(
        status: ManifestEntryStatus,
        snapshot_id: int | None,
        file: DataFile,
        number: int | None,
        of_file: int | None = None,
    ) -> ManifestEntry:
        return ManifestEntry.from_args(
            status=status,
            snapshot_id=snapshot_id,
            sequence_number=number,
            file_sequence_number=of_file,
            data_file=file,
        )

    def _summary(self, head: Head, dropped: list[DataFile]) -> Summary:
        metadata = self._table.metadata
        collector = SnapshotSummaryCollector(partition_summary_limit=partition_summary_limit(metadata))
        for file in self._added:
            collector.add_file(file, metadata.schema(), metadata.specs()[file.spec_id])
        for file in [*(entry.data_file for entry in head.removed), *dropped]:
            collector.remove_file(file, metadata.schema(), metadata.specs()[file.spec_id])
        changes = collector.build()
        before = head.snapshot.summary.additional_properties if head.snapshot.summary else {}
        return Summary(Operation.REPLACE, **{**self._properties, **changes, **_totals(before, changes)})


def partition_summary_limit(metadata: TableMetadata) -> int:
    """Tell for how many partitions at most a snapshot's summary says what has changed."""
    default = TableProperties.WRITE_PARTITION_SUMMARY_LIMIT_DEFAULT
    return whole_number(metadata.properties, TableProperties.WRITE_PARTITION_SUMMARY_LIMIT, default)


def _totals(before: Mapping[str, str], changes: Mapping[str, str]) -> dict[str, str]:
    """Carry totals on; one that the last summary does not have, or that cannot be right, is left out."""
    totals = {}
    for total, (plus, minus) in _TOTALS.items():
        if (old := before.get(total, "")).isdecimal():
            new = int(old) + int(changes.get(plus, "0")) - int(changes.get(minus, "0"))
            if new >= 0:
                totals[total] = str(new)
    return totals
