"""Data files, delete files and snapshots as other engines write them: by hand, and by the specification.

The statistics are those of Iceberg's Java writers, which leave NaN out of the bounds; some writers keep fewer.
"""

from __future__ import annotations

import itertools
import json
import random
import time
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.update import (
    AddSnapshotUpdate,
    AssertRefSnapshotId,
    AssertTableUUID,
    SetSnapshotRefUpdate,
    TableRequirement,
    TableUpdate,
)

from tests.fuzz import avro
from tests.fuzz.model import (
    ADDED,
    DATA,
    EQUALITY_DELETES,
    PATH_ID,
    POSITION_DELETES,
    POSITION_ID,
    Metadata,
    Row,
    local,
)
from tests.fuzz.types import (
    Field,
    Leaf,
    Struct,
    arrow_field,
    decimal_of,
    is_floating,
    is_nan,
    leaves,
    length_of,
    parse,
    to_arrow,
    to_bytes,
    total_order,
)

POSITION_SCHEMA = Struct((Field(PATH_ID, "file_path", "string", True), Field(POSITION_ID, "pos", "long", True)))


@dataclass(frozen=True, eq=False)
class Written:
    """A file that is to be committed.

    Parameters
    ----------
    content : int
        Data, position deletes, or equality deletes.
    spec_id : int
        The partition spec.
    partition : tuple
        The partition.
    record : dict of str to object
        The file, as a manifest has it, but for the partition.
    """

    content: int
    spec_id: int
    partition: tuple[Any, ...]
    record: dict[str, Any]

    @property
    def path(self) -> str:
        return str(self.record["file_path"])


@dataclass(frozen=True)
class Style:
    """How an engine writes Parquet files and their statistics."""

    parquet: Mapping[str, Any] = field(default_factory=dict)
    row_group_rows: int = 1 << 20
    bounds: str = "truncated"  # or "full", "none"
    large: bool = False
    dictionary: bool = False
    nanoseconds: int | None = None

    @classmethod
    def draw(cls, rng: random.Random, rows: int) -> Style:
        parquet: dict[str, Any] = {
            "compression": rng.choice(["zstd", "snappy", "none"]),
            "use_dictionary": rng.random() < 0.6,
            "store_schema": rng.random() < 0.3,
            "write_page_index": rng.random() < 0.3,
            "data_page_size": rng.choice([100, 1 << 20]),
            "store_decimal_as_integer": rng.random() < 0.5,
        }
        if rng.random() < 0.1:
            parquet["write_statistics"] = False
        bounds = rng.choices(["truncated", "full", "none"], [6, 3, 1])[0]
        several = rng.random() < 0.3
        nanoseconds = rng.choice([0, 7, 999]) if rng.random() < 0.03 else None
        return cls(
            parquet,
            max(1, rows // rng.randint(2, 4)) if several else 1 << 20,
            bounds,
            rng.random() < 0.1,
            rng.random() < 0.1,
            nanoseconds,
        )


def write_file(
    location: str,
    schema: Struct,
    rows: Sequence[Row],
    style: Style,
    *,
    content: int = DATA,
    spec_id: int = 0,
    partition: tuple[Any, ...] = (),
    equality_ids: Sequence[int] | None = None,
    omitted: frozenset[int] = frozenset(),
) -> Written:
    """Write a Parquet file; ``omitted`` columns are told by the partition only, as imported files have it."""
    path = f"{location}/data/{_fresh(location)}.parquet"
    columns = [each for each in schema.fields if each.id not in omitted]
    places = [place for place, each in enumerate(schema.fields) if each.id not in omitted]
    arrays = [
        _styled(to_arrow([row[place] for row in rows], each.type), style)
        for place, each in zip(places, columns, strict=True)
    ]
    types = [arrow_field(each).with_type(array.type) for each, array in zip(columns, arrays, strict=True)]
    local(path).parent.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_arrays(arrays, schema=pa.schema(types))
    pq.write_table(table, local(path), row_group_size=style.row_group_rows, **style.parquet)
    record = {
        "content": content,
        "file_path": path,
        "file_format": "PARQUET",
        "record_count": len(rows),
        "file_size_in_bytes": local(path).stat().st_size,
        "block_size_in_bytes": 64 << 20,
        "equality_ids": None if equality_ids is None else list(equality_ids),
        **_statistics(Struct(tuple(columns)), [tuple(row[place] for place in places) for row in rows], style),
    }
    return Written(content, spec_id, partition, record)


_numbers: dict[str, itertools.count[int]] = defaultdict(lambda: itertools.count(1))


def _fresh(location: str) -> uuid.UUID:
    """A name for a file, the same whenever a table is made again."""
    return uuid.UUID(int=next(_numbers[location]))


def _styled(array: pa.Array, style: Style) -> pa.Array:
    if pa.types.is_string(array.type):
        if style.dictionary:
            return array.dictionary_encode()
        if style.large:
            return array.cast(pa.large_string())
    if pa.types.is_timestamp(array.type) and style.nanoseconds is not None:
        return _finer(array, style.nanoseconds)
    return array


def _finer(array: pa.Array, nanoseconds: int) -> pa.Array:
    """Add some nanoseconds to each value, where all fit."""
    numbers = [None if value is None else value * 1000 + nanoseconds for value in array.cast(pa.int64()).to_pylist()]
    if any(value is not None and abs(value) >= 1 << 63 for value in numbers):
        return array
    return pa.array(numbers, pa.int64()).cast(pa.timestamp("ns", array.type.tz))


def position_deletes(
    location: str, deleted: Iterable[tuple[str, int]], style: Style, *, named: str, **where: Any
) -> Written:
    """Write position deletes; ``named`` tells how the data file is named: by ``bounds``, ``reference`` or not."""
    rows = sorted(deleted)
    written = write_file(location, POSITION_SCHEMA, rows, style, content=POSITION_DELETES, **where)
    bounds = [{"key": PATH_ID, "value": path.encode()} for path in (rows[0][0], rows[-1][0])]
    record = dict(written.record) | {"lower_bounds": [], "upper_bounds": []}
    if named != "nothing":
        record |= {"lower_bounds": bounds[:1], "upper_bounds": bounds[1:]}
    if named == "reference" and rows[0][0] == rows[-1][0]:
        record |= {"referenced_data_file": rows[0][0]}
    return Written(POSITION_DELETES, written.spec_id, written.partition, record)


def equality_deletes(
    location: str, schema: Struct, keys: Sequence[Leaf], rows: Sequence[Row], style: Style, **where: Any
) -> Written:
    """Write rows whose equals are deleted, with the columns that hold the keys."""
    ids = [each.id for each in keys]
    tops = sorted({each.path[0] for each in keys})
    pruned = Struct(tuple(schema.fields[place] for place in tops))
    values = [tuple(row[place] for place in tops) for row in rows]
    return write_file(location, pruned, values, style, content=EQUALITY_DELETES, equality_ids=ids, **where)


def _statistics(schema: Struct, rows: Sequence[Row], style: Style) -> dict[str, Any]:
    names = ("value_counts", "null_value_counts", "nan_value_counts", "lower_bounds", "upper_bounds")
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in names}

    def put(name: str, key: int, value: Any) -> None:
        found[name].append({"key": key, "value": value})

    if style.bounds == "none":
        return {}
    for leaf in leaves(schema):
        values = [leaf.of(row) for row in rows]
        known = [value for value in values if value is not None and not is_nan(value)]
        put("value_counts", leaf.id, len(values))
        put("null_value_counts", leaf.id, values.count(None))
        if is_floating(leaf.type):
            put("nan_value_counts", leaf.id, sum(map(is_nan, values)))
        if known:
            low, high = min(known, key=total_order), max(known, key=total_order)
            length = 16 if style.bounds == "truncated" else None
            put("lower_bounds", leaf.id, to_bytes(lower_bound(low, length, leaf.type), leaf.type))
            if (upper := upper_bound(high, length, leaf.type)) is not None:
                put("upper_bounds", leaf.id, to_bytes(upper, leaf.type))
    return found


def lower_bound(value: Any, length: int | None, of: str) -> Any:
    """The longest bound of so many characters or bytes that is not above a value."""
    return value[:length] if of in ("string", "binary") else value


def upper_bound(value: Any, length: int | None, of: str) -> Any:
    """The bound of so many characters or bytes that is not below a value; None if there is none.

    >>> upper_bound("abz", 2, "string"), upper_bound("a\\U0010ffff!", 2, "string"), upper_bound(b"\\xff\\xff!", 2, "binary")
    ('ac', 'b', None)
    >>> upper_bound("a\\ud7ff!", 2, "string") == "a\\ue000", upper_bound("ab", 2, "string")
    (True, 'ab')
    """
    if of not in ("string", "binary") or length is None or len(value) <= length:
        return value
    for end in range(length, 0, -1):
        last = (ord(value[end - 1]) if of == "string" else value[end - 1]) + 1
        if of == "binary" and last <= 0xFF:
            return value[: end - 1] + bytes([last])
        if of == "string" and last <= 0x10FFFF:
            return value[: end - 1] + chr(0xE000 if last == 0xD800 else last)
    return None


def commit(table: Table, files: Sequence[Written], *, branch: str = "main") -> int:
    """Commit files on top of a branch, in one snapshot, each manifest of its own spec and content."""
    metadata = Metadata.load(table.metadata_location)
    table_json = metadata.json
    version = table_json["format-version"]
    snapshot_id = table.metadata.new_snapshot_id()
    parent = metadata.head(branch) or metadata.head("main")
    sequence = table_json.get("last-sequence-number", 0) + 1 if version > 1 else 0
    listed = avro.read(local(metadata.snapshot(parent)["manifest-list"])).records if parent else []
    listed = [_as_written(each, version) for each in listed]
    groups: dict[tuple[int, bool], list[Written]] = {}
    for file in files:
        groups.setdefault((file.spec_id, file.content == DATA), []).append(file)
    for (spec_id, is_data), group in groups.items():
        listed.append(_write_manifest(metadata, group, spec_id, snapshot_id, sequence, is_data=is_data))
    path = f"{table_json['location']}/metadata/snap-{snapshot_id}.avro"
    avro.write(local(path), _list_schema(version), {"format-version": str(version)}, listed)
    only_data = all(is_data for _, is_data in groups)
    snapshot = {
        "snapshot-id": snapshot_id,
        "parent-snapshot-id": parent,
        "manifest-list": path,
        "sequence-number": sequence,
        "timestamp-ms": time.time_ns() // 1_000_000,
        "summary": {"operation": "append" if only_data else "overwrite", **_totals(metadata, parent, files)},
        "schema-id": table_json["current-schema-id"],
    }
    submit(table, Snapshot.model_validate(snapshot), branch, metadata.head(branch))
    return snapshot_id


def submit(table: Table, snapshot: Snapshot, branch: str, head: int | None) -> None:
    """Ask the catalog to make a snapshot the head of a branch."""
    updates: tuple[TableUpdate, ...] = (
        AddSnapshotUpdate(snapshot=snapshot),
        SetSnapshotRefUpdate.model_validate(
            {"ref-name": branch, "type": "branch", "snapshot-id": snapshot.snapshot_id}
        ),
    )
    requirements: tuple[TableRequirement, ...] = (
        AssertTableUUID(uuid=table.metadata.table_uuid),
        AssertRefSnapshotId.model_validate({"ref": branch, "snapshot-id": head}),
    )
    table.catalog.commit_table(table, requirements, updates)
    table.refresh()


def _totals(metadata: Metadata, parent: int | None, files: Sequence[Written]) -> dict[str, str]:
    """What a summary says of the whole table."""
    before = metadata.snapshot(parent)["summary"] if parent else {}
    counts = {
        "total-data-files": sum(file.content == DATA for file in files),
        "total-delete-files": sum(file.content != DATA for file in files),
        "total-records": sum(file.record_count for file in map(_Counted, files) if file.content == DATA),
        "total-files-size": sum(file.record["file_size_in_bytes"] for file in files),
        "total-position-deletes": sum(f.record_count for f in map(_Counted, files) if f.content == POSITION_DELETES),
        "total-equality-deletes": sum(f.record_count for f in map(_Counted, files) if f.content == EQUALITY_DELETES),
    }
    return {name: str(int(before.get(name, 0)) + more) for name, more in counts.items()}


class _Counted:
    def __init__(self, file: Written) -> None:
        self.content = file.content
        self.record_count = int(file.record["record_count"])


def _as_written(listed: Mapping[str, Any], version: int) -> dict[str, Any]:
    """Name a manifest's counts as this module's schema does, whoever wrote the list."""
    old = {f"{kind}_data_files_count": f"{kind}_files_count" for kind in ("added", "existing", "deleted")}
    return {old.get(name, name): value for name, value in listed.items()}


def _write_manifest(
    metadata: Metadata, files: Sequence[Written], spec_id: int, snapshot_id: int, sequence: int, *, is_data: bool
) -> dict[str, Any]:
    version = metadata.json["format-version"]
    path = f"{metadata.json['location']}/metadata/{_fresh(metadata.json['location'])}-m0.avro"
    fields, types = metadata.specs[spec_id], metadata.partition_types(spec_id)
    names = [f"p{each['field-id']}" for each in fields]
    entries = [
        {
            "status": ADDED,
            "snapshot_id": snapshot_id,
            "data_file": {**file.record, "partition": _partition(names, types, file.partition)},
        }
        for file in files
    ]
    head = {
        "schema": json.dumps(_newest_schema(metadata, spec_id)),
        "schema-id": str(metadata.json["current-schema-id"]),
        "partition-spec": json.dumps(fields),
        "partition-spec-id": str(spec_id),
        "format-version": str(version),
        "content": "data" if is_data else "deletes",
    }
    partition = [
        {"name": name, "type": ["null", _avro_type(of, name)], "default": None, "field-id": each["field-id"]}
        for name, each, of in zip(names, fields, types, strict=True)
    ]
    length = avro.write(local(path), _entry_schema(version, partition), head, entries)
    return {
        "manifest_path": path,
        "manifest_length": length,
        "partition_spec_id": spec_id,
        "content": 0 if is_data else 1,
        "sequence_number": sequence,
        "min_sequence_number": sequence,
        "added_snapshot_id": snapshot_id,
        "added_files_count": len(files),
        "existing_files_count": 0,
        "deleted_files_count": 0,
        "added_rows_count": sum(file.record["record_count"] for file in files),
        "existing_rows_count": 0,
        "deleted_rows_count": 0,
        "partitions": [
            summary([file.partition[place] for file in files], types[place]) for place in range(len(fields))
        ],
    }


def _newest_schema(metadata: Metadata, spec_id: int) -> dict[str, Any]:
    """A schema that has the columns that a spec is made from."""
    wanted = {each["source-id"] for each in metadata.specs[spec_id]}
    schemas: list[dict[str, Any]] = sorted(metadata.json["schemas"], key=lambda each: -int(each["schema-id"]))
    schemas.sort(key=lambda each: each["schema-id"] != metadata.json["current-schema-id"])
    for each in schemas:
        if wanted <= {leaf.id for leaf in leaves(parse(each))}:
            return each
    return schemas[0]


def summary(values: Sequence[Any], of: str) -> dict[str, Any]:
    """What a manifest list says of one field of the partitions of a manifest."""
    known = [value for value in values if value is not None and not is_nan(value)]
    return {
        "contains_null": None in values,
        "contains_nan": any(map(is_nan, values)) if is_floating(of) else None,
        "lower_bound": to_bytes(min(known, key=total_order), of) if known else None,
        "upper_bound": to_bytes(max(known, key=total_order), of) if known else None,
    }


def _partition(names: Sequence[str], types: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
    return {
        name: _decimal(value, of) if of.startswith("decimal") and value is not None else value
        for name, of, value in zip(names, types, values, strict=True)
    }


def _decimal(value: Any, of: str) -> bytes:
    raw = to_bytes(value, of)
    return (b"\xff" if raw[0] & 0x80 else b"\x00") * (decimal_bytes(of) - len(raw)) + raw


def decimal_bytes(of: str) -> int:
    """The fewest bytes that hold every decimal of a precision."""
    most: int = 10 ** decimal_of(of)[0]
    return most.bit_length() // 8 + 1


def _avro_type(of: str, name: str) -> Any:
    if of.startswith("decimal"):
        precision, scale = decimal_of(of)
        fixed = {"type": "fixed", "name": f"f_{name}", "size": decimal_bytes(of)}
        return {**fixed, "logicalType": "decimal", "precision": precision, "scale": scale}
    if of.startswith("fixed"):
        return {"type": "fixed", "name": f"f_{name}", "size": length_of(of)}
    if of == "uuid":
        return {"type": "fixed", "name": f"f_{name}", "size": 16, "logicalType": "uuid"}
    if of == "date":
        return {"type": "int", "logicalType": "date"}
    if of == "time":
        return {"type": "long", "logicalType": "time-micros"}
    if of in ("timestamp", "timestamptz"):
        return {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": of == "timestamptz"}
    return {"binary": "bytes"}.get(of, of)


def _optional(name: str, of: Any, field_id: int) -> dict[str, Any]:
    return {"name": name, "type": ["null", of], "default": None, "field-id": field_id}


def _required(name: str, of: Any, field_id: int) -> dict[str, Any]:
    return {"name": name, "type": of, "field-id": field_id}


def _map(key_id: int, value_id: int, value: str) -> dict[str, Any]:
    fields = [_required("key", "int", key_id), _required("value", value, value_id)]
    record = {"type": "record", "name": f"k{key_id}_v{value_id}", "fields": fields}
    return {"type": "array", "logicalType": "map", "items": record}


def _list(of: str, element_id: int) -> dict[str, Any]:
    return {"type": "array", "items": of, "element-id": element_id}


def _entry_schema(version: int, partition: list[dict[str, Any]]) -> dict[str, Any]:
    newer = version > 1
    file = [
        *([_required("content", "int", 134)] if newer else []),
        _required("file_path", "string", 100),
        _required("file_format", "string", 101),
        _required("partition", {"type": "record", "name": "r102", "fields": partition}, 102),
        _required("record_count", "long", 103),
        _required("file_size_in_bytes", "long", 104),
        *([] if newer else [_required("block_size_in_bytes", "long", 105)]),
        _optional("value_counts", _map(119, 120, "long"), 109),
        _optional("null_value_counts", _map(121, 122, "long"), 110),
        _optional("nan_value_counts", _map(138, 139, "long"), 137),
        _optional("lower_bounds", _map(126, 127, "bytes"), 125),
        _optional("upper_bounds", _map(129, 130, "bytes"), 128),
        *([_optional("equality_ids", _list("int", 136), 135)] if newer else []),
        *([_optional("referenced_data_file", "string", 143)] if newer else []),
    ]
    fields = [
        _required("status", "int", 0),
        _optional("snapshot_id", "long", 1) if newer else _required("snapshot_id", "long", 1),
        *([_optional("sequence_number", "long", 3), _optional("file_sequence_number", "long", 4)] if newer else []),
        _required("data_file", {"type": "record", "name": "r2", "fields": file}, 2),
    ]
    return {"type": "record", "name": "manifest_entry", "fields": fields}


def _list_schema(version: int) -> dict[str, Any]:
    field_summary = {
        "type": "record",
        "name": "r508",
        "fields": [
            _required("contains_null", "boolean", 509),
            _optional("contains_nan", "boolean", 518),
            _optional("lower_bound", "bytes", 510),
            _optional("upper_bound", "bytes", 511),
        ],
    }
    newer = [
        _required("content", "int", 517),
        _required("sequence_number", "long", 515),
        _required("min_sequence_number", "long", 516),
    ]
    fields = [
        _required("manifest_path", "string", 500),
        _required("manifest_length", "long", 501),
        _required("partition_spec_id", "int", 502),
        *(newer if version > 1 else []),
        _required("added_snapshot_id", "long", 503),
        _required("added_files_count", "int", 504),
        _required("existing_files_count", "int", 505),
        _required("deleted_files_count", "int", 506),
        _required("added_rows_count", "long", 512),
        _required("existing_rows_count", "long", 513),
        _required("deleted_rows_count", "long", 514),
        _optional("partitions", {"type": "array", "items": field_summary, "element-id": 508}, 507),
    ]
    return {"type": "record", "name": "manifest_file", "fields": fields}
