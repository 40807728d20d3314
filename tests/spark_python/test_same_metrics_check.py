"""Both engines find the same columns whose lower/upper bounds do not serve, say so in the same words, and set the same modes."""

import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table
from pyspark.sql import SparkSession

from iceberg_zorder.pyiceberg import rewrite_data_files as rewrite_without_spark
from iceberg_zorder.spark import rewrite_data_files
from tests.spark.tables import CATALOG

METRICS = "write.metadata.metrics.column."
NAME = "same_metrics_check"
FULL = f"{CATALOG}.db.{NAME}"
NUMBER = "lpad(cast(id * 7919 % 701 AS string), 4, '0')"
COLUMNS = {
    "number": "id * 31 % 997",
    "counted": f"concat(repeat('k', id % 3), {NUMBER})",
    "url": f"concat('https://www.example.com/items/', {NUMBER})",
    "emoji": f"IF(id % 20 = 0, NULL, concat(repeat('\U0001f600', 17), {NUMBER}, repeat('\U0001f600', id % 5)))",
    "bin": f"cast(concat('\u20ac\u20ac\u20ac\u20ac\u20ac', {NUMBER}) AS binary)",
    "long": f"concat(repeat('z', 280), {NUMBER})",
    "holey": f"IF(id % 5 = 0, NULL, concat(repeat('y', 100), {NUMBER}))",
    "some": f"IF(id % 4 = 0, concat('a common prefix ', {NUMBER}), {NUMBER})",
    "fine": f"concat({NUMBER}, ' and so on, longer than is kept')",
    "one": "repeat('the same in every row of it ', 100)",
    "two": f"concat(id % 2, repeat('two beginnings ', 10), {NUMBER})",
    "rare": "IF(id % 25 = 0, concat(id, 'a'), concat('https://www.example.com/items/', id % 40))",
    "empty": f"IF(id % 25 = 0, concat('https://www.example.com/items/', {NUMBER}), '')",
    "part": "concat('a value of a partition ', cast(id % 3 AS string))",
}
MODES = {"number": "none", "counted": "counts", "bin": "truncate(12)", "s.`a b`": "none"}
SORT_ORDERS = [
    "zorder(number, counted)",
    "zorder(url, emoji)",
    "zorder(bin, long)",
    "some DESC, zorder(fine, s.`a b`)",
    "zorder(holey, fine)",
    "zorder(part, p, url)",
    "zorder(two, one)",
    "zorder(rare, empty)",
]
FINE = "zorder(one, fine)"


@pytest.fixture(scope="module")
def catalog(spark: SparkSession, catalog: Catalog) -> Catalog:
    columns = ", ".join(f"{value} AS {name}" for name, value in COLUMNS.items())
    spark.sql(f"DROP TABLE IF EXISTS {FULL}")
    properties = ", ".join(f"'{METRICS}{name.replace('`', '')}' = '{mode}'" for name, mode in MODES.items())
    spark.sql(
        f"CREATE TABLE {FULL} USING iceberg PARTITIONED BY (p) TBLPROPERTIES ('format-version' = '2', {properties}) AS "
        f"SELECT id, id % 3 AS p, {columns}, named_struct('a b', id * 17 % 401) AS s FROM range(0, 6000, 1, 3)"
    )
    return catalog


def given(spark: SparkSession, check: str, **options: str) -> dict[str, str]:
    size = spark.sql(f"SELECT sum(file_size_in_bytes) FROM {FULL}.files").collect()[0][0]
    return {"rewrite-all": "true", "target-file-size-bytes": str(size // 12), "metrics-check": check, **options}


def modes(table: Table) -> dict[str, str]:
    properties = table.refresh().properties
    return {name: value for name, value in properties.items() if name.startswith(METRICS)}


@pytest.mark.parametrize("by", [*SORT_ORDERS, FINE])
def test_dry_runs_say_the_same(spark: SparkSession, catalog: Catalog, by: str) -> None:
    options = given(spark, "warn", **{"dry-run": "true"})
    ours = rewrite_without_spark(catalog.load_table(f"db.{NAME}"), by, options=options)
    theirs = rewrite_data_files(spark, FULL, by, options=options)
    assert ours.message == theirs.message
    assert ("bounds of clustering column" in (ours.message or "")) != (by == FINE), "or else nothing is compared"
    predicted = {each.column: each.predicted for each in ours.scan_fractions}
    assert predicted == pytest.approx({each.column: each.predicted for each in theirs.scan_fractions}, rel=1e-9)


def test_fixes_are_the_same(spark: SparkSession, catalog: Catalog) -> None:
    table, by = catalog.load_table(f"db.{NAME}"), "number, zorder(counted, url, emoji, bin, long)"
    before, snapshot = modes(table), table.current_snapshot()
    assert snapshot is not None
    options = given(spark, "fix")
    ours = rewrite_without_spark(table, by, options=options)
    fixed = modes(table)
    assert len(fixed) > len(before)

    spark.sql(f"REFRESH TABLE {FULL}")
    spark.sql(f"CALL {CATALOG}.system.rollback_to_snapshot('db.{NAME}', {snapshot.snapshot_id})")
    names = ", ".join(f"'{name}'" for name in fixed)
    spark.sql(f"ALTER TABLE {FULL} UNSET TBLPROPERTIES ({names})")
    pairs = ", ".join(f"'{name}' = '{mode}'" for name, mode in before.items())
    spark.sql(f"ALTER TABLE {FULL} SET TBLPROPERTIES ({pairs})")
    assert modes(table) == before

    commits = len(table.metadata.metadata_log)
    theirs = rewrite_data_files(spark, FULL, by, options=options)
    assert modes(table) == fixed
    assert len(table.metadata.metadata_log) == commits + 2, "one commit of all properties, and the rewrite's"
    assert theirs.message == ours.message
