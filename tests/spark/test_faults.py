"""What goes wrong on the way: failing groups, other writers, and a commit whose outcome nobody knows."""

import itertools
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from iceberg_zorder.rewrite.snapshot_keys import SETTLED_FROM
from tests.present import present
from tests.spark.events import event_log, logged
from tests.spark.tables import CATALOG, Table, create, local_path, unchanged
from tests.stack.rest import RestServer, hang_up, status

ROWS = "SELECT id, cast(rand(1) * 1e6 AS int) AS a, cast(rand(2) * 1e6 AS int) AS b, uuid() AS payload FROM range(0, {rows}, 1, {files})"


def corrupt(file: Path, column: str) -> None:
    """Overwrite the pages of one column, so that reading any other still works."""
    from pyarrow.parquet import ParquetFile

    metadata = ParquetFile(file).metadata
    group = metadata.row_group(0)
    chunk = next(group.column(i) for i in range(group.num_columns) if group.column(i).path_in_schema == column)
    start = min(chunk.data_page_offset, chunk.dictionary_page_offset or chunk.data_page_offset)
    with file.open("r+b") as stream:
        stream.seek(start)
        # No header of a page is of zeros, while random bytes may be one by chance, of a page of any size.
        stream.write(bytes(chunk.total_compressed_size))
    # Hadoop's checksum beside the file would be noticed before the content is.
    (file.parent / f".{file.name}.crc").unlink(missing_ok=True)


class TestFailingGroups:
    def table(self, spark: SparkSession) -> Table:
        table = create(
            spark,
            "SELECT id, cast(id % 4 AS int) AS p, rand(1) AS a, uuid() AS payload FROM range(0, 40000, 1, 4)",
            partitioned_by="p",
        )
        broken = spark.sql(f"SELECT file_path FROM {table.full_name}.files WHERE partition.p = 2").collect()
        corrupt(Path(local_path(broken[0][0])), "payload")
        return table

    @pytest.mark.version
    def test_one_commit_fails_as_a_whole_and_leaves_nothing(self, spark: SparkSession) -> None:
        table = self.table(spark)
        operations = table.operations()
        with pytest.raises(
            Exception, match="Cannot complete the rewrite of .*, because a file group failed: .*Nothing was committed"
        ):
            table.call("zorder(a)", options={"max-concurrent-file-group-rewrites": "2"})
        assert table.operations() == operations
        assert table.leaves_little()

    def test_what_other_tasks_of_a_failed_group_had_finished_is_deleted_and_not_logged(
        self, spark: SparkSession, tmp_path: Path
    ) -> None:
        select = "SELECT id, cast(id % 8 AS int) AS p, cast(id % 8 AS int) AS k, uuid() AS payload FROM range(0, 160000, 1, 4)"
        table = create(spark, select)
        spark.sql(f"ALTER TABLE {table.full_name} ADD PARTITION FIELD p")
        # Tasks write the partitions in this order, two at a time; where the last one would go there is a file.
        in_the_way = Path(table.path()) / "data" / "p=7"
        in_the_way.touch()
        written: set[str] = set()
        over = threading.Event()

        def watch() -> None:
            while not over.is_set():
                written.update(str(file) for file in in_the_way.parent.glob("p=?/*.parquet"))
                time.sleep(0.01)

        watcher = threading.Thread(target=watch)
        watcher.start()
        log, why = tmp_path / "log", "Cannot complete the rewrite of .*, because a file group failed"
        with logged(spark, log, "ERROR"), pytest.raises(Exception, match=why):
            table.call("zorder(k)", options=table.target_for(8))
        over.set()
        watcher.join()
        assert len(written) >= 4
        assert "is aborting" in log.read_text()
        assert re.findall(r"p=[0-6]/\S+\.parquet", log.read_text()) == []
        in_the_way.unlink()
        assert table.leaves_little()
        assert table.operations() == ["append"]


class TestOtherWriters:
    """Another writer commits when a rewrite asks the catalog to, for the first time."""

    GROUPS = 8

    def table(self, spark: SparkSession) -> Table:
        return create(
            spark,
            f"SELECT id, cast(id % {self.GROUPS} AS int) AS p, cast(rand(1) * 1e6 AS int) AS a FROM range(0, 1600, 1, 4)",
            partitioned_by="p",
            properties={"format-version": "2", "write.delete.mode": "merge-on-read"},
        )

    def during(
        self, table: Table, server: RestServer, write: Callable[[], object], options: dict[str, str] | None = None
    ) -> Exception | None:
        """Run a rewrite, and write before it commits."""
        server.before_next_commit(write)
        failure = table.failure_by(server, "zorder(a)", options)
        assert server.before_commit is None
        return failure

    @pytest.mark.version
    def test_an_append_survives(self, spark: SparkSession, server: RestServer) -> None:
        table = self.table(spark)
        rows = table.fingerprint().rows
        insert = f"INSERT INTO {table.full_name} SELECT 1000000 + id, 1, 2 FROM range(500)"
        assert self.during(table, server, lambda: spark.sql(insert)) is None
        assert table.operations() == ["append", "append", "replace"]
        assert table.fingerprint().rows == rows + 500
        assert spark.sql(f"SELECT count(DISTINCT id) FROM {table.full_name}").collect()[0][0] == rows + 500
        assert table.orphans() == set()

    @pytest.mark.parametrize("mode", ["merge-on-read", "copy-on-write"])
    def test_a_delete_of_rewritten_rows_wins(self, spark: SparkSession, server: RestServer, mode: str) -> None:
        table = self.table(spark)
        spark.sql(f"ALTER TABLE {table.full_name} SET TBLPROPERTIES ('write.delete.mode' = '{mode}')")
        rows = table.fingerprint().rows
        delete = f"DELETE FROM {table.full_name} WHERE id = 5"
        failure = present(self.during(table, server, lambda: spark.sql(delete), {"on-conflict": "fail"}))
        assert "Cannot commit rewrite of" in str(failure)
        assert "conflicted with another operation" in str(failure)
        assert "partial-progress.enabled" in str(failure)
        assert table.fingerprint().rows == rows - 1
        assert "replace" not in table.operations()
        assert table.orphans() == set()

    @pytest.mark.parametrize("operation", ["overwrite", "replace"])
    def test_a_removed_delete_of_rewritten_rows(self, spark: SparkSession, server: RestServer, operation: str) -> None:
        """Also by a snapshot that says that it leaves all rows as they are, but adds no other delete file."""
        table = self.table(spark)
        rows = table.fingerprint()
        spark.sql(f"DELETE FROM {table.full_name} WHERE id = 5")

        def revive() -> None:
            jvm: Any = spark.sparkContext._jvm
            other = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, table.full_name)
            change = other.newRewrite() if operation == "replace" else other.newRowDelta()
            remove = change.deleteFile if operation == "replace" else change.removeDeletes
            for delete in other.currentSnapshot().addedDeleteFiles(other.io()):
                remove(delete)
            change.commit()

        assert self.during(table, server, revive, {"on-conflict": "fail"}) is not None
        assert table.fingerprint() == rows
        spark.sql(f"DELETE FROM {table.full_name} WHERE id = 5")
        assert self.during(table, server, revive) is None, "its files are planned again"
        assert table.fingerprint() == rows
        assert table.orphans() == set()

    @pytest.mark.version
    def test_with_partial_progress_only_the_groups_concerned_are_lost(
        self, spark: SparkSession, server: RestServer
    ) -> None:
        table = self.table(spark)
        rows = table.fingerprint().rows
        delete = f"DELETE FROM {table.full_name} WHERE id = {self.GROUPS + 7}"
        options = {
            "partial-progress.enabled": "true",
            "partial-progress.max-commits": "2",
            "partial-progress.max-failed-commits": "0",
            "on-conflict": "fail",
        }
        failure = present(self.during(table, server, lambda: spark.sql(delete), options))
        assert "1 rewrite commits failed" in str(failure)
        assert "maximum allowed failures of 0" in str(failure)
        assert table.operations().count("replace") == 1
        assert SETTLED_FROM not in table.summary(), "the next rewrite looks at the others again"
        assert table.fingerprint().rows == rows - 1
        assert table.orphans() == set()

    def test_a_delete_at_any_look_at_the_table_costs_its_group_only(
        self, spark: SparkSession, server: RestServer
    ) -> None:
        options = {"partial-progress.enabled": "true", "partial-progress.max-commits": "2"}
        for at in itertools.count(1):
            table = self.table(spark)
            rows, looks = table.fingerprint().rows, iter(range(1, 1000))
            delete = f"DELETE FROM {table.full_name} WHERE id = {self.GROUPS + 7}"
            done: list[object] = []

            def look(
                at: int = at, delete: str = delete, looks: Iterator[int] = looks, done: list[object] = done
            ) -> None:
                if next(looks) == at:
                    done.append(spark.sql(delete))

            def stop_looking() -> None:
                server.before_load = None

            server.before_load = look
            assert self.during(table, server, stop_looking, options) is None
            assert table.fingerprint().rows == rows - len(done)
            assert "replace" in table.operations()
            assert table.orphans() == set()
            if not done:
                break
        assert at > 2

    def test_a_slow_commit_keeps_no_group_from_being_rewritten(self, spark: SparkSession, server: RestServer) -> None:
        table = self.table(spark)
        rows, data = table.fingerprint(), Path(table.path()) / "data"
        options = {
            "partial-progress.enabled": "true",
            "partial-progress.max-commits": str(self.GROUPS),
            "max-concurrent-file-group-rewrites": "1",
        }

        def wait_for_the_second_group() -> None:
            known, deadline = len(table.data_files()), time.monotonic() + 10
            while len(list(data.rglob("*.parquet"))) < known + 2:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            waited.append(True)

        waited: list[bool] = []
        assert self.during(table, server, wait_for_the_second_group, options) is None
        assert waited
        assert table.operations() == ["append", *["replace"] * self.GROUPS]
        assert table.fingerprint() == rows
        assert table.orphans() == set()

    @pytest.mark.parametrize("known", [True, False])
    def test_snapshots_that_expire_between_two_commits(
        self, spark: SparkSession, server: RestServer, known: bool
    ) -> None:
        """The history is known as long as the snapshot that came after the starting one is there."""
        table = self.table(spark)
        before = table.fingerprint()
        counts: list[int] = []

        def expire() -> None:
            *old, _ = (str(each.snapshot_id) for each in server.catalog.load_table(table.name).snapshots())
            counts.append(len(old))
            # As Java does, which keeps what snapshot another came from.
            if len(counts) == 2 or (old and not known):
                spark.sql(
                    f"CALL {CATALOG}.system.expire_snapshots(table => '{table.name}', snapshot_ids => array({', '.join(old)}))"
                )

        server.before_commit = expire
        options = {
            "partial-progress.enabled": "true",
            "partial-progress.max-commits": "4",
            "max-concurrent-file-group-rewrites": "1",
        }
        result = table.call("zorder(a)", options=options, catalog=f"rest_{server.server_port}")
        spark.sql(f"REFRESH TABLE {table.full_name}")
        assert (result.rewritten_data_files_count, result.failed_data_files_count) == ((8, 0) if known else (6, 2))
        assert table.fingerprint() == before
        assert table.orphans() == set()

    def test_an_upgrade_to_version_3_is_a_conflict(self, spark: SparkSession, server: RestServer) -> None:
        """The ids that rows get with it are not in the new files, which are written before."""
        table = self.table(spark)
        rows = table.fingerprint().rows

        def upgrade() -> None:
            spark.sql(f"ALTER TABLE {table.full_name} SET TBLPROPERTIES ('format-version' = '3')")
            spark.sql(f"INSERT INTO {table.full_name} VALUES (1000000, 1, 2)")

        failure = self.during(table, server, upgrade)
        assert "the table went from format version 2 to 3" in str(failure)
        assert table.operations() == ["append", "append"]
        assert table.fingerprint().rows == rows + 1
        assert table.orphans() == set()
        with unchanged(table):
            table.call("zorder(a)")


class TestUnclearCommits:
    """The catalog fails as it is asked to commit, through a REST server in front of the catalog of the other tests."""

    @pytest.fixture
    def table(self, spark: SparkSession) -> Table:
        return create(spark, ROWS.format(rows=8000, files=4), properties={"format-version": "2"})

    @pytest.mark.parametrize(("answer", "committed"), [(status(500), False), (hang_up, True), (hang_up, False)])
    def test_nothing_is_deleted(
        self, table: Table, server: RestServer, answer: Callable[..., None], committed: bool
    ) -> None:
        rows, operations = table.fingerprint(), table.operations()
        server.answer, server.commits = answer, committed
        failure = table.failure_by(server, "zorder(a, b)")
        assert table.fingerprint() == rows
        assert table.operations() == [*operations, *["replace"][:committed]]
        assert all(Path(path).exists() for path in table.data_paths())
        # Newer releases of Iceberg look for the snapshot that they asked for, and find it.
        if failure is not None or not committed:
            assert "Cannot tell whether the rewrite" in str(failure)
            assert "No file was deleted" in str(failure)
        assert len(table.orphans()) == (0 if committed else 1)


def cancelled(table: Table, options: dict[str, str]) -> Exception:
    """Begin a rewrite, cancel all jobs when it has begun to write a file, and wait for its end."""
    known = set(table.data_paths())
    failures: list[Exception] = []

    def rewrite() -> None:
        try:
            table.call("zorder(a, b)", options=options)
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=rewrite)
    thread.start()
    data = Path(table.path()) / "data"
    deadline = time.monotonic() + 60
    while not {str(f) for f in data.rglob("*.parquet")} - known and time.monotonic() < deadline:
        time.sleep(0.005)
    # Between two jobs there is none to cancel.
    while thread.is_alive():
        table.spark.sparkContext.cancelAllJobs()
        thread.join(0.05)
    assert failures, "the rewrite was over before it could be cancelled"
    return failures[0]


def test_a_cancelled_call_with_partial_progress_begins_no_more_file_groups(spark: SparkSession, tmp_path: Path) -> None:
    rows = ROWS.format(rows=400_000, files=8).replace("SELECT id,", "SELECT id, cast(id % 8 AS int) AS p,")
    table = create(spark, rows, partitioned_by="p")
    before = table.fingerprint()
    with event_log(spark, tmp_path) as events:
        failure = cancelled(
            table,
            {"partial-progress.enabled": "true", "max-concurrent-file-group-rewrites": "1", "rewrite-all": "true"},
        )
    assert "of 8 file groups were committed" in str(failure)
    jobs = [str(event["Properties"]) for event in events if event["Event"] == "SparkListenerJobStart"]
    assert len({number for number in range(1, 9) if any(f"file group {number}/8" in job for job in jobs)}) <= 2
    assert table.fingerprint() == before
    assert table.leaves_little()
