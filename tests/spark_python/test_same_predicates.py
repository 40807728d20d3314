"""Plans of both engines tell the same of conditions: what they read of the planned files, before and after."""

from typing import Any

import pytest
from pyiceberg.catalog import Catalog
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.pyiceberg import execute, plan_rewrite, sample
from iceberg_zorder.render.plan_text import plan_text
from iceberg_zorder.spark.rewrite import describe_plan, dry_run
from tests.pyiceberg.committing import commit_files
from tests.pyiceberg.lake import equality_delete
from tests.spark.tables import CATALOG, SPARK

BY = "zorder(f, name)"
OPTIONS = {"rewrite-all": "true", "target-file-size-bytes": "8000"}
CONDITIONS = (
    "f < -20",
    "f < -20 AND name >= 'common prefix 5'",
    "name = 'common prefix 77' OR f IS NULL",
    "f = CAST('NaN' AS DOUBLE)",
    "isnan(f)",
    "NOT isnan(f)",
    "NOT (isnan(f) OR f > 20) AND name IS NOT NULL",
    "name LIKE 'common prefix 3%'",
    "id < 1000",
    "f > 50 AND id < 1000",
    "p = 1",
    "p = 1 AND f = 12.5",
    "s.x IS NULL",
    "day <> DATE '1970-01-01'",
    "f IS NULL AND f IS NOT NULL",
    "id < 0",
    "id >= 8000",
    "true",
)
"""Of columns to cluster by, of others, of one that tables are partitioned by, and of all, or none, of the rows."""


def create(spark: SparkSession, name: str, partitioned: str = "") -> str:
    full = f"{CATALOG}.db.{name}"
    spark.sql(f"DROP TABLE IF EXISTS {full}")
    spark.sql(
        f"CREATE TABLE {full} (id BIGINT, f DOUBLE, name STRING, day DATE, p INT, s STRUCT<x: INT>) USING iceberg "
        f"{partitioned} TBLPROPERTIES ('format-version'='2', 'write.distribution-mode'='none')"
    )
    return full


def make(spark: SparkSession, name: str, partitioned: str = "") -> str:
    full = create(spark, name, partitioned)
    insert(spark, full, 0, 8_000, 4)
    return full


def insert(spark: SparkSession, full: str, start: int, rows: int = 2_000, files: int = 1) -> None:
    spark.sql(
        f"INSERT INTO {full} SELECT id, "
        "CASE WHEN id % 50 = 0 THEN double('NaN') WHEN id % 33 = 0 THEN NULL ELSE (id * 7919 % 1000) / 8 - 60 END, "
        "CASE WHEN id % 40 = 0 THEN NULL ELSE concat('common prefix ', id * 31 % 977) END, "
        "date_add(DATE'1970-01-01', CAST(id % 61 AS INT)), CAST(id div 1000 % 3 AS INT), "
        f"IF(id % 10 = 0, NULL, named_struct('x', CAST(id % 5 AS INT))) FROM range({start}, {start + rows}, 1, {files})"
    )


def same(
    spark: SparkSession, catalog: Catalog, full: str, by: str = BY, **given: Any
) -> dict[str, tuple[float | None, float | None]]:
    """Plan by both engines, hold what they tell of conditions to the same, and give it by condition."""
    given = {"options": OPTIONS, **given}
    table = catalog.load_table(full.removeprefix(f"{CATALOG}."))
    without = sample(table, plan_rewrite(table, by, **given), predicates=CONDITIONS).to_dict()
    on_spark = describe_plan(spark, full, by, **given, sampled=True, predicates=CONDITIONS)
    assert on_spark["predicates"] == without["predicates"]
    shown = [[line for line in plan_text(each).split("\n") if "share read by" in line] for each in (on_spark, without)]
    assert shown[0] == shown[1]
    assert len(shown[0]) == len(CONDITIONS)
    return {each["predicate"]: (each["before"], each["predicted"]) for each in on_spark["predicates"]}


@pytest.mark.parametrize(
    "partitioned", ["", "PARTITIONED BY (p)", "PARTITIONED BY (bucket(2, id), truncate(15, name))"]
)
def test_both_engines_tell_the_same(spark: SparkSession, catalog: Catalog, partitioned: str) -> None:
    found = same(spark, catalog, make(spark, "predicates", partitioned))
    before, predicted = found["f < -20"]
    assert before is not None
    assert predicted is not None
    assert 0.2 < predicted < 0.9 < before
    # Of a column that is not clustered by, new files tell only what those tell together that they are made of.
    least, most = {"": (1.0, 1.0), "PARTITIONED BY (p)": (0.3, 0.45)}.get(partitioned, (0.9, 1.0))
    assert least <= (found["id < 1000"][1] or 0) <= most
    assert (found["p = 1"][1] or 0) < 1 if partitioned == "PARTITIONED BY (p)" else found["p = 1"][1] == 1.0
    assert found["true"] == (1.0, 1.0)
    assert found["id < 0"][0] == 0.0


@pytest.mark.parametrize(("partitioned", "more"), [("", "p"), ("PARTITIONED BY (p)", "bucket(2, id)")])
def test_files_of_an_old_partition_spec(spark: SparkSession, catalog: Catalog, partitioned: str, more: str) -> None:
    full = make(spark, "predicates_evolved", partitioned)
    spark.sql(f"ALTER TABLE {full} ADD PARTITION FIELD {more}")
    insert(spark, full, 8_000)
    # To which partitions the rows of the old files go is not known.
    before, predicted = same(spark, catalog, full)["p = 1"]
    assert (before or 1) < (predicted or 0) < 1 if partitioned else (predicted or 0) > 0


def test_bounds_that_are_not_kept(spark: SparkSession, catalog: Catalog) -> None:
    full = make(spark, "predicates_unkept")
    spark.sql(f"ALTER TABLE {full} SET TBLPROPERTIES ('write.metadata.metrics.column.f'='counts')")
    found = same(spark, catalog, full)
    assert found["f < -20"] == (1.0, 1.0)
    fixed = same(spark, catalog, full, options={**OPTIONS, "metrics-check": "fix"})
    assert (fixed["f < -20"][1] or 1.0) < 1.0


def test_of_rows_that_are_all_deleted_nothing_is_known(spark: SparkSession, catalog: Catalog) -> None:
    full = create(spark, "predicates_deleted")
    for start in (0, 100):
        insert(spark, full, start, 100)
    table = catalog.load_table("db.predicates_deleted")
    commit_files(table, equality_delete(table, [{"p": 0}], ["p"]))
    spark.sql(f"REFRESH TABLE {full}")
    assert same(spark, catalog, full)["f < -20"] == (1.0, 1.0)


def test_a_dry_run_tells_the_same_and_writes_nothing(spark: SparkSession, catalog: Catalog) -> None:
    full = make(spark, "predicates_dry")
    table = catalog.load_table("db.predicates_dry")
    result = dry_run(spark, full, BY, options=OPTIONS, predicates=CONDITIONS)
    without = execute(
        table, sample(table, plan_rewrite(table, BY, options={**OPTIONS, "dry-run": True}), predicates=CONDITIONS)
    )
    assert result.dry_run
    assert result.predicates == without.predicates
    assert result.message == without.message
    assert dry_run(spark, full, BY, options=OPTIONS).predicates == ()
    metadata = table.metadata
    assert table.refresh().metadata == metadata


def call(spark: SparkSession, full: str, more: str) -> Any:
    return spark.sql(
        f"CALL {CATALOG}.system.zorder_plan(table => '{full}', sort_order => '{BY}', "
        f"options => map('rewrite-all', 'true', 'target-file-size-bytes', '8000'){more})"
    ).collect()[0]


class TestRefusals:
    """Refused before a sample is read."""

    @pytest.fixture
    def full(self, spark: SparkSession) -> str:
        full = f"{CATALOG}.db.predicates_refused"
        return full if spark.catalog.tableExists(full) else make(spark, "predicates_refused")

    def test_null_and_what_cannot_be_read(self, spark: SparkSession, full: str) -> None:
        with pytest.raises(InvalidInputError, match=f"Cannot use the filter 'nope = 1' on {full}, because "):
            describe_plan(spark, full, BY, sampled=True, predicates=["f = 1", "nope = 1"])
        with pytest.raises(InvalidInputError, match="Cannot measure a predicate on lake.db.*, because it is NULL"):
            describe_plan(spark, full, BY, sampled=True, predicates=["f = 1", None])  # type: ignore[list-item]
        if SPARK >= (4, 0):
            with pytest.raises(PySparkException, match="Cannot measure a predicate on .*, because it is NULL"):
                call(spark, full, ", sampled => true, predicates => array('f = 1', CAST(NULL AS STRING))")

    def test_without_a_sample(self, spark: SparkSession, full: str) -> None:
        why = "Cannot use predicates, because they need argument sampled"
        with pytest.raises(InvalidInputError, match=why):
            describe_plan(spark, full, BY, predicates=["f = 1"])
        with pytest.raises(PySparkException, match=why):
            call(spark, full, ", predicates => array('f = 1')")
