"""Both engines choose the same files for what their rewrite gains, and write as many files of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table
from pyspark.sql import SparkSession

from iceberg_zorder.pyiceberg import plan_rewrite
from tests.conftest import CATALOG
from tests.pyiceberg.plan.selection.test_gains import LONGS, longs

NAME = "same_upkeep"
ROWS = 2_000
SIZES = {"target-file-size-bytes": "32500", "compression-factor": "1"}


@pytest.fixture
def grid(spark: SparkSession, catalog: Catalog) -> Iterator[Table]:
    """A grid of 64 files, and eight that lie across all of it."""
    rng = np.random.default_rng(4)
    table = catalog.create_table(f"db.{NAME}", LONGS)
    for file in range(72):
        a, b, width = (file % 8, file // 8, 1) if file < 64 else (0, 0, 8)
        table.append(longs(**{
            name: rng.integers(low << 40, low + width << 40, ROWS) for name, low in (("a", a), ("b", b))
        }))  # fmt: skip
    yield table
    # By Spark, which holds tables for a while.
    spark.sql(f"DROP TABLE IF EXISTS {CATALOG}.db.{NAME}")


@pytest.mark.parametrize(
    ("options", "least"),
    [({"max-scan-ratio": "1.5"}, 21_666), ({"max-scan-ratio": "1.5", "min-file-size-bytes": "25000"}, 25_000)],
)
def test_a_small_part_is_written_to_more_files(
    spark: SparkSession, grid: Table, options: dict[str, str], least: int
) -> None:
    options = {**SIZES, **options}
    (group,) = plan_rewrite(grid, "a, b", options=options).groups
    assert 5 * len(group.tasks) < 72
    assert group.expected_output_files == group.input_size // least
    assert group.expected_output_files > group.input_size / 32_500
    pairs = ", ".join(f"'{name}', '{value}'" for name, value in options.items())
    on_spark = spark.sql(
        f"CALL {CATALOG}.system.zorder_plan(table => 'db.{NAME}', sort_order => 'a, b', options => map({pairs}))"
    ).collect()[0]
    assert tuple(on_spark)[1:4] == (len(group.tasks), 1, group.expected_output_files)


def test_a_large_part_is_not(grid: Table) -> None:
    (group,) = plan_rewrite(grid, "a, b", options={**SIZES, "max-scan-ratio": "1.1"}).groups
    # The sample, and with it whether a file or two are left out, follows the random names of files.
    assert 5 * len(group.tasks) > 72
    assert group.expected_output_files <= group.input_size / 32_500
