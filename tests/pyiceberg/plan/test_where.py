"""Conditions in Spark SQL, and expressions of PyIceberg, against a table's types."""

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg import types
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import And, GreaterThan, IsNaN, Reference
from pyiceberg.expressions.literals import LongLiteral
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import MonthTransform

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.pyiceberg import rewrite_data_files
from tests.pyiceberg.lake import one_commit, planned

TYPES = (
    *(
        types.LongType(),
        types.DoubleType(),
        types.DecimalType(9, 2),
        types.StringType(),
        types.BinaryType(),
        types.FixedType(2),
        types.BooleanType(),
    ),
    *(types.DateType(), types.TimestamptzType(), types.TimestampType(), types.TimeType(), types.UUIDType()),
)
SCHEMA = Schema(
    *(
        types.NestedField(place, str(kind).partition("[")[0].partition("(")[0], kind)
        for place, kind in enumerate(TYPES, 1)
    ),
    types.NestedField(40, "my col", types.LongType()),
    types.NestedField(41, "st", types.StructType(types.NestedField(42, "X", types.LongType()))),
)


@pytest.fixture
def table(catalog: SqlCatalog) -> Table:
    """Ten files of one row; the long, the double and ``my col`` count them."""
    table = catalog.create_table("db.where", SCHEMA)
    with one_commit(table) as commit:
        for number in range(10):
            row = {
                "long": number,
                "double": float("nan") if number == 3 else number,
                "my col": number,
                "st": {"X": number},
            }
            commit.append(pa.Table.from_pylist([row], schema=table.scan().to_arrow().schema))
    return table


def chosen(table: Table, where: Any) -> int:
    return sum(len(group.tasks) for group in planned(table, {"rewrite-all": "true"}, where).groups)


CHOSEN: list[tuple[Any, int]] = [
    ("long < 3 OR LONG = 7L", 4),
    ("`my col` BETWEEN 2 AND 4.5", 3),
    ("long <> 5 AND st.x IS NOT NULL", 9),
    # PyIceberg's own writer counts no NaN, so that any file may hold some, and any may hold none.
    ("isnan(double) AND long IN (3, 4)", 2),
    ("NOT isnan(double) AND long < 5", 5),
    ("double > 8", 2),
    # As in Spark, only the first says that a flag is not NULL, which all of them are.
    ("boolean = FALSE", 0),
    ("boolean <=> FALSE", 10),
    ("uuid = 'f79c3e09-677c-4bbd-a479-3f349cb785e7' OR uuid IS NULL AND long = 1", 1),
    ("timestamp > '2026-01-01' OR NOT (date < DATE '2026-01-01') OR long IN (8, 9, 10)", 2),
    (And(GreaterThan(term=Reference("long"), value=LongLiteral(1)), IsNaN(term=Reference("double"))), 8),
]
"""Filters, and how many files may have rows of theirs."""
REFUSED = [
    ("long = '5'", "column long of type long cannot be compared with '5'"),
    ("long = 1e0", "column long of type long cannot be compared with 1.0"),
    ("string = 5", "column string of type string cannot be compared with 5"),
    ("string > DATE '2026-01-01'", "column string of type string cannot be compared with DATE '2026-01-01'"),
    ("decimal = 1e0", "column decimal of type decimal(9, 2) cannot be compared with 1.0"),
    ("date = 5", "column date of type date cannot be compared with 5"),
    ("date = '5.1.2026'", "column date of type date cannot be compared with '5.1.2026'"),
    ("timestamp = '2026-01-01 10:00:00Z'", "column timestamp of type timestamp cannot be compared with"),
    ("timestamptz = 5", "column timestamptz of type timestamptz cannot be compared with 5"),
    ("boolean = 1", "column boolean of type boolean cannot be compared with 1"),
    ("fixed = X'00'", "column fixed of type fixed[2] cannot be compared with X'00'"),
    ("uuid = 'x'", "column uuid of type uuid cannot be compared with 'x'"),
    ("uuid < 'f79c3e09-677c-4bbd-a479-3f349cb785e7'", "UUIDs support only = and <>"),
    ("double < double('NaN')", "only = and <> are supported"),
    ("isnan(long)", "column long of type long has no NaN"),
    ("long LIKE 'x%'", "column long of type long is not text"),
    ("long", "column long of type long cannot be compared with True"),
    ("nope = 1", "of column 'nope': lake.db.where has no such column: it has long, double,"),
    ("st.nope = 1", "of column 'st.nope': lake.db.where has no such column: it has X"),
    ("doubel = 1", "lake.db.where has no such column (did you mean 'double'?)"),
    ("long.x = 1", "of column 'long.x': long is of type long: only structs have named fields"),
    ("long = 1 OR", "an operand of Or is missing"),
    ("string LIKE 'x_'", "LIKE"),
    ("long = 1 OR string LIKE '_x%'", "LIKE"),
    ("string LIKE 'x_' AND isnan(double)", "LIKE"),
]
"""Filters, and what is said of them."""


def test_chosen(table: Table) -> None:
    assert [(where, chosen(table, where)) for where, _ in CHOSEN] == CHOSEN


def test_refused_in_one_short_line(table: Table) -> None:
    for where, said in REFUSED:
        with pytest.raises(InvalidInputError) as raised:
            rewrite_data_files(table, ["long"], where=where)
        message = str(raised.value)
        assert message.startswith(f"Cannot use the filter '{where}' on lake.db.where, because ")
        assert said in message
        assert "\n" not in message
        assert len(message) < 400


def test_what_is_not_nan_may_be_null(catalog: SqlCatalog) -> None:
    table = catalog.create_table("db.nulls", pa.schema([("d", pa.float64())]))
    for value in (None, 1.0, float("nan")):
        table.append(pa.table({"d": pa.array([value], pa.float64())}))
    # PyIceberg's own writer counts no NaN.
    assert chosen(table, "NOT isnan(d)") == 3
    assert chosen(table, "NOT (isnan(d) OR d = 9)") == 2
    assert chosen(table, "d IS NULL AND NOT isnan(d)") == 1


@pytest.mark.parametrize("more", [0, 30])
def test_none_of_many(table: Table, more: int) -> None:
    numbers = ", ".join(map(str, [4, *range(100, 100 + more)]))
    assert chosen(table, f"long NOT IN ({numbers})") == (10 if more else 9)
    assert chosen(table, f"long NOT IN ({numbers}, NULL)") == 0


def test_the_ends_of_the_calendar(catalog: SqlCatalog) -> None:
    table = catalog.create_table("db.dates", pa.schema([("d", pa.date32())]))
    table.update_spec().add_field("d", MonthTransform(), "m").commit()
    table.append(pa.table({"d": pa.array([0, 20000], pa.date32())}))
    for where in ("d <> DATE '0001-01-01'", "d <> DATE '9999-12-31'", "d < DATE '9999-12-31'"):
        assert chosen(table, where) == 2


def test_decimals_of_38_digits(catalog: SqlCatalog) -> None:
    number = Decimal("1234567890123456789012345678.1234567890")
    table = catalog.create_table("db.decimals", pa.schema([("d", pa.decimal128(38, 10))]))
    table.append(pa.table({"d": pa.array([number], pa.decimal128(38, 10))}))
    assert chosen(table, f"d = CAST('{number}' AS DECIMAL(38, 10))") == 1
    assert chosen(table, "d < CAST('9999999999999999999999999999.9999999999' AS DECIMAL(38,10))") == 1
    with pytest.raises(InvalidInputError, match="is not a value of type decimal"):
        chosen(table, f"d = CAST('{number}1' AS DECIMAL(38, 10))")


def test_files_of_another_spec_are_refused_before_anything_is_read(catalog: SqlCatalog) -> None:
    """Where rows go to a spec that is partitioned by every clustering column, there is nothing left to cluster by."""
    table = catalog.create_table("db.mixed", pa.schema([("a", pa.int64()), ("b", pa.int64())]))
    for start in (0, 10):
        table.append(pa.table({"a": range(start, start + 10), "b": range(10)}))
    table.update_spec().add_identity("a").add_identity("b").commit()
    told: list[str] = []
    with pytest.raises(InvalidInputError, match="is partitioned by every one of these columns$"):
        rewrite_data_files(
            table, ["a", "b"], options={"rewrite-all": True}, progress=lambda stage, rows, size: told.append(stage)
        )
    assert told == []
