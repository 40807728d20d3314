"""The keys of dimensions, looked up in a catalog, and the workloads and the advice that know them."""

import json
import logging
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.manifest import DataFileContent
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import IntegerType, NestedField

from iceberg_zorder.pyiceberg import advise
from iceberg_zorder.pyiceberg.listing.dimensions import CatalogDimensions, with_dimensions
from iceberg_zorder.render.advice_text import answer
from iceberg_zorder.render.fragments import advice_fragment
from iceberg_zorder.render.pages import advice_page
from iceberg_zorder.workload.read import read_workload
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
    day = found.find(("days",))
    assert day is not None
    return day


def test_names_are_those_of_engines(catalog: Catalog) -> None:
    found = dimensions(catalog)
    names = [("days",), ("db", "days"), ("lake", "db", "days"), ("LAKE", "db", "days"), ("DB", "Days"), ("DAYS",)]
    days(catalog, found)
    assert [each.identifier for name in names if (each := found.find(name))] == [("db", "days")] * len(names)
    # An engine would not look there.
    for name in (("none",), ("other", "days"), ("elsewhere", "days"), ("hive", "db", "days")):
        assert found.find(name) is None, name


@pytest.mark.parametrize(
    ("use", "statement", "is_looked_up"),
    [
        (None, "sales s JOIN days d", True),
        (None, "db.sales s JOIN db.days d", True),
        (None, "lake.db.sales s JOIN lake.db.days d", True),
        (None, "db.sales s JOIN LAKE.db.days d", True),
        # As the engine names the catalog of the large table.
        (None, "hive.db.sales s JOIN Hive.db.days d", True),
        (None, "hive.db.days d JOIN hive.db.sales s", True),
        (None, "(SELECT * FROM hive.db.sales) s JOIN hive.db.days d", True),
        (None, "v s JOIN hive.db.days d", True),
        (None, "db.sales s JOIN postgres.db.days d", False),
        (None, "lake.db.sales s JOIN postgres.db.days d", False),
        (None, "hive.db.sales s JOIN postgres.db.days d", False),
        (None, "sales s JOIN other.days d", False),
        ("hive.db", "sales s JOIN days d", True),
        ("hive.db", "db.sales s JOIN db.days d", True),
        ("hive.db", "sales s JOIN hive.db.days d", True),
        ("hive.db", "sales s JOIN postgres.db.days d", False),
        ("postgres.db", "lake.db.sales s JOIN days d", False),
        ("postgres.db", "hive.db.sales s JOIN db.days d", False),
        ("postgres.db", "hive.db.sales s JOIN hive.db.days d", True),
        ("postgres.db", "hive.db.sales s JOIN lake.db.days d", True),
    ],
)
def test_names_of_another_catalog_are_not_looked_up(
    catalog: Catalog, tmp_path: Path, use: str | None, statement: str, is_looked_up: bool
) -> None:
    assert (KEYS_OF_2001 in filters(star(catalog), tmp_path, statement, use)) == is_looked_up


KEYS_OF_2001 = "day_key >= 2450200 AND day_key <= 2450399"


def filters(table: Table, directory: Path, sources: str, use: str | None = None) -> list[str]:
    """The filters of a join of a year's days with sales."""
    view = "CREATE VIEW v AS SELECT * FROM hive.db.sales;\n" if "v s " in sources else ""
    of = f"USE {use};\n" if use else ""
    text = f"{view}{of}SELECT * FROM {sources} ON s.day_key = d.day_key WHERE d.year = 2001;\n"
    (directory / "q.sql").write_text(text)
    scanned, found = with_dimensions(table, table.name())
    return [each.filter for each in read_workload([directory / "q.sql"], scanned, dimensions=found).queries]


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
    many = found.find(("many",))
    assert many is not None
    assert found.keys(many, ("k",), "k >= 0") == "more than 10,000 keys of db.many match"
    assert len(found.keys(many, ("k",), "k > 0") or ()) == 10_000
    monkeypatch.setattr("iceberg_zorder.pyiceberg.listing.dimensions._MOST_ROWS", 10_000)
    assert dimensions(catalog).keys(many, ("k",), "k = 1") == "db.many has more than 10,000 rows"
    monkeypatch.undo()
    for file in Path(catalog.load_table("db.many").location().removeprefix("file://")).rglob("*.parquet"):
        file.unlink()
    with caplog.at_level(logging.WARNING, "iceberg_zorder"):
        assert str(dimensions(catalog).keys(many, ("k",), "k = 1")).startswith("db.many cannot be read: ")
    assert "Cannot look up keys in db.many: " in caplog.text


def test_a_workload_of_many_joins_ends_its_lookups(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("iceberg_zorder.pyiceberg.listing.dimensions._MOST_LOOKUPS", 2)
    found = dimensions(catalog)
    day = days(catalog, found)
    with caplog.at_level(logging.WARNING, "iceberg_zorder"):
        keys = [found.keys(day, ("day_key",), f"name = 'day {number}'") for number in (0, 1, 2, 3, 0)]
    assert [each == "2 keys were looked up before" for each in keys] == [False, False, True, True, False]
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
    scored = found.find(("scored",))
    assert scored is not None
    assert found.keys(scored, ("k",), "score > 5") == "a condition on db.scored is on a float or double"
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
    migrated = found.find(("migrated",))
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
    assert other.reason == "no query of the workload has a known filter by which engines can skip files"


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ("deletes", "db.days cannot be read: PyIceberg does not yet support equality deletes"),
        ("totals", "the number of rows of db.days is not known"),
    ],
)
def test_keys_that_cannot_be_looked_up_are_told(catalog: Catalog, tmp_path: Path, what: str, why: str) -> None:
    table = star(catalog)
    day = catalog.load_table("db.days")
    if what == "deletes":
        schema = day.schema().select("day_key")
        rows = pa.table({"day_key": pa.array([2_450_001], pa.int32())})
        content = DataFileContent.EQUALITY_DELETES
        commit_files(day, new_file(day, rows, schema, content=content, equality_ids=[1]))
    else:
        path = Path(str(day.metadata_location).removeprefix("file://"))
        metadata = json.loads(path.read_text())
        for each in metadata["snapshots"]:
            each["summary"] = {"operation": "append"}
        (tmp_path / "other.metadata.json").write_text(json.dumps(metadata))
        catalog.drop_table("db.days")
        catalog.register_table("db.days", f"file://{tmp_path}/other.metadata.json")
    queries = tmp_path / "q.sql"
    queries.write_text("SELECT * FROM sales s JOIN days d ON s.day_key = d.day_key WHERE d.year = 2001;\n" * 3)
    scanned, found = with_dimensions(table, table.name())
    (lost,) = read_workload([queries], scanned, dimensions=found).not_understood
    assert (lost.kind, lost.text, lost.weight) == ("part", "s.day_key = d.day_key", 3.0)
    assert lost.reason.startswith(f"its keys are not known: {why}")
    advice = advise(table, queries)
    assert advice.pick is None
    assert answer(advice.to_dict()) == "Leave the table as it is."
    assert not any("0 of 8 files" in page(advice.to_dict()) for page in (advice_page, advice_fragment))
    assert advice.reason == "no query of the workload has a known filter by which engines can skip files"
    assert {each.kind for each in advice.warnings} >= {"not-judged"}
    assert not any("read everything" in each.message for each in advice.warnings)


def test_full_scans_read_everything(catalog: Catalog, tmp_path: Path) -> None:
    table, queries = star(catalog), tmp_path / "q.sql"
    queries.write_text("SELECT * FROM sales; SELECT * FROM sales WHERE abs(price) = 1;")
    advice = advise(table, queries)
    (full,) = [each.message for each in advice.warnings if each.kind == "full-scans"]
    assert full.startswith("50% of the scans have no filter by which engines can skip files. They read everything")
