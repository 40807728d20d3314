"""What a rewrite leaves in sessions, and what it sends with every task."""

import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.spark import test_faults
from tests.spark.events import event_log
from tests.spark.tables import create, unchanged

OURS = "iceberg_zorder"


def settings(spark: SparkSession) -> dict[str, str]:
    """The settings of a session, but for those that Iceberg adds when it first loads a table by its path."""
    found = {row["key"]: row["value"] for row in spark.sql("SET").collect()}
    return {key: value for key, value in found.items() if not key.startswith("spark.sql.catalog.default_")}


def live_instances(spark: SparkSession, name: str) -> int:
    """How many objects of a class the JVM's collector finds in use."""
    jvm: Any = spark.sparkContext._jvm
    home, process = os.environ.get("JAVA_HOME"), str(jvm.java.lang.ProcessHandle.current().pid())
    command = [f"{home}/bin/jcmd" if home else "jcmd", process, "GC.class_histogram"]
    histogram = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lines = [line.split() for line in histogram.splitlines()]
    return sum(int(line[1]) for line in lines if len(line) >= 4 and line[3] == name)


def test_settings_do_not_grow_with_file_groups_and_none_stays(spark: SparkSession, tmp_path: Path) -> None:
    table = create(
        spark,
        "SELECT id, cast(id % 4 AS int) AS p, hash(id) AS a, hash(id, 1) AS b FROM range(0, 2000, 1, 1)",
        partitioned_by="p",
    )
    before = settings(spark)
    with unchanged(table), event_log(spark, tmp_path) as events:
        table.call("zorder(a, b)")
    jobs = [event["Properties"] for event in events if event["Event"] == "SparkListenerJobStart"]
    assert len([job for job in jobs if OURS in str(job)]) >= 2
    # The job that samples and those of the file groups carry one catalog, the same.
    assert {key for job in jobs for key in job if OURS in key} == {key for key in jobs[0] if OURS in key}
    assert len([key for key in jobs[0] if OURS in key]) == 1
    assert settings(spark) == before


def test_a_failed_rewrite_leaves_no_settings(spark: SparkSession) -> None:
    table = test_faults.TestFailingGroups().table(spark)
    before = settings(spark)
    with pytest.raises(Exception, match="because a file group failed"):
        table.call("zorder(a)")
    assert settings(spark) == before


def test_the_copied_session_and_its_catalog_are_collected(spark: SparkSession) -> None:
    table = create(spark, "SELECT id, hash(id) AS a FROM range(0, 2000, 1, 2)")
    calls, name = 4, "io.icebergzorder.spark.internals.SessionCatalog"
    for _ in range(calls):
        table.call("zorder(id, a)")
    # A thread that is about to end, or waits, may hold what it did last for a while.
    deadline = time.monotonic() + 60
    while (left := live_instances(spark, name)) > 1 and time.monotonic() < deadline:
        time.sleep(1)
    assert left < calls / 2
