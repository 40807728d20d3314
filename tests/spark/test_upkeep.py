"""Which files are rewritten by what filters read of them; ``tests/spark_python`` has the plans of all else."""

from __future__ import annotations

import re

import pytest
from pyspark.sql import SparkSession

from iceberg_zorder.rewrite.messages import Reason, words
from tests.spark.tables import Table, create, unchanged, untouched

BY = "zorder(a, b)"
ACROSS = "SELECT id, hash(id) AS a, hash(id, 1) AS b FROM range(0, 8000, 1, 8)"


def options_of(table: Table) -> dict[str, str]:
    """Options by which each of eight files is of the right size."""
    return {"rewrite-all": "false", **table.target_for(8), "max-scan-ratio": "1.5"}


def test_files_that_lie_across_one_another_are_rewritten_once(spark: SparkSession) -> None:
    table = create(spark, ACROSS)
    options = options_of(table)
    [group] = table.plan(BY, options).groups()
    assert re.fullmatch(
        r"scan fraction 99\.\d% is above max-scan-ratio 1\.5 times the attainable (\d\d\.\d%): expected to be \1 afterwards",
        group.reason(),
    )
    with unchanged(table):
        row = table.call("a, b", options=options)
    assert (row.rewritten_data_files_count, row.added_data_files_count) == (8, 8)

    with untouched(table):
        assert table.call("a, b", options=options).rewritten_data_files_count == 0
    plan = table.plan(BY, options)
    assert plan.message().get() == (
        f"Nothing to rewrite in {table.full_name}: 8 data files are left (unchanged since a rewrite by the same "
        "request). To rewrite them anyway, set option rewrite-all to true."
    )
    assert [left.reason() for left in plan.left()] == [words([Reason("settled")])]
    plan = table.plan(BY, {**options, "min-input-files": "6"})
    [left] = plan.left()
    assert plan.message().get() == (
        f"Nothing to rewrite in {table.full_name}: 8 data files are left ({left.reason()}). To rewrite them anyway, set "
        "option rewrite-all to true."
    )
    why = r"scan fraction \d\d\.\d% is at most max-scan-ratio 1\.5 times the attainable \d\d\.\d%"
    assert re.fullmatch(why, left.reason())


@pytest.mark.parametrize(("mode", "groups"), [("full", 1), ("counts", 0)])
def test_a_column_of_which_new_files_have_no_bounds_does_not_count(spark: SparkSession, mode: str, groups: int) -> None:
    table = create(spark, ACROSS)
    spark.sql(f"ALTER TABLE {table.full_name} SET TBLPROPERTIES ('write.metadata.metrics.column.b' = '{mode}')")
    assert len(table.plan("zorder(id, b)", options_of(table)).groups()) == groups
