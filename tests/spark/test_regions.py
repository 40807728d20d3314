"""File groups by region: what is committed by itself, what it costs filters, and what is told of it."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.spark.tables import Table, create

BOXES = (
    "SELECT 1000 * (id div 8000) + abs(hash(id)) % 1000 AS a, 1000 * (id div 1000 % 8) + abs(hash(id, 1)) % 1000 AS b "
    "FROM range(0, 64000, 1, 64)"
)
"""A file for each box of a grid of eight by eight."""
ACROSS = "SELECT hash(id) AS a, hash(id, 1) AS b FROM range(0, 12000, 1, 12)"


def options_of(table: Table, **others: str) -> dict[str, str]:
    return {**table.target_for(80), "rewrite-all": "true", **others}


def reasons(plan: Any) -> list[str]:
    return [group.reason() for group in plan.groups()]


@pytest.mark.parametrize(
    "options", [{"partial-progress.enabled": "true"}, {"max-file-group-size-bytes": str(1 << 40)}, {}]
)
def test_files_that_all_span_are_cut_only_if_they_must_be(spark: SparkSession, options: dict[str, str]) -> None:
    table = create(spark, ACROSS)
    plan = table.plan("a, b", {**table.target_for(64), "rewrite-all": "true", **options})
    assert reasons(plan) == ["rewrite-all is true"]


def test_without_bounds_nothing_is_cut(spark: SparkSession) -> None:
    table = create(spark, BOXES, properties={"write.metadata.metrics.default": "counts"})
    size = table.bytes()
    plan = table.plan("a, b", options_of(table, **{"max-file-group-size-bytes": str(size // 2)}))
    assert reasons(plan) == [
        f"rewrite-all is true; in one file group, whatever max-file-group-size-bytes {size // 2:,}, because new files keep "
        f"no bounds to cut by: its job takes some {4 * size:,} bytes of local disk"
    ]
