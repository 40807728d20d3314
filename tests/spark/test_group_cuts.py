"""File groups that ``max-file-group-size-bytes`` cuts: what is committed by itself, and what is told of it."""

from __future__ import annotations

from pyspark.sql import SparkSession

from tests.spark.tables import create

BOXES = (
    "SELECT 1000 * (id div 8000) + abs(hash(id)) % 1000 AS a, 1000 * (id div 1000 % 8) + abs(hash(id, 1)) % 1000 AS b "
    "FROM range(0, 64000, 1, 64)"
)
"""A file for each box of a grid of eight by eight."""


def test_groups_are_cut_where_files_lie_apart_and_committed_one_by_one(spark: SparkSession) -> None:
    table = create(spark, BOXES)
    bound = table.bytes() // 4 + table.bytes() // 64  # halves by bytes are even but for a file
    options = {**table.target_for(80), "rewrite-all": "true"}
    one_by_one = {"partial-progress.enabled": "true", "partial-progress.max-commits": "4"}
    assert [group.reason() for group in table.plan("a, b", {**options, **one_by_one}).groups()] == [
        "rewrite-all is true"
    ]
    options["max-file-group-size-bytes"] = str(bound)
    assert [group.reason() for group in table.plan("a, b", options).groups()] == [
        f"rewrite-all is true; part {number} of 4, split by max-file-group-size-bytes {bound:,}"
        for number in range(1, 5)
    ]
    few = {**table.target_for(80), "rewrite-all": "true", "max-file-group-input-files": "20"}
    groups = table.plan("a, b", few).groups()
    assert [group.files().size() for group in groups] == [16] * 4
    assert groups[0].reason() == "rewrite-all is true; part 1 of 4, split by max-file-group-input-files 20"
    before = table.fingerprint()
    row = table.call("a, b", options={**options, **one_by_one})
    assert (table.fingerprint(), table.orphans()) == (before, set())
    assert (row.rewritten_data_files_count, row.failed_data_files_count) == (64, 0)
    assert table.operations() == ["append", *["replace"] * 4]
