"""The keys of dimensions, looked up in a catalog, and the workloads and the advice that know them."""

import logging
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import IntegerType, NestedField

from iceberg_zorder.pyiceberg import advise
from iceberg_zorder.pyiceberg.listing.dimensions import CatalogDimensions
from iceberg_zorder.workload.scanned_table import ScannedTable
from tests.pyiceberg.committing import commit_files, new_file
from tests.pyiceberg.lake import table_of

DAYS = pa.table(
    {
        "day_key": pa.array([*range(2_450_000, 2_450_400), None], pa.int32()),
        "year": pa.array([2000] * 200 + [2001] * 201, pa.int32()),
        "name": pa.array([f"day {number % 7}" for number in range(401)]),
    }
)


def dimensions(catalog: Catalog) -> CatalogDimensions:
    return CatalogDimensions(catalog, ("db",))


def days(catalog: Catalog, found: CatalogDimensions) -> ScannedTable:
    table_of(catalog, DAYS, files=3, name="db.days")
    day = found.find(("days",), ())
    assert day is not None
    return day


def test_names_are_those_of_engines(catalog: Catalog) -> None:
    found = dimensions(catalog)
    names = [("days",), ("db", "days"), ("hive", "db", "days")]
    days(catalog, found)
    assert [each.identifier for name in names if (each := found.find(name, ()))] == [("db", "days")] * 3
    assert [each.identifier for name in names if (each := found.find(name, ("lake", "db")))] == [("db", "days")] * 3
    assert [each.identifier for each in (found.find((name,), ("DB",)) for name in ("Days", "DAYS")) if each] == [
        ("db", "days")
    ] * 2
    # An engine would not look there.
    assert found.find(("days",), ("elsewhere",)) is None
    assert found.find(("none",), ()) is found.find(("other", "days"), ()) is None


def test_keys_are_those_of_rows_that_match(catalog: Catalog) -> None:
    found = dimensions(catalog)
    day = days(catalog, found)
    assert sorted(found.keys(day, ("day_key",), "year = 2001") or ()) == [*range(2_450_200, 2_450_400)]
    assert sorted(found.keys(day, ("day_key",), "name = 'day 3' AND year < 2001") or ())[:2] == [2_450_003, 2_450_010]
    assert found.keys(day, ("day_key",), "year = 1066") == []


def test_many_keys_large_tables_and_unreadable_files_are_left_out(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    table_of(catalog, pa.table({"k": pa.array(range(10_001), pa.int64())}), files=1, name="db.many")
    found = dimensions(catalog)
    many = found.find(("many",), ())
    assert many is not None
    assert found.keys(many, ("k",), "k >= 0") is None
    assert len(found.keys(many, ("k",), "k > 0") or ()) == 10_000
    monkeypatch.setattr("iceberg_zorder.pyiceberg.listing.dimensions._MOST_ROWS", 10_000)
    assert dimensions(catalog).keys(many, ("k",), "k = 1") is None
    monkeypatch.undo()
    for file in Path(catalog.load_table("db.many").location().removeprefix("file://")).rglob("*.parquet"):
        file.unlink()
    with caplog.at_level(logging.WARNING, "iceberg_zorder"):
        assert dimensions(catalog).keys(many, ("k",), "k = 1") is None
    assert "Cannot look up keys in db.many: " in caplog.text


def test_a_workload_of_many_joins_ends_its_lookups(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("iceberg_zorder.pyiceberg.listing.dimensions._MOST_LOOKUPS", 2)
    found = dimensions(catalog)
    day = days(catalog, found)
    with caplog.at_level(logging.WARNING, "iceberg_zorder"):
        keys = [found.keys(day, ("day_key",), f"name = 'day {number}'") for number in (0, 1, 2, 3, 0)]
    assert [each is None for each in keys] == [False, False, True, True, False]
    assert caplog.text.count("Made 2 lookups of join keys: joins that need another one filter nothing") == 1


def test_floating_numbers_of_a_dimension_are_not_compared(catalog: Catalog) -> None:
    """Whether NaN is above all numbers differs between PyIceberg and Spark."""
    table_of(
        catalog,
        pa.table({"k": pa.array([1, 2, 3], pa.int32()), "score": [float("nan"), 7.0, 1.0]}),
        files=1,
        name="db.scored",
    )
    found = dimensions(catalog)
    scored = found.find(("scored",), ())
    assert scored is not None
    assert found.keys(scored, ("k",), "score > 5") is None
    assert found.keys(scored, ("k",), "k > 1") == [2, 3]


def test_a_partitions_value_is_known_where_files_lack_the_column(catalog: Catalog) -> None:
    """As in tables that were migrated from Hive."""
    key = NestedField(1, "k", IntegerType())
    table = catalog.create_table(
        "db.migrated",
        Schema(key, NestedField(2, "year", IntegerType())),
        partition_spec=PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "year")),
    )
    for year in (2000, 2001):
        rows = pa.table({"k": pa.array([year - 1995, year - 1990], pa.int32())})
        commit_files(table, new_file(table, rows, Schema(key), partition=[year]))
    found = dimensions(catalog)
    migrated = found.find(("migrated",), ())
    assert migrated is not None
    assert sorted(found.keys(migrated, ("k",), "year = 2001") or ()) == [6, 11]


def star(catalog: Catalog) -> Table:
    """Sales by chance, whose days and items a filter of dimensions tells apart."""
    random = np.random.default_rng(1)
    sales = pa.table(
        {
            "day_key": pa.array(random.integers(2_450_000, 2_450_400, 8_000), pa.int32()),
            "price": pa.array(random.random(8_000)),
        }
    )
    table_of(catalog, DAYS, files=1, name="db.days")
    return table_of(catalog, sales, files=8, name="db.sales", properties={"read.split.open-file-cost": "1"})


def test_advice_is_by_the_keys_of_joins(catalog: Catalog, tmp_path: Path) -> None:
    table = star(catalog)
    queries = tmp_path / "q.sql"
    queries.write_text(
        "".join(
            f"SELECT sum(price) FROM sales s JOIN days d ON s.day_key = d.day_key WHERE d.year = {year} AND name = 'day {n}';\n"
            for year in (2000, 2001)
            for n in range(3)
        )
        + "SELECT sum(price) FROM sales s JOIN days d ON s.day_key = d.day_key WHERE d.year = 2001;\n" * 9
    )
    options = {"target-file-size-bytes": 8_192}
    found = advise(table, queries, options=options)
    assert found.pick is not None
    assert found.pick.columns == ("day_key",)
    assert not any(each.kind == "joined" for each in found.warnings)
    other = advise(table, queries, options=options, readers=["other"])
    assert other.pick is None
    assert other.reason == "no query of the workload has a filter by which engines can skip files"
