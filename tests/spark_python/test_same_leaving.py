"""Both engines leave file groups whose new files turn out to be read no less than those of today, say so alike, and remember it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyiceberg.catalog import Catalog
from pyspark.sql import SparkSession

from iceberg_zorder.pyiceberg import rewrite_data_files as rewrite_without_spark
from iceberg_zorder.spark import rewrite_data_files
from iceberg_zorder.upkeep.left_groups import why_nothing
from tests.conftest import CATALOG
from tests.pyiceberg.lake import data_files
from tests.pyiceberg.test_gains import of_sparse_events

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
