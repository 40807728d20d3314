"""The plan as a value, through the Java API: what it tells is what happens, and one that has gone stale is refused."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from tests.spark.tables import CATALOG, Table, create, rolled_back, unchanged, untouched

ROWS = "SELECT id, id * 7919 % 10007 AS b, repeat('x', 40) AS s FROM range(0, 20000, 1, {files})"


BY = "zorder(id, b)"


def table_of(spark: SparkSession) -> Table:
    return create(spark, ROWS.format(files=6))


def everything(table: Table, files: int = 4) -> dict[str, str]:
    """The options that rewrite all of a table to so many files."""
    return {"rewrite-all": "true", **table.target_for(files)}


def measured(table: Table, column: str) -> float:
    """The scan fraction of ``column = value`` over values of the rows, by the bounds in the manifests."""
    values = [row[0] for row in table.spark.sql(f"SELECT {column} FROM {table.full_name} WHERE id % 41 = 0").collect()]
    bounds = [
        (file["readable_metrics"][column]["lower_bound"], file["readable_metrics"][column]["upper_bound"],
         file["file_size_in_bytes"])
        for file in table.data_files()
    ]  # fmt: skip
    total = sum(size for _, _, size in bounds)
    read: int = sum(size for value in values for low, high, size in bounds if low <= value <= high)
    return read / len(values) / float(total)


def predictions(plan: Any) -> dict[str, float]:
    """By column, the scan fraction of the table that a sampled plan predicts."""
    return {each.column(): each.predicted().getAsDouble() for each in plan.scans()}


@pytest.mark.version
def test_a_plan_tells_what_happens_when_it_is_executed(spark: SparkSession) -> None:
    table = table_of(spark)
    files, size = set(table.data_files()), table.bytes()
    plan = table.plan(BY, {**everything(table), "sample-rows": "2000"})
    [group] = plan.groups()
    assert set(group.files()) == {file["file_path"] for file in files}
    assert (group.bytes(), group.rows(), group.expectedFiles()) == (size, 20_000, 4)
    assert (group.partition(), group.reason(), group.layout().isPresent()) == ("", "rewrite-all is true", False)
    assert list(plan.left()) == []
    assert plan.table() == table.full_name
    assert (plan.branch(), plan.sortOrder(), plan.isSampled()) == ("main", "zorder(id, b)", False)
    head = spark.sql(f"SELECT snapshot_id FROM {table.full_name}.refs").collect()[0][0]
    assert plan.snapshotId().getAsLong() == head

    sampled = plan.sampled()
    assert not plan.isSampled(), "a plan is a value"
    layout = sampled.groups()[0].layout().get()
    predicted = predictions(sampled)
    assert predicted == dict(layout.scanFractions())
    with unchanged(table):
        result = plan.execute()
    assert (result.rewrittenDataFilesCount(), result.addedDataFilesCount()) == (6, 4)
    assert table.summary()["zorder.layout-hash"] == layout.hash(), "what is shown is what is done"
    for column in ("id", "b"):
        assert predicted[column] == pytest.approx(measured(table, column), rel=0.1)


def test_the_procedure_of_a_rewrite_has_a_message(spark: SparkSession) -> None:
    table = table_of(spark)
    [row] = spark.sql(
        f"CALL {CATALOG}.system.zorder_rewrite(table => '{table.name}', sort_order => '{BY}', "
        "options => map('rewrite-all', 'true'))"
    ).collect()
    found = json.loads(row["result"])
    assert row["message"] == found["message"]
    assert row["added_data_files_count"] == found["added_data_files_count"] == len(table.data_files())
    assert [each["column"] for each in found["scan_fractions"]] == ["id", "b"]


@pytest.mark.version
def test_a_call_may_follow_comments_and_its_catalog_may_have_any_name(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set("spark.sql.catalog.my lake", "org.apache.iceberg.spark.SparkCatalog")
    spark.conf.set("spark.sql.catalog.my lake.type", "hadoop")
    spark.conf.set("spark.sql.catalog.my lake.warehouse", tmp_path.as_uri())
    spark.sql("CREATE TABLE `my lake`.db.t (id bigint) USING iceberg")
    for comments in ("", '/* {"app": "dbt",\n "call": 1} */\n', "-- one\n--two\n  ", "/* one */--two\n/**/"):
        [row] = spark.sql(
            f"{comments}CALL `my lake`.`system`.zorder_plan(table => 'db.t', sort_order => 'id')"
        ).collect()
        assert row["reason"].endswith("branch main has no snapshot yet.")


def test_an_option_needs_a_value(spark: SparkSession) -> None:
    table = table_of(spark)
    with pytest.raises(PySparkException, match="Cannot set rewrite-all to NULL, because an option needs a value"):
        table.plan(BY, {"rewrite-all": None})  # type: ignore[dict-item]
    with pytest.raises(PySparkException, match="Cannot rewrite data files of .*, because catalog .* has no such table"):
        Table(spark, "db.no_such_table").plan(BY)


@pytest.mark.parametrize(("mode", "groups"), [("full", 1), ("counts", 0)])
def test_a_column_of_which_new_files_have_no_bounds_does_not_count(spark: SparkSession, mode: str, groups: int) -> None:
    by_bytes = {"read.split.open-file-cost": "1"}
    table = create(spark, "SELECT id, hash(id, 1) AS b FROM range(0, 8000, 1, 8)", properties=by_bytes)
    spark.sql(f"ALTER TABLE {table.full_name} SET TBLPROPERTIES ('write.metadata.metrics.column.b' = '{mode}')")
    # Weights let one column pay for the other.
    weights = {"column-weights": "id=1,b=1"}
    options = {"rewrite-all": "false", **table.target_for(8), "max-scan-ratio": "1.5", **weights}
    assert len(table.plan(BY, options).groups()) == groups


def written(table: Table, plan: str) -> Any:
    """The plan that JSON is of."""
    plans: Any = table.spark.sparkContext._jvm.io.icebergzorder.spark.api.RewritePlan  # type: ignore[union-attr]
    return plans.fromJson(table.spark._jsparkSession, table.full_name, plan)


def call_of(table: Table, plan: str, more: str = "") -> Row:
    """CALL zorder_rewrite with a plan."""
    escaped = plan.replace("\\", "\\\\").replace("'", "\\'")
    return table.spark.sql(
        f"CALL {CATALOG}.system.zorder_rewrite(table => '{table.name}', plan => '{escaped}'{more})"
    ).collect()[0]


@pytest.mark.version
def test_a_plan_in_json_is_executed_as_the_plan_that_wrote_it(spark: SparkSession) -> None:
    properties = {"format-version": "2", "write.delete.mode": "merge-on-read", "write.distribution-mode": "none"}
    rows = f"SELECT *, id % 3 AS p FROM ({ROWS.format(files=4)})"
    table = create(spark, rows, partitioned_by="p", properties=properties)
    spark.sql(f"DELETE FROM {table.full_name} WHERE id % 1000 = 7")
    plan = table.plan(BY, {**everything(table, files=9), "max-files-to-rewrite": "6"}, where="p < 2 OR id > 5")
    text = plan.toJson()
    found = json.loads(text)
    codes = {reason["code"] for group in found["file_groups"] for reason in group["reasons"]}
    assert (codes, {each["code"] for left in found["left"] for each in left["reasons"]}) == (
        {"rewrite-all", "file-limit"},
        {"max-files-to-rewrite"},
    )
    assert json.loads(written(table, text).toJson()) == found
    assert written(table, text).toString() == plan.toString()
    layouts = [json.loads(each.sampled().toJson())["file_groups"] for each in (plan, written(table, text))]
    assert layouts[0] == layouts[1]
    # What is appended later does not matter.
    spark.sql(f"INSERT INTO {table.full_name} SELECT -1, 0, 'appended', 0")
    with unchanged(table):
        row = call_of(table, text)
    assert row.rewritten_data_files_count == 6
    assert row.added_data_files_count == sum(group["layout"]["data_files_count"] for group in layouts[0])
    with untouched(table), pytest.raises(Py4JJavaError, match="data file .* is no longer in the table"):
        call_of(table, text)


def test_a_plan_in_json_that_does_not_fit_is_refused(spark: SparkSession) -> None:
    table, other = table_of(spark), table_of(spark)
    text = table.plan(BY, everything(table)).toJson()
    with untouched(table), untouched(other):
        for of, plan, more, why in (
            (other, text, "", "another table has its name: its UUID is"),
            (table, text.replace('"version":1', '"version":2'), "", "it is not the JSON of a plan of version 1"),
            (table, "not a plan", "", "it is not the JSON of a plan"),
            (table, text, ", sort_order => 'id'", "Cannot use sort_order beside plan, because the plan already has it"),
        ):
            with pytest.raises((Py4JJavaError, PySparkException), match=why):
                call_of(of, plan, more)


def test_a_plan_in_json_with_nothing_to_rewrite_says_why(spark: SparkSession) -> None:
    table = table_of(spark)
    plan = table.plan(BY, {"min-age-seconds": "1000000"})
    with untouched(table):
        row = call_of(table, plan.toJson())
    assert (row.rewritten_data_files_count, row.message) == (0, plan.message().get())


@pytest.fixture(scope="module")
def planned_and_changed(spark: SparkSession) -> Table:
    return table_of(spark)


class TestStale:
    """A plan is refused where it does not fit any more, and nothing is written then."""

    @pytest.fixture
    def table(self, planned_and_changed: Table) -> Iterator[Table]:
        with rolled_back(planned_and_changed) as table:
            yield table

    def refused(self, plan: Any, why: str) -> None:
        for step in (plan.execute, plan.sampled):
            with pytest.raises(Py4JJavaError, match=f"Cannot execute the plan of [^ ]+, because {why}"):
                step()

    @pytest.mark.parametrize(
        ("change", "back", "why"),
        [
            ("DELETE FROM {} WHERE id = 7", None, "data file .* is no longer in the table"),
            ("ALTER TABLE {} ADD COLUMN x INT", "ALTER TABLE {} DROP COLUMN x", "the table's schema has changed since"),
            (
                "ALTER TABLE {} ADD PARTITION FIELD bucket(4, id)",
                "ALTER TABLE {} DROP PARTITION FIELD bucket(4, id)",
                "the table's partition spec has changed since",
            ),
        ],
    )
    def test_a_change(self, spark: SparkSession, table: Table, change: str, back: str | None, why: str) -> None:
        plan = table.plan(BY, everything(table))
        spark.sql(change.format(table.full_name))
        with untouched(table):
            self.refused(plan, why)
        if back is not None:
            spark.sql(back.format(table.full_name))

    def test_a_file_that_has_new_deletes(self, spark: SparkSession, table: Table) -> None:
        plan = table.plan(BY, everything(table))
        spark.sql(f"ALTER TABLE {table.full_name} SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')")
        spark.sql(f"DELETE FROM {table.full_name} WHERE id = 7")
        with untouched(table):
            self.refused(plan, "the deletes of data file .* have changed since")
        spark.sql(f"ALTER TABLE {table.full_name} UNSET TBLPROPERTIES ('write.delete.mode')")

    def test_a_branch_that_was_rolled_back(self, spark: SparkSession, table: Table) -> None:
        first = table.metadata()["current-snapshot-id"]
        spark.sql(f"INSERT INTO {table.full_name} SELECT -1, 0, 'appended'")
        plan = table.plan(BY, everything(table))
        spark.sql(f"CALL {CATALOG}.system.rollback_to_snapshot('{table.name}', {first})")
        rows = table.fingerprint()
        self.refused(plan, r"snapshot \d+ is no longer in the history of branch main")
        assert table.fingerprint() == rows
