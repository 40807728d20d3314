"""Small file groups share Spark jobs: fewer jobs and stages, and the same files as if each group had been rewritten alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.events import Event, event_log
from tests.spark.tables import Table, create, local_path, unchanged
from tests.spark.test_faults import corrupt
from tests.spark.test_what_travels import task_binaries

GROUPS = 8
# In some partitions a column has one value only, is NULL, or sometimes NULL: each has a layout of its own.
SELECT = (
    f"SELECT id, cast(id % {GROUPS} AS int) AS p, if(id % {GROUPS} = 3, 7, hash(id)) AS a,"
    f" CASE id % {GROUPS} WHEN 4 THEN NULL WHEN 5 THEN if(hash(id, 1) % 3 = 0, NULL, uuid()) ELSE sha(concat(id)) END AS b,"
    f" if(id % {GROUPS} = 6, NULL, hash(id, 2) / 7) AS c FROM range(0, 8000, 1, 2)"
)
ALONE = {"partial-progress.enabled": "true", "partial-progress.max-commits": str(GROUPS)}


def rewriting(events: list[Event]) -> list[Event]:
    """The jobs that rewrite; the sample is another."""
    jobs = [event for event in events if event["Event"] == "SparkListenerJobStart"]
    return [job for job in jobs if job["Properties"].get("spark.job.description", "").startswith("Rewriting")]


def tasks(events: list[Event]) -> list[int]:
    """How many tasks each stage of the jobs that rewrite has."""
    stages = {stage for job in rewriting(events) for stage in job["Stage IDs"]}
    ended = [event["Stage ID"] for event in events if event["Event"] == "SparkListenerTaskEnd"]
    return sorted(Counter(stage for stage in ended if stage in stages).values())


def files(table: Table) -> set[tuple[int, ...]]:
    """The ids of the rows of each file, in their order there."""
    rows = table.spark.sql(
        f"SELECT transform(array_sort(collect_list(struct(_pos, id))), each -> each.id) FROM {table.full_name} GROUP BY _file"
    )
    return {tuple(row[0]) for row in rows.collect()}


def both_ways(table: Table, options: Mapping[str, str], directory: Path, sort_order: str) -> list[Event]:
    """Rewrite a table's groups alone, and then together; returns the events of that."""
    spark = table.spark
    snapshot = spark.sql(f"SELECT snapshot_id FROM {table.full_name}.snapshots").collect()[0][0]
    table.call(sort_order, options={**options, **ALONE})
    alone = files(table)
    assert table.operations().count("replace") == GROUPS
    spark.sql(f"CALL lake.system.rollback_to_snapshot('{table.name}', {snapshot})")
    with unchanged(table), event_log(spark, directory) as events:
        table.call(sort_order, options=options)
    assert files(table) == alone
    return events


@pytest.mark.parametrize("sort_order", ["zorder(a, b, c)", "b DESC NULLS FIRST, hilbert(a, c)"])
def test_groups_of_one_file_are_sorted_where_they_are_read(
    spark: SparkSession, tmp_path: Path, sort_order: str
) -> None:
    events = both_ways(create(spark, SELECT, partitioned_by="p"), {}, tmp_path, sort_order)
    assert len(rewriting(events)) == 1
    # No exchange: there is one stage, with a task for each group.
    assert tasks(events) == [GROUPS]


@pytest.mark.parametrize(
    "sort_order",
    [pytest.param("zorder(a, b, c)", marks=pytest.mark.full), "b DESC NULLS FIRST, hilbert(a, c)"],
)
def test_groups_of_several_files_share_an_exchange(spark: SparkSession, tmp_path: Path, sort_order: str) -> None:
    table = create(spark, SELECT, partitioned_by="p")
    events = both_ways(table, table.target_for(6 * GROUPS), tmp_path, sort_order)
    assert len(rewriting(events)) == 1
    written = len(table.data_files())
    assert written >= 4 * GROUPS
    # The second stage writes, and tasks of it several small files, as there are more than enough for two cores.
    reading, writing = tasks(events)
    assert reading == GROUPS
    assert GROUPS <= writing < written


def test_a_large_group_of_small_files_has_few_tasks(spark: SparkSession, tmp_path: Path) -> None:
    table = create(spark, "SELECT id, hash(id) AS a, hash(id, 1) AS b, uuid() AS s FROM range(0, 60000, 1, 8)")
    with unchanged(table), event_log(spark, tmp_path) as events:
        table.call("zorder(a, b)", options=table.target_for(80))
    counts = [row.record_count for row in table.data_files()]
    assert len(counts) == 80
    assert min(counts) >= 0.6 * 750
    assert max(counts) <= 1.5 * 750
    # Two cores read what is far less than the split size.
    assert tasks(events) == [2, 8]
    reported = [event["Task Metrics"]["Output Metrics"] for event in events if event["Event"] == "SparkListenerTaskEnd"]
    assert sum(each["Records Written"] for each in reported) == 60_000
    assert sum(each["Bytes Written"] for each in reported) == table.bytes()


def test_many_small_inputs_of_one_group_are_read_side_by_side(spark: SparkSession, tmp_path: Path) -> None:
    table = create(
        spark,
        "SELECT id, hash(id) AS a FROM range(0, 8000, 1, 40)",
        properties={"read.split.open-file-cost": str(32 << 20)},
    )
    with unchanged(table), event_log(spark, tmp_path) as events:
        table.call("zorder(id, a)")
    assert tasks(events) == [1, 10]


def test_a_shared_job_has_no_more_groups_than_a_commit(spark: SparkSession, tmp_path: Path) -> None:
    table = create(spark, SELECT, partitioned_by="p")
    rows = table.fingerprint()
    with event_log(spark, tmp_path) as events:
        table.call("zorder(a, b)", options={"partial-progress.enabled": "true", "partial-progress.max-commits": "3"})
    assert len(rewriting(events)) == 3
    assert table.operations() == ["append", *["replace"] * 3]
    assert table.fingerprint() == rows
    assert table.orphans() == set()


@pytest.mark.version
@pytest.mark.parametrize("files_per_group", [1, 4])
def test_only_the_guilty_of_a_shared_job_fail(spark: SparkSession, files_per_group: int) -> None:
    table = create(spark, SELECT, partitioned_by="p")
    rows = table.fingerprint().rows
    for partition in (2, 7):
        paths = f"SELECT file_path FROM {table.full_name}.files WHERE partition.p = {partition}"
        corrupt(Path(local_path(spark.sql(paths).collect()[0][0])), "id")
    healthy = f"SELECT count(*), count(DISTINCT id), sum(id) FROM {table.full_name} WHERE p NOT IN (2, 7)"
    before = spark.sql(healthy).collect()
    files_before = len(table.data_files())
    result = table.call(
        "zorder(a, b)",
        options={
            "partial-progress.enabled": "true",
            "partial-progress.max-commits": "1",
            **table.target_for(files_per_group * GROUPS),
        },
    )
    assert result.failed_data_files_count == 2 * files_before // GROUPS
    assert result.rewritten_data_files_count == (GROUPS - 2) * files_before // GROUPS
    assert table.operations() == ["append", "replace"]
    assert spark.sql(healthy).collect() == before
    assert before[0][0] == rows - 2 * rows // GROUPS
    assert table.leaves_little()


@pytest.mark.parametrize(("column", "jobs", "count"), [("a", "Sampling", 22), ("id", "Rewriting", 22)])
def test_groups_that_fail_alike_in_a_row_stop_the_others(
    spark: SparkSession, tmp_path: Path, column: str, jobs: str, count: int
) -> None:
    table = create(spark, "SELECT id, id % 32 AS p, hash(id) AS a FROM range(0, 320, 1, 1)", partitioned_by="p")
    for path in table.data_paths():
        corrupt(Path(path), column)
    options = {"partial-progress.enabled": "true", "partial-progress.max-commits": "1"}
    with event_log(spark, tmp_path) as events, pytest.raises(Exception, match="because all failed"):
        table.call("zorder(a)", options=options)
    assert table.operations() == ["append"]
    # Ten groups alone, and the halves that they are in; 63 jobs would try all.
    begun = [event["Properties"] for event in events if event["Event"] == "SparkListenerJobStart"]
    assert sum(job.get("spark.job.description", "").startswith(jobs) for job in begun) == count


def test_executors_that_may_come_count_as_cores(spark: SparkSession, tmp_path: Path) -> None:
    table = create(
        spark,
        "SELECT id, id % 2 AS p FROM range(0, 8000, 1, 40)",
        partitioned_by="p",
        properties={"write.distribution-mode": "none"},
    )
    settings = {
        # Spark takes the other one later than at its start only if it is not to check.
        "spark.sql.legacy.setCommandRejectsSparkCoreConfs": "false",
        "spark.dynamicAllocation.enabled": "true",
        "spark.sql.shuffle.partitions": "200",
    }
    before = spark.conf.get("spark.sql.shuffle.partitions") or ""
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        with unchanged(table), event_log(spark, tmp_path) as events:
            table.call("zorder(id)")
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before)
        spark.conf.unset("spark.dynamicAllocation.enabled")
        spark.conf.unset("spark.sql.legacy.setCommandRejectsSparkCoreConfs")
    # Of two cores each would read 40 files one after the other.
    assert tasks(events) == [2, 20]


def test_no_task_carries_more_for_more_groups(spark: SparkSession, tmp_path: Path) -> None:
    largest: list[int] = []
    events_of_a_group: list[float] = []
    for groups in (8, 64):
        table = create(
            spark,
            f"SELECT id, cast(id % {groups} AS int) AS p, hash(id) AS a FROM range(0, {groups * 100}, 1, 1)",
            partitioned_by="p",
        )
        directory = tmp_path / str(groups)
        directory.mkdir()
        with event_log(spark, directory) as events:
            table.call("zorder(id, a)")
        assert len(rewriting(events)) == 1
        largest.append(max(task_binaries(events)))
        own = {stage for job in rewriting(events) for stage in job["Stage IDs"]}
        events_of_a_group.append(
            sum(event.get("Stage ID") in own for event in events if event["Event"].startswith("SparkListenerTask"))
            / groups
        )
    # What is compressed, and has other ids in it, is not of the same length to the byte.
    assert largest[1] < 1.02 * largest[0]
    assert events_of_a_group == [2, 2]
