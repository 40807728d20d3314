"""With ``max-files-to-rewrite`` both engines take what is due first, and say the same of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table
from pyspark.sql import SparkSession

from iceberg_zorder.pyiceberg import plan_rewrite
from iceberg_zorder.pyiceberg import rewrite_data_files as rewrite_without_spark
from iceberg_zorder.spark import rewrite_data_files
from tests.pyiceberg.committing import commit_files
from tests.pyiceberg.lake import data_files, position_delete
from tests.pyiceberg.plan.selection.test_file_limit import (
    TARGET,
    across,
    boxes,
    made,
    paths_of,
    rows,
)
from tests.spark.tables import CATALOG

NAMES = ("limit_without_spark", "limit_with_spark")
# All rows are sampled, for which ones are would depend on the paths of files.
SAMPLE = {**TARGET, "sample-rows": "200000"}


@pytest.fixture
def catalog(catalog: Catalog, spark: SparkSession) -> Iterator[Catalog]:
    yield catalog
    for name in NAMES:
        # By Spark, which holds tables for a while.
        spark.sql(f"DROP TABLE IF EXISTS {CATALOG}.db.{name}")


def tables_of(catalog: Catalog, *files: pa.Table) -> tuple[Table, Table]:
    """Two tables of the same files."""
    first, second = (made(catalog, *files, name=f"db.{name}", partitioned=True) for name in NAMES)
    return first, second


def plans(spark: SparkSession, table: Table, options: dict[str, str]) -> list[str]:
    """What both engines plan, but for names, snapshots and bytes."""
    pairs = ", ".join(f"'{name}', '{value}'" for name, value in options.items())
    on_spark = spark.sql(
        f"CALL {CATALOG}.system.zorder_plan(table => 'db.{NAMES[1]}', sort_order => 'a, b', options => map({pairs}))"
    ).collect()[0]["plan"]
    return [
        re.sub(r"\(branch main, snapshot \d+\)|[\d,]+ bytes", "", each).replace(NAMES[1], NAMES[0])
        for each in (str(plan_rewrite(table, "a, b", options=options)), on_spark)
    ]


def both(spark: SparkSession, tables: tuple[Table, Table], options: dict[str, str]) -> list[int]:
    """Rewrite with each engine, which say the same."""
    ours = rewrite_without_spark(tables[0], "a, b", options=options)
    theirs = rewrite_data_files(spark, f"{CATALOG}.db.{NAMES[1]}", "a, b", options=options)
    for table in tables:
        table.refresh()
    assert (theirs.message or "").replace(NAMES[1], NAMES[0]) == (ours.message or "")
    return [ours.rewritten_data_files_count, theirs.rewritten_data_files_count]


def test_what_saves_most_comes_first(spark: SparkSession, catalog: Catalog) -> None:
    overlapping = [rows(0, 3_000, each, 500 * each, 500 * each + 1_000) for each in range(6)]
    tables = tables_of(catalog, *across(1), *overlapping)
    ours, theirs = plans(spark, tables[0], {**SAMPLE, "max-files-to-rewrite": "8"})
    assert theirs == ours
    assert ours.index("rewrite p=1") < ours.index("rewrite p=0")
    assert "; 2 of its 6 files, because max-files-to-rewrite is 8" in ours


def test_what_is_due_comes_first(spark: SparkSession, catalog: Catalog) -> None:
    tables = tables_of(catalog, *across(1), *boxes(0))
    options = {**SAMPLE, "max-files-to-rewrite": "2", "delete-file-threshold": "1"}
    for table in tables:
        for file in [each for each in data_files(table) if each.partition[0] == 0][2:4]:
            commit_files(table, position_delete(table, file, [0, 1, 2]))
    as_they_were = [paths_of(table, 1) for table in tables]
    assert both(spark, tables, options) == [2, 2]
    assert [paths_of(table, 1) for table in tables] == as_they_were
    assert [[entry for entry in table.scan().plan_files() if entry.delete_files] for table in tables] == [[], []]
