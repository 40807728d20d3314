"""Settings of the caller's session that could change what a rewrite reads, computes, or commits to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyspark.sql import SparkSession

from tests.spark.tables import Table, create, local_path, needs_branch_argument, unchanged

SESSIONS = [
    {"spark.sql.session.timeZone": "UTC", "spark.sql.ansi.enabled": "true"},
    {"spark.sql.session.timeZone": "America/St_Johns", "spark.sql.ansi.enabled": "false"},
    {"spark.sql.session.timeZone": "Asia/Kathmandu", "spark.sql.ansi.enabled": "true"},
    {"spark.sql.session.timeZone": "Pacific/Apia", "spark.sql.ansi.enabled": "false"},
]
"""Offsets of -3:30, +5:45 and, across the date line, from -10 to +14 hours."""

AROUND = ("1899-12-31", "1969-12-31", "1986-01-01", "2011-12-30", "2026-03-29")
"""Days around which the zones change, 30 December 2011 having been none in Apia."""

HOUR = 3_600_000_000


@pytest.fixture
def catalog(lake_dir: Path) -> Iterator[SqlCatalog]:
    catalog = SqlCatalog("lake", uri=f"sqlite:///{lake_dir}/catalog.db", warehouse=f"file://{lake_dir}/warehouse")
    yield catalog
    catalog.close()


def session(spark: SparkSession, settings: dict[str, str]) -> SparkSession:
    other = spark.newSession()
    for key, value in settings.items():
        other.conf.set(key, value)
    return other


def refreshed(table: Table) -> Table:
    """What another session has done to a table; each keeps tables as it has loaded them."""
    table.spark.sql(f"REFRESH TABLE {table.full_name}")
    return table


def partitions(catalog: SqlCatalog, table: Table, names: list[str]) -> dict[str, tuple[tuple[Any, ...], pa.Table]]:
    """By file, the partition that its manifest names, and its rows."""
    tasks = catalog.load_table(table.name).scan().plan_files()
    return {
        task.file.file_path: (
            tuple(task.file.partition[place] for place in range(len(names))),
            pq.ParquetFile(local_path(task.file.file_path)).read(),
        )
        for task in tasks
    }


def numbers(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    values: npt.NDArray[np.int64] = column.cast(pa.int64()).to_numpy()
    return values


def expected(field: str, rows: pa.Table) -> set[Any]:
    """The partition values of rows, as the Iceberg specification defines the transforms."""
    if field == "days(tz)":
        return set((numbers(rows["tz"]) // (24 * HOUR)).tolist())
    if field == "hours(ntz)":
        return set((numbers(rows["ntz"]) // HOUR).tolist())
    assert field == "truncate(1000, dec)"
    unscaled = [int(value.scaleb(3)) for value in rows["dec"].to_pylist()]
    return {value - value % 1000 for value in unscaled}


@pytest.mark.parametrize("fields", [["days(tz)", "truncate(1000, dec)"], ["hours(ntz)"]])
def test_the_same_files_in_the_same_partitions(spark: SparkSession, catalog: SqlCatalog, fields: list[str]) -> None:
    days = ", ".join(f"timestamp'{day} 12:00:00Z'" for day in AROUND)
    moment = f"timestampadd(SECOND, cast(id * 7919 % 14400 - 7200 AS int), array({days})[cast(id % 5 AS int)])"
    table = create(
        spark,
        f"SELECT id, {moment} AS tz, cast({moment} AS timestamp_ntz) AS ntz, cast({moment} AS date) AS d, "
        "cast((id * 17 % 501 - 250) / 250 AS decimal(20, 3)) AS dec FROM range(0, 2000, 1, 2)",
    )
    for field in fields:
        spark.sql(f"ALTER TABLE {table.full_name} ADD PARTITION FIELD {field}")
    before = spark.sql(f"SELECT snapshot_id FROM {table.full_name}.snapshots").collect()[0][0]
    outcomes = []
    for settings in SESSIONS:
        rows = table.fingerprint()
        Table(session(spark, settings), table.name).call("d DESC, zorder(tz, ntz, dec)")
        assert refreshed(table).fingerprint() == rows
        files = partitions(catalog, table, fields)
        for values, content in files.values():
            for field, value in zip(fields, values, strict=True):
                assert expected(field, content) == {int(value.scaleb(3)) if field.endswith("dec)") else value}
        # Bytes of files, and with them scan fractions, depend on the order in which rows come.
        measured = ("zorder.scan-fractions", "zorder.rewrite-duration-ms", "zorder.rewrite-id")
        said = {
            key: value
            for key, value in table.summary().items()
            if key.startswith("zorder.") and not key.startswith(measured)
        }
        outcomes.append((said, sorted((str(values), len(content)) for values, content in files.values())))
        spark.sql(f"CALL lake.system.rollback_to_snapshot('{table.name}', {before})")
    assert outcomes == [outcomes[0]] * len(SESSIONS)
    assert len(outcomes[0][1]) >= 10
    assert table.orphans() == set()


class TestWriteAuditPublish:
    """Iceberg's own strategies do not look at these settings: a rewrite changes no rows that anybody would audit."""

    def table(self, spark: SparkSession) -> Table:
        table = create(
            spark,
            "SELECT id, hash(id) AS a FROM range(0, 4000, 1, 4)",
            properties={"write.wap.enabled": "true", "format-version": "2"},
        )
        spark.sql(f"ALTER TABLE {table.full_name} CREATE BRANCH audit")
        spark.sql(f"INSERT INTO {table.full_name}.branch_audit SELECT id, hash(id) FROM range(4000, 6000, 1, 2)")
        return table

    def heads(self, table: Table) -> dict[str, int]:
        refs = table.spark.sql(f"SELECT name, snapshot_id FROM {table.full_name}.refs").collect()
        return {row["name"]: row["snapshot_id"] for row in refs}

    def changed(self, table: Table, before: dict[str, int]) -> set[str]:
        """The branches that have moved, by a replacement and no more."""
        after = self.heads(refreshed(table))
        assert after.keys() == before.keys()
        moved = {name for name in after if after[name] != before[name]}
        snapshots = table.spark.sql(f"SELECT snapshot_id, parent_id, operation FROM {table.full_name}.snapshots")
        of = {row["snapshot_id"]: (row["parent_id"], row["operation"]) for row in snapshots.collect()}
        assert all(of[after[name]] == (before[name], "replace") for name in moved)
        return moved

    @pytest.mark.parametrize(
        "setting", [("spark.wap.branch", "audit"), ("spark.wap.branch", "new"), ("spark.wap.id", "job 1")]
    )
    def test_a_rewrite_goes_where_icebergs_own_goes(self, spark: SparkSession, setting: tuple[str, str]) -> None:
        table = self.table(spark)
        other = session(spark, dict([setting]))
        audited = table.fingerprint(version="VERSION AS OF 'audit'")
        before = self.heads(table)
        other.sql(
            f"CALL lake.system.rewrite_data_files(table => '{table.name}', options => map('rewrite-all', 'true'))"
        ).collect()
        theirs = self.changed(table, before)
        before = self.heads(table)
        with unchanged(table):
            Table(other, table.name).call("zorder(id, a)", options={"target-file-size-bytes": "10000"})
            refreshed(table)
        assert self.changed(table, before) == theirs == {"main"}
        assert table.summary()["zorder.columns"] == "id,a"
        assert "wap.id" not in table.summary()
        assert table.fingerprint(version="VERSION AS OF 'audit'") == audited

    @needs_branch_argument
    def test_a_branch_that_is_named_is_the_one(self, spark: SparkSession) -> None:
        table = self.table(spark)
        other = session(spark, {"spark.wap.branch": "audit"})
        spark.sql(f"ALTER TABLE {table.full_name} CREATE BRANCH third")
        before, rows = self.heads(table), table.fingerprint(version="VERSION AS OF 'audit'")
        Table(other, table.name).call("zorder(id, a)", branch="third")
        assert self.changed(table, before) == {"third"}
        before = self.heads(table)
        Table(other, table.name).call("zorder(id, a)", branch="audit")
        assert self.changed(table, before) == {"audit"}
        assert table.fingerprint(version="VERSION AS OF 'audit'") == rows
