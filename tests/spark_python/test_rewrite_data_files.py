"""The Python function against real Spark with the plugin."""

import logging
from collections.abc import Iterator

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.spark import rewrite_data_files
from tests.spark.tables import Table, rolled_back, settings

TABLE = "lake.db.`python front`"


@pytest.fixture(scope="module")
def made(spark: SparkSession) -> Table:
    rows = "SELECT id, concat('it\\'s ', id % 7) AS s, named_struct('a b', cast(id % 13 AS int)) AS n"
    spark.sql(f"CREATE TABLE {TABLE} USING iceberg AS {rows} FROM range(0, 2000, 1, 6)")
    return Table(spark, "db.`python front`")


@pytest.fixture
def table(made: Table) -> Iterator[str]:
    with rolled_back(made):
        yield TABLE


def contents(spark: SparkSession) -> list[tuple[object, ...]]:
    return [tuple(row) for row in spark.sql(f"SELECT id, s, n.`a b` FROM {TABLE} ORDER BY id").collect()]


def operations(spark: SparkSession) -> list[str]:
    return [row[0] for row in spark.sql(f"SELECT operation FROM {TABLE}.snapshots ORDER BY committed_at").collect()]


def test_rewrites_and_counts(spark: SparkSession, table: str) -> None:
    before, commits = contents(spark), operations(spark)
    files = spark.sql(f"SELECT count(*), sum(file_size_in_bytes) FROM {table}.files").collect()[0]
    target = files[1] // 4
    options = {"rewrite-all": True, "target-file-size-bytes": target}
    result = rewrite_data_files(spark, table, ["id", "n.`a b`"], options=options)
    assert contents(spark) == before
    assert operations(spark) == [*commits, "replace"]
    assert result.rewritten_data_files_count == files[0] > 1
    assert result.rewritten_bytes_count == files[1]
    assert result.added_data_files_count == spark.sql(f"SELECT * FROM {table}.files").count()
    assert (result.failed_data_files_count, result.removed_delete_files_count) == (0, 0)
    assert [each.column for each in result.scan_fractions] == ["id", "n.`a b`"]
    for each in result.scan_fractions:
        assert None not in (each.before, each.predicted, each.actual)
        assert 0 < (each.actual or 0) <= 1
    assert not result.dry_run


def test_where_arrives_as_written(spark: SparkSession, table: str) -> None:
    with settings(spark, {"spark.sql.parser.escapedStringLiterals": "true"}):
        result = rewrite_data_files(spark, table, ["id"], where='s = "it\'s 3"', options={"rewrite-all": True})
    assert result.rewritten_data_files_count > 0
    nothing = rewrite_data_files(spark, table, ["id"], where='s = "it is"', options={"rewrite-all": True})
    assert nothing.rewritten_data_files_count == 0


def test_nothing_to_do_says_why(spark: SparkSession, table: str, caplog: pytest.LogCaptureFixture) -> None:
    rewrite_data_files(spark, table, ["id"], options={"rewrite-all": True})
    commits = operations(spark)
    with caplog.at_level(logging.INFO, logger="iceberg_zorder"):
        result = rewrite_data_files(spark, table, ["id"])
    assert result.nothing_to_do
    assert result.message is not None
    assert "unchanged since a rewrite by the same request" in result.message
    assert result.message in caplog.messages
    assert operations(spark) == commits


def test_table_of_the_current_catalog(spark: SparkSession, table: str) -> None:
    spark.sql("USE lake.db")
    try:
        for name in ("`python front`", "db.`python front`"):
            assert rewrite_data_files(spark, name, ["id"], options={"rewrite-all": True}).rewritten_data_files_count > 0
    finally:
        spark.sql("USE spark_catalog.default")


def test_no_iceberg_catalog(spark: SparkSession) -> None:
    with pytest.raises(InvalidInputError, match=r"^Cannot rewrite nolake\.db\.t, because its catalog would be Spark's"):
        rewrite_data_files(spark, "nolake.db.t", ["id"])


def test_missing_table(spark: SparkSession) -> None:
    with pytest.raises(InvalidInputError, match=r"^Cannot .*missing.*, because") as raised:
        rewrite_data_files(spark, "lake.db.missing", ["id"])
    assert isinstance(raised.value.__cause__, PySparkException)
