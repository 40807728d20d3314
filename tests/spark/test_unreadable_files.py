"""Data files that cannot be sampled: with partial progress only their file groups fail, and the others are laid out as ever."""

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark import InheritableThread
from pyspark.sql import Row, SparkSession

from iceberg_zorder.errors import RewriteFailedError
from iceberg_zorder.spark.rewrite import describe_plan, rewrite_data_files
from tests.spark.events import Event, event_log
from tests.spark.tables import Table, create, local_path, untouched
from tests.spark.test_faults import corrupt

GROUPS = 8
SELECT = (
    f"SELECT id, cast(id % {GROUPS} AS int) AS p, hash(id) AS a, hash(id, 2) AS b, repeat('x', 50) AS payload"
    f" FROM range(0, {GROUPS * 1000}, 1, 3)"
)
PARTIAL = {"partial-progress.enabled": "true", "partial-progress.max-commits": "2"}


def remove(file: Path) -> None:
    file.unlink()


def garble_schema(file: Path) -> None:
    """Have the root of the schema, which Iceberg names ``table``, claim more columns than it has."""
    content = bytearray(file.read_bytes())
    name = content.rindex(b"\x05table")
    content[name + len(b"\x05table") + 1] = 0x20
    file.write_bytes(content)


def zero_footer(file: Path) -> None:
    with file.open("r+b") as stream:
        stream.seek(-40, os.SEEK_END)
        stream.write(bytes(40))


def empty(file: Path) -> None:
    os.truncate(file, 0)


def garble_key(file: Path) -> None:
    corrupt(file, "a")


def damage(table: Table, partition: int, how: Callable[[Path], None]) -> None:
    """Make the data file of a partition unreadable."""
    [row] = table.spark.sql(f"SELECT file_path FROM {table.full_name}.files WHERE partition.p = {partition}").collect()
    file = Path(local_path(row[0]))
    how(file)
    # Hadoop's checksum beside the file would be noticed before the content is.
    (file.parent / f".{file.name}.crc").unlink(missing_ok=True)


def of_partitions_but(table: Table, partition: int) -> list[Row]:
    """The ids of the rows of each file of the other partitions, in their order there."""
    return table.spark.sql(
        "SELECT p, transform(array_sort(collect_list(struct(_pos, id))), each -> each.id) AS ids"
        f" FROM {table.full_name} WHERE p <> {partition} GROUP BY p, _file ORDER BY p, ids"
    ).collect()


def sampling_jobs(events: list[Event]) -> list[str]:
    """The descriptions of the jobs that sample."""
    jobs = [event for event in events if event["Event"] == "SparkListenerJobStart"]
    descriptions = [job["Properties"].get("spark.job.description", "") for job in jobs]
    return [description for description in descriptions if description.startswith("Sampling")]


def options(table: Table) -> dict[str, str]:
    """Three files of each group, and a sample of some of the rows."""
    return {**table.target_for(3 * GROUPS), "sample-rows": "3000"}


class TestPartialProgress:
    @pytest.mark.parametrize("how", [remove, garble_schema, zero_footer, empty, garble_key])
    def test_only_the_group_of_a_file_that_cannot_be_read_fails(
        self, spark: SparkSession, tmp_path: Path, how: Callable[[Path], None]
    ) -> None:
        table = create(spark, SELECT, partitioned_by="p")
        given = {**options(table), **PARTIAL}
        # Footers of imported files are read before they are sampled.
        spark.sql(f"ALTER TABLE {table.full_name} SET TBLPROPERTIES ('schema.name-mapping.default' = '[]')")
        snapshot = spark.sql(f"SELECT snapshot_id FROM {table.full_name}.snapshots").collect()[0][0]
        table.call("zorder(a, b)", options=given)
        laid_out = of_partitions_but(table, 3)
        assert len(laid_out) > 2 * GROUPS
        spark.sql(f"CALL lake.system.rollback_to_snapshot('{table.name}', {snapshot})")

        damage(table, 3, how)
        with event_log(spark, tmp_path) as events:
            result = table.call("zorder(a, b)", options=given)
        assert (result.rewritten_data_files_count, result.failed_data_files_count) == (GROUPS - 1, 1)
        assert result.added_data_files_count == len(laid_out)
        assert of_partitions_but(table, 3) == laid_out, "the layouts are those of a table that can be read"
        assert table.operations() == ["append", "replace", "replace", "replace", "replace"]
        assert table.orphans() == set()
        # All, then halves of 4, 2 and 1: of each pair one is sampled for good.
        assert len(sampling_jobs(events)) == 7


@pytest.mark.parametrize("how", [remove, garble_schema, zero_footer])
def test_a_rewrite_of_one_commit_and_predictions_fail_in_words(
    spark: SparkSession, how: Callable[[Path], None]
) -> None:
    table = create(spark, SELECT, partitioned_by="p")
    damage(table, 3, how)
    with pytest.raises(RewriteFailedError) as failure:
        rewrite_data_files(spark, table.full_name, ["a", "b"], options={"rewrite-all": True})
    message = str(failure.value)
    assert message.startswith(f"Cannot complete the rewrite of {table.full_name}, because sampling failed: ")
    assert message.endswith(". Nothing was committed.")
    assert (table.operations(), table.orphans()) == (["append"], set())
    with pytest.raises(Exception, match=f"Cannot sample {table.full_name}, because .* Nothing was written."):
        table.plan("zorder(id, b)", {"rewrite-all": "true", **PARTIAL}).sampled()
    with pytest.raises(RewriteFailedError, match=f"Cannot sample {table.full_name}, because "):
        describe_plan(spark, table.full_name, ["a", "b"], options={"rewrite-all": "true"}, sampled=True)


class TestStopped:
    """What is stopped while it samples has not failed: no file group of it is tried again."""

    @contextmanager
    def sampling(self, table: Table, signal: Path) -> Iterator[tuple[list[Exception], list[Any]]]:
        """Run a rewrite whose job has no core to begin on; yields where its failure and its Java thread will be."""
        context = table.spark.sparkContext
        failures: list[Exception] = []
        threads: list[Any] = []

        def wait_for_signal(_: int) -> None:
            while not signal.exists():
                time.sleep(0.005)

        def occupy() -> None:
            tasks = context.defaultParallelism
            context.parallelize(range(tasks), tasks).foreach(wait_for_signal)

        def rewrite() -> None:
            jvm: Any = context._jvm
            threads.append(jvm.Thread.currentThread())
            # On Spark 3.5, Iceberg reads nothing in a thread that has no active session.
            jvm.org.apache.spark.sql.SparkSession.setActiveSession(table.spark._jsparkSession)
            try:
                table.plan("zorder(a, b)", {"rewrite-all": "true", **PARTIAL}).execute()
            except Exception as error:
                failures.append(error)

        def wait_for_jobs(count: int) -> None:
            deadline = time.monotonic() + 60
            while len(context.statusTracker().getActiveJobsIds()) != count:
                assert time.monotonic() < deadline, failures
                time.sleep(0.005)

        others = InheritableThread(target=occupy)
        others.start()
        wait_for_jobs(1)
        rewriting = InheritableThread(target=rewrite)
        rewriting.start()
        wait_for_jobs(2)
        try:
            yield failures, threads
            deadline = time.monotonic() + 60
            while not failures and time.monotonic() < deadline:
                time.sleep(0.005)
        finally:
            signal.touch()
            others.join()
            rewriting.join()
            wait_for_jobs(0)

    @pytest.mark.parametrize("how", ["cancelled job", "interrupted thread"])
    def test_it_is_told_in_words(self, spark: SparkSession, tmp_path: Path, how: str) -> None:
        table = create(spark, SELECT, partitioned_by="p")
        with (
            untouched(table),
            event_log(spark, tmp_path) as events,
            self.sampling(table, tmp_path / "signal") as (failures, threads),
        ):
            if how == "interrupted thread":
                threads[0].interrupt()
            else:
                scheduler: Any = spark.sparkContext._jsc.sc()
                scheduler.cancelJob(max(spark.sparkContext.statusTracker().getActiveJobsIds()))
        assert len(sampling_jobs(events)) == 1
        why = "it was interrupted" if how == "interrupted thread" else "sampling failed: .*cancelled"
        assert re.search(
            rf"Cannot complete the rewrite of {table.full_name}, because {why}", str(failures[0]), re.DOTALL
        )
