"""Which files are rewritten: by what filters read of them, by their deletes, their sizes and their partition specs."""

from __future__ import annotations

import re

import pytest
from pyspark.sql import SparkSession

from iceberg_zorder.rewrite.messages import Reason, words
from tests.spark.tables import Table, create, unchanged, untouched

ROWS = "SELECT id, hash(id) AS a, hash(id, 1) AS b FROM range({first}, {last}, 1, {files})"
BY = "zorder(a, b)"
ACROSS = ROWS.format(first=0, last=8000, files=8)


def options_of(table: Table, ratio: str | None = "1.5", **others: str) -> dict[str, str]:
    """Options by which each of eight files is of the right size."""
    given = {"rewrite-all": "false", **table.target_for(8)} | {name.replace("_", "-"): v for name, v in others.items()}
    return given if ratio is None else {**given, "max-scan-ratio": ratio}


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


def test_some_of_the_files_may_be_enough(spark: SparkSession) -> None:
    # By id every file lies beside the others, by b they all lie across one another.
    properties = {"write.distribution-mode": "none"}
    table = create(spark, f"SELECT *, 0 AS p FROM ({ACROSS})", partitioned_by="p", properties=properties)
    options = options_of(table)
    spark.sql(f"INSERT INTO {table.full_name} SELECT *, 1 FROM ({ROWS.format(first=0, last=1000, files=1)})")
    plan = table.plan("zorder(id, b)", options)
    [group], [others, alone] = plan.groups(), sorted(plan.left(), key=lambda left: str(left.partition()))
    assert (group.partition(), others.partition(), alone.partition()) == ("p=0", "p=0", "p=1")
    assert 1 < len(group.files()) < 8
    assert len(group.files()) + others.files() == 8
    assert re.fullmatch(
        r"scan fraction \d\d\.\d% is above max-scan-ratio 1\.5 times the attainable \d\d\.\d%: expected to be \d\d\.\d% "
        "afterwards",
        group.reason(),
    )
    assert others.reason() == "adding them to the rewrite would save too little for their bytes"
    assert alone.reason() == "scan fraction 100.0% is at most max-scan-ratio 1.5 times the attainable 100.0%"


@pytest.mark.parametrize(("mode", "groups"), [("full", 1), ("counts", 0)])
def test_a_column_of_which_new_files_have_no_bounds_does_not_count(spark: SparkSession, mode: str, groups: int) -> None:
    table = create(spark, ACROSS)
    spark.sql(f"ALTER TABLE {table.full_name} SET TBLPROPERTIES ('write.metadata.metrics.column.b' = '{mode}')")
    assert len(table.plan("zorder(id, b)", options_of(table)).groups()) == groups


def test_deletes_call_for_a_rewrite_of_any_number_of_files(spark: SparkSession) -> None:
    properties = {"format-version": "2", "write.delete.mode": "merge-on-read"}
    table = create(spark, ACROSS, properties=properties)
    spark.sql(f"DELETE FROM {table.full_name} WHERE id < 500")
    [group] = table.plan(BY, options_of(table, "100")).groups()
    assert len(group.files()) == 1
    assert group.reason() == "1 files with deletes above delete-file-threshold or delete-ratio-threshold"


def test_a_filter_that_no_file_matches(spark: SparkSession) -> None:
    table = create(spark, ACROSS)
    plan = table.plan(BY, {"max-scan-ratio": "2"}, where="id < 0")
    assert plan.message().get() == (
        f"Nothing to rewrite in {table.full_name}: no data file can hold rows that match the filter."
    )


def test_small_files_are_gathered_where_filters_read_no_more(spark: SparkSession) -> None:
    table = create(spark, ROWS.format(first=0, last=800, files=20))
    with unchanged(table):
        row = table.call("a, b", options={"target-file-size-bytes": "134217728"})
    assert (row.rewritten_data_files_count, row.added_data_files_count) == (20, 1)


@pytest.mark.parametrize(
    ("version", "how"), [(1, {}), (2, {"max-scan-ratio": "1.2"}), (2, {"max-scan-ratio": "1000"}), (3, {})]
)
def test_what_is_of_an_old_spec_is_rewritten_once(spark: SparkSession, version: int, how: dict[str, str]) -> None:
    rows = "SELECT id, id % 2 AS p FROM range({0}, {0} + 500, 1, {1})"
    table = create(spark, rows.format(0, 2), properties={"format-version": str(version)})
    spark.sql(f"ALTER TABLE {table.full_name} ADD PARTITION FIELD p")
    spark.sql(f"INSERT INTO {table.full_name} {rows.format(500, 1)}")
    in_order = {"rewrite-all": "false", "target-file-size-bytes": "100000000", "min-file-size-bytes": "0", **how}
    assert table.plan("id", in_order).groups().isEmpty()
    options = {**in_order, "rewrite-old-specs": "true"}
    [group] = table.plan("id", options).groups()
    assert group.reason() == "2 files of partition spec 0; new files are of 1"
    # Each of them is as small a box as can be: nothing is gained but the partitions.
    with unchanged(table):
        row = table.call("id", options=options)
    assert (row.rewritten_data_files_count, row.added_data_files_count) == (2, 2)
    assert {row[0] for row in spark.sql(f"SELECT spec_id FROM {table.full_name}.files").collect()} == {1}
    with untouched(table):
        assert table.call("id", options=options).rewritten_data_files_count == 0
