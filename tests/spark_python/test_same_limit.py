"""With ``max-files-to-rewrite`` both engines take what is due first, then what saves most for its bytes, and say the same of it."""

import re
from collections.abc import Iterator

import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table
from pyspark.sql import SparkSession

from iceberg_zorder.pyiceberg import plan_rewrite, rewrite_data_files
from iceberg_zorder.render.plan_text import plan_text
from iceberg_zorder.spark.rewrite import describe_plan
from tests.pyiceberg.committing import BY_BYTES, commit_files
from tests.pyiceberg.lake import data_files, position_delete
from tests.pyiceberg.plan.selection.test_file_limit import TARGET, across, boxes, made, rows
from tests.spark.tables import CATALOG

NAME = "limited"


@pytest.fixture
def catalog(catalog: Catalog, spark: SparkSession) -> Iterator[Catalog]:
    yield catalog
    # By Spark, which holds tables for a while.
    spark.sql(f"DROP TABLE IF EXISTS {CATALOG}.db.{NAME}")


def both(spark: SparkSession, table: Table, options: dict[str, str]) -> list[str]:
    """What both engines plan, but for bytes: which of several files come first depends on the order of manifests."""
    described = describe_plan(spark, f"{CATALOG}.db.{NAME}", "a, b", options=options)
    plans = (str(plan_rewrite(table, "a, b", options=options)), plan_text(described))
    return [re.sub(r"[\d,]+ bytes", "", each) for each in plans]


def test_what_saves_most_comes_first(spark: SparkSession, catalog: Catalog) -> None:
    overlapping = [rows(0, 3_000, each, 100 * each, 100 * each + 1_000) for each in range(6)]
    table = made(catalog, *across(1), *overlapping, name=f"db.{NAME}")
    ours, theirs = both(spark, table, {**TARGET, "max-files-to-rewrite": "8"})
    assert theirs == ours
    assert ours.index("rewrite p=1") < ours.index("rewrite p=0")
    assert "; 2 of its 6 files, because max-files-to-rewrite is 8" in ours


def test_what_is_due_comes_first(spark: SparkSession, catalog: Catalog) -> None:
    table = made(catalog, *across(1), *boxes(0), name=f"db.{NAME}")
    due = [file for file in data_files(table) if file.partition[0] == 0][2:4]
    for file in due:
        commit_files(table, position_delete(table, file, [0, 1, 2]))
    options = {**TARGET, "max-files-to-rewrite": "2", "delete-file-threshold": "1"}
    ours, theirs = both(spark, table, options)
    assert theirs == ours
    [group] = describe_plan(spark, f"{CATALOG}.db.{NAME}", "a, b", options=options)["file_groups"]
    assert {each["path"] for each in group["data_files"]} == {file.file_path for file in due}


def test_partitions_share_the_bytes_that_rewrites_for_gain_may_take(spark: SparkSession, catalog: Catalog) -> None:
    """They are a multiple of what was appended since the whole table was rewritten: enough for one of two."""
    table = made(catalog, *(rows(part, 12_000, part, most=1 << 40) for part in (0, 1)), name=f"db.{NAME}")
    with table.transaction() as change:
        change.set_properties(BY_BYTES)
    options = {"target-file-size-bytes": "5000", "max-scan-ratio": "1"}
    rewrite_data_files(table, "a, b", options=options)
    for part in (0, 1):
        table.append(rows(part, 500, 2 + part, most=1 << 40))
    ours, theirs = both(spark, table, options)
    assert theirs == ours
    assert [f"rewrite p={part}" in ours for part in (0, 1)] == [True, False]
