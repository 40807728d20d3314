"""Small file groups share Spark jobs: fewer jobs and stages, and the same files as if each group had been rewritten alone."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.events import Event, event_log
from tests.spark.tables import Table, create, local_path, unchanged
from tests.spark.test_faults import corrupt

GROUPS = 4
# In some partitions a column has one value only, is NULL, or sometimes NULL: each has a layout of its own.
SELECT = (
    f"SELECT id, cast(id % {GROUPS} AS int) AS p, if(id % {GROUPS} = 1, 7, hash(id)) AS a,"
    f" CASE id % {GROUPS} WHEN 1 THEN NULL WHEN 2 THEN if(hash(id, 1) % 3 = 0, NULL, uuid()) ELSE sha(concat(id)) END AS b,"
    f" if(id % {GROUPS} = 3, NULL, hash(id, 2) / 7) AS c FROM range(0, 4000, 1, 2)"
)


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
    groups = spark.sql(f"SELECT partition FROM {table.full_name}.partitions").count()
    table.call(
        sort_order, options={**options, "partial-progress.enabled": "true", "partial-progress.max-commits": str(groups)}
    )
    alone = files(table)
    assert table.operations().count("replace") == groups
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
def test_many_groups_of_several_files_are_sorted_where_they_are_read(
    spark: SparkSession, tmp_path: Path, sort_order: str
) -> None:
    groups = 4 * spark.sparkContext.defaultParallelism
    table = create(
        spark, SELECT.replace(f"id % {GROUPS} AS int) AS p", f"id % {groups} AS int) AS p"), partitioned_by="p"
    )
    events = both_ways(table, table.target_for(4 * groups), tmp_path, sort_order)
    # No exchange: there is one stage, with a task for each group, and it writes several files.
    assert tasks(events) == [groups]
    assert len(table.data_files()) >= 3 * groups


@pytest.mark.version
@pytest.mark.parametrize("files_per_group", [1, 4])
def test_only_the_guilty_of_a_shared_job_fail(spark: SparkSession, files_per_group: int) -> None:
    table = create(spark, SELECT, partitioned_by="p")
    rows = table.fingerprint().rows
    for partition in (0, 3):
        paths = f"SELECT file_path FROM {table.full_name}.files WHERE partition.p = {partition}"
        corrupt(Path(local_path(spark.sql(paths).collect()[0][0])), "id")
    healthy = f"SELECT count(*), count(DISTINCT id), sum(id) FROM {table.full_name} WHERE p NOT IN (0, 3)"
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


@pytest.mark.parametrize(("column", "jobs"), [("a", "Sampling"), ("id", "Rewriting")])
def test_groups_that_fail_alike_in_a_row_stop_the_others(
    spark: SparkSession, tmp_path: Path, column: str, jobs: str
) -> None:
    table = create(spark, "SELECT id, id % 32 AS p, hash(id) AS a FROM range(0, 320, 1, 1)", partitioned_by="p")
    for path in table.data_paths():
        corrupt(Path(path), column)
    options = {"partial-progress.enabled": "true", "partial-progress.max-commits": "1"}
    with (
        event_log(spark, tmp_path) as events,
        pytest.raises(Exception, match="because no file group could be rewritten"),
    ):
        table.call("zorder(a)", options=options)
    assert table.operations() == ["append"]
    assert table.leaves_little()
    # Ten groups alone, and the halves that they are in; 63 jobs would try all.
    begun = [event["Properties"] for event in events if event["Event"] == "SparkListenerJobStart"]
    assert sum(job.get("spark.job.description", "").startswith(jobs) for job in begun) == 22
