"""With ``max-files-to-rewrite`` both engines take what is due first, then what saves most for its bytes, and say the same of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from pyiceberg.catalog import Catalog
from pyspark.sql import SparkSession

from iceberg_zorder.pyiceberg import plan_rewrite
from tests.pyiceberg.committing import commit_files
from tests.pyiceberg.lake import data_files, position_delete
from tests.pyiceberg.plan.selection.test_file_limit import TARGET, across, boxes, made, rows
from tests.spark.tables import CATALOG

NAME = "limited"


@pytest.fixture
def catalog(catalog: Catalog, spark: SparkSession) -> Iterator[Catalog]:
    yield catalog
    # By Spark, which holds tables for a while.
    spark.sql(f"DROP TABLE IF EXISTS {CATALOG}.db.{NAME}")


@pytest.mark.parametrize("is_due", [False, True])
def test_plans_are_the_same(spark: SparkSession, catalog: Catalog, is_due: bool) -> None:
    others = boxes(0) if is_due else [rows(0, 3_000, each, 500 * each, 500 * each + 1_000) for each in range(6)]
    table = made(catalog, *across(1), *others, name=f"db.{NAME}")
    options = {**TARGET, "max-files-to-rewrite": "8"}
    if is_due:
        options |= {"max-files-to-rewrite": "2", "delete-file-threshold": "1"}
        for file in [each for each in data_files(table) if each.partition[0] == 0][2:4]:
            commit_files(table, position_delete(table, file, [0, 1, 2]))
    pairs = ", ".join(f"'{name}', '{value}'" for name, value in options.items())
    call = f"{CATALOG}.system.zorder_plan(table => 'db.{NAME}', sort_order => 'a, b', options => map({pairs}))"
    ours, theirs = str(plan_rewrite(table, "a, b", options=options)), spark.sql(f"CALL {call}").collect()[0]["plan"]
    assert theirs == ours
    if is_due:
        assert re.search(r"rewrite p=0: 2 files .* with deletes above", ours)
        assert "rewrite p=1" not in ours
    else:
        assert ours.index("rewrite p=1") < ours.index("rewrite p=0")
        assert "; 2 of its 6 files, for max-files-to-rewrite is 8" in ours
