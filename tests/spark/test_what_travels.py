"""What a rewrite leaves in sessions, and what it sends with every task."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark import test_faults
from tests.spark.events import Event, event_log, logged
from tests.spark.tables import create, unchanged

OURS = "iceberg_zorder"


def settings(spark: SparkSession) -> dict[str, str]:
    """The settings of a session, but for those that Iceberg adds when it first loads a table by its path."""
    found = {row["key"]: row["value"] for row in spark.sql("SET").collect()}
    return {key: value for key, value in found.items() if not key.startswith("spark.sql.catalog.default_")}


def live_instances(spark: SparkSession, name: str) -> int:
    """How many objects of a class the JVM's collector finds in use."""
    jvm, gateway = spark.sparkContext._jvm, spark.sparkContext._gateway
    assert jvm is not None
    assert gateway is not None
    # By way of the interface, because Py4J does not see the methods of the server's own class.
    methods = jvm.java.lang.Class.forName("javax.management.MBeanServerConnection").getMethods()
    invoke = next(method for method in methods if method.getName() == "invoke")
    arguments = gateway.new_array(jvm.java.lang.Object, 4)
    arguments[0] = jvm.javax.management.ObjectName("com.sun.management:type=DiagnosticCommand")
    arguments[1] = "gcClassHistogram"
    arguments[2] = gateway.new_array(jvm.java.lang.Object, 1)
    arguments[2][0] = gateway.new_array(jvm.java.lang.String, 0)
    arguments[3] = gateway.new_array(jvm.java.lang.String, 1)
    arguments[3][0] = "[Ljava.lang.String;"
    histogram = invoke.invoke(jvm.java.lang.management.ManagementFactory.getPlatformMBeanServer(), arguments)
    lines = [line.split() for line in str(histogram).splitlines()]
    return sum(int(line[1]) for line in lines if len(line) >= 4 and line[3] == name)


def test_settings_do_not_grow_with_file_groups_and_none_stays(spark: SparkSession, tmp_path: Path) -> None:
    table = create(
        spark,
        "SELECT id, cast(id % 12 AS int) AS p, hash(id) AS a, hash(id, 1) AS b FROM range(0, 6000, 1, 2)",
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
    calls, name = 6, "io.icebergzorder.spark.internals.SessionCatalog"
    for _ in range(calls):
        table.call("zorder(id, a)")
    # A thread that is about to end, or waits, may hold what it did last for a while.
    deadline = time.monotonic() + 60
    while (left := live_instances(spark, name)) > 1 and time.monotonic() < deadline:
        time.sleep(1)
    assert left < calls / 2


def task_binaries(events: Iterable[Event]) -> list[int]:
    """Bytes of what Spark sends to executors for each stage: the last broadcast made between its submission and its first task."""
    stages: list[dict[int, int]] = []
    starting = False
    for event in events:
        if event["Event"] == "SparkListenerStageSubmitted":
            starting = True
            stages.append({})
        elif event["Event"] == "SparkListenerTaskStart":
            starting = False
        elif event["Event"] == "SparkListenerBlockUpdated" and starting:
            block = event["Block Updated Info"]
            if piece := re.fullmatch(r"broadcast_(\d+)_piece\d+", block["Block ID"]):
                number = int(piece[1])
                stages[-1][number] = stages[-1].get(number, 0) + block["Memory Size"]
    return [sizes[max(sizes)] if sizes else 0 for sizes in stages]


def broadcasts(events: Iterable[Event]) -> dict[str, int]:
    """The most bytes in memory of every piece of a broadcast."""
    sizes: dict[str, int] = {}
    for event in events:
        if event["Event"] == "SparkListenerBlockUpdated" and "_piece" in event["Block Updated Info"]["Block ID"]:
            block = event["Block Updated Info"]
            sizes[block["Block ID"]] = max(sizes.get(block["Block ID"], 0), block["Memory Size"])
    return sizes


def test_a_large_layout_is_no_part_of_the_tasks_and_is_gone_in_the_end(spark: SparkSession, tmp_path: Path) -> None:
    columns = ", ".join(f"sha2(concat(id, '{name}'), 256) AS {name}" for name in "abc")
    table = create(spark, f"SELECT {columns} FROM range(0, 12000, 1, 2)")
    with event_log(spark, tmp_path) as events:
        table.call("zorder(a, b, c)", options=table.target_for(12))
    # Three columns of 4,096 boundaries of 64 characters each: 786,432 bytes, of which half can be compressed away.
    large = {block: size for block, size in broadcasts(events).items() if size > 100_000}
    assert len(large) == 3
    assert sum(large.values()) > 300_000
    sizes = task_binaries(events)
    assert len(sizes) >= 3
    assert max(sizes) < 64_000
    blocks = spark.sparkContext._jsc.sc().env().blockManager()
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    deadline = time.monotonic() + 20
    left = {block: jvm.org.apache.spark.storage.BlockId.apply(block) for block in large}
    while left and time.monotonic() < deadline:
        left = {block: each for block, each in left.items() if blocks.getStatus(each).isDefined()}
        time.sleep(0.05)
    assert not left


def operators(plan: Event) -> list[Event]:
    """The operators of a plan without branches, the last first, but for those that only hold others."""
    found = [] if plan["nodeName"].startswith(("WholeStageCodegen", "InputAdapter")) else [plan]
    return found + [operator for child in plan["children"] for operator in operators(child)]


@pytest.mark.parametrize("sort_order", ["zorder(a, b)", "id DESC, zorder(a, b)"])
@pytest.mark.parametrize("key", ["hash(id)", "1"], ids=["told apart", "alike"])
def test_where_rows_belong_is_found_once_and_no_row_is_copied_after_that(
    spark: SparkSession, tmp_path: Path, key: str, sort_order: str
) -> None:
    table = create(spark, f"SELECT id, {key} AS a, {key} + 1 AS b FROM range(0, 6000, 1, 2)")
    with unchanged(table), event_log(spark, tmp_path) as events:
        table.call(sort_order, options=table.target_for(4))
    plans = [operators(event["sparkPlanInfo"]) for event in events if event["Event"].endswith("SQLExecutionStart")]
    (plan,) = [plan for plan in plans if plan[0]["nodeName"] == "AppendData"]
    assert [operator["nodeName"] for operator in plan[:4]] == ["AppendData", "Sort", "Exchange", "Project"]
    assert "iceberg_zorder" not in plan[1]["simpleString"], "the sort calls no function"
    assert not re.search(r"[\[ ]_file#", plan[3]["simpleString"]), "no location of a file goes through the shuffle"


@pytest.mark.parametrize(("mode", "most"), [("truncate(16)", 68), ("full", 8192)])
def test_long_strings_are_cut_in_the_sample(spark: SparkSession, tmp_path: Path, mode: str, most: int) -> None:
    """Tasks return what they have sampled compressed: of hexadecimal digits a little more than half."""
    text = "array_join(transform(sequence(1, 128), i -> sha2(concat(id, ' ', i), 256)), '')"
    table = create(
        spark,
        f"SELECT id, {text} AS a, cast({text} AS binary) AS b FROM range(0, 1000, 1, 2)",
        properties={"write.metadata.metrics.column.a": mode, "write.metadata.metrics.column.b": mode},
    )
    with unchanged(table), event_log(spark, tmp_path) as events:
        table.call("zorder(a, b)", options=table.target_for(4))
    returned = [event["Task Metrics"]["Result Size"] for event in events if event["Event"] == "SparkListenerTaskEnd"]
    assert 1000 * most < sum(returned) < 1000 * (2 * most + 100)
    assert len(table.data_files()) == 4


def test_an_aborted_write_does_not_log_its_files(spark: SparkSession, tmp_path: Path) -> None:
    table = create(spark, "SELECT id, cast(id % 8 AS int) AS p, hash(id) AS a FROM range(0, 16000, 1, 2)")
    spark.sql(f"ALTER TABLE {table.full_name} ADD PARTITION FIELD p")
    # Tasks write the partitions in this order, two at a time; where the last one would go there is a file.
    in_the_way = Path(table.path()) / "data" / "p=7"
    in_the_way.touch()
    log = tmp_path / "log"
    with logged(spark, log, "ERROR"), pytest.raises(Exception, match="because a file group failed"):
        table.call("zorder(p, a)", options=table.target_for(8))
    in_the_way.unlink()
    assert "is aborting" in log.read_text()
    assert re.findall(r"p=[0-6]/\S+\.parquet", log.read_text()) == []
    assert table.orphans() == set()
