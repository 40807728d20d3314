"""Both engines say that a small table becomes one file, in the plan and in the result, and how to try smaller files."""

from collections.abc import Iterator

import numpy as np
import pytest
from pyiceberg.catalog import Catalog
from pyspark.sql import SparkSession

from iceberg_zorder.pyiceberg import plan_rewrite, report, rewrite_data_files, undo
from iceberg_zorder.render.plan_text import plan_text
from iceberg_zorder.spark import rewrite_data_files as rewrite_on_spark
from iceberg_zorder.spark.rewrite import describe_plan
from tests.pyiceberg.plan.selection.test_gains import LONGS, longs
from tests.spark.tables import CATALOG

NAME = "one_file"
HINT = "The files become one file at the target size of 4.2 MB, so filters skip nothing: for a trial, set options"
TRIAL = {"target-file-size-bytes": "131072", "rewrite-all": "true"}


@pytest.fixture
def catalog(catalog: Catalog, spark: SparkSession) -> Iterator[Catalog]:
    yield catalog
    # By Spark, which holds tables for a while.
    spark.sql(f"DROP TABLE IF EXISTS {CATALOG}.db.{NAME}")


def test_both_say_it_of_a_small_table(spark: SparkSession, catalog: Catalog) -> None:
    table = catalog.create_table(f"db.{NAME}", LONGS)
    rng = np.random.default_rng(0)
    for _ in range(8):
        table.append(longs(a=rng.integers(0, 4 << 40, 10_000), b=rng.integers(0, 4 << 40, 10_000)))
    full_name = f"{CATALOG}.db.{NAME}"
    ours, theirs = str(plan_rewrite(table, "a, b")), plan_text(describe_plan(spark, full_name, "a, b"))
    assert theirs == ours
    assert HINT in ours
    trial = str(plan_rewrite(table, "a, b", options=TRIAL))
    assert " become one file" not in trial
    result = rewrite_data_files(table, "a, b")
    assert str(result.message).startswith(HINT)
    assert HINT in " ".join(str(report(table, "a, b")).split())
    undo(table)
    assert rewrite_on_spark(spark, full_name, "a, b").message == result.message
    assert "one file" not in str(rewrite_data_files(table.refresh(), "a, b", options=TRIAL).message)


def test_a_table_that_is_small_even_for_a_trial_gets_no_hint(catalog: Catalog) -> None:
    table = catalog.create_table(f"db.{NAME}", LONGS)
    for start in (0, 500):
        table.append(longs(a=range(start, start + 1000), b=range(start, start + 1000)))
    assert "one file" not in str(plan_rewrite(table, "a, b", options={"rewrite-all": True}))
