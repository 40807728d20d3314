"""Both engines write the same plan in JSON, and either executes what the other has written."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyspark.sql import SparkSession

from iceberg_zorder.errors import InvalidInputError, StalePlanError
from iceberg_zorder.pyiceberg import RewritePlan, execute, plan_rewrite, sample
from iceberg_zorder.rewrite.result import TableFiles
from iceberg_zorder.rewrite.snapshot_keys import SETTLED_FROM
from iceberg_zorder.spark.rewrite import describe_plan, execute_plan
from tests.present import present
from tests.pyiceberg.committing import commit_files, summary_of
from tests.pyiceberg.lake import data_files, position_delete
from tests.spark.tables import CATALOG

NAME = "same_plans"
FULL_NAME = f"{CATALOG}.db.{NAME}"
BY, WHERE = "zorder(a, b)", "p < 2 AND b >= 0"
SCHEMA = pa.schema([("p", pa.int64()), ("a", pa.int64()), ("b", pa.int64())])


@pytest.fixture
def table(catalog: Catalog, spark: SparkSession) -> Iterator[Table]:
    """Six files in partition 0, one with deletes, and three in partition 1."""
    catalog.create_namespace_if_not_exists("db")
    table = catalog.create_table(f"db.{NAME}", SCHEMA)
    table.update_spec().add_field("p", IdentityTransform(), "p").commit()
    for number in range(9):
        numbers = range(1000 * number, 1000 * number + 500)
        columns = [[number // 6] * 500, [i * 7919 % 10007 for i in numbers], [i * 104729 % 10009 for i in numbers]]
        table.append(pa.table([pa.array(column, pa.int64()) for column in columns], schema=SCHEMA))
    commit_files(table, position_delete(table, data_files(table)[0], [3, 4]))
    yield table
    # By Spark, which holds tables for a while.
    spark.sql(f"DROP TABLE IF EXISTS {FULL_NAME}")


def rows(table: Table) -> list[str]:
    return sorted(map(str, table.refresh().scan().to_arrow().to_pylist()))


@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {"rewrite-all": "true", "max-files-to-rewrite": "7", "target-file-size-bytes": "9000"},
        {"max-file-group-size-bytes": "20000", "delete-file-threshold": "1", "boundaries": "64"},
        {"max-scan-ratio": "1", "min-input-files": "1", "min-file-size-bytes": "0", "target-file-size-bytes": "8000"},
    ],
)
def test_either_engine_executes_the_plan_of_the_other(
    spark: SparkSession, table: Table, options: dict[str, str], sampled: bool
) -> None:
    plan = plan_rewrite(table, BY, where=WHERE, options=options)
    ours = (sample(table, plan) if sampled else plan).to_dict()
    theirs = describe_plan(spark, FULL_NAME, BY, where=WHERE, options=options, sampled=sampled)
    assert ours["file_groups"]
    assert compared(theirs) == compared(ours)

    before, planned, snapshot = rows(table), data_files(table), table.metadata.current_snapshot_id
    on_spark = execute_plan(spark, FULL_NAME, json.dumps(ours))
    hashes = [layout_hash(table)]
    assert rows(table) == before
    with pytest.raises(StalePlanError):
        execute(table, RewritePlan.from_json(json.dumps(theirs)))
    table.manage_snapshots().set_current_snapshot(snapshot_id=snapshot).commit()
    without = execute(table, RewritePlan.from_json(json.dumps(theirs)))
    hashes.append(layout_hash(table))
    assert rows(table) == before
    assert hashes[0] == hashes[1]
    assert without.rewritten_data_files_count == on_spark.rewritten_data_files_count
    assert without.added_data_files_count == on_spark.added_data_files_count
    # Figures are of all files that the filter selects, though a plan's JSON names only some.
    assert without.before == on_spark.before == TableFiles(9, sum(file.file_size_in_bytes for file in planned))
    for one, other in zip(without.scan_fractions, on_spark.scan_fractions, strict=True):
        figures = [(each.before, each.predicted, each.files_before, each.files_actual) for each in (one, other)]
        assert figures[0] == pytest.approx(figures[1], rel=1e-9)


def test_spark_leaves_to_the_next_rewrite_what_was_taken_out_of_a_plan(spark: SparkSession, table: Table) -> None:
    options = {"min-input-files": "2", "target-file-size-bytes": "20000"}
    plan = plan_rewrite(table, BY, options=options).to_dict()
    assert [group["data_files_count"] for group in plan["file_groups"]] == [6, 3]
    # The filter selects no file of the group: it may mean something else in the session than where it was planned.
    execute_plan(spark, FULL_NAME, json.dumps({**plan, "where": "p = 0", "file_groups": plan["file_groups"][1:]}))
    again = describe_plan(spark, FULL_NAME, BY, options=options)
    assert [group["data_files_count"] for group in again["file_groups"]] == [6]
    # Files that a filter does not select are not missing from its plan.
    execute_plan(spark, FULL_NAME, plan_rewrite(table, BY, where="p = 0", options=options).to_json())
    assert SETTLED_FROM in summary_of(table.refresh())


def test_spark_refuses_or_bounds_figures_of_a_plan_that_cannot_be(spark: SparkSession, table: Table) -> None:
    options = {"rewrite-all": "true", "target-file-size-bytes": "2", "compression-factor": "1e4"}
    plan = describe_plan(spark, FULL_NAME, BY, options=options)
    assert [group["expected_data_files_count"] for group in plan["file_groups"]] == [3000, 1500]
    plan["file_groups"][0]["spec_id"] = 0
    with pytest.raises(InvalidInputError, match="a file group has partition spec 0, but its options have 1"):
        execute_plan(spark, FULL_NAME, json.dumps(plan))


def test_spark_refuses_a_plan_that_leaves_more_files_than_there_are(spark: SparkSession, table: Table) -> None:
    options = {"rewrite-all": "true", "max-files-to-rewrite": "3"}
    plan = plan_rewrite(table, BY, where="p = 1", options=options).to_dict()
    assert (plan["left"], len(plan["file_groups"][0]["data_files"])) == ([], 3)
    left = {"partition": "p=1", "bytes": 1, "rows": 1, "reasons": [{"code": "settled", "parameters": {}}]}
    # The filter may select fewer files here than where the plan was made.
    execute_plan(
        spark,
        FULL_NAME,
        json.dumps({**plan, "options": {**options, "dry-run": "true"}, "left": [{**left, "data_files_count": 6}]}),
    )
    why = rf"Cannot read the plan of {FULL_NAME}, because its left counts 7 data files, but its snapshot has 6 besides"
    with pytest.raises(InvalidInputError, match=why):
        execute_plan(spark, FULL_NAME, json.dumps({**plan, "left": [{**left, "data_files_count": 7}]}))


def test_a_plan_keeps_the_queries_that_it_was_made_for(spark: SparkSession, table: Table, tmp_path: Path) -> None:
    file, options = tmp_path / "w.json", {"rewrite-all": "true", "target-file-size-bytes": "3000"}

    def write(*queries: str) -> None:
        file.write_text(json.dumps({"version": 1, "queries": [{"filter": each, "weight": 0.5} for each in queries]}))

    write("a > 9000 AND a < 9100", "b < 100", "b = 7 AND a >= 0")
    options["workload"] = str(file)
    ours = plan_rewrite(table, BY, options=options)
    theirs = describe_plan(spark, FULL_NAME, BY, options=options)
    assert compared(theirs) == compared(ours.to_dict())
    snapshot, texts = table.metadata.current_snapshot_id, (json.dumps(theirs), ours.to_json())
    write("a < 9000")
    hashes = []
    for on_spark in (False, True):
        for text in texts:
            execute_plan(spark, FULL_NAME, text) if on_spark else execute(table, RewritePlan.from_json(text))
            hashes.append(layout_hash(table))
            table.manage_snapshots().set_current_snapshot(snapshot_id=snapshot).commit()
    execute(table, plan_rewrite(table, BY, options=options))
    assert len({*hashes}) == 1
    assert layout_hash(table) not in hashes


def compared(plan: dict[str, Any]) -> dict[str, Any]:
    """A plan without when it was made, and with fractions as far as sums in any order agree."""
    rounded = json.loads(json.dumps(plan), parse_float=lambda text: round(float(text), 9))
    return {key: value for key, value in rounded.items() if key not in ("planned_at_ms", "expected_seconds")}


def layout_hash(table: Table) -> str:
    snapshot = present(table.refresh().current_snapshot())
    return str(present(snapshot.summary).additional_properties["zorder.layout-hash"])
