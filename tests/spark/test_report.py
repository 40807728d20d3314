"""The procedures zorder_report and zorder_metadata: what they return, and what they refuse."""

import json

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from iceberg_zorder.spark import report
from tests.spark.tables import CATALOG, Table, create, untouched

# Files as small as these are worth a rewrite only where opening them is for nothing.
BY_BYTES = {"read.split.open-file-cost": "1"}


@pytest.fixture(scope="module")
def table(spark: SparkSession) -> Table:
    """Twelve partitions; ``b`` is all over the place in every file."""
    return create(
        spark,
        "SELECT id, id * 7919 % 10007 AS b, concat('it''s ', id % 100) AS t, CAST(sqrt(id / 140) AS int) AS p "
        "FROM range(0, 20000, 1, 6)",
        partitioned_by="p",
        properties={"write.target-file-size-bytes": "4000", "write.distribution-mode": "none", **BY_BYTES},
    )


def call(table: Table, arguments: str) -> Row:
    (row,) = table.spark.sql(f"CALL {CATALOG}.system.zorder_report(table => '{table.name}', {arguments})").collect()
    return row


def test_what_terminals_obey_is_escaped_in_findings(spark: SparkSession) -> None:
    name = "a\x1b[31m\u202e"
    table = create(
        spark, f"SELECT id AS `{name}` FROM range(9)", properties={f"write.metadata.metrics.column.{name}": "none"}
    )
    assert call(table, f"columns => '`{name}`'").findings.split("\n")[0] == (
        "error bounds-not-kept: `a\\x1b[31m\\u202e`"
    )


def test_what_rewrites_would_refuse_is_not_recommended(spark: SparkSession) -> None:
    table = create(spark, "SELECT id FROM range(9)", properties={"zorder.workload": "file:/elsewhere/queries.json"})
    found = call(table, "columns => 'id'")
    assert (found.total_rows, found.planned_files) == (9, 0)
    assert found.planned_because.startswith("Cannot use the workload that a property of ")


def test_metadata_is_that_of_the_table_and_its_snapshots(table: Table) -> None:
    def files(arguments: str = "") -> dict[str, bytes]:
        rows = table.spark.sql(f"CALL {CATALOG}.system.zorder_metadata(table => '{table.name}'{arguments})").collect()
        return {row.location: bytes(row.content) for row in rows}

    (location,) = table.spark.sql(
        f"SELECT file FROM {table.full_name}.metadata_log_entries ORDER BY timestamp DESC LIMIT 1"
    ).collect()
    ((found, content),) = files().items()
    assert found == location.file
    snapshot = json.loads(content)["current-snapshot-id"]
    manifests = table.spark.sql(f"SELECT path FROM {table.full_name}.manifests").collect()
    read = files(f", snapshot_id => {snapshot}")
    assert {row.path for row in manifests} < read.keys()
    assert all(each.startswith(b"Obj\x01") for each in read.values())
    named = f"{table.name}.branch_main"
    with pytest.raises(
        PySparkException,
        match=f"Cannot report on {named}, because its name holds a branch: name the branch by argument branch",
    ):
        table.spark.sql(f"CALL {CATALOG}.system.zorder_metadata(table => '{named}')")
    with pytest.raises(PySparkException, match="Cannot report on snapshot 5, because .* has no such snapshot"):
        files(", snapshot_id => 5")


@pytest.mark.version
def test_the_command_of_a_finding_can_be_called(spark: SparkSession) -> None:
    table = create(
        spark,
        "SELECT id * 104729 % 60013 AS id, id * 7919 % 10007 AS `b c` FROM range(0, 60000, 1, 18)",
        properties={"write.target-file-size-bytes": "20000", **BY_BYTES},
    )
    before = report(spark, table.full_name, "zorder(id, `b c`)")
    command = next(each.command for each in before.findings if each.code == "rewrite-pays")
    assert command is not None
    assert command.startswith(f"CALL `{CATALOG}`.system.zorder_rewrite(table => '{table.name}', ")
    assert spark.sql(command).collect()[0].rewritten_data_files_count == before.total_file_count
    after = call(table, "branch => 'main'")
    assert after.scan_fractions.keys() == {"id", "`b c`"}
    for column in before.columns:
        assert after.scan_fractions[column.name] == pytest.approx(column.attainable, rel=0.3)
    assert (after.planned_files, after.findings) == (0, "")
    assert "unchanged since a rewrite by the same request" in after.planned_because


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ("columns => 'nope'", ["column 'nope'", "no such column"]),
        ("columns => 'b', branch => 'nope'", ["Cannot report on data files for branch nope", "no such branch"]),
        ("columns => 'b', where => 'nope = 1'", ["filter 'nope = 1'"]),
        ("where => 'b = 1'", ["no columns are named", "its snapshots have no rewrite"]),
    ],
)
def test_refusals(table: Table, arguments: str, parts: list[str]) -> None:
    with untouched(table), pytest.raises(PySparkException) as refused:
        call(table, arguments)
    message = str(refused.value).split("\n")[0]
    assert message.startswith("Cannot ")
    assert ", because " in message
    assert all(part in message for part in parts), message


@pytest.mark.parametrize("procedure", ["zorder_report", "zorder_metadata"])
def test_a_table_that_is_not_there_is_refused(spark: SparkSession, procedure: str) -> None:
    with pytest.raises(PySparkException, match="Cannot report on db.none, because catalog .* has no such table"):
        spark.sql(f"CALL {CATALOG}.system.{procedure}(table => 'db.none')")
