"""Option ``max-scan-ratio``: files of the right size are rewritten where filters read too much of them, until they do not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
from pyspark.sql import SparkSession

from iceberg_zorder.upkeep.settled import WHY
from tests.spark.tables import Table, create, unchanged, untouched

ROWS = "SELECT id, hash(id) AS a, hash(id, 1) AS b FROM range({first}, {last}, 1, {files})"
ACROSS = ROWS.format(first=0, last=8000, files=8)


def options_of(table: Table, ratio: str | None = "1.5", **others: str) -> dict[str, str]:
    """Options by which each of eight files is of the right size."""
    given = {"rewrite-all": "false", **table.target_for(8)} | {name.replace("_", "-"): v for name, v in others.items()}
    return given if ratio is None else {**given, "max-scan-ratio": ratio}


def plan_of(table: Table, options: Mapping[str, str], sort_order: str = "zorder(a, b)") -> Any:
    jvm: Any = table.spark.sparkContext._jvm
    builder = jvm.io.icebergzorder.spark.api.ZOrderRewrite.of(table.spark._jsparkSession, table.full_name)
    for name, value in options.items():
        builder.option(name, value)
    return builder.sortOrder(sort_order).plan()


def test_files_of_the_right_size_are_left_by_an_infinite_ratio(spark: SparkSession) -> None:
    table = create(spark, ACROSS)
    with untouched(table):
        assert table.call("a, b", options=options_of(table, "Infinity")).rewritten_data_files_count == 0


def test_files_that_lie_across_one_another_are_rewritten_without_the_option(spark: SparkSession) -> None:
    table = create(spark, ACROSS)
    [group] = plan_of(table, options_of(table, None)).groups()
    assert re.fullmatch(r"scan fraction 99\.\d% is above max-scan-ratio 1\.2 times the attainable .*", group.reason())


def test_files_that_lie_across_one_another_are_rewritten_once(spark: SparkSession) -> None:
    table = create(spark, ACROSS)
    options = options_of(table)
    [group] = plan_of(table, options).groups()
    assert re.fullmatch(
        r"scan fraction 99\.\d% is above max-scan-ratio 1\.5 times the attainable (\d\d\.\d%): expected to be \1 afterwards",
        group.reason(),
    )
    with unchanged(table):
        row = table.call("a, b", options=options)
    assert (row.rewritten_data_files_count, row.added_data_files_count) == (8, 8)

    with untouched(table):
        assert table.call("a, b", options=options).rewritten_data_files_count == 0
    plan = plan_of(table, options)
    assert plan.message().get() == (
        f"Nothing to rewrite in {table.full_name}: 8 data files are left (as a rewrite by the same request left them, "
        "and nothing has come since). To rewrite them anyway, set option rewrite-all to true."
    )
    assert [left.reason() for left in plan.left()] == [WHY]
    plan = plan_of(table, {**options, "min-input-files": "6"})
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
    plan = plan_of(table, options, "zorder(id, b)")
    [group], [others, alone] = plan.groups(), sorted(plan.left(), key=lambda left: str(left.partition()))
    assert (group.partition(), others.partition(), alone.partition()) == ("p=0", "p=0", "p=1")
    assert 1 < len(group.files()) < 8
    assert len(group.files()) + len(others.files()) == 8
    assert re.fullmatch(
        r"scan fraction \d\d\.\d% is above max-scan-ratio 1\.5 times the attainable \d\d\.\d%: expected to be \d\d\.\d% "
        "afterwards",
        group.reason(),
    )
    assert others.reason() == "a rewrite of them with the others would gain too little for its bytes"
    assert alone.reason() == "scan fraction 100.0% is at most max-scan-ratio 1.5 times the attainable 100.0%"


def test_a_file_that_would_become_two_is_left(spark: SparkSession) -> None:
    table = create(spark, ACROSS)
    options = options_of(table)
    alone = create(spark, ROWS.format(first=0, last=1500, files=1))
    plan = plan_of(alone, {**options, "max-scan-ratio": "1.20"})
    [left] = plan.left()
    assert plan.groups().isEmpty()
    assert re.fullmatch(
        r"scan fraction 100\.0% is above max-scan-ratio 1\.2 times the attainable \d\d\.\d%, but no rewrite would gain enough "
        "for its bytes, of which it may take 17 for each that came since",
        left.reason(),
    )


@pytest.mark.parametrize(("mode", "groups"), [("full", 1), ("counts", 0)])
def test_a_column_of_which_new_files_have_no_bounds_does_not_count(spark: SparkSession, mode: str, groups: int) -> None:
    table = create(spark, ACROSS)
    spark.sql(f"ALTER TABLE {table.full_name} SET TBLPROPERTIES ('write.metadata.metrics.column.b' = '{mode}')")
    assert len(plan_of(table, options_of(table), "zorder(id, b)").groups()) == groups


@pytest.mark.parametrize("mode", ["none", "counts"])
def test_files_without_bounds_are_rewritten_once_new_ones_get_them(spark: SparkSession, mode: str) -> None:
    names = [f"write.metadata.metrics.column.{column}" for column in "ab"]
    table = create(spark, ACROSS, properties=dict.fromkeys(names, mode))
    options = options_of(table)
    plan = plan_of(table, options)
    [left] = plan.left()
    none = f"a (metrics mode {mode}), b (metrics mode {mode})"
    assert left.reason().endswith(
        f"; not counted, because new files get no bounds of them unless metrics-check is fix: {none}"
    )
    assert left.reason() in plan.message().get()
    fixed = plan_of(table, {**options, "metrics-check": "fix"}).groups()
    for name in names:
        spark.sql(f"ALTER TABLE {table.full_name} SET TBLPROPERTIES ('{name}' = 'full')")
    [group] = plan_of(table, options).groups()
    assert re.fullmatch(
        r"scan fraction 100\.0% is above max-scan-ratio 1\.5 times the attainable (\d\d\.\d%): expected to be \1 afterwards",
        group.reason(),
    )
    assert [each.reason() for each in fixed] == [group.reason()]
    with unchanged(table):
        assert table.call("a, b", options=options).rewritten_data_files_count == 8
    # By whatever request.
    for ratio in ("1.5", "1.6"):
        with untouched(table):
            assert table.call("a, b", options=options_of(table, ratio)).rewritten_data_files_count == 0


def test_small_files_call_for_a_rewrite_if_that_makes_them_fewer(spark: SparkSession) -> None:
    table = create(spark, ROWS.format(first=1000, last=7000, files=6))
    size = max(file.file_size_in_bytes for file in table.data_files())
    options = options_of(table, "100", min_input_files="2", min_file_size_bytes=str(size + 1))
    as_large, larger = ({**options, "target-file-size-bytes": str(target)} for target in (size + 2, 2 * size))
    assert plan_of(table, as_large).groups().isEmpty()
    [group] = plan_of(table, larger).groups()
    assert group.reason() == f"6 files below min-file-size-bytes {size + 1:,}"


def test_deletes_call_for_a_rewrite_of_any_number_of_files(spark: SparkSession) -> None:
    properties = {"format-version": "2", "write.delete.mode": "merge-on-read"}
    table = create(spark, ACROSS, properties=properties)
    spark.sql(f"DELETE FROM {table.full_name} WHERE id < 500")
    [group] = plan_of(table, options_of(table, "100")).groups()
    assert len(group.files()) == 1
    assert group.reason() == "1 files with deletes above delete-file-threshold or delete-ratio-threshold"


def test_sizes_call_for_a_rewrite_as_without_the_option(spark: SparkSession) -> None:
    table = create(spark, ROWS.format(first=0, last=8000, files=1))
    plans = [plan_of(table, options_of(table, ratio)) for ratio in (None, "1.5")]
    [one], [other] = (plan.groups() for plan in plans)
    assert one.reason() == other.reason()
    assert one.reason().startswith("1 files above max-file-size-bytes")


def test_no_more_than_max_files_to_rewrite(spark: SparkSession) -> None:
    table = create(spark, ACROSS)
    plan = plan_of(table, options_of(table, max_files_to_rewrite="3"))
    [group], [left] = plan.groups(), plan.left()
    assert (len(group.files()), len(left.files()), left.reason()) == (3, 5, "max-files-to-rewrite is 3")


def test_rewrite_all_takes_everything(spark: SparkSession) -> None:
    table = create(spark, ACROSS)
    [group] = plan_of(table, {**options_of(table, "100"), "rewrite-all": "true"}).groups()
    assert (len(group.files()), group.reason()) == (8, "rewrite-all is true")


def test_a_filter_that_no_file_matches(spark: SparkSession) -> None:
    table = create(spark, ACROSS)
    jvm: Any = spark.sparkContext._jvm
    builder = jvm.io.icebergzorder.spark.api.ZOrderRewrite.of(spark._jsparkSession, table.full_name).sortOrder("a, b")
    plan = builder.option("max-scan-ratio", "2").where("id < 0").plan()
    assert plan.message().get() == (
        f"Nothing to rewrite in {table.full_name}: no data file can hold rows that match the filter."
    )


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("0.5", "Cannot rewrite data files of {table}, because 'max-scan-ratio' is set to 0.5 but must be >= 1"),
        ("NaN", "Cannot rewrite data files of {table}, because 'max-scan-ratio' is set to NaN but must be >= 1"),
        ("-1", "Cannot rewrite data files of {table}, because 'max-scan-ratio' is set to -1.0 but must be >= 1"),
        ("much", "Cannot set max-scan-ratio to 'much', because it must be a number"),
    ],
)
def test_ratios_that_are_refused(spark: SparkSession, value: str, why: str) -> None:
    table = create(spark, ACROSS)
    with untouched(table), pytest.raises(Exception, match=re.escape(why.format(table=table.full_name))):
        table.call("a, b", options=options_of(table, value))


def test_files_of_a_rewrite_wait_for_as_many_bytes(spark: SparkSession) -> None:
    table = create(spark, ROWS.format(first=0, last=8000, files=8))
    # Both targets are the data's: 16 MiB, of which all these files are a small part.
    assert table.call("a, b", options={}).rewritten_data_files_count == 8
    count = len(table.data_paths())
    spark.sql(f"INSERT INTO {table.full_name} {ROWS.format(first=8000, last=8600, files=6)}")
    for ratio in ("1.2", "Infinity"):
        [group] = plan_of(table, {"max-scan-ratio": ratio}).groups()
        assert group.files().size() == 6
    [left] = plan_of(table, {"max-scan-ratio": "Infinity"}).left()
    assert left.reason().endswith("or left so by one with less beside them")
    spark.sql(f"INSERT INTO {table.full_name} {ROWS.format(first=8600, last=18000, files=1)}")
    [group] = plan_of(table, {}).groups()
    assert group.files().size() == count + 7


def test_small_files_are_gathered_where_filters_read_no_more(spark: SparkSession) -> None:
    table = create(spark, ROWS.format(first=0, last=800, files=20))
    with unchanged(table):
        row = table.call("a, b", options={"target-file-size-bytes": "134217728"})
    assert (row.rewritten_data_files_count, row.added_data_files_count) == (20, 1)
