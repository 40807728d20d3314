"""A file group is rewritten: every row once, none changed, deletes applied, files as planned."""

import datetime as dt
import random
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg import transforms, types
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table

from tests.pyiceberg.committing import commit_files
from tests.pyiceberg.lake import data_file, data_files, local, rewrite, table_of

Rows = Sequence[dict[str, Any]]


def canonical(rows: Rows) -> list[str]:
    """Rows in any order, NaN equal to NaN."""
    return sorted(repr(sorted(row.items(), key=lambda item: item[0])) for row in rows)


def made(catalog: SqlCatalog, rows: Rows, schema: pa.Schema, files: int = 4, **arguments: Any) -> Table:
    return table_of(catalog, pa.Table.from_pylist(list(rows), schema), files, **arguments)


def numbers(count: int, seed: int = 0) -> list[dict[str, Any]]:
    made_of = random.Random(seed)
    return [{"a": made_of.randrange(1000), "b": made_of.randrange(1000), "id": i} for i in range(count)]


NUMBERS = pa.schema([("a", pa.int64()), ("b", pa.int64()), ("id", pa.int64())])


def small_files(table: Table, files: int) -> dict[str, str]:
    """The option that asks for so many files."""
    return {"target-file-size-bytes": str(sum(file.file_size_in_bytes for file in data_files(table)) // files)}


def test_rows_are_sorted_by_prefix_and_then_along_the_curve(catalog: SqlCatalog) -> None:
    rows = [{**row, "a": None if row["a"] < 50 else row["a"] % 7} for row in numbers(3000)]
    table = made(catalog, rows, NUMBERS)
    done = rewrite(table, "a DESC NULLS LAST, zorder(b)", small_files(table, 3))
    assert canonical(done.rows()) == canonical(rows)
    for path in done.paths:
        found = pq.read_table(path)["a"].to_pylist()
        assert found == sorted(found, key=lambda a: (a is None, -(a or 0)))


ALL_TYPES = pa.schema(
    [
        ("boolean", pa.bool_()),
        ("int", pa.int32()),
        ("long", pa.int64()),
        ("float", pa.float32()),
        ("double", pa.float64()),
        ("date", pa.date32()),
        ("time", pa.time64("us")),
        ("timestamp", pa.timestamp("us")),
        ("timestamptz", pa.timestamp("us", "UTC")),
        ("decimal9", pa.decimal128(9, 2)),
        ("decimal18", pa.decimal128(18, 0)),
        ("decimal38", pa.decimal128(38, 10)),
        ("string", pa.string()),
        ("binary", pa.binary()),
        ("fixed", pa.binary(3)),
        ("uuid", pa.uuid()),
        ("nested", pa.struct([("inner", pa.struct([("value", pa.int32()), ("text", pa.string())]))])),
        ("list", pa.list_(pa.struct([("x", pa.int32())]))),
        ("map", pa.map_(pa.string(), pa.struct([("y", pa.float64())]))),
    ]
)


def all_types(count: int) -> list[dict[str, Any]]:
    made_of = random.Random(7)
    rows = []
    for _ in range(count):
        number = made_of.randrange(-500, 500)
        day = dt.date(1970, 1, 1) + dt.timedelta(days=number)
        moment = dt.datetime(1970, 1, 1) + dt.timedelta(seconds=number * 3601, microseconds=number % 7)
        row = {
            "boolean": number % 2 == 0,
            "int": number,
            "long": number * 2**40,
            "float": float("nan") if number % 9 == 0 else number / 8,
            "double": -0.0 if number % 9 == 0 else number / 3,
            "date": day,
            "time": (dt.datetime.min + dt.timedelta(seconds=abs(number) * 60)).time(),
            "timestamp": moment,
            "timestamptz": moment.replace(tzinfo=dt.timezone.utc),
            "decimal9": Decimal(number) / 4,
            "decimal18": Decimal(number) * 10**14,
            "decimal38": Decimal(number) * 10**20,
            "string": f"a common prefix of many letters {number}",
            "binary": bytes([abs(number) % 256]) * (abs(number) % 40),
            "fixed": abs(number).to_bytes(3, "big"),
            "uuid": UUID(int=abs(number) << 100).bytes,
            "nested": made_of.choice([None, {"inner": None}, {"inner": {"value": number, "text": str(number)}}]),
            "list": made_of.choice([None, [], [None], [{"x": number}, {"x": None}]]),
            "map": made_of.choice([None, [], [("k", None), ("l", {"y": number / 2})]]),
        }
        rows.append({key: None if made_of.random() < 0.05 else value for key, value in row.items()})
    return rows


KEYS = [field.name for field in ALL_TYPES if field.name not in ("nested", "list", "map")]


@pytest.mark.parametrize("by", [*KEYS, "nested.inner.value", "nested.inner.text"])
def test_every_type_can_be_clustered_by(catalog: SqlCatalog, by: str) -> None:
    rows = all_types(600)
    table = catalog.create_table("db.t", ALL_TYPES)
    commit_files(table, data_file(table, rows[:200]), data_file(table, rows[200:]))
    before = table.scan().to_arrow().select(KEYS).to_pylist()
    done = rewrite(table, f"zorder({by}, long)" if by != "long" else "long", small_files(table, 3))
    prefixed = rewrite(table, f"{by} DESC, zorder(int)" if by != "int" else "int", {"cuts": "even"})

    for each in (done, prefixed):
        written = pa.concat_tables([pq.read_table(path) for path in each.paths])
        assert canonical(written.select(KEYS).to_pylist()) == canonical(before)
        for name in ("nested", "list", "map"):
            assert canonical(written.select([name]).to_pylist()) == canonical([{name: row[name]} for row in rows])


def test_bounds_of_nested_fields_and_counts_of_nan_are_kept(catalog: SqlCatalog) -> None:
    rows = all_types(300)
    table = made(catalog, rows, ALL_TYPES, files=2)
    (file,) = rewrite(table, "int").files
    value, text = (table.schema().find_field(f"nested.inner.{name}").field_id for name in ("value", "text"))
    inner = [row["nested"]["inner"] for row in rows if row["nested"] and row["nested"]["inner"]]
    assert int.from_bytes(file.lower_bounds[value], "little", signed=True) == min(each["value"] for each in inner)
    assert file.lower_bounds[text] == min(each["text"] for each in inner).encode()
    assert file.null_value_counts[value] == 300 - len(inner)
    nan = table.schema().find_field("float").field_id
    assert file.nan_value_counts[nan] == sum(row["float"] != row["float"] for row in rows)
    string = table.schema().find_field("string").field_id
    assert (file.lower_bounds[string], file.upper_bounds[string]) == (b"a common prefix ", b"a common prefix!")
    decimal = table.schema().find_field("decimal38").field_id
    lowest = min(row["decimal38"] for row in rows if row["decimal38"] is not None)
    assert int.from_bytes(file.lower_bounds[decimal], "big", signed=True) == int(lowest.scaleb(10))
    for name, size in (("fixed", 3), ("uuid", 16)):
        field = table.schema().find_field(name).field_id
        values = [value.bytes if isinstance(value, UUID) else value for value in (row[name] for row in rows) if value]
        assert (file.lower_bounds[field], file.upper_bounds[field]) == (min(values), max(values))
        assert len(file.lower_bounds[field]) == size
    repeated = {table.schema().find_field(name).field_id for name in ("list.element.x", "map.key", "map.value.y")}
    assert repeated <= set(file.column_sizes)
    assert not repeated & set(file.value_counts)


def test_old_files_are_read_as_the_schema_is_now(catalog: SqlCatalog) -> None:
    inner = types.StructType(
        types.NestedField(5, "x", types.IntegerType()), types.NestedField(6, "y", types.StringType())
    )
    schema = Schema(
        types.NestedField(1, "a", types.IntegerType()),
        types.NestedField(2, "b", types.StringType()),
        types.NestedField(3, "dropped", types.StringType()),
        types.NestedField(4, "s", inner),
        types.NestedField(7, "l", types.ListType(8, inner_of(9), element_required=False)),
        types.NestedField(10, "m", types.MapType(11, types.StringType(), 12, inner_of(13), value_required=False)),
    )
    table = catalog.create_table("db.t", schema)
    rows: Rows = [
        {"a": 1, "b": "x", "dropped": "d", "s": {"x": 1, "y": "y"}, "l": [{"z": 1}], "m": [("k", {"z": 2})]},
        {"a": 2, "b": None, "dropped": "d", "s": None, "l": None, "m": None},
        {"a": 3, "b": "z", "dropped": "d", "s": {"x": None, "y": "y"}, "l": [], "m": []},
    ]
    commit_files(table, data_file(table, rows))
    with table.update_schema() as update:
        update.update_column("a", types.LongType())
        update.rename_column("b", "text with blanks")
        update.delete_column("dropped")
        update.add_column("added", types.StringType())
        update.update_column("s.x", types.LongType())
        update.rename_column("s.y", "why")
        update.add_column(("s", "new"), types.LongType())
        update.add_column(("l", "more"), types.StringType())
        update.move_first("added")
    done = rewrite(table, "zorder(a, `text with blanks`)")
    assert done.rows() != []
    fields = {"text_x20with_x20blanks": "text with blanks"}
    written = [{fields.get(key, key): value for key, value in row.items()} for row in done.rows()]
    assert canonical(written) == canonical(
        [
            {
                "added": None,
                "a": 1,
                "text with blanks": "x",
                "s": {"x": 1, "why": "y", "new": None},
                "l": [{"z": 1, "more": None}],
                "m": [("k", {"z": 2})],
            },
            {"added": None, "a": 2, "text with blanks": None, "s": None, "l": None, "m": None},
            {
                "added": None,
                "a": 3,
                "text with blanks": "z",
                "s": {"x": None, "why": "y", "new": None},
                "l": [],
                "m": [],
            },
        ]
    )


def inner_of(field_id: int) -> types.StructType:
    return types.StructType(types.NestedField(field_id, "z", types.IntegerType()))


def test_files_without_field_ids_are_read_by_the_name_mapping_and_their_partition(
    catalog: SqlCatalog, tmp_path: Path
) -> None:
    schema = Schema(types.NestedField(1, "p", types.StringType()), types.NestedField(2, "a", types.LongType()))
    spec = PartitionSpec(PartitionField(1, 1000, transforms.IdentityTransform(), "p"))
    mapping = '[{"field-id": 1, "names": ["p"]}, {"field-id": 2, "names": ["old_a"]}]'
    table = catalog.create_table(
        "db.t", schema, partition_spec=spec, properties={"schema.name-mapping.default": mapping}
    )
    table.append(pa.Table.from_pylist([{"p": "x", "a": 9}], table.schema().as_arrow()))
    (like,) = data_files(table)
    path = tmp_path / "migrated.parquet"
    pq.write_table(pa.table({"old_a": pa.array([1, 2], pa.int32())}), path)
    migrated = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=f"file://{path}",
        file_format=FileFormat.PARQUET,
        partition=like.partition,
        record_count=2,
        file_size_in_bytes=path.stat().st_size,
    )
    migrated.spec_id = like.spec_id
    commit_files(table, migrated)
    done = rewrite(table, "a")
    assert canonical(done.rows()) == canonical([{"p": "x", "a": a} for a in (9, 1, 2)])


TRANSFORMS: list[tuple[str, Any, bool]] = [
    ("ts", transforms.MonthTransform(), True),
    ("ts", transforms.HourTransform(), False),
    ("s", transforms.IdentityTransform(), False),
    ("s", transforms.TruncateTransform(2), True),
    ("s", transforms.BucketTransform(3), False),
    ("n", transforms.TruncateTransform(10), False),
    ("n", transforms.BucketTransform(4), True),
]
"""Columns, transforms, and whether the optional package pyiceberg-core is there."""


@pytest.mark.parametrize(("column", "transform", "with_core"), TRANSFORMS, ids=lambda value: str(value))
def test_rows_of_an_old_spec_go_to_the_partitions_of_the_new_one(
    catalog: SqlCatalog, monkeypatch: pytest.MonkeyPatch, column: str, transform: Any, with_core: bool
) -> None:
    schema = Schema(
        types.NestedField(1, "n", types.LongType()),
        types.NestedField(2, "s", types.StringType()),
        types.NestedField(3, "ts", types.TimestampType()),
    )
    table = catalog.create_table("db.t", schema)
    made_of = random.Random(3)
    rows = [
        {
            "n": None if i % 11 == 0 else made_of.randrange(-40, 40),
            "s": None if i % 13 == 0 else made_of.choice(["", "ab", "abc", "b/c", "é中x"]),
            "ts": None if i % 17 == 0 else dt.datetime(1969, 12, 30) + dt.timedelta(hours=made_of.randrange(80)),
        }
        for i in range(200)
    ]
    arrow = table.schema().as_arrow()
    table.append(pa.Table.from_pylist(rows[:100], arrow))
    table.update_spec().add_field(column, transform, "p").commit()
    table.append(pa.Table.from_pylist(rows[100:], arrow))
    if not with_core:
        monkeypatch.setattr("iceberg_zorder.pyiceberg.partitions.arrow_transform", lambda *_: None)
    done = rewrite(table, "zorder(n, s)" if transform != transforms.IdentityTransform() else "n")

    assert canonical(done.rows()) == canonical(rows)
    source = table.schema().find_field(column).field_type
    apply = transform.transform(source)
    assert {file.spec_id for file in done.files} == {1}
    for file in done.files:
        values = pq.read_table(local(file))[column].to_pylist()
        if column == "ts":
            values = [v and round((v - dt.datetime(1970, 1, 1)) / dt.timedelta(microseconds=1)) for v in values]
        assert {apply(value) for value in values} == {file.partition[0]}
    # Each partition that PyIceberg itself wrote to has the same record in the new files.
    old = {tuple(file.partition._data) for file in data_files(table) if file.spec_id == 1}
    assert old <= {tuple(file.partition._data) for file in done.files}
