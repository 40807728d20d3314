"""A table of every type that both engines filter by, and random conditions over its columns."""

import random
import uuid
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyiceberg import types
from pyiceberg.catalog import Catalog
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table

TYPES: dict[str, types.IcebergType] = {
    "flag": types.BooleanType(),
    "i": types.IntegerType(),
    "l": types.LongType(),
    "f": types.FloatType(),
    "d": types.DoubleType(),
    "n": types.DecimalType(9, 2),
    "big": types.DecimalType(38, 10),
    "day": types.DateType(),
    "at": types.TimestamptzType(),
    "wall": types.TimestampType(),
    "s": types.StringType(),
    "b": types.BinaryType(),
    "x4": types.FixedType(4),
    "u": types.UUIDType(),
}
SCHEMA = Schema(
    *(types.NestedField(place, name, kind, required=False) for place, (name, kind) in enumerate(TYPES.items(), 1)),
    types.NestedField(
        50,
        "st",
        types.StructType(
            types.NestedField(51, "x", types.IntegerType(), required=False),
            types.NestedField(52, "a b", types.StringType(), required=False),
        ),
        required=False,
    ),
)
COLUMNS: dict[str, types.IcebergType] = TYPES | {"st.x": types.IntegerType(), "st.`a b`": types.StringType()}

ZERO = datetime(2024, 2, 28, 22)
ARROW = schema_to_pyarrow(SCHEMA, include_field_ids=False)


def create(catalog: Catalog, name: str, spec: PartitionSpec, rng: random.Random, files: int) -> Table:
    """Make a table whose files hold few rows each: of one value, of NULLs or NaN alone, or of a range."""
    if catalog.table_exists(name):
        catalog.drop_table(name)
    table = catalog.create_table(name, SCHEMA, partition_spec=spec)
    for _ in range(files):
        kinds = {column: rng.choice(["one", "null", "range", "range", "some null", "nan"]) for column in COLUMNS}
        base = {column: rng.randrange(40) for column in COLUMNS}
        rows = [
            {column: _drawn(rng, kinds[column], base[column], COLUMNS[column]) for column in COLUMNS} for _ in range(3)
        ]
        made: list[dict[str, Any]] = [{key: row[key] for key in TYPES} for row in rows]
        for row, drawn in zip(made, rows, strict=True):
            nested = {"x": drawn["st.x"], "a b": drawn["st.`a b`"]}
            row["st"] = None if rng.random() < 0.1 else nested
        table.append(pa.Table.from_pylist(made, schema=ARROW))
    return table


def _drawn(rng: random.Random, kind: str, base: int, of: types.IcebergType) -> Any:
    if kind == "null" or (kind == "some null" and rng.random() < 0.5):
        return None
    if kind == "nan" and isinstance(of, types.FloatType | types.DoubleType):
        return float("nan")
    return value(base if kind == "one" else base + rng.randrange(4), of)


def value(number: int, of: types.IcebergType) -> Any:
    """Map small numbers to values of a type, in its order."""
    makers: dict[type[types.IcebergType], Callable[[], Any]] = {
        types.BooleanType: lambda: number % 2 == 1,
        types.IntegerType: lambda: (number - 20) * 50_000_000,
        types.LongType: lambda: (number - 20) * 200_000_000_000_000_001,
        types.FloatType: lambda: (number - 20) / 10,
        types.DoubleType: lambda: (number - 20) / 10,
        types.DateType: lambda: date(2024, 2, 20) + timedelta(days=number),
        types.TimestamptzType: lambda: (ZERO + timedelta(minutes=17 * number, microseconds=number)).replace(
            tzinfo=timezone.utc
        ),
        types.TimestampType: lambda: ZERO + timedelta(minutes=17 * number, microseconds=number),
        types.StringType: lambda: f"{'shared beginning ' * (number % 3)}{number:02}'\u00e9",
        types.BinaryType: lambda: bytes([number, 255]),
        types.FixedType: lambda: bytes([0, number, 0, 255]),
        types.UUIDType: lambda: uuid.UUID(int=number << 120).bytes,
    }
    if isinstance(of, types.DecimalType):
        return Decimal(number - 20) / 4 if of.precision == 9 else Decimal((number - 20) * 10**25) + Decimal("0.5")
    return makers[type(of)]()


def literals(number: int, of: types.IcebergType) -> list[str]:
    """Write the value of a number in several ways, and what lies beside it, as Spark takes it for a column of a type."""
    made = value(number, of)
    if isinstance(of, types.BooleanType):
        return [str(made).lower(), f"'{str(made).lower()}'"]
    if isinstance(of, types.IntegerType):
        return [str(made), f"{made}L", f"{made}.5", f"{float(made)}D", f"cast('{made}' AS INT)", "3000000000", "-1e10"]
    if isinstance(of, types.LongType):
        return [str(made), f"{made}L", f"{made}.5", f"{made}.0BD"]
    if isinstance(of, types.FloatType | types.DoubleType):
        return [
            f"{made}",
            f"{made}D",
            f"{made}F",
            f"{made}BD",
            f"double('{made}')",
            str(int(made)),
            "1e39",
            "double('NaN')",
        ]
    if isinstance(of, types.DecimalType):
        return [str(made), f"{made}BD", f"{made + Decimal('0.001')}", f"{int(made)}"]
    if isinstance(of, types.DateType):
        return [
            f"DATE '{made}'",
            f"'{made}'",
            f"TIMESTAMP '{made} 10:00:00'",
            f"cast('{made}' AS DATE)",
            f"date('{made:%Y-%m}')",
        ]
    if isinstance(of, types.TimestamptzType | types.TimestampType):
        return _moments(made.replace(tzinfo=None), has_zone=isinstance(of, types.TimestamptzType))
    if isinstance(of, types.StringType):
        text = made.replace("'", "\\'")
        return [f"'{text}'", f'"{made}"', f"'{text[:8]}'", "''"]
    if isinstance(of, types.UUIDType):
        return [f"'{uuid.UUID(bytes=made)}'"]
    beside = [f"X'{made.hex()}ff'", f"X'{made.hex()[:2]}'"] if isinstance(of, types.BinaryType) else []
    return [f"X'{made.hex()}'", *beside]


def _moments(made: datetime, *, has_zone: bool) -> list[str]:
    texts = [f"{made}", f"{made:%Y-%m-%d %H:%M}", f"{made:%Y-%m-%d}"]
    found = [f"{kind} '{text}'" for kind in ("TIMESTAMP", "TIMESTAMP_NTZ") for text in texts]
    found += [
        f"'{texts[0]}'",
        f"'{made:%Y-%m-%dT%H:%M:%S}'",
        f"DATE '{made:%Y-%m-%d}'",
        f"cast('{made}' AS TIMESTAMP_NTZ)",
    ]
    if has_zone:
        zones = ("Z", "+02:00", "-0930", " Europe/Berlin", "UTC+1", " America/St_Johns")
        found += [f"TIMESTAMP '{made}{zone}'" for zone in zones] + [f"'{made:%Y-%m-%dT%H:%M:%S}+01:30'"]
    return found


def condition(rng: random.Random, depth: int = 2) -> str:
    """Draw a condition that both engines take."""
    kind = rng.random()
    if depth and kind < 0.5:
        parts = [condition(rng, depth - 1) for _ in range(rng.choice([2, 2, 3]))]
        joined = f" {rng.choice(['AND', 'OR'])} ".join(f"({part})" for part in parts)
        return f"NOT ({joined})" if rng.random() < 0.2 else joined
    if kind < 0.6:
        return f"NOT {_comparison(rng)}"
    return _comparison(rng)


def _comparison(rng: random.Random) -> str:
    column = rng.choice(list(COLUMNS))
    of = COLUMNS[column]
    name = column.upper() if "`" not in column and rng.random() < 0.1 else column
    found = [text for _ in range(3) for text in literals(rng.randrange(42), of)]
    one, two, three = rng.choice(found), rng.choice(found), rng.choice(found)
    equal = [f"{name} = {one}", f"{name} <=> {one}", f"{name} <> {one}", f"{one} = {name}"]
    null = [f"{name} IS NULL", f"{name} IS NOT NULL", f"{name} <=> NULL", f"isnull({name})", f"{name} = NULL"]
    if "NaN" in f"{one}{two}{three}":
        return rng.choice(
            [
                f"isnan({name})",
                f"{name} = double('NaN')",
                f"{name} <> double('NaN')",
                f"double('NaN') <=> {name}",
                *null[:2],
            ]
        )
    several = [f"{name} IN ({one}, {two}, {three})", f"{name} NOT IN ({one}, {two})", f"{name} IN ({one}, NULL)"]
    if isinstance(of, types.DateType) and "TIMESTAMP" in f"{one}{two}{three}":
        several = [f"{name} < {one}", f"{name} >= {two}"]
    if isinstance(of, types.UUIDType):
        return rng.choice([*equal, *null, *several])
    ranges = [f"{name} {rng.choice(['<', '<=', '>', '>='])} {one}" for _ in range(3)]
    ranges += [f"{one} > {name}", f"{name} BETWEEN {one} AND {two}", f"{name} NOT BETWEEN {one} AND {two}"]
    texts = _of_texts(rng, name) if isinstance(of, types.StringType) else []
    flags = [name, f"{name} IS TRUE", f"{name} IS NOT FALSE"] if isinstance(of, types.BooleanType) else []
    return rng.choice(rng.choice([equal, null, ranges, several, texts or ranges, flags or ranges]))


def _of_texts(rng: random.Random, name: str) -> Sequence[str]:
    text = value(rng.randrange(42), types.StringType()).replace("'", "\\'")
    prefix = text[: rng.choice([1, 2, 9, 17, 30])]
    return [
        f"{name} LIKE '{prefix}%'",
        f"{name} NOT LIKE '{prefix}%'",
        f"startswith({name}, '{prefix}')",
        f"{name} LIKE '{prefix}'",
    ]
