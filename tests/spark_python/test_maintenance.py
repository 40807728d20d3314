"""Passes of maintenance that need Spark: formats that PyIceberg lacks, and follow-ups."""

import signal
import threading
import time
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import FrameType

import pytest
from pyiceberg.catalog import Catalog
from pyspark.sql import SparkSession

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.maintain.maintenance_pass import MaintenancePass
from iceberg_zorder.maintain.pass_report import TableReport
from iceberg_zorder.maintain.policy.policy import Policy
from iceberg_zorder.maintain.policy.read import parse_policy
from iceberg_zorder.passes import run_pass
from iceberg_zorder.pyiceberg.commit.snapshot import LEASE, MARKERS
from iceberg_zorder.pyiceberg.maintain.maintained_tables import PyIcebergTables, choose_engine
from iceberg_zorder.spark.maintenance import SparkMaintenance
from tests.maintain.lake import lake_in
from tests.present import present
from tests.spark.tables import CATALOG

NAME = "kept"
FULL = f"{CATALOG}.kept.{NAME}"
ROWS = "SELECT id, hash(id) AS a, hash(id, 1) AS b, 'text ' || id AS c FROM range({first}, {last}, 1, {files})"


@pytest.fixture
def work(spark: SparkSession) -> Iterator[SparkMaintenance]:
    """Maintenance in the session of the tests."""
    made = maintenance_in(spark)
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {CATALOG}.kept")
    yield made
    spark.sql(f"REFRESH TABLE {FULL}")
    spark.sql(f"DROP TABLE IF EXISTS {FULL}")


def maintenance_in(spark: SparkSession) -> SparkMaintenance:
    made = SparkMaintenance(list, {})
    made._spark = spark
    return made


def policy_of(lake_dir: Path, settings: str = "", budget: str = "{}") -> Policy:
    return parse_policy(
        f"""
        version: 1
        catalogs:
          {CATALOG}: {{type: sql, uri: "sqlite:///{lake_dir}/catalog.db", warehouse: "file://{lake_dir}/warehouse"}}
        budget: {budget}
        defaults: {{options: {{min-age-seconds: 0, target-file-size-bytes: 20000}}}}
        tables:
          kept.*: {{by: [a, b]{settings}}}
        """,
        "policy.yaml",
        {},
    )


def create(spark: SparkSession, **properties: str) -> None:
    given = ", ".join(f"'{key.replace('_', '-')}' = '{value}'" for key, value in properties.items())
    properties_text = f"TBLPROPERTIES ({given})" if given else ""
    spark.sql(f"CREATE TABLE {FULL} USING iceberg {properties_text} AS {ROWS.format(first=0, last=8000, files=8)}")


def run(policy: Policy, work: SparkMaintenance | None, now: datetime | None = None) -> TableReport:
    at = now or datetime.now(timezone.utc)
    (report,) = MaintenancePass(policy, PyIcebergTables(policy, lambda: at, spark=work), lambda: at).run().tables
    return report


def summary(spark: SparkSession) -> dict[str, str]:
    spark.sql(f"REFRESH TABLE {FULL}")
    row = present(spark.sql(f"SELECT operation, summary FROM {FULL}.snapshots ORDER BY committed_at DESC").first())
    assert row["operation"] == "replace"
    return dict(row["summary"])


@pytest.mark.parametrize(
    ("properties", "beyond"),
    [({"write.format.default": "orc"}, "ORC"), ({"format_version": "3"}, "format version 3")],
)
def test_what_pyiceberg_cannot_do_spark_does(
    spark: SparkSession,
    lake_dir: Path,
    catalog: Catalog,
    work: SparkMaintenance,
    properties: dict[str, str],
    beyond: str,
) -> None:
    create(spark, **properties)
    report = run(policy_of(lake_dir, ", engine: pyiceberg"), work)
    assert report.error is not None
    assert beyond.removeprefix("format ").lower() in report.error
    report = run(policy_of(lake_dir), None)
    assert report.error == (
        f"{FULL}: Cannot rewrite with PyIceberg, because it does not support {beyond}: use Spark, install it with "
        "pip install '.[spark]' in a clone"
    )
    report = run(policy_of(lake_dir), work)
    assert (report.error, report.done and report.done.rewritten_files) == (None, 8)
    told = summary(spark)
    assert told["zorder.reason"].startswith("scan-ratio")
    assert {key: told[key] for key in MARKERS if key in told} == (MARKERS if beyond == "ORC" else {})
    assert spark.table(FULL).count() == 8000
    properties = catalog.load_table(f"kept.{NAME}").properties
    assert LEASE not in properties
    assert not [key for key, _ in spark.conf.getAll.items() if key.startswith("spark.sql.iceberg.snapshot-property.")]


class _OutOfTime(BaseException):
    """As a scheduler raises it in the main thread when its limit of time has come."""


@pytest.mark.parametrize("kind", [_OutOfTime, KeyboardInterrupt])
def test_what_interrupts_spark_ends_the_pass(spark: SparkSession, kind: type[BaseException]) -> None:
    def interrupt(number: int, _: FrameType | None) -> None:
        raise kind

    def at_work(session: SparkSession) -> None:
        main = present(threading.main_thread().ident)
        tracker = session.sparkContext.statusTracker()

        def once_it_runs() -> None:
            while not tracker.getActiveJobsIds():
                time.sleep(0.01)
            signal.pthread_kill(main, signal.SIGUSR1)

        threading.Thread(target=once_it_runs).start()
        # It would take days.
        session.range(10**15).selectExpr("sum(hash(id))").collect()

    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with pytest.raises(kind):
            maintenance_in(spark)._in_spark(at_work)
    finally:
        signal.signal(signal.SIGUSR1, before)
    # Spark tells a moment later that a job is over.
    tracker, deadline = spark.sparkContext.statusTracker(), time.monotonic() + 60
    while tracker.getActiveJobsIds() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert tracker.getActiveJobsIds() == []


def test_spark_has_no_more_room_than_the_budget(spark: SparkSession, lake_dir: Path, work: SparkMaintenance) -> None:
    spark.sql(
        f"CREATE TABLE {FULL} USING iceberg PARTITIONED BY (p) AS SELECT *, id % 4 AS p FROM "
        f"({ROWS.format(first=0, last=8000, files=8)}) DISTRIBUTE BY id % 32"
    )
    whole = ", engine: spark, triggers: {commit-count: 1}, options: {rewrite-all: true}"
    policy = policy_of(lake_dir, whole)
    tables = PyIcebergTables(policy, spark=work)
    (name,) = tables.names(CATALOG)
    settings = present(tables.settings(name))
    found = tables.observe(name, settings, datetime.now(timezone.utc))
    assert len(found.groups) == 4
    half = sum(group.size for group in found.groups[:2])
    limited = policy_of(lake_dir, whole, f"{{bytes: {half}}}")
    report = run(limited, work)
    assert report.decision is not None
    assert 0 < len(report.decision.groups) < 4
    assert present(report.done).rewritten_files == sum(group.files for group in report.decision.groups)


FOLLOW_UPS = """, follow-ups: {
    expire-snapshots: {older-than: 1 hour, retain-last: 1}, remove-orphan-files: {older-than: 3 days},
    rewrite-manifests: {}, rewrite-position-delete-files: {}}"""


def test_follow_ups_run_in_their_order_after_a_rewrite(
    spark: SparkSession, lake_dir: Path, catalog: Catalog, work: SparkMaintenance
) -> None:
    create(spark)
    spark.sql(f"INSERT INTO {FULL} {ROWS.format(first=8000, last=9000, files=1)}")
    policy = policy_of(lake_dir, FOLLOW_UPS)
    report = run(policy, work)
    assert report.error is None
    assert report.done is not None
    names = ["rewrite_position_delete_files", "rewrite_manifests", "expire_snapshots", "remove_orphan_files"]
    assert [said.partition(":")[0] for said in report.done.follow_ups] == names
    assert len(catalog.load_table(f"kept.{NAME}").snapshots()) > 1, "younger than an hour"

    spark.sql(f"INSERT INTO {FULL} {ROWS.format(first=9000, last=17000, files=8)}")
    report = run(policy, work, datetime.now(timezone.utc) + timedelta(hours=2))
    assert report.done is not None
    assert report.done.failed_follow_up is None
    assert [int(said.rpartition(" ")[2]) > 0 for said in report.done.follow_ups if said.startswith("expire_snap")] == [
        True
    ]
    assert len(catalog.load_table(f"kept.{NAME}").snapshots()) == 1
    spark.sql(f"REFRESH TABLE {FULL}")
    assert spark.table(FULL).count() == 17_000

    report = run(policy, work)
    assert (report.error, report.done) == (None, None), "nothing was rewritten, and nothing followed"


def test_a_follow_up_that_fails_is_told_and_the_rewrite_stays(
    spark: SparkSession, lake_dir: Path, work: SparkMaintenance
) -> None:
    create(spark, **{"gc.enabled": "false"})
    report = run(policy_of(lake_dir, FOLLOW_UPS), work)
    assert report.done is not None
    assert report.done.rewritten_files == 8
    assert [said.partition(":")[0] for said in report.done.follow_ups] == [
        "rewrite_position_delete_files",
        "rewrite_manifests",
    ]
    assert report.error is not None
    assert report.error.startswith(f"{FULL}: Cannot call expire_snapshots, because ")
    assert "GC is disabled" in report.error
    spark.sql(f"ALTER TABLE {FULL} SET TBLPROPERTIES ('gc.enabled' = 'true')")


def test_follow_ups_without_spark_fail_before_anything_is_done(
    spark: SparkSession, lake_dir: Path, work: object
) -> None:
    create(spark)
    report = run(policy_of(lake_dir, FOLLOW_UPS), None)
    assert report.error == (
        f"{FULL}: Cannot run follow-ups, because they are Spark procedures and PySpark is not installed: "
        "pip install '.[spark]' in a clone"
    )


@pytest.mark.parametrize(
    ("asked", "size", "beyond", "has_spark", "engine"),
    [
        ("auto", 1, (), False, "pyiceberg"),
        ("auto", 1, (), True, "pyiceberg"),
        ("auto", 50 * 10**9 + 1, (), True, "spark"),
        ("auto", 50 * 10**9 + 1, (), False, "pyiceberg"),
        ("auto", 1, ("AVRO",), True, "spark"),
        ("pyiceberg", 10**13, (), True, "pyiceberg"),
        ("spark", 1, (), True, "spark"),
    ],
)
def test_engines(asked: str, size: int, beyond: tuple[str, ...], has_spark: bool, engine: str) -> None:
    assert choose_engine(asked, size, beyond, has_spark=has_spark) == engine


@pytest.mark.parametrize(
    ("asked", "beyond", "has_spark", "why"),
    [
        ("spark", (), False, "Cannot use engine spark, because PySpark is not installed"),
        ("pyiceberg", ("ORC",), True, "because it does not support ORC: set engine to auto or spark"),
        ("auto", ("ORC",), False, "because it does not support ORC: use Spark, install it"),
    ],
)
def test_engines_that_there_are_not(asked: str, beyond: tuple[str, ...], has_spark: bool, why: str) -> None:
    with pytest.raises(InvalidInputError, match=why):
        choose_engine(asked, 1, beyond, has_spark=has_spark)


def test_spark_is_started_with_the_settings_of_a_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(settings: Mapping[str, str], **_: object) -> None:
        raise RuntimeError(f"asked for {settings}")

    # A Spark of its own would take ten seconds, and one that cannot start leaves a pipe open.
    monkeypatch.setattr("iceberg_zorder.spark.maintenance.local_session", refuse)
    with lake_in(tmp_path) as lake:
        lake.table("db.t", 8)
        text = lake.policy.read_text().replace("defaults: {", "defaults: {engine: spark, ")
        policy = parse_policy(text, "policy.yaml", {"LAKE_URI": lake.uri})
        (report,) = run_pass(policy, conf={"spark.master": "local[1]"}).tables
    assert report.error == "lake.db.t: RuntimeError: asked for {'spark.master': 'local[1]'}"
