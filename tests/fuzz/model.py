"""An independent reader of Iceberg tables: the specification's rules on plain Python values, and nothing of the engines.

It shares no code with them but what reads manifests: metadata is JSON, and of Parquet files only Arrow's arrays are taken. It is slow and short, so that it can be seen to be right.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io import load_file_io
from pyiceberg.manifest import DATA_FILE_TYPE, ManifestEntry, ManifestEntryStatus, ManifestFile, read_manifest_list

from iceberg_zorder.pyiceberg.compat import read_entries
from tests.fuzz import types as ty
from tests.fuzz.transforms import result_type

DATA, POSITION_DELETES, EQUALITY_DELETES = 0, 1, 2
EXISTING, ADDED, DELETED = 0, 1, 2
PATH_ID, POSITION_ID = 2147483546, 2147483545

IO = load_file_io({})
_FILE_FIELDS = [each.name for each in DATA_FILE_TYPE[3].fields]

Row = tuple[Any, ...]


def local(uri: str) -> Path:
    """A path on this machine, as Spark, Iceberg or PyIceberg may write it."""
    return Path("/" + uri.removeprefix("file:").lstrip("/"))


@dataclass(frozen=True, eq=False)
class Manifest:
    """A manifest, as a manifest list has it, and its entries."""

    listed: ManifestFile
    entries: tuple[Entry, ...]

    @property
    def path(self) -> str:
        return str(self.listed.manifest_path)

    @property
    def spec_id(self) -> int:
        return self.listed.partition_spec_id


@dataclass(frozen=True, eq=False)
class Entry:
    """A data file or delete file, as a manifest has it, with what it inherits."""

    status: int
    snapshot_id: int | None
    sequence_number: int
    spec_id: int
    partition: tuple[Any, ...]
    file: dict[str, Any]

    @property
    def path(self) -> str:
        return str(self.file["file_path"])

    @property
    def content(self) -> int:
        return int(self.file.get("content") or DATA)

    @cached_property
    def place(self) -> tuple[int, Any]:
        """Equal for files of one partition: its spec and its values, NaN equal to NaN."""
        return self.spec_id, ty.identity(self.partition)

    def numbers(self, name: str) -> dict[int, Any]:
        """Counts or bounds by field id."""
        return dict(self.file.get(name) or {})


@dataclass(frozen=True, eq=False)
class FileRows:
    """A data file and its rows that are not deleted."""

    entry: Entry
    rows: tuple[Row, ...]


@dataclass(frozen=True, eq=False)
class Metadata:
    """A table's metadata."""

    json: dict[str, Any]

    @classmethod
    def load(cls, location: str) -> Metadata:
        return cls(json.loads(local(location).read_text()))

    @cached_property
    def schemas(self) -> list[ty.Struct]:
        """All schemas, the current one first, then the newest."""
        known = sorted(self.json.get("schemas") or [self.json["schema"]], key=lambda each: -each.get("schema-id", 0))
        current = [each for each in known if each.get("schema-id") == self.json.get("current-schema-id")]
        return [ty.parse(each) for each in [*current, *known]]

    @property
    def schema(self) -> ty.Struct:
        return self.schemas[0]

    @cached_property
    def specs(self) -> dict[int, list[dict[str, Any]]]:
        return {each["spec-id"]: each["fields"] for each in self.json["partition-specs"]}

    @cached_property
    def types(self) -> dict[int, ty.Type]:
        """The types of all primitive fields that the table has or had."""
        found: dict[int, ty.Type] = {}
        for schema in self.schemas:
            for leaf in ty.leaves(schema, repeated=True):
                found.setdefault(leaf.id, leaf.field.type)
        return found

    def is_unpartitioned(self, spec_id: int) -> bool:
        return all(each["transform"] == "void" for each in self.specs[spec_id])

    def partition_types(self, spec_id: int) -> list[str]:
        return [result_type(each["transform"], str(self.types[each["source-id"]])) for each in self.specs[spec_id]]

    def snapshot(self, snapshot_id: int) -> dict[str, Any]:
        return next(each for each in self.json["snapshots"] if each["snapshot-id"] == snapshot_id)

    def head(self, branch: str = "main") -> int | None:
        found = self.json.get("refs", {}).get(branch)
        return found and int(found["snapshot-id"])


@dataclass(eq=False)
class Model:
    """Reads snapshots; files that never change are read once."""

    _tables: dict[str, pa.Table] = field(default_factory=dict)
    _columns: dict[Any, list[Any]] = field(default_factory=dict)
    _manifests: dict[str, list[Entry]] = field(default_factory=dict)

    def manifests(self, metadata: Metadata, manifest_list: str) -> list[Manifest]:
        """Read all manifests of a snapshot, with entries that say what it deleted."""
        listed = list(read_manifest_list(IO.new_input(manifest_list)))
        return [Manifest(each, tuple(self._entries(each))) for each in listed]

    def _entries(self, listed: ManifestFile) -> list[Entry]:
        key = listed.manifest_path
        if key not in self._manifests:
            deleted = [
                entry
                for entry in listed.fetch_manifest_entry(IO, discard_deleted=False)
                if entry.status == ManifestEntryStatus.DELETED
            ]
            self._manifests[key] = [_entry(each, listed) for each in [*read_entries(listed, IO), *deleted]]
        return self._manifests[key]

    def live(self, metadata: Metadata, manifest_list: str) -> list[Entry]:
        """List the data and delete files that a snapshot has."""
        return [
            entry
            for manifest in self.manifests(metadata, manifest_list)
            for entry in manifest.entries
            if entry.status != DELETED
        ]

    def read(self, metadata: Metadata, manifest_list: str, schema: ty.Struct | None = None) -> list[FileRows]:
        """Read the rows of a snapshot, file by file, as a schema has them; the table's current one by default."""
        live = self.live(metadata, manifest_list)
        deletes = [entry for entry in live if entry.content != DATA]
        return [
            FileRows(entry, self.rows(metadata, entry, deletes, schema or metadata.schema))
            for entry in live
            if entry.content == DATA
        ]

    def rows(self, metadata: Metadata, entry: Entry, deletes: list[Entry], schema: ty.Struct) -> tuple[Row, ...]:
        """Read the rows of a data file that are left after those deletes that apply to it."""
        columns = [self._column(metadata, entry, each.id, each.type, each.default) for each in schema.fields]
        count = self.table(entry.path).num_rows
        gone = {
            position
            for delete in deletes
            if delete.content == POSITION_DELETES
            and delete.place == entry.place
            and delete.sequence_number >= entry.sequence_number
            for position in self._positions(delete, entry.path)
        }
        for delete in deletes:
            if delete.content == EQUALITY_DELETES and self._may_equal(metadata, delete, entry):
                gone |= self._equal(metadata, delete, entry, count)
        return tuple(tuple(column[row] for column in columns) for row in range(count) if row not in gone)

    def all_rows(self, metadata: Metadata, entry: Entry, schema: ty.Struct) -> tuple[Row, ...]:
        """Read the rows of a data file, those that are deleted with them."""
        return self.rows(metadata, entry, [], schema)

    def table(self, path: str) -> pa.Table:
        if path not in self._tables:
            self._tables[path] = pq.ParquetFile(local(path)).read(use_threads=False).combine_chunks()
        return self._tables[path]

    def _positions(self, delete: Entry, path: str) -> Iterator[int]:
        yield from (position for each, position in self.positions(delete) if each == path)

    def positions(self, delete: Entry) -> list[tuple[str, int]]:
        """Read the paths and positions of a position delete file."""
        table = self.table(delete.path)
        columns = {ty.field_id(each): column for each, column in zip(table.schema, table.columns, strict=True)}
        paths, positions = columns[PATH_ID], columns[POSITION_ID]
        return list(zip(paths.to_pylist(), positions.to_pylist(), strict=True))

    def _may_equal(self, metadata: Metadata, delete: Entry, entry: Entry) -> bool:
        return delete.sequence_number > entry.sequence_number and (
            metadata.is_unpartitioned(delete.spec_id) or delete.place == entry.place
        )

    def _equal(self, metadata: Metadata, delete: Entry, entry: Entry, count: int) -> set[int]:
        ids = delete.file["equality_ids"]
        deleted = set(zip(*(self._leaf(metadata, delete, each) for each in ids), strict=True))
        rows = zip(*(self._leaf(metadata, entry, each) for each in ids), strict=True)
        return {place for place, row in enumerate(rows) if row in deleted}

    def _leaf(self, metadata: Metadata, entry: Entry, wanted: int) -> list[Any]:
        """Read a primitive field that no list or map holds, whether the table still has it or not, to compare it."""
        for schema in metadata.schemas:
            for leaf in ty.leaves(schema):
                if leaf.id == wanted:
                    top = schema.fields[leaf.path[0]]
                    column = self._column(metadata, entry, top.id, top.type, top.default)
                    return [ty.identity(ty.Leaf(leaf.field, leaf.path[1:], leaf.names).of(value)) for value in column]
        raise AssertionError(f"no schema has field {wanted}")

    def _column(self, metadata: Metadata, entry: Entry, wanted: int, of: ty.Type, default: Any) -> list[Any]:
        """Read a top-level column: from the file, or else from the partition, or else its default."""
        table = self.table(entry.path)
        for file_field, column in zip(table.schema, table.columns, strict=True):
            if ty.field_id(file_field) == wanted:
                key = (entry.path, wanted, of)
                if key not in self._columns:
                    self._columns[key] = ty.from_arrow(_whole(column), of)
                return self._columns[key]
        for each, value in zip(metadata.specs[entry.spec_id], entry.partition, strict=True):
            if each["source-id"] == wanted and each["transform"] == "identity" and value is not None:
                return [value] * table.num_rows
        return [default] * table.num_rows


def rows_of(files: Sequence[FileRows]) -> Counter[Any]:
    """All rows, however they lie in files; equal for equal tables."""
    return Counter(ty.identity(row) for file in files for row in file.rows)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    found = column.combine_chunks()
    return found if isinstance(found, pa.Array) else pa.concat_arrays(found.chunks)


def _entry(entry: ManifestEntry, listed: ManifestFile) -> Entry:
    file = dict(zip(_FILE_FIELDS, entry.data_file._data, strict=False))
    partition = (each.bytes if isinstance(each, UUID) else each for each in entry.data_file.partition._data)
    return Entry(
        int(entry.status),
        entry.snapshot_id,
        entry.sequence_number or 0,
        listed.partition_spec_id,
        tuple(partition),
        {**file, "content": int(entry.data_file.content)},
    )
