"""Settings of the caller's session that could change what a rewrite reads, computes, or commits to."""

import pytest
from pyspark.sql import SparkSession

from tests.spark.tables import Table, create, needs_branch_argument, unchanged

SESSIONS = [
    {"spark.sql.session.timeZone": "UTC", "spark.sql.ansi.enabled": "true"},
    {"spark.sql.session.timeZone": "America/St_Johns", "spark.sql.ansi.enabled": "false"},
    {"spark.sql.session.timeZone": "Asia/Kathmandu", "spark.sql.ansi.enabled": "true"},
    {"spark.sql.session.timeZone": "Pacific/Apia", "spark.sql.ansi.enabled": "false"},
]
"""Offsets of -3:30, +5:45 and, across the date line, from -10 to +14 hours."""


def session(spark: SparkSession, settings: dict[str, str]) -> SparkSession:
    other = spark.newSession()
    for key, value in settings.items():
        other.conf.set(key, value)
    return other


def refreshed(table: Table) -> Table:
    """What another session has done to a table; each keeps tables as it has loaded them."""
    table.spark.sql(f"REFRESH TABLE {table.full_name}")
    return table


def test_the_same_files_in_the_same_partitions(spark: SparkSession) -> None:
    # Days around which the zones change, 30 December 2011 having been none in Apia.
    days = ", ".join(f"timestamp'{day} 12:00:00Z'" for day in ("1899-12-31", "1969-12-31", "2011-12-30", "2026-03-29"))
    moment = f"timestampadd(SECOND, cast(id * 7919 % 14400 - 7200 AS int), array({days})[cast(id % 4 AS int)])"
    table = create(
        spark,
        f"SELECT id, {moment} AS tz, cast({moment} AS timestamp_ntz) AS ntz, cast({moment} AS date) AS d, "
        "cast((id * 17 % 501 - 250) / 250 AS decimal(20, 3)) AS dec FROM range(0, 2000, 1, 2)",
    )
    for field in ("days(tz)", "hours(ntz)", "truncate(1000, dec)"):
        spark.sql(f"ALTER TABLE {table.full_name} ADD PARTITION FIELD {field}")
    before = table.metadata()["current-snapshot-id"]
    outcomes = []
    for settings in SESSIONS:
        rows = table.fingerprint()
        Table(session(spark, settings), table.name).call("d DESC, zorder(tz, ntz, dec)")
        assert refreshed(table).fingerprint() == rows
        files = spark.sql(f"SELECT partition, record_count FROM {table.full_name}.files").collect()
        outcomes.append((table.summary()["zorder.layout-hash"], sorted(map(str, files))))
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
