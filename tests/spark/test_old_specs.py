"""Option ``rewrite-old-specs``: files of another partition spec than that of new files are rewritten, once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.spark.tables import Table, create, unchanged, untouched

ROWS = "SELECT id, id % 2 AS p FROM range({0}, {0} + 500, 1, {1})"
IN_ORDER = {"rewrite-all": "false", "target-file-size-bytes": "100000000", "min-file-size-bytes": "0"}
"""Options by which no file is of a wrong size."""
OLD = {**IN_ORDER, "rewrite-old-specs": "true"}


def evolved(spark: SparkSession, version: int = 2) -> Table:
    """A table of two files without partitions, and of two of the partition spec that it has got since."""
    table = create(spark, ROWS.format(0, 2), properties={"format-version": str(version)})
    spark.sql(f"ALTER TABLE {table.full_name} ADD PARTITION FIELD p")
    spark.sql(f"INSERT INTO {table.full_name} {ROWS.format(500, 1)}")
    return table


def specs(table: Table) -> dict[int, int]:
    rows = table.spark.sql(f"SELECT spec_id, count(*) FROM {table.full_name}.files GROUP BY spec_id").collect()
    return {row[0]: row[1] for row in rows}


def reasons(table: Table, options: Mapping[str, str], where: str | None = None) -> list[tuple[int, str]]:
    jvm: Any = table.spark.sparkContext._jvm
    builder = jvm.io.icebergzorder.spark.api.ZOrderRewrite.of(table.spark._jsparkSession, table.full_name)
    for name, value in options.items():
        builder.option(name, value)
    return sorted(
        (len(group.files()), group.reason()) for group in builder.sortOrder("id").where(where).plan().groups()
    )


@pytest.mark.parametrize(
    ("version", "how"), [(1, {}), (2, {"max-scan-ratio": "1.2"}), (2, {"max-scan-ratio": "1000"}), (3, {})]
)
def test_what_is_of_an_old_spec_is_rewritten_once(spark: SparkSession, version: int, how: dict[str, str]) -> None:
    table = evolved(spark, version)
    assert reasons(table, {**IN_ORDER, **how}) == []
    assert reasons(table, {**OLD, **how}) == [(2, "2 files of partition spec 0; new files are of 1")]
    # Each of them is as small a box as can be: nothing is gained but the partitions.
    with unchanged(table):
        row = table.call("id", options={**OLD, **how})
    assert (row.rewritten_data_files_count, row.added_data_files_count) == (2, 2)
    assert specs(table) == {1: 4}
    with untouched(table):
        assert table.call("id", options={**OLD, **how}).rewritten_data_files_count == 0


def test_the_spec_that_is_written_need_not_be_the_newest(spark: SparkSession) -> None:
    table = evolved(spark)
    to_first = {**OLD, "output-spec-id": "0"}
    assert reasons(table, to_first) == [(1, "1 files of partition spec 1; new files are of 0")] * 2
    with unchanged(table):
        assert table.call("id", options=to_first).rewritten_data_files_count == 2
    assert set(specs(table)) == {0}
    assert reasons(table, to_first) == []


def test_reasons_name_every_spec_and_what_comes_with_it(spark: SparkSession) -> None:
    table = evolved(spark)
    spark.sql(f"ALTER TABLE {table.full_name} ADD PARTITION FIELD bucket(2, id)")
    spark.sql(f"INSERT INTO {table.full_name} SELECT 1000L, 0L")
    assert reasons(table, OLD) == [
        (4, "2 files of partition spec 0, 2 files of partition spec 1; new files are of 2"),
    ]
    small = {**OLD, "min-file-size-bytes": "99999999", "output-spec-id": "1"}
    # Files of other specs than the table's are one group, whichever is written.
    assert reasons(table, small) == [
        (1, "1 files of partition spec 2; new files are of 1"),
        (4, "2 files below min-file-size-bytes 99,999,999, 2 files of partition spec 0; new files are of 1"),
    ]


def test_the_rest_of_the_options_keeps_its_meaning(spark: SparkSession) -> None:
    table = evolved(spark)
    assert [count for count, _ in reasons(table, {**OLD, "max-files-to-rewrite": "1"})] == [1]
    for how in (OLD, {**OLD, "max-scan-ratio": "1000"}):
        assert [count for count, _ in reasons(table, how, "id < 100")] == [1]
    assert reasons(table, {**OLD, "min-age-seconds": "3600"}) == []
    assert {why for _, why in reasons(table, {**OLD, "rewrite-all": "true"})} == {"rewrite-all is true"}
    with (
        untouched(table),
        pytest.raises(Exception, match="Cannot set rewrite-old-specs to 'yes', because it must be true"),
    ):
        table.call("id", options={"rewrite-old-specs": "yes"})
