"""Both engines leave file groups whose new files turn out to be read no less than those of today, say so alike, and remember it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyiceberg.catalog import Catalog
from pyspark.sql import SparkSession

from iceberg_zorder.pyiceberg import plan_rewrite
from iceberg_zorder.pyiceberg import rewrite_data_files as rewrite_without_spark
from iceberg_zorder.spark import rewrite_data_files
from iceberg_zorder.upkeep.left_groups import PROPERTY, WHY, why_nothing
from tests.conftest import CATALOG
from tests.pyiceberg.lake import data_files
from tests.pyiceberg.plan.selection.test_gains import of_sparse_events

NAMES = ("leaving_without_spark", "leaving_with_spark")


@pytest.fixture
def catalog(catalog: Catalog, spark: SparkSession) -> Iterator[Catalog]:
    yield catalog
    for name in NAMES:
        # By Spark, which holds tables for a while.
        spark.sql(f"DROP TABLE {CATALOG}.db.{name} PURGE")


@pytest.mark.parametrize("where", [None, "p = 0"])
@pytest.mark.parametrize("options", [{}, {"partial-progress.enabled": "true"}], ids=["at once", "partial progress"])
def test_what_turns_out_worse_is_left(
    spark: SparkSession, catalog: Catalog, where: str | None, options: dict[str, str], lake_dir: Path
) -> None:
    # All rows are sampled, for which ones are would depend on the paths of files.
    options = {**options, "sample-rows": "200000"}
    tables = [of_sparse_events(catalog, f"db.{name}") for name in NAMES]
    ours = rewrite_without_spark(tables[0], ["user", "ts"], where=where, options=options)
    theirs = rewrite_data_files(spark, f"{CATALOG}.db.{NAMES[1]}", ["user", "ts"], where=where, options=options)
    assert f"Left 1 file groups of {CATALOG}.db.{NAMES[0]} as they were, and deleted " in (ours.message or "")
    assert (theirs.message or "").replace(NAMES[1], NAMES[0]) == ours.message
    rewritten = 0 if where else 20
    for name, table, result in zip(NAMES, tables, (ours, theirs), strict=True):
        assert result.rewritten_data_files_count == rewritten
        assert [each.column for each in result.scan_fractions] == (["user", "ts"] if rewritten else [])
        snapshots = len(table.refresh().snapshots())
        assert snapshots == 40 + bool(rewritten)
        files = data_files(table)
        assert sum(file.partition[0] == 0 for file in files) == 20
        directory = lake_dir / "warehouse" / "db" / name
        on_disk = [file for file in directory.rglob("*.parquet") if "p=0" in file.parts]
        assert len(on_disk) == 20, "new files that are not committed are deleted"

    # Nothing is written for them again.
    ours = rewrite_without_spark(tables[0], ["user", "ts"], where="p = 0", options=options)
    theirs = rewrite_data_files(spark, f"{CATALOG}.db.{NAMES[1]}", ["user", "ts"], where="p = 0", options=options)
    assert ours.message == why_nothing(f"{CATALOG}.db.{NAMES[0]}", 1)
    assert (theirs.message or "").replace(NAMES[1], NAMES[0]) == ours.message
    for table in tables:
        at = table.metadata_location
        assert table.refresh().metadata_location == at


def test_what_is_left_has_no_part_in_the_limit(spark: SparkSession, catalog: Catalog) -> None:
    options = {"sample-rows": "200000", "max-files-to-rewrite": "20"}
    tables = [of_sparse_events(catalog, f"db.{name}") for name in NAMES]
    rewrite_without_spark(tables[0], "user, ts", where="p = 0", options=options)
    rewrite_data_files(spark, f"{CATALOG}.db.{NAMES[1]}", "user, ts", where="p = 0", options=options)
    assert [PROPERTY in table.refresh().properties for table in tables] == [True, True]

    plan = plan_rewrite(tables[0], "user, ts", options=options)
    call = (
        f"CALL {CATALOG}.system.zorder_plan(table => 'db.{NAMES[1]}', sort_order => 'user, ts', options => map({{}}))"
    )
    pairs = ", ".join(f"'{name}', '{value}'" for name, value in options.items())
    on_spark = spark.sql(call.format(pairs)).collect()[0]["plan"]
    without_names = re.sub(r"\(branch main, snapshot \d+\)|[\d,]+ bytes", "", str(plan))
    assert without_names == re.sub(r"\(branch main, snapshot \d+\)|[\d,]+ bytes", "", on_spark).replace(
        NAMES[1], NAMES[0]
    )
    [group] = plan.groups
    assert (group.key, len(group.tasks)) == ((1,), 20)
    assert {each.key: each.reason for each in plan.left} == {(0,): WHY}

    ours = rewrite_without_spark(tables[0], "user, ts", options=options)
    theirs = rewrite_data_files(spark, f"{CATALOG}.db.{NAMES[1]}", "user, ts", options=options)
    assert (ours.rewritten_data_files_count, theirs.rewritten_data_files_count) == (20, 20)
