"""Rewrites that measure themselves: before, predicted, actual, never worse, and files of a size that suits the data.

Judged by the bounds in the manifests over the values of all rows, not by anything of ours.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from iceberg_zorder.spark import RewriteResult, rewrite_data_files
from tests.spark.tables import CATALOG, Table, create, unchanged, untouched

DAY = "SELECT id * 7919 % 100003 AS user, {day} * 100000L + id % 86400 AS ts, id AS payload FROM range({first}, {last}, 1, 1)"
ROWS_OF_DAY = 3_000


def daily(spark: SparkSession, days: int = 20, *, properties: Mapping[str, str] | None = None) -> Table:
    """A table that got a file of ``ts`` after ``ts`` a day."""

    def day(number: int) -> str:
        return DAY.format(day=number, first=number * ROWS_OF_DAY, last=(number + 1) * ROWS_OF_DAY)

    table = create(spark, day(0), properties=properties)
    for number in range(1, days):
        spark.sql(f"INSERT INTO {table.full_name} {day(number)}")
    return table


def partitioned(spark: SparkSession, partitions: int = 30) -> Table:
    """A table of small partitions, each with several files of values from anywhere."""
    rows = (
        f"SELECT id % {partitions} AS p, id * 7919 % 100003 AS a, id * 104729 % 99991 AS b "
        f"FROM range({{first}}, {{last}}, 1, 1)"
    )
    count = partitions * 1_500
    table = create(spark, rows.format(first=0, last=count), partitioned_by="p")
    for part in range(1, 6):
        spark.sql(f"INSERT INTO {table.full_name} {rows.format(first=part * count, last=(part + 1) * count)}")
    return table


def files_of(table: Table, column: str, where: str = "true") -> list[tuple[int, int, int]]:
    """Lower bound, upper bound and bytes of data files."""
    rows = table.spark.sql(
        f"SELECT readable_metrics.{column}.lower_bound, readable_metrics.{column}.upper_bound, file_size_in_bytes "
        f"FROM {table.full_name}.files WHERE content = 0 AND {where}"
    ).collect()
    return [(row[0], row[1], row[2]) for row in rows]


def fraction(table: Table, column: str, where: str = "true", rows: str = "true") -> float:
    """The scan fraction of ``column = value``, over the values of all rows."""
    files = files_of(table, column, where)
    values = sorted(row[0] for row in table.spark.sql(f"SELECT {column} FROM {table.full_name} WHERE {rows}").collect())
    read = sum(size * (bisect_right(values, high) - bisect_left(values, low)) for low, high, size in files)
    return read / len(values) / sum(size for _, _, size in files)


def fractions(table: Table, columns: Sequence[str]) -> dict[str, float]:
    return {column: fraction(table, column) for column in columns}


def mean(found: Mapping[str, float]) -> float:
    return sum(found.values()) / len(found)


def scans(result: RewriteResult, which: str) -> dict[str, float]:
    return {each.column: getattr(each, which) for each in result.scan_fractions}


def summaries(table: Table) -> list[Mapping[str, str]]:
    rows = table.spark.sql(f"SELECT summary FROM {table.full_name}.snapshots ORDER BY committed_at").collect()
    return [dict(row[0]) for row in rows]


def test_daily_appends_get_no_worse(spark: SparkSession) -> None:
    table = daily(spark)
    before = fractions(table, ("user", "ts"))
    with unchanged(table):
        result = rewrite_data_files(spark, table.full_name, ["user", "ts"])
    after = fractions(table, ("user", "ts"))
    assert result.rewritten_data_files_count == 20
    assert mean(after) < mean(before)
    assert after["ts"] > before["ts"], "or else the table shows nothing"
    assert result.message is not None
    assert result.message.startswith("Column ts pays for the others: filters on it will read ")
    assert "; on average over the columns " in result.message
    assert "Column user" not in result.message
    files = result.added_data_files_count
    assert sum(ROWS_OF_DAY for _ in range(20)) / files >= 1_000
    for measured, said in ((before, "before"), (after, "actual")):
        for column, value in scans(result, said).items():
            assert value == pytest.approx(measured[column], rel=0.03), (said, column)
    for column, value in scans(result, "predicted").items():
        assert value == pytest.approx(after[column], rel=0.05), column
    summary = table.summary()
    for said in ("predicted", "actual"):
        told = json.loads(summary["zorder.scan-fractions"])
        assert {name: told[name][said] for name in told} == pytest.approx(scans(result, said), abs=1e-6)
    assert summary["zorder.target-file-size"] == f"{16 << 20} data"
    assert int(summary["zorder.rewrite-duration-ms"]) > 0

    with untouched(table):
        again = rewrite_data_files(spark, table.full_name, ["user", "ts"])
    assert again.nothing_to_do
    assert again.message is not None
    assert again.message.startswith(f"Nothing to rewrite in {table.full_name}: ")
    assert "set option rewrite-all to true" in again.message
    assert again.scan_fractions == ()


@pytest.mark.full
def test_small_partitions_keep_enough_files(spark: SparkSession) -> None:
    table = partitioned(spark)
    partitions = range(30)
    before = {p: mean({c: fraction(table, c, f"partition.p = {p}", f"p = {p}") for c in "ab"}) for p in partitions}
    with unchanged(table):
        result = rewrite_data_files(spark, table.full_name, ["a", "b"])
    assert result.rewritten_data_files_count > 0
    counts = {
        row["p"]: row["n"]
        for row in spark.sql(
            f"SELECT partition.p AS p, count(*) AS n FROM {table.full_name}.files GROUP BY partition.p"
        ).collect()
    }
    for p in partitions:
        after = mean({c: fraction(table, c, f"partition.p = {p}", f"p = {p}") for c in "ab"})
        assert after <= before[p], p
        assert counts[p] > 1 or after <= before[p], p
    assert all(count > 1 for count in counts.values()), "one file each would read all of each partition"
    for column, value in scans(result, "predicted").items():
        assert value == pytest.approx(fraction(table, column), rel=0.1), column
    errors = [abs(each.predicted / each.actual - 1) for each in result.scan_fractions if each.predicted and each.actual]
    assert len(errors) == 2
    assert sum(errors) / len(errors) <= 0.05
    with untouched(table):
        again = rewrite_data_files(spark, table.full_name, ["a", "b"])
    assert again.nothing_to_do
    assert again.message is not None
    assert again.message.startswith(f"Nothing to rewrite in {table.full_name}: ")


def plan_of(
    table: Table, options: Mapping[str, str] | None = None, columns: str = "user, ts", *, sampled: bool = False
) -> dict[str, Any]:
    jvm = table.spark.sparkContext._jvm
    assert jvm is not None
    builder = jvm.io.icebergzorder.spark.api.ZOrderRewrite.of(table.spark._jsparkSession, table.full_name)
    for name, value in (options or {}).items():
        builder.option(name, value)
    plan = builder.sortOrder(f"zorder({columns})").plan()
    found: dict[str, Any] = json.loads((plan.sampled() if sampled else plan).toJson())
    return found


def test_who_sets_the_size_of_files(spark: SparkSession) -> None:
    table = daily(spark, 6)

    def target(options: Mapping[str, str] | None = None) -> tuple[object, object]:
        plan = plan_of(table, options)
        return plan["target_file_size_bytes"], plan["target_file_size_from"]

    assert target() == (16 << 20, "data")
    assert target({"max-file-size-bytes": "1800000"}) == (1_000_000, "data")
    assert target({"min-file-size-bytes": str(75 << 20)}) == (100 << 20, "data")
    assert target({"target-file-size-bytes": "5000"}) == (5000, "option")
    size = table.bytes() // 4
    rewrite_data_files(
        spark, table.full_name, ["user", "ts"], options={"target-file-size-bytes": size, "rewrite-all": True}
    )
    assert table.summary()["zorder.target-file-size"] == f"{size} option"
    assert target() == (size, "last layout")
    # One by the data is given up when the data asks for a quarter.
    for kept, of_last in ((63 << 20, True), (64 << 20, False)):
        rows = spark.table(table.full_name).limit(1).writeTo(table.full_name)
        rows.option("snapshot-property.zorder.target-file-size", f"{kept} data").append()
        assert target() == ((kept, "last layout") if of_last else (16 << 20, "data"))
    spark.sql(f"ALTER TABLE {table.full_name} SET TBLPROPERTIES ('write.target-file-size-bytes' = '7000')")
    assert target() == (7000, "property")


def test_files_of_a_size_that_the_user_sets_are_half_as_many_where_filters_read_no_more(spark: SparkSession) -> None:
    table = daily(spark, 8)
    options = {"target-file-size-bytes": str(512 << 20)}
    with untouched(table):
        result = rewrite_data_files(spark, table.full_name, ["ts"], options=options)
    assert result.message is not None
    assert "is not predicted to read less: scan fraction on average over the columns 12.5% today, 25." in result.message
    plan = plan_of(table, options, "ts", sampled=True)
    assert plan["file_groups"] == []
    [left] = plan["left"]
    assert left["reason"].endswith("% after; rewrite-all rewrites it all the same")
    with unchanged(table):
        gathered = rewrite_data_files(spark, table.full_name, ["user", "ts"], options=options)
    assert (gathered.rewritten_data_files_count, gathered.added_data_files_count) == (8, 4)
    with unchanged(table):
        forced = rewrite_data_files(spark, table.full_name, ["user", "ts"], options={**options, "rewrite-all": True})
    assert forced.added_data_files_count == 1
    assert forced.message is not None
    assert "The rewrite makes the scan fraction worse on average over the columns: 100.0%, " in forced.message
    assert "Column ts pays for the others: filters on it will read 100.0% of these files, " in forced.message


def test_deletes_are_applied_whatever_comes_of_it(spark: SparkSession) -> None:
    table = daily(
        spark,
        2,
        properties={
            "format-version": "2",
            "write.delete.mode": "merge-on-read",
            "write.target-file-size-bytes": "99999999",
        },
    )
    spark.sql(f"DELETE FROM {table.full_name} WHERE payload % 2 = 0")
    rows = table.fingerprint()
    result = rewrite_data_files(spark, table.full_name, ["user", "ts"])
    assert result.rewritten_data_files_count == 2
    assert table.fingerprint() == rows


def test_a_dry_run_writes_nothing(spark: SparkSession) -> None:
    table = daily(spark, 10)
    size = table.bytes()
    with untouched(table):
        dry = rewrite_data_files(spark, table.full_name, ["user", "ts"], options={"dry-run": True})
    assert dry.dry_run
    assert dry.message is not None
    assert dry.message.startswith("Dry run: nothing was written. Column ts pays for the others")
    assert (dry.rewritten_data_files_count, dry.rewritten_bytes_count) == (10, size)
    assert dry.expected_seconds is None
    assert set(scans(dry, "actual").values()) == {None}
    done = rewrite_data_files(spark, table.full_name, ["user", "ts"])
    assert not done.dry_run
    assert done.added_data_files_count == dry.added_data_files_count > 1
    # Rows come in another order every time, and sums with them.
    for said in ("before", "predicted"):
        assert scans(done, said) == pytest.approx(scans(dry, said), rel=1e-9)
    summary = table.summary()
    options = {"dry-run": "true", "rewrite-all": "true"}
    again = rewrite_data_files(spark, table.full_name, ["user", "ts"], options=options)
    seconds = int(summary["zorder.rewrite-duration-ms"]) / int(summary["removed-files-size"]) * table.bytes() / 1000
    assert again.expected_seconds == pytest.approx(seconds)
    nothing = rewrite_data_files(spark, table.full_name, ["user", "ts"], options={"dry-run": True})
    assert nothing.message is not None
    assert nothing.message.startswith(f"Dry run: nothing was written. Nothing to rewrite in {table.full_name}: ")
    call = table.call("zorder(user, ts)", options=options)
    assert call.rewritten_data_files_count == again.rewritten_data_files_count
    assert table.summary() == summary


def test_each_commit_tells_its_own(spark: SparkSession) -> None:
    table = partitioned(spark, 4)
    options = {"partial-progress.enabled": "true", "partial-progress.max-commits": "4"}
    commits = len(summaries(table))
    result = rewrite_data_files(spark, table.full_name, ["a", "b"], options=options)
    written = summaries(table)[commits:]
    assert len(written) == 4
    for summary in written:
        assert 0 < json.loads(summary["zorder.scan-fractions"])["a"]["actual"] < 1
        assert int(summary["zorder.rewrite-duration-ms"]) >= 0
    for column, value in scans(result, "actual").items():
        assert value == pytest.approx(fraction(table, column), rel=0.03)


def test_another_order_of_part_of_the_files_is_told(spark: SparkSession) -> None:
    table = partitioned(spark, 4)
    rewrite_data_files(spark, table.full_name, ["a", "b"])
    result = rewrite_data_files(spark, table.full_name, ["b"], where="p = 1", options={"rewrite-all": True})
    assert result.message is not None
    assert f"The last layout of {table.full_name} was by zorder(a, b), this one of " in result.message or (
        f"The last layout of {table.full_name} was by hilbert(a, b), this one of " in result.message
    )
    assert result.message.endswith(" data files is by zorder(b).")
    assert "pays" in result.message


def test_the_procedure_has_a_message(spark: SparkSession) -> None:
    table = daily(spark, 6)
    [row] = spark.sql(
        f"CALL {CATALOG}.system.zorder_rewrite(table => '{table.name}', sort_order => 'zorder(user, ts)')"
    ).collect()
    assert isinstance(row, Row)
    found = json.loads(row["result"])
    assert row["message"] == found["message"]
    assert row["added_data_files_count"] == found["added_data_files_count"] == len(table.data_files())
    assert [each["column"] for each in found["scan_fractions"]] == ["user", "ts"]
