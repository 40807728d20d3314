"""What platform teams tried: what a report recommends pays, does what it promised, and is all."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table
from pyspark.sql import SparkSession

from iceberg_zorder.metrics.clustering_report import ClusteringReport
from iceberg_zorder.rewrite.result import RewriteResult
from iceberg_zorder.spark import report, rewrite_data_files
from tests.present import present
from tests.spark.tables import CATALOG

DAY = 86_400
COLUMNS = ["user_id", "ts"]
BY_BYTES = {"read.split.open-file-cost": "1"}
NAME = "advised"
FULL = f"{CATALOG}.db.{NAME}"


class Engine(NamedTuple):
    """Reports on the table, and rewrites of it, through Spark; tests of the PyIceberg engine have the same promises."""

    spark: SparkSession

    def report(self) -> ClusteringReport:
        return report(self.spark, FULL, COLUMNS)

    def rewrite(self, **options: str) -> RewriteResult:
        return rewrite_data_files(self.spark, FULL, COLUMNS, options=options)

    def planned_files(self) -> int:
        row = present(self.spark.sql(f"CALL {CATALOG}.system.zorder_report(table => '{FULL}')").first())
        return int(row["planned_files"])


@pytest.fixture
def engine(spark: SparkSession) -> Engine:
    spark.sql(f"DROP TABLE IF EXISTS {FULL}")
    return Engine(spark)


def daily(catalog: Catalog, days: int, rows: int, properties: dict[str, str] | None = None) -> Table:
    """A commit each day: of the time each has its own part, of the users all."""
    draw = np.random.default_rng(0)
    schema = pa.schema([("user_id", pa.int64()), ("ts", pa.int64())])
    table = catalog.create_table(
        f"db.{NAME}", schema, properties={"zorder.columns": "user_id,ts", **(properties or {})}
    )
    for day in range(days):
        users, times = draw.integers(0, 10**6, rows), DAY * day + draw.integers(0, DAY, rows)
        table.append(pa.table([users, times], schema))
    return table


def recommends(found: ClusteringReport) -> bool:
    return found.recommendation is not None and found.recommendation.command is not None


def test_small_files_are_merged_once_and_that_is_all(engine: Engine, catalog: Catalog) -> None:
    daily(catalog, 30, 500)
    before = engine.report()
    assert before.recommendation is not None
    assert (before.recommendation.files, before.recommendation.expected_files) == (30, 1)
    assert engine.planned_files() == 30
    result = engine.rewrite()
    assert (result.rewritten_data_files_count, result.added_data_files_count) == (30, 1)
    after = engine.report()
    assert not recommends(after)
    assert engine.planned_files() == 0
    assert (after.cost or 0) * 4 < (before.cost or 0)
    assert engine.rewrite().nothing_to_do


def test_time_pays_for_users(engine: Engine, catalog: Catalog) -> None:
    table = daily(catalog, 12, 1_000, BY_BYTES)
    size = sum(table.inspect.files()["file_size_in_bytes"].to_pylist())
    options = {"target-file-size-bytes": str(size // 6), "min-input-files": "2"}
    result = engine.rewrite(**options)
    assert result.rewritten_data_files_count == 12
    assert str(result.message).startswith("ts pays for user_id: ")


def test_what_is_attainable_is_attained_and_figures_are_of_the_whole_table(engine: Engine, catalog: Catalog) -> None:
    table = daily(catalog, 8, 2_000, BY_BYTES)
    size = sum(table.inspect.files()["file_size_in_bytes"].to_pylist())
    table.transaction().set_properties({"write.target-file-size-bytes": str(size // 16)}).commit_transaction()
    before = engine.report()
    result = engine.rewrite()
    assert (
        result.added_data_files_count
        == present(before.recommendation).expected_files
        == before.file_sizes.files_after_rewrite
    )
    laid_out = engine.report()
    assert not recommends(laid_out)
    for was, now in zip(before.columns, laid_out.columns, strict=True):
        assert was.attainable == pytest.approx(now.scan_fraction, rel=0.1)
    # The next day comes, and is rewritten with what it lies across: figures are of all files nevertheless.
    draw = np.random.default_rng(1)
    rows = [draw.integers(0, 10**6, 2_000), draw.integers(0, 8 * DAY, 2_000)]
    table.refresh().append(pa.table(rows, table.schema().as_arrow()))
    there = len(table.refresh().inspect.files())
    again = engine.rewrite()
    assert again.rewritten_data_files_count < there
    assert (present(again.before).files, present(again.after).files) == (there, len(table.refresh().inspect.files()))
    assert not recommends(engine.report())
