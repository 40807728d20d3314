"""Spark's row-level operations beside a marked rewrite, through a server of ours that rolls it back for them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import duckdb
import pytest
from py4j.protocol import Py4JJavaError
from pyiceberg.catalog.sql import SqlCatalog
from pyspark.sql import SparkSession

from iceberg_zorder.maintain.maintenance_pass import MaintenancePass
from iceberg_zorder.pyiceberg.maintain.maintained_tables import PyIcebergTables
from tests.conftest import CATALOG
from tests.spark_python.test_maintenance import policy_of
from tests.stack.like_polaris import PolarisLikeServer, like_polaris

ROWS = "SELECT id, hash(id) AS a, hash(id, 1) AS b FROM range(0, 8000, 1, 8)"
DELETE = "DELETE FROM {table} WHERE id % 3 = 0"
MERGE = """
    MERGE INTO {table} t USING (SELECT id FROM range(0, 8000, 3)) s ON t.id = s.id
    WHEN MATCHED AND t.id % 2 = 0 THEN UPDATE SET a = 0 WHEN MATCHED THEN DELETE
"""
UPDATE = "UPDATE {table} SET a = 0 WHERE id % 3 = 0"


@pytest.fixture
def server(spark: SparkSession, lake_dir: Path) -> Iterator[PolarisLikeServer]:
    """In front of the catalog of all tests, which Spark has as a catalog of its name and port."""
    behind = SqlCatalog(CATALOG, uri=f"sqlite:///{lake_dir}/catalog.db", warehouse=f"file://{lake_dir}/warehouse")
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {CATALOG}.kept")
    with like_polaris(behind) as server:
        name = f"spark.sql.catalog.rest_{server.server_port}"
        spark.conf.set(name, "org.apache.iceberg.spark.SparkCatalog")
        spark.conf.set(f"{name}.type", "rest")
        spark.conf.set(f"{name}.uri", server.uri)
        spark.conf.set(f"{name}.cache-enabled", "false")
        yield server
    spark.sql(f"DROP TABLE IF EXISTS {CATALOG}.kept.won")
    behind.close()


def maintain(lake_dir: Path) -> None:
    """Have maintenance rewrite the table."""
    policy, now = policy_of(lake_dir, ", conflicts: {lease: false}"), datetime.now(timezone.utc)
    tables = PyIcebergTables(policy, lambda: now)
    (report,) = MaintenancePass(policy, tables, lambda: now).run().tables
    assert report.done is not None
    assert report.done.rewritten_files == 8


def as_a_commit_comes_in(server: PolarisLikeServer, lake_dir: Path) -> None:
    """Rewrite the table then, once."""

    def come() -> None:
        server.before_commit = None
        maintain(lake_dir)

    server.before_commit = come


def operations(spark: SparkSession) -> list[str]:
    spark.sql(f"REFRESH TABLE {CATALOG}.kept.won")
    found = spark.sql(f"SELECT operation FROM {CATALOG}.kept.won.snapshots ORDER BY committed_at").collect()
    return [row["operation"] for row in found]


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
@pytest.mark.parametrize("statement", [DELETE, MERGE, UPDATE], ids=["delete", "merge", "update"])
def test_spark_wins(
    spark: SparkSession,
    lake_dir: Path,
    server: PolarisLikeServer,
    duck: duckdb.DuckDBPyConnection,
    statement: str,
    mode: str,
) -> None:
    modes = ", ".join(f"'write.{each}.mode' = '{mode}'" for each in ("delete", "merge", "update"))
    spark.sql(f"CREATE TABLE {CATALOG}.kept.won USING iceberg TBLPROPERTIES ({modes}) AS {ROWS}")
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW expected AS {ROWS}")
    as_a_commit_comes_in(server, lake_dir)
    spark.sql(statement.format(table=f"rest_{server.server_port}.kept.won"))
    assert "replace" not in operations(spark)
    assert len(operations(spark)) == 2
    location = server.catalog.load_table("kept.won").metadata_location.removeprefix("file://")
    found = duck.sql(f"SELECT id, a, b FROM iceberg_scan('{location}')").fetchall()
    kept = {(row["id"], row["a"], row["b"]) for row in spark.table("expected").collect()}
    gone = {row for row in kept if row[0] % 3 == 0}
    if statement == DELETE:
        assert sorted(found) == sorted(kept - gone)
    else:
        changed = {(row[0], 0, row[2]) for row in gone if statement == UPDATE or row[0] % 2 == 0}
        assert sorted(found) == sorted((kept - gone) | changed)


def test_spark_fails_where_the_catalog_rolls_nothing_back(
    spark: SparkSession, lake_dir: Path, server: PolarisLikeServer
) -> None:
    spark.sql(f"CREATE TABLE {CATALOG}.kept.won USING iceberg AS {ROWS}")
    server.rolls_back = False
    as_a_commit_comes_in(server, lake_dir)
    with pytest.raises(Py4JJavaError, match="org.apache.iceberg.exceptions.ValidationException"):
        spark.sql(DELETE.format(table=f"rest_{server.server_port}.kept.won"))
    assert operations(spark) == ["append", "replace"]
    assert spark.table(f"{CATALOG}.kept.won").count() == 8000


def test_spark_itself_refuses_what_it_has_seen(spark: SparkSession, lake_dir: Path, server: PolarisLikeServer) -> None:
    """Iceberg's Java client looks at the table once more before it commits, and then asks for what it has seen."""
    spark.sql(f"CREATE TABLE {CATALOG}.kept.won USING iceberg AS {ROWS}")
    loads = 0

    def load() -> None:
        nonlocal loads
        loads += 1
        if loads == 2:
            maintain(lake_dir)

    server.before_load = load
    with pytest.raises(Py4JJavaError, match="org.apache.iceberg.exceptions.ValidationException"):
        spark.sql(DELETE.format(table=f"rest_{server.server_port}.kept.won"))
    assert operations(spark) == ["append", "replace"]
