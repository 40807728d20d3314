"""The procedure zorder_report: its rows, its commands, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from tests.spark.tables import CATALOG, Table, create, untouched


@pytest.fixture(scope="module")
def table(spark: SparkSession) -> Table:
    """Twelve partitions, of which the first has most to win; ``b`` is all over the place in every file."""
    return create(
        spark,
        "SELECT id, id * 7919 % 10007 AS b, concat('it''s ', id % 100) AS t, CAST(sqrt(id / 140) AS int) AS p "
        "FROM range(0, 20000, 1, 6)",
        partitioned_by="p",
        properties={"write.target-file-size-bytes": "4000", "write.distribution-mode": "none"},
    )


def call(table: Table, arguments: str) -> list[Row]:
    return table.spark.sql(f"CALL {CATALOG}.system.zorder_report(table => '{table.name}', {arguments})").collect()


def test_what_terminals_obey_is_escaped_in_findings(spark: SparkSession) -> None:
    name = "a\x1b[31m\u202e"
    table = create(
        spark, f"SELECT id AS `{name}` FROM range(9)", properties={f"write.metadata.metrics.column.{name}": "none"}
    )
    whole, *_ = call(table, f"columns => '`{name}`'")
    first, command, *_ = whole.findings.split("\n")
    assert first == (
        "error bounds-not-kept: The table keeps no lower/upper bounds of `a\\x1b[31m\\u202e`, so that no file can be "
        "skipped by it."
    )
    assert command.startswith("  ALTER TABLE ")
    assert not set(whole.findings) & set("\x1b\u202e")
    assert json.loads(whole.report)["columns"][0]["field"] == name


@pytest.mark.version
def test_rows_are_the_table_and_its_partitions_worst_first(table: Table) -> None:
    with untouched(table):
        whole, *partitions = call(table, "columns => 'b, id', predicates => array('b < 100', \"t = 'it''s 5'\")")
    report = json.loads(whole.report)
    assert (whole.scope, whole.partition, whole.total_bytes) == ("table", None, table.bytes())
    assert whole.total_rows == 20_000
    assert whole.total_file_count == len(table.data_files()) == sum(each.total_file_count for each in partitions)
    assert whole.scan_fractions == {each["name"]: each["scan_fraction"] for each in report["columns"]}
    assert 0 < whole.attainable["b"] < whole.scan_fractions["b"] <= 1
    assert (whole.average_depth, whole.average_overlaps) == (report["average_depth"], report["average_overlaps"])
    assert "warning loose-layout: Filters read more" in whole.findings
    assert [each["predicate"] for each in report["predicates"]] == ["b < 100", "t = 'it''s 5'"]

    assert [each.partition for each in partitions] == [each["partition"] for each in report["partitions"]]
    assert {each.partition for each in partitions} == {f"p={number}" for number in range(12)}
    assert {(each.scope, each.report, each.findings) for each in partitions} == {("partition", None, None)}
    saved = [
        each.total_bytes * sum(each.scan_fractions[name] - each.attainable[name] for name in ("b", "id"))
        for each in partitions
    ]
    assert saved == sorted(saved, reverse=True)


PREDICATES: dict[str, Callable[[Any], bool]] = {
    "b < 100": lambda file: bool(file.b.lower_bound < 100),
    "p = 3 AND id >= 1500": lambda file: file.p.lower_bound == 3 and file.id.upper_bound >= 1500,
    "id BETWEEN 5000 AND 5050": lambda file: file.id.lower_bound <= 5050 and file.id.upper_bound >= 5000,
    "b IS NULL": lambda file: bool(file.b.null_value_count),
    "p <> 0": lambda file: file.p.lower_bound != 0,
}
"""Conditions, and whether a file's metrics leave it."""


def test_a_predicate_reads_the_files_that_bounds_leave(table: Table) -> None:
    texts = ", ".join(f"'{each}'" for each in PREDICATES)
    report = json.loads(call(table, f"columns => 'b', predicates => array({texts})")[0].report)
    for found, leaves in zip(report["predicates"], PREDICATES.values(), strict=True):
        read = [file["file_size_in_bytes"] for file in table.data_files() if leaves(file["readable_metrics"])]
        assert found["total_file_count"] == len(read), found
        assert found["scan_fraction"] == pytest.approx(sum(read) / table.bytes(), rel=1e-12)


def test_snapshots_and_boxes_are_asked_for(spark: SparkSession) -> None:
    table = create(spark, "SELECT id, 3 - id AS b FROM range(0, 1000, 1, 4)")
    spark.sql(f"INSERT INTO {table.full_name} SELECT id, id FROM range(1000)")
    plain, *_ = call(table, "columns => 'id'")
    first = spark.sql(f"SELECT snapshot_id FROM {table.full_name}.snapshots ORDER BY committed_at").first()
    assert first is not None
    before, *_ = call(table, f"columns => 'id, b', snapshot_id => {first.snapshot_id}, boxes => true")
    assert json.loads(plain.report).keys() & {"sort_order", "boxes"} == {"sort_order"}
    report = json.loads(before.report)
    assert (report["snapshot_id"], report["total_rows"], before.total_file_count) == (first.snapshot_id, 1_000, 4)
    assert plain.total_rows == 2_000
    ids, b = report["boxes"]["axes"]
    assert (ids["name"], b["name"], len(ids["lower"]), sum(report["boxes"]["sizes"].values())) == ("id", "b", 4, 4)
    assert sorted(round(place, 2) for place in ids["lower"]) == [0, 0.25, 0.5, 0.75]
    # The other column falls where this one rises.
    assert all(
        upper == pytest.approx(1 - lower, abs=0.01) for lower, upper in zip(ids["lower"], b["upper"], strict=True)
    )
    assert [place for place, _ in ids["ticks"]] == [0, 0.25, 0.5, 0.75, 1]
    assert abs(int(ids["ticks"][2][1]) - 500) < 10


def test_filters_of_older_snapshots_are_by_the_names_of_today(spark: SparkSession) -> None:
    table = create(
        spark,
        "SELECT id, id AS b FROM range(0, 1000, 1, 4)",
        partitioned_by="truncate(500, b)",
        properties={"write.distribution-mode": "none"},
    )
    for before, after in (("id", "key"), ("b", "id")):
        spark.sql(f"ALTER TABLE {table.full_name} RENAME COLUMN {before} TO {after}")
    by_key = "columns => 'key', predicates => array('key < 250', 'id >= 500'), where => 'key < 700 AND id >= 250'"
    expected = json.loads(call(table, by_key)[0].report)
    assert [each["total_file_count"] for each in expected["predicates"]] == [0, 1]
    assert expected["total_file_count"] == 2
    spark.sql(f"ALTER TABLE {table.full_name} ADD COLUMN later INT")
    spark.sql(f"INSERT INTO {table.full_name} SELECT id, id, 1 FROM range(1000)")
    found = json.loads(call(table, f"{by_key}, snapshot_id => {expected['snapshot_id']}")[0].report)
    assert found == expected
    filtered = f"columns => 'key', where => 'later = 1', snapshot_id => {expected['snapshot_id']}"
    # No metrics rule out that rows of then have a value in it.
    assert call(table, filtered)[0].total_file_count == 4


def test_the_command_of_a_finding_can_be_called(spark: SparkSession) -> None:
    table = create(
        spark,
        "SELECT id, id * 7919 % 10007 AS `b c` FROM range(0, 60000, 1, 18)",
        properties={"write.target-file-size-bytes": "20000"},
    )
    before = json.loads(call(table, "columns => 'zorder(id, `b c`)'")[0].report)
    command = next(each["command"] for each in before["findings"] if each["code"] == "loose-layout")
    assert command.startswith(
        f"CALL {CATALOG}.system.rewrite_data_files(table => '{table.name}', strategy => 'zorder', "
    )
    assert spark.sql(command).collect()[0].rewritten_data_files_count == before["total_file_count"]
    after = json.loads(call(table, "branch => 'main'")[0].report)
    assert after["cluster_by_keys"] == ["id", "`b c`"]
    assert after["columns"][1]["scan_fraction"] < 0.8 * before["columns"][1]["scan_fraction"]
    for column, predicted in zip(after["columns"], before["columns"], strict=True):
        assert column["scan_fraction"] == pytest.approx(predicted["attainable"], rel=0.3)


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ("columns => 'nope'", ["column 'nope'", "no such column"]),
        ("columns => 'b', branch => 'nope'", ["Cannot report on data files for branch nope", "no such branch"]),
        ("columns => 'b', where => 'nope = 1'", ["filter 'nope = 1'"]),
        ("columns => 'b', predicates => array('b <')", ["filter 'b <'"]),
        ("columns => 'b', predicates => array('b = 1', CAST(NULL AS STRING))", ["predicate that is NULL"]),
        ("columns => 'b', snapshot_id => 5", ["Cannot report on snapshot 5", "has no such snapshot"]),
        ("columns => 'b', branch => 'nope', snapshot_id => 5", ["no such branch"]),
        ("where => 'b = 1'", ["no columns are named", "no snapshot of it tells of a rewrite"]),
    ],
)
def test_refusals(table: Table, arguments: str, parts: list[str]) -> None:
    if "CAST" in arguments and table.spark.version.startswith("3.5"):
        pytest.skip("On Spark 3.5 Iceberg's grammar of CALL has literals only")
    with untouched(table), pytest.raises(PySparkException) as refused:
        call(table, arguments)
    message = str(refused.value).split("\n")[0]
    assert message.startswith("Cannot ")
    assert ", because " in message
    assert all(part in message for part in parts), message


def test_a_table_that_is_not_there_is_refused(spark: SparkSession) -> None:
    with pytest.raises(PySparkException, match="Cannot report on db.none, because there is no such table in catalog"):
        spark.sql(f"CALL {CATALOG}.system.zorder_report(table => 'db.none', columns => 'a')")
