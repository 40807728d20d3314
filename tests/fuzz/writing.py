"""Data files, delete files and snapshots as other engines write them: by hand, and by the specification.

The statistics are those of Iceberg's Java writers, which leave NaN out of the bounds; some writers keep fewer.
"""

from __future__ import annotations

import itertools
import random
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import Table
from pyiceberg.typedef import Record

from tests.fuzz import types as ty
from tests.fuzz.model import (
    DATA,
    EQUALITY_DELETES,
    PATH_ID,
    POSITION_DELETES,
    POSITION_ID,
    Row,
    local,
)
from tests.pyiceberg.committing import commit_files

POSITION_SCHEMA = ty.Struct(
    (ty.Field(PATH_ID, "file_path", "string", True), ty.Field(POSITION_ID, "pos", "long", True))
)


@dataclass(frozen=True, eq=False)
class Written:
    """A file that is to be committed."""

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
    schema: ty.Struct,
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
        _styled(ty.to_arrow([row[place] for row in rows], each.type), style)
        for place, each in zip(places, columns, strict=True)
    ]
    types = [ty.arrow_field(each).with_type(array.type) for each, array in zip(columns, arrays, strict=True)]
    local(path).parent.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_arrays(arrays, schema=pa.schema(types))
    pq.write_table(table, local(path), row_group_size=style.row_group_rows, **style.parquet)
    record = {
        "content": content,
        "file_path": path,
        "record_count": len(rows),
        "file_size_in_bytes": local(path).stat().st_size,
        "equality_ids": None if equality_ids is None else list(equality_ids),
        **_statistics(ty.Struct(tuple(columns)), [tuple(row[place] for place in places) for row in rows], style),
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
    record = dict(written.record) | {"lower_bounds": {}, "upper_bounds": {}}
    if named != "nothing":
        record |= {"lower_bounds": {PATH_ID: rows[0][0].encode()}, "upper_bounds": {PATH_ID: rows[-1][0].encode()}}
    if named == "reference" and rows[0][0] == rows[-1][0]:
        record |= {"referenced_data_file": rows[0][0]}
    return Written(POSITION_DELETES, written.spec_id, written.partition, record)


def equality_deletes(
    location: str, schema: ty.Struct, keys: Sequence[ty.Leaf], rows: Sequence[Row], style: Style, **where: Any
) -> Written:
    """Write rows whose equals are deleted, with the columns that hold the keys."""
    ids = [each.id for each in keys]
    tops = sorted({each.path[0] for each in keys})
    pruned = ty.Struct(tuple(schema.fields[place] for place in tops))
    values = [tuple(row[place] for place in tops) for row in rows]
    return write_file(location, pruned, values, style, content=EQUALITY_DELETES, equality_ids=ids, **where)


def _statistics(schema: ty.Struct, rows: Sequence[Row], style: Style) -> dict[str, Any]:
    names = ("value_counts", "null_value_counts", "nan_value_counts", "lower_bounds", "upper_bounds")
    found: dict[str, dict[int, Any]] = {name: {} for name in names}
    if style.bounds == "none":
        return {}
    for leaf in ty.leaves(schema):
        values = [leaf.of(row) for row in rows]
        known = [value for value in values if value is not None and not ty.is_nan(value)]
        found["value_counts"][leaf.id] = len(values)
        found["null_value_counts"][leaf.id] = values.count(None)
        if ty.is_floating(leaf.type):
            found["nan_value_counts"][leaf.id] = sum(map(ty.is_nan, values))
        if known:
            low, high = min(known, key=ty.total_order), max(known, key=ty.total_order)
            length = 16 if style.bounds == "truncated" else None
            found["lower_bounds"][leaf.id] = ty.to_bytes(lower_bound(low, length, leaf.type), leaf.type)
            if (upper := upper_bound(high, length, leaf.type)) is not None:
                found["upper_bounds"][leaf.id] = ty.to_bytes(upper, leaf.type)
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


def commit(table: Table, files: Sequence[Written], *, branch: str = "main", removed: Collection[str] = ()) -> None:
    """Commit files on top of a branch, in one snapshot, each manifest of its own spec and content; remove others."""
    commit_files(table, *map(_data_file, files), one_manifest=True, refresh=False, branch=branch, removed=removed)


def _data_file(file: Written) -> DataFile:
    content = {
        **file.record,
        "content": DataFileContent(file.content),
        "file_format": FileFormat.PARQUET,
        "partition": Record(*file.partition),
    }
    # The third format's files have all that a delete file may have.
    data_file = DataFile.from_args(_table_format_version=3, **content)
    data_file.spec_id = file.spec_id
    return data_file
