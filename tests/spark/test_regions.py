"""File groups by region: what is committed by itself, what it costs filters, and what is told of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from statistics import fmean
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.spark.tables import Table, create, unchanged
from tests.spark.test_upkeep import plan_of

BOXES = (
    "SELECT 1000 * (id div 8000) + abs(hash(id)) % 1000 AS a, 1000 * (id div 1000 % 8) + abs(hash(id, 1)) % 1000 AS b "
    "FROM range(0, 64000, 1, 64)"
)
"""A file for each box of a grid of eight by eight."""
DAYS = "SELECT abs(hash(id)) % 64000 AS a, id AS b FROM range(0, 64000, 1, 64)"
"""A file for each stretch of b, of any values of a."""
ACROSS = "SELECT hash(id) AS a, hash(id, 1) AS b FROM range(0, 12000, 1, 12)"


def scanned(table: Table) -> float:
    """What filters read on average, of values that are spread evenly."""
    found = []
    for column in "ab":
        rows = table.spark.sql(
            f"SELECT readable_metrics.{column}.lower_bound, readable_metrics.{column}.upper_bound, file_size_in_bytes "
            f"FROM {table.full_name}.files"
        ).collect()
        domain = max(row[1] for row in rows) - min(row[0] for row in rows)
        found.append(sum((row[1] - row[0]) / domain * row[2] for row in rows) / sum(row[2] for row in rows))
    return fmean(found)


def options_of(table: Table, **others: str) -> dict[str, str]:
    return {**table.target_for(80), "rewrite-all": "true", **others}


@pytest.mark.parametrize("rows", [BOXES, pytest.param(DAYS, marks=pytest.mark.full)], ids=["boxes", "days"])
def test_with_partial_progress_regions_are_committed_for_no_more_to_scan(spark: SparkSession, rows: str) -> None:
    one, regions = create(spark, rows), create(spark, rows)
    one.call("a, b", options=options_of(one))
    options = options_of(regions, **{"partial-progress.enabled": "true"})
    before = regions.fingerprint()
    row = regions.call("a, b", options=options)
    assert (regions.fingerprint(), regions.orphans()) == (before, set())
    assert (row.rewritten_data_files_count, row.failed_data_files_count) == (64, 0)
    assert regions.operations() == ["append", *["replace"] * 4]
    assert scanned(regions) <= 1.05 * scanned(one)


def reasons(plan: Any) -> list[str]:
    return [group.reason() for group in plan.groups()]


def test_files_that_all_span_are_cut_if_that_is_asked_for_and_the_price_is_told(spark: SparkSession) -> None:
    table = create(spark, ACROSS)
    bound = table.bytes() // 2
    options: Mapping[str, str] = {**table.target_for(12), "max-file-group-size-bytes": str(bound)}
    found = [
        re.fullmatch(
            rf"rewrite-all is true; part (\d) of (\d), cut across files for max-file-group-size-bytes {bound:,}: scan "
            r"fraction of the parts expected to be ([\d.]+)%, in one file group ([\d.]+)%",
            reason,
        )
        for reason in reasons(plan_of(table, {**options, "rewrite-all": "true"}, "a, b"))
    ]
    assert len(found) > 1
    expected = [(float(each[3]), float(each[4])) for each in found if each]
    assert len(expected) == len(found)
    assert len({*expected}) == 1
    assert expected[0][0] > 1.1 * expected[0][1]
    with unchanged(table):
        table.call("a, b", options=options)
    assert 100 * scanned(table) == pytest.approx(expected[0][0], rel=0.25)


@pytest.mark.parametrize(
    "options", [{"partial-progress.enabled": "true"}, {"max-file-group-size-bytes": str(1 << 40)}, {}]
)
def test_files_that_all_span_are_cut_only_if_they_must_be(spark: SparkSession, options: dict[str, str]) -> None:
    table = create(spark, ACROSS)
    plan = plan_of(table, {**table.target_for(64), "rewrite-all": "true", **options}, "a, b")
    assert reasons(plan) == ["rewrite-all is true"]


def test_without_bounds_nothing_is_cut(spark: SparkSession) -> None:
    table = create(spark, BOXES, properties={"write.metadata.metrics.default": "counts"})
    size = table.bytes()
    plan = plan_of(table, options_of(table, **{"max-file-group-size-bytes": str(size // 2)}), "a, b")
    assert reasons(plan) == [
        f"rewrite-all is true; in one file group, whatever max-file-group-size-bytes {size // 2:,}, because new files keep "
        f"no bounds to cut by: its job takes some {4 * size:,} bytes of local disk"
    ]
