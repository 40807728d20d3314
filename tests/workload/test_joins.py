"""Joins with filtered dimensions: the keys that become a filter, and what stays not understood."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from sqlglot import exp

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.rewrite.predicate import Name
from iceberg_zorder.workload.dimension_keys import key_condition
from iceberg_zorder.workload.readers.statements import StatementReader
from iceberg_zorder.workload.scanned_table import ScannedTable
from iceberg_zorder.workload.workload import JoinKeys, Workload

NOW = datetime(2024, 5, 17, tzinfo=timezone.utc)
SALES = ScannedTable(
    ("db", "sales"), {("day_key",): "int", ("item",): "long", ("code",): "string", ("price",): "double"}
)
DAYS = ScannedTable(("db", "days"), {("day_key",): "int", ("year",): "int", ("week",): "int", ("price",): "double"})
ITEMS = ScannedTable(("db", "items"), {("item",): "long", ("code",): "string", ("brand",): "string"})
KEYS = {
    "year = 2001": range(100, 465),
    "week = 7": [107, 108, 109, 471],
    "year = 1066": [],
    "week >= 100 AND week <= 464": [7],
    "brand = 'a'": ["x", "y"],
    "item = 7": [7],
}


class Dimensions:
    """Two dimensions, whose keys are given by filter."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def find(self, name: tuple[str, ...]) -> ScannedTable | None:
        return {"days": DAYS, "items": ITEMS}.get(name[-1])

    def keys(self, dimension: ScannedTable, column: Name, filter: str) -> list[Any] | str:  # noqa: A002
        self.asked.append((column[0], filter))
        return list(KEYS.get(filter, ())) if filter in KEYS else "too many"


def read(*statements: str, readers: Sequence[str] = ("spark",), dimensions: Dimensions | None = None) -> Workload:
    reader = StatementReader(SALES, now=NOW, dimensions=dimensions or Dimensions(), readers=readers)
    reader.add_script("; ".join(statements))
    return reader.workload()


IN_2001 = "day_key >= 100 AND day_key <= 464"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM sales s JOIN days d ON s.day_key = d.day_key WHERE d.year = 2001",
        "SELECT * FROM sales s, db.days d WHERE d.day_key = s.day_key AND year = 2001",
        "SELECT * FROM sales WHERE day_key IN (SELECT day_key FROM days WHERE year = 2001)",
        "SELECT * FROM sales s SEMI JOIN days d ON s.day_key = d.day_key AND d.year = 2001",
        "WITH d AS (SELECT day_key AS k FROM days WHERE year = 2001) SELECT * FROM sales JOIN d ON day_key = k",
        "WITH d AS (SELECT * FROM days) SELECT * FROM sales s JOIN d ON s.day_key = d.day_key WHERE d.year = 2001",
        "SELECT * FROM (SELECT day_key AS k FROM sales UNION ALL SELECT day_key FROM sales) s JOIN days d ON k = d.day_key "
        "WHERE year = 2001",
        "SELECT * FROM sales s LEFT JOIN days d ON s.day_key = d.day_key WHERE d.year = 2001",
        "SELECT * FROM days d LEFT JOIN sales s ON s.day_key = d.day_key AND d.year = 2001",
    ],
)
def test_the_keys_of_a_dimension_are_a_filter(query: str) -> None:
    found = read(query)
    assert {(each.filter, each.weaker) for each in found.queries} == {(IN_2001, 0.0)}
    assert found.joins == (JoinKeys("db.days.day_key", "year = 2001", 365, found.weight),)
    assert not found.not_understood


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM sales s LEFT JOIN days d ON s.day_key = d.day_key AND d.year = 2001",
        "SELECT * FROM sales s ANTI JOIN days d ON s.day_key = d.day_key AND d.year = 2001",
        "SELECT * FROM sales WHERE day_key NOT IN (SELECT day_key FROM days WHERE year = 2001)",
        "SELECT * FROM sales s JOIN days d ON s.day_key = d.day_key",
        "SELECT * FROM sales s JOIN days d ON s.day_key = d.day_key OR d.year = 2001",
        "SELECT * FROM sales s JOIN days d ON s.price = d.price WHERE d.year = 2001",
        "SELECT * FROM sales s JOIN items i ON s.item = i.code WHERE i.brand = 'a'",
        "SELECT * FROM sales s JOIN (SELECT day_key FROM days WHERE year = 2001 LIMIT 3) d ON s.day_key = d.day_key",
        "SELECT * FROM sales s JOIN days d TABLESAMPLE (10 PERCENT) ON s.day_key = d.day_key WHERE d.year = 2001",
        "SELECT * FROM sales s JOIN days d ON s.day_key = d.day_key WHERE d.year = 2002",
        "SELECT * FROM days d FULL JOIN days e USING (day_key) JOIN sales USING (day_key) WHERE d.year = 2001",
        "SELECT * FROM others LEFT JOIN (SELECT day_key FROM days WHERE year = 2001) d USING (day_key) JOIN sales USING "
        "(day_key)",
        "SELECT * FROM sales s JOIN others d ON s.day_key = d.day_key WHERE d.year = 2001",
        "SELECT * FROM (SELECT abs(day_key) AS k FROM sales) s JOIN days d ON s.k = d.day_key WHERE d.year = 2001",
        "SELECT * FROM sales s WHERE s.day_key IN (SELECT d.day_key FROM (SELECT * FROM days) d WHERE s.price = 7)",
        "SELECT * FROM sales s WHERE s.day_key IN (SELECT s.day_key FROM days d WHERE d.year = 2001)",
        "SELECT * FROM sales s JOIN (SELECT *, week AS year FROM days) d ON s.day_key = d.day_key WHERE d.year = 2001",
        "SELECT * FROM sales s JOIN (SELECT day_key, week AS year, year FROM days) d ON s.day_key = d.day_key WHERE d.year = 2001",
        "SELECT * FROM sales WHERE day_key IN (SELECT day_key FROM (SELECT day_key, week, year FROM days) UNPIVOT (year FOR "
        "what IN (week, year)) u WHERE u.year = 2001)",
    ],
)
def test_other_joins_filter_nothing(query: str) -> None:
    found = read(query)
    assert [each.filter for each in found.queries] == ["TRUE"]
    assert not found.joins


def test_the_table_itself_is_no_dimension() -> None:
    found = read("SELECT * FROM sales s JOIN sales t ON s.day_key = t.day_key WHERE t.item = 7")
    assert {each.filter for each in found.queries} == {"TRUE", "item = 7"}
    assert not found.joins


def test_conditions_that_the_keys_lack_are_told() -> None:
    query = "SELECT * FROM sales s JOIN days d ON s.day_key = d.day_key WHERE d.year = 2001 AND upper(d.week) = 'X'"
    found = read(query)
    assert [(each.filter, each.weaker) for each in found.queries] == [(IN_2001, 1.0)]
    assert [each.text for each in found.not_understood] == ["s.day_key = d.day_key"]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM sales s JOIN days d ON s.day_key = d.day_key JOIN days w ON d.week = w.day_key WHERE d.year = 2001",
        "SELECT * FROM days d JOIN days w ON d.week = w.day_key JOIN sales s ON s.day_key = d.day_key WHERE d.year = 2001",
        "SELECT * FROM sales s JOIN days d ON s.day_key = d.day_key, items i WHERE d.year = 2001 AND (d.week = 3 OR i.code = 'a')",
        "SELECT * FROM sales s JOIN days d ON s.day_key = d.day_key AND s.price = d.price WHERE d.year = 2001",
        "SELECT * FROM sales s JOIN days d ON s.day_key = d.day_key WHERE d.year = 2001 AND EXISTS (SELECT 1 FROM items i "
        "WHERE i.item = d.week AND i.code = 'a')",
        "SELECT * FROM sales s JOIN days d ON s.day_key = d.day_key JOIN (SELECT item FROM items GROUP BY item) i ON "
        "d.week = i.item WHERE d.year = 2001",
    ],
)
def test_keys_lack_conditions_that_are_on_a_second_table_too(query: str) -> None:
    found = read(query)
    assert {(each.filter, each.weaker) for each in found.queries} == {(IN_2001, found.weight)}


def test_types_are_known_in_derived_tables() -> None:
    """A timestamp equals one with a time zone by the session's, which is not known."""
    sales = ScannedTable(("db", "sales"), {("ts",): "timestamp", ("tz",): "timestamptz", ("day",): "date"})
    moments = ScannedTable(("db", "moments"), {("ts",): "timestamp", ("tz",): "timestamptz", ("z",): "int"})

    class Moments(Dimensions):
        def find(self, name: tuple[str, ...]) -> ScannedTable | None:
            return {"moments": moments}.get(name[-1])

        def keys(self, dimension: ScannedTable, column: Name, filter: str) -> list[Any] | str:  # noqa: A002
            return [datetime(2024, 5, 1, tzinfo=timezone.utc if column == ("tz",) else None)]

    def filters(own: str, key: str, source: str) -> set[str]:
        reader = StatementReader(sales, now=NOW, dimensions=Moments(), readers=("spark",))
        reader.add_script(f"SELECT * FROM {source} x JOIN moments m ON x.{own} = m.{key} WHERE m.z = 1")
        return {each.filter for each in reader.workload().queries}

    for source in ("sales", "(SELECT * FROM sales)", "(SELECT day, ts AS ts, tz FROM (SELECT * FROM sales) y)"):
        for own, key in (("ts", "tz"), ("tz", "ts"), ("day", "tz")):
            assert filters(own, key, source) == {"TRUE"}, (own, key, source)
        assert all("2024-05-01" in each for own in ("ts", "tz") for each in filters(own, own, source)), source
    assert filters("ts", "tz", "(SELECT * FROM sales UNION ALL SELECT * FROM sales)") == {"TRUE"}


def test_conditions_on_other_tables_are_not_those_of_a_dimension() -> None:
    query = (
        "SELECT * FROM sales s WHERE s.day_key IN (SELECT d.day_key FROM (SELECT * FROM days) d WHERE s.price = 7 AND "
        "d.year = 2001)"
    )
    found = read(query)
    assert [(each.filter, each.weaker) for each in found.queries] == [(IN_2001, 1.0)]


def test_a_temporary_view_is_not_a_table_of_a_namespace() -> None:
    view = "CREATE TEMPORARY VIEW days AS SELECT * FROM db.days WHERE week = 7"
    for name, keys in (("db.days", IN_2001), ("days", "TRUE")):
        found = read(view, f"SELECT * FROM sales s JOIN {name} d ON s.day_key = d.day_key WHERE d.year = 2001")
        assert [each.filter for each in found.queries] == [keys]


def test_a_statement_with_a_column_that_a_dimension_lacks_is_read_without_it() -> None:
    found = read("SELECT * FROM sales JOIN days USING (gone) WHERE price = 1")
    assert [each.filter for each in found.queries] == ["price = 1"]


def test_a_dimension_is_filtered_by_the_keys_of_a_subquery() -> None:
    dimensions = Dimensions()
    week = "(SELECT week FROM days WHERE year = 2001)"
    found = read(
        f"SELECT * FROM sales s JOIN days d ON s.day_key = d.day_key WHERE d.week = {week}", dimensions=dimensions
    )
    assert dimensions.asked == [("week", "year = 2001"), ("day_key", "week >= 100 AND week <= 464")]
    assert [each.filter for each in found.queries] == ["day_key = 7"]


def test_conditions_on_the_key_alone_are_not_looked_up() -> None:
    dimensions = Dimensions()
    query = "SELECT * FROM sales s JOIN days d ON s.day_key = d.day_key WHERE d.day_key IN (7, 8)"
    found = read(query, dimensions=dimensions)
    assert [each.filter for each in found.queries] == ["day_key IN (7, 8)"]
    assert dimensions.asked == []


def test_text_beside_a_key_is_looked_up() -> None:
    """Whether it stands for a date or for itself is decided by the dimension's column."""
    dimensions = Dimensions()
    read("SELECT * FROM sales s JOIN items i ON s.code = i.code WHERE i.code LIKE 'a%'", dimensions=dimensions)
    assert dimensions.asked == [("code", "code LIKE 'a%'")]


def test_no_key_matches_no_row() -> None:
    found = read("SELECT * FROM sales s JOIN days d ON s.day_key = d.day_key WHERE d.year = 1066")
    assert [each.filter for each in found.queries] == ["FALSE"]


def test_each_reader_skips_by_what_it_can() -> None:
    query = "SELECT * FROM sales s JOIN days d ON s.day_key = d.day_key WHERE d.week = 7"
    found = read(query, readers=["spark", "trino", "duckdb", "other"])
    assert {(each.filter, each.weight) for each in found.queries} == {
        ("day_key = 471 OR (day_key >= 107 AND day_key <= 109)", 0.5),
        ("day_key >= 107 AND day_key <= 471", 0.25),
        ("TRUE", 0.25),
    }
    assert found.weight == 1.0


def test_text_keys_are_found_beside_text_only() -> None:
    query = "SELECT * FROM sales s JOIN items i ON s.code = i.code WHERE i.brand = 'a'"
    assert [each.filter for each in read(query).queries] == ["code IN ('x', 'y')"]


@pytest.mark.parametrize(
    ("keys", "wanted"),
    [
        ([5, 1, 2, 2, 9], "(k BETWEEN 1 AND 5 OR k = 9)"),
        ([-3, -2], "k BETWEEN -3 AND -2"),
        (["b", "a", "d", "c"], "(k BETWEEN 'a' AND 'b' OR k BETWEEN 'c' AND 'd')"),
        ([Decimal("0.10"), Decimal(-7)], "(k = -7 OR k = 0.10)"),
        ([Decimal("1E-9"), Decimal("1.25E3")], "(k = 0.000000001 OR k = 1250)"),
        ([date(2024, 2, 28), date(2024, 2, 29)], "k BETWEEN CAST('2024-02-28' AS DATE) AND CAST('2024-02-29' AS DATE)"),
        (
            [NOW, NOW + timedelta(hours=1), NOW + timedelta(days=9)],
            "(k BETWEEN CAST('2024-05-17 00:00:00+00:00' AS TIMESTAMPTZ) AND CAST('2024-05-17 01:00:00+00:00' AS "
            "TIMESTAMPTZ) OR k = CAST('2024-05-26 00:00:00+00:00' AS TIMESTAMPTZ))",
        ),
    ],
)
def test_ranges_of_keys(keys: list[Any], wanted: str) -> None:
    assert key_condition(exp.column("k"), keys, 2).sql() == wanted


def test_unknown_readers_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="Cannot use the reader 'presto', because it must be one of spark"):
        read("SELECT 1", readers=["presto"])
