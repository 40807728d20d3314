"""MERGE, UPDATE and DELETE skip files of their target by the keys of their source, and do what they do without.

The target has 32 files, each a box of ids and of times; the changes are of 200 neighbouring ids, which lie in one file or two.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JJavaError
from pyspark import InheritableThread
from pyspark.sql import SparkSession

from tests.spark.joins.differential import SETTING, failures, leaves_of
from tests.spark.tables import Table, settings

pytestmark = pytest.mark.usefixtures("own_tables")
FILES = 32
ROWS = 64_000
TARGET = "lake.db.target"
MODES = ["merge-on-read", "copy-on-write"]
THRESHOLD = {"spark.sql.autoBroadcastJoinThreshold": "20000"}
"""Spark would broadcast the changes, and not the target."""

UPSERT = "WHEN MATCHED THEN UPDATE SET n = s.n WHEN NOT MATCHED THEN INSERT (id, ts, n) VALUES (s.id, s.ts, s.n)"
MERGE = f"MERGE INTO {TARGET} t USING {{source}} s ON {{on}} "

PRUNED = {
    "upsert": MERGE.format(source="{s}", on="t.id = s.id") + UPSERT,
    "two keys": MERGE.format(source="{s}", on="t.id = s.id AND t.ts = s.ts") + UPSERT,
    "matched": MERGE.format(source="{s}", on="t.id = s.id") + "WHEN MATCHED THEN UPDATE SET n = s.n",
    "matched delete": MERGE.format(source="{s}", on="t.id = s.id") + "WHEN MATCHED AND s.n > 3 THEN DELETE",
    "a condition on the target": MERGE.format(source="{s}", on="t.id = s.id AND t.n < 50") + UPSERT,
    "a key that is computed": MERGE.format(source="{s}", on="t.id = s.id + 100") + UPSERT,
    "a key that is cast": MERGE.format(source="(SELECT cast(id AS int) AS id, ts, n FROM {s})", on="t.id = s.id")
    + UPSERT,
    "a null-safe column beside it": MERGE.format(source="{s}", on="t.id = s.id AND t.ts <=> s.ts") + UPSERT,
    "latest of each key": MERGE.format(
        source="(SELECT id, ts, n FROM (SELECT *, row_number() OVER (PARTITION BY id ORDER BY ts DESC) AS place FROM {s})"
        " WHERE place = 1)",
        on="t.id = s.id",
    )
    + UPSERT,
    "aggregate": MERGE.format(source="(SELECT id, max(ts) AS ts, sum(n) AS n FROM {s} GROUP BY id)", on="t.id = s.id")
    + UPSERT,
    "union": MERGE.format(
        source="(SELECT * FROM {s} WHERE n < 3 UNION ALL SELECT * FROM {s} WHERE n >= 3)", on="t.id = s.id"
    )
    + UPSERT,
    "update in": f"UPDATE {TARGET} SET n = n + 1 WHERE id IN (SELECT id FROM {{s}})",
    "update exists": f"UPDATE {TARGET} t SET n = n + 1 WHERE EXISTS (SELECT 1 FROM {{s}} s WHERE s.id = t.id AND s.n < 5)",
    "delete in": f"DELETE FROM {TARGET} WHERE id IN (SELECT id FROM {{s}})",
    "delete exists": f"DELETE FROM {TARGET} t WHERE EXISTS (SELECT 1 FROM {{s}} s WHERE s.id = t.id AND s.ts = t.ts)",
    "insert only": MERGE.format(source="{s}", on="t.id = s.id") + "WHEN NOT MATCHED THEN INSERT *",
}

WHOLE = {
    "not matched by source": MERGE.format(source="{s}", on="t.id = s.id")
    + UPSERT
    + " WHEN NOT MATCHED BY SOURCE AND t.n = 7 THEN UPDATE SET n = 8",
    "not in": f"DELETE FROM {TARGET} WHERE id NOT IN (SELECT id FROM {{s}})",
    "not exists": f"UPDATE {TARGET} t SET n = 0 WHERE NOT EXISTS (SELECT 1 FROM {{s}} s WHERE s.id = t.id) AND n < 10",
    "or": f"DELETE FROM {TARGET} WHERE n = 7 OR id IN (SELECT id FROM {{s}})",
    "null-safe": MERGE.format(source="{s}", on="t.id <=> s.id") + UPSERT,
    "a target that is computed": MERGE.format(source="{s}", on="t.id + 1 = s.id") + UPSERT,
    "a column that is not tight": MERGE.format(source="(SELECT DISTINCT n FROM {s})", on="t.n = s.n")
    + "WHEN MATCHED THEN UPDATE SET n = 9",
}

UNSTEADY = {
    "changes since": MERGE.format(
        source="(SELECT * FROM {s} WHERE ts > (SELECT max(ts) - INTERVAL 100 DAYS FROM {s}))", on="t.id = s.id"
    )
    + UPSERT,
    "limit": MERGE.format(source="(SELECT * FROM {s} LIMIT 50)", on="t.id = s.id") + UPSERT,
    "random": MERGE.format(source="(SELECT id + cast(rand() * 0 AS int) AS id, ts, n FROM {s})", on="t.id = s.id")
    + UPSERT,
    "random rows": MERGE.format(source="(SELECT * FROM {s} WHERE rand() < 0.999999999)", on="t.id = s.id") + UPSERT,
    "sample": MERGE.format(source="(SELECT * FROM {s} TABLESAMPLE (99 PERCENT) REPEATABLE (3))", on="t.id = s.id")
    + UPSERT,
    "another column of the latest": MERGE.format(
        source="(SELECT max(id) AS id, m AS ts, max(n) AS n FROM (SELECT id, n, first_value(ts) OVER (PARTITION BY id"
        " ORDER BY n) AS m, row_number() OVER (PARTITION BY id ORDER BY n) AS place FROM {s}) WHERE place = 1 GROUP BY m)",
        on="t.ts = s.ts",
    )
    + UPSERT,
    "groups of equal floats": MERGE.format(
        source="(SELECT cast(d AS bigint) AS id, max(ts) AS ts, 1 AS n FROM (SELECT cast(id AS double) AS d, ts FROM {s}) GROUP BY d)",
        on="t.id = s.id",
    )
    + UPSERT,
    "first": MERGE.format(source="(SELECT first(id) AS id, ts, max(n) AS n FROM {s} GROUP BY ts)", on="t.id = s.id")
    + UPSERT,
    "a sum": MERGE.format(
        source="(SELECT cast(sum(id * 1D) AS bigint) AS id, ts, max(n) AS n FROM {s} GROUP BY ts)", on="t.id = s.id"
    )
    + UPSERT,
}


@pytest.fixture(scope="module")
def target(spark: SparkSession) -> Iterator[SparkSession]:
    """A session with the target, and with changes as a table, a view of local rows and cached rows."""
    columns = "id, timestamp_seconds(1700000000 + id * 60) AS ts, cast(pmod(hash(id), 100) AS int) AS n, concat('row ', id) AS s"
    spark.sql(
        f"CREATE TABLE {TARGET} USING iceberg TBLPROPERTIES ('write.distribution-mode' = 'none') AS"
        f" SELECT /*+ REPARTITION_BY_RANGE({FILES}, id) */ {columns} FROM range(0, {ROWS}, 2)"
    )
    assert len(Table(spark, "db.target").data_files()) == FILES
    spark.sql(
        "CREATE TABLE lake.db.changes USING iceberg AS SELECT id, timestamp_seconds(1700000000 + id * 60) AS ts,"
        " cast(id % 10 AS int) AS n, 'new' AS s FROM range(10100, 10300)"
    )
    with settings(spark, THRESHOLD):
        yield spark
    for name in ("target", "changes"):
        spark.sql(f"DROP TABLE lake.db.{name} PURGE")


def files_read(plan: JavaObject) -> list[int]:
    """How many files the scans of the target read that count what joins skip."""
    scans = [leaf for leaf in leaves_of(plan) if str(leaf.table().name()).endswith(".target")]
    counting = [scan.metrics() for scan in scans if scan.metrics().get("filesSkippedByJoins").isDefined()]
    return [int(metrics.get("resultDataFiles").get().value()) for metrics in counting]


def rows(spark: SparkSession, mode: str, sql: str, setting: str) -> tuple[Counter[str], list[int]]:
    """What a statement leaves in the target, which is rolled back, and how many files its pruned scans read."""
    head = Table(spark, "db.target").metadata()["current-snapshot-id"]
    spark.sql(f"ALTER TABLE {TARGET} SET TBLPROPERTIES ({modes(mode)})")
    with settings(spark, {SETTING: setting}):
        query = spark.sql(sql)
        read = files_read(query._jdf.queryExecution().executedPlan())
    left = Counter(map(str, spark.table(TARGET).collect()))
    spark.sql(f"CALL lake.system.set_current_snapshot('db.target', {head})")
    return left, read


def modes(mode: str) -> str:
    return ", ".join(f"'write.{each}.mode' = '{mode}'" for each in ("merge", "update", "delete"))


def compared(spark: SparkSession, mode: str, sql: str) -> list[int]:
    """Run a statement with and without join pruning, which must leave the same rows; returns the files that pruned scans read."""
    plain, read = rows(spark, mode, sql, "off")
    assert not read
    failures(spark)
    pruned, read = rows(spark, mode, sql, "auto")
    assert not failures(spark)
    assert pruned == plain
    return read


@pytest.mark.version
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sql", PRUNED.values(), ids=PRUNED)
def test_statements_that_skip_files(target: SparkSession, sql: str, mode: str) -> None:
    read = compared(target, mode, sql.format(s="lake.db.changes"))
    # An UPDATE by copy-on-write reads the rows that stay by a search of their own.
    assert read
    assert max(read) <= 2


@pytest.mark.version
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sql", WHOLE.values(), ids=WHOLE)
def test_statements_that_need_all_rows(target: SparkSession, sql: str, mode: str) -> None:
    assert not compared(target, mode, sql.format(s="lake.db.changes"))


@pytest.mark.version
@pytest.mark.parametrize("clauses", [UPSERT, UPSERT[UPSERT.index("WHEN NOT") :]], ids=["upsert", "insert"])
@pytest.mark.parametrize("sql", UNSTEADY.values(), ids=UNSTEADY)
def test_sources_that_may_give_other_keys_the_next_time(target: SparkSession, sql: str, clauses: str) -> None:
    assert not compared(target, "merge-on-read", sql.replace(UPSERT, clauses).format(s="lake.db.changes"))


def test_a_search_skips_files_by_what_it_broadcasts(target: SparkSession) -> None:
    """It joins with the very rows whose keys it takes. So they may be others than those of the statement, as without join pruning."""
    sql = UNSTEADY["a sum"].format(s="lake.db.changes")
    assert 1 <= max(compared(target, "copy-on-write", sql)) <= 2
    with settings(target, {"spark.sql.autoBroadcastJoinThreshold": "-1"}):
        assert compared(target, "copy-on-write", PRUNED["upsert"].format(s="lake.db.changes")) == [FILES]
        assert max(compared(target, "merge-on-read", PRUNED["upsert"].format(s="lake.db.changes"))) <= 2


@pytest.mark.version
def test_a_search_waits_for_no_thread_of_those_that_searches_take(target: SparkSession) -> None:
    """Spark has 16 for the subqueries of all statements: as many searches that wait for one more each would wait for ever."""
    target.sql(f"ALTER TABLE {TARGET} SET TBLPROPERTIES ({modes('copy-on-write')})")
    plan = target.sql(PRUNED["upsert"].format(s="lake.db.changes"))._jdf.queryExecution().executedPlan()
    (search,) = [leaf for leaf in leaves_of(plan) if leaf.metrics().get("filesSkippedByJoins").isDefined()]
    filters = search.runtimeFilters()
    names = [filters.apply(place).child().plan().getClass().getSimpleName() for place in range(filters.size())]
    assert names == ["SubqueryBroadcastExec"]


SOURCES = {
    # It is more than Spark would broadcast, by its estimate.
    "a join": ("(SELECT a.* FROM lake.db.changes a JOIN lake.db.changes b ON a.id = b.id)", True),
    "local rows": ("(SELECT id, timestamp_seconds(id) AS ts, 1 AS n FROM VALUES (10100L), (10101L) AS v(id))", True),
    "cached rows": ("cached", True),
    "files": ("files", True),
    "an incremental read": ("incremental", True),
    "rows of an RDD": ("rdd", False),
    "the files of a table": (
        "(SELECT DISTINCT record_count AS id, timestamp_seconds(1) AS ts, 1 AS n FROM lake.db.changes.files)",
        False,
    ),
}


@pytest.mark.parametrize(("source", "is_read_again"), SOURCES.values(), ids=SOURCES)
def test_sources(target: SparkSession, tmp_path: Path, source: str, is_read_again: bool) -> None:
    changes = target.table("lake.db.changes")
    views = {
        "cached": changes.cache(),
        "rdd": target.createDataFrame(changes.limit(3).collect(), changes.schema),
        "incremental": target.read.option("start-snapshot-id", _first(target)).table("lake.db.changes"),
    }
    changes.write.parquet(str(tmp_path / "files"))
    views["files"] = target.read.parquet(str(tmp_path / "files"))
    target.sql("INSERT INTO lake.db.changes SELECT id + 10000, ts, n, s FROM lake.db.changes WHERE id < 10110")
    try:
        for name, view in views.items():
            view.createOrReplaceTempView(name)
        read = compared(target, "merge-on-read", PRUNED["matched"].format(s=source))
        assert bool(read) == is_read_again
        assert max(read, default=0) <= 2
    finally:
        target.catalog.clearCache()
        target.sql(f"CALL lake.system.set_current_snapshot('db.changes', {_first(target)})")


def _first(spark: SparkSession) -> int:
    return int(Table(spark, "db.changes").snapshots()[0]["snapshot-id"])


def test_keys_of_two_columns_come_of_one_more_reading(target: SparkSession) -> None:
    target.sql(f"ALTER TABLE {TARGET} SET TBLPROPERTIES ({modes('merge-on-read')})")
    query = target.sql(PRUNED["two keys"].format(s="lake.db.changes"))
    plan = query._jdf.queryExecution().executedPlan()
    assert max(files_read(plan)) <= 2
    assert len([leaf for leaf in leaves_of(plan) if str(leaf.table().name()).endswith(".changes")]) == 2


def test_keys_are_read_from_files_without_other_columns(target: SparkSession, tmp_path: Path) -> None:
    target.sql(f"ALTER TABLE {TARGET} SET TBLPROPERTIES ({modes('merge-on-read')})")
    target.table("lake.db.changes").write.parquet(str(tmp_path / "files"))
    target.read.parquet(str(tmp_path / "files")).createOrReplaceTempView("files")
    plan = target.sql(PRUNED["upsert"].format(s="files"))._jdf.queryExecution().executedPlan()
    (scan,) = [leaf for leaf in leaves_of(plan) if leaf.metrics().get("filesSkippedByJoins").isDefined()]
    assert "ReadSchema: struct<id:bigint>" in scan.runtimeFilters().apply(0).child().plan().toString()


def test_partition_columns_skip_files_by_their_bounds(target: SparkSession) -> None:
    target.sql(
        "CREATE TABLE lake.db.parted USING iceberg PARTITIONED BY (months(ts), n) TBLPROPERTIES ('write.merge.mode' = 'merge-on-read',"
        " 'write.distribution-mode' = 'none', 'write.spark.fanout.enabled' = 'true') AS SELECT /*+ REPARTITION_BY_RANGE(16, ts) */"
        f" id, ts, n % 2 AS n, s FROM {TARGET}"
    )
    merge = PRUNED["two keys"].replace(TARGET, "lake.db.parted").replace("t.id = s.id AND", "")
    query = target.sql(merge.format(s="lake.db.changes"))
    (scan,) = [
        leaf for leaf in leaves_of(query._jdf.queryExecution().executedPlan()) if "parted" in str(leaf.table().name())
    ]
    assert int(scan.metrics().get("filesSkippedByJoins").get().value()) >= 28


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("setting", "is_pruned"), [("AUTO", True), ("queries", False)])
def test_setting(target: SparkSession, mode: str, setting: str, is_pruned: bool) -> None:
    _, read = rows(target, mode, PRUNED["upsert"].format(s="lake.db.changes"), setting)
    assert bool(read) == is_pruned


def test_sessions_without_dynamic_pruning(target: SparkSession) -> None:
    with settings(target, {"spark.sql.optimizer.dynamicPartitionPruning.enabled": "false"}):
        assert not compared(target, "merge-on-read", PRUNED["upsert"].format(s="lake.db.changes"))


@pytest.mark.parametrize("setting", ["auto", "off"])
@pytest.mark.parametrize(
    ("isolation", "other", "is_refused"),
    [
        ("serializable", "INSERT INTO {t} SELECT 50001, timestamp_seconds(1), 1, 'other'", True),
        ("snapshot", "INSERT INTO {t} SELECT 50001, timestamp_seconds(1), 1, 'other'", False),
        ("snapshot", "DELETE FROM {t} WHERE id = 10200", True),
        # Of a file that the statement does not read: Iceberg looks at its filter, which has no keys, not at what it has read.
        ("snapshot", "DELETE FROM {t} WHERE id = 60000", True),
    ],
)
def test_the_same_commits_of_others_are_refused(
    target: SparkSession, isolation: str, other: str, is_refused: bool, setting: str
) -> None:
    head = Table(target, "db.target").metadata()["current-snapshot-id"]
    target.sql(
        f"ALTER TABLE {TARGET} SET TBLPROPERTIES ({modes('merge-on-read')}, 'write.merge.isolation-level' = '{isolation}')"
    )
    # It takes some seconds, and Spark knows of a few bytes.
    slow = "(SELECT max(xxhash64(e)) AS z FROM (SELECT explode(sequence(0, 12000000)) AS e))"
    source = f"(SELECT id, ts, n FROM lake.db.changes CROSS JOIN {slow} WHERE z IS NOT NULL)"
    failed: list[str] = []

    def merge() -> None:
        try:
            target.sql(PRUNED["upsert"].format(s=source))
        except Py4JJavaError as error:
            failed.append(str(error))

    with settings(target, {SETTING: setting}):
        thread = InheritableThread(merge)
        thread.start()
        tracker = target.sparkContext.statusTracker()
        while not tracker.getActiveJobsIds():
            time.sleep(0.01)
        target.sql(other.format(t=TARGET))
        assert thread.is_alive(), "the statement was too fast"
        thread.join()
    target.sql(f"CALL lake.system.set_current_snapshot('db.target', {head})")
    assert len(failed) == is_refused
    assert all("conflicting" in each or "Missing required files" in each for each in failed), failed
