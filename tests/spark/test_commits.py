"""What may be committed, and what a CALL says of its commits, through a REST server that does on request what others do."""

import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import duckdb
import pyarrow as pa
import pytest
from pyiceberg.manifest import DATA_FILE_TYPE, DataFile
from pyiceberg.table import Table as PyIcebergTable
from pyiceberg.transforms import BucketTransform
from pyspark.sql import SparkSession

from iceberg_zorder.pyiceberg import rewrite_data_files
from tests.pyiceberg.committing import (
    commit_files,
    equality_deletes,
    files_of,
    head_of,
    make_table,
    new_file,
    position_deletes,
    rows_of,
)
from tests.pyiceberg.lake import equality_delete
from tests.spark.tables import Table, create, untouched
from tests.stack.rest import RestServer, status

PARTITION: dict[str, Any] = {"spec_id": 1, "partition": ["a"]}


def call(
    table: Table, server: RestServer, sort_order: str, options: Mapping[str, str] | None = None
) -> Exception | None:
    """CALL through the server, one file group after the other."""
    return table.failure_by(server, sort_order, {"max-concurrent-file-group-rewrites": "1", **(options or {})})


class TestDeletesInTheMidst:
    """Another writer commits deletes after the rewrite has looked for them, and right before its commit arrives."""

    @pytest.fixture
    def table(self, server: RestServer, request: pytest.FixtureRequest) -> PyIcebergTable:
        server.catalog.create_namespace_if_not_exists("midst")
        name = "midst.t_" + re.sub(r"\W", "_", request.node.name)
        return make_table(server.catalog, rows_of(range(10)), rows_of(range(10, 20), "b"), partitioned=True, name=name)

    def rewrite(
        self,
        spark: SparkSession,
        server: RestServer,
        table: PyIcebergTable,
        *deletes: DataFile,
        options: Mapping[str, str] | None = None,
    ) -> Exception | None:
        server.before_next_commit(lambda: commit_files(server.catalog.load_table(table.name()), *deletes))
        failure = call(Table(spark, ".".join(table.name())), server, "id", options)
        assert server.before_commit is None
        return failure

    def check(
        self, spark: SparkSession, duck: duckdb.DuckDBPyConnection, table: PyIcebergTable, expected: Sequence[int]
    ) -> None:
        """Spark and DuckDB read these rows, and no file lies about."""
        named = Table(spark, ".".join(table.name()))
        assert [row[0] for row in spark.sql(f"SELECT id FROM {named.full_name} ORDER BY id").collect()] == expected
        scan = f"iceberg_scan('{table.refresh().metadata_location}')"
        assert [row[0] for row in duck.sql(f"SELECT id FROM {scan} ORDER BY id").fetchall()] == expected
        assert named.orphans() == set()

    @pytest.mark.parametrize("how", ["evolved", "output-spec-id"])
    def test_an_equality_delete_of_the_old_spec_has_the_files_planned_again(
        self, spark: SparkSession, server: RestServer, duck: duckdb.DuckDBPyConnection, table: PyIcebergTable, how: str
    ) -> None:
        options = {}
        if how == "evolved":
            table.update_spec().remove_field("p").add_field("id", BucketTransform(2), "bucket").commit()
        else:
            options = {"output-spec-id": "0"}
        assert self.rewrite(spark, server, table, equality_deletes(table, [7], **PARTITION), options=options) is None
        self.check(spark, duck, table, [*range(7), *range(8, 20)])

    def test_an_equality_delete_of_the_new_spec_is_a_conflict(
        self, spark: SparkSession, server: RestServer, duck: duckdb.DuckDBPyConnection, table: PyIcebergTable
    ) -> None:
        commit_files(table, new_file(table, rows_of([20, 21]), spec_id=0))
        # It reaches the row 7 of its own spec, and not the row 21.
        delete = equality_deletes(table, [7, 21], **PARTITION)
        assert self.rewrite(spark, server, table, delete, options={"output-spec-id": "1"}) is not None
        self.check(spark, duck, table, [*range(7), *range(8, 22)])

    @pytest.mark.parametrize("everywhere", [True, False])
    def test_an_equality_delete_reaches_the_new_files(
        self,
        spark: SparkSession,
        server: RestServer,
        duck: duckdb.DuckDBPyConnection,
        table: PyIcebergTable,
        everywhere: bool,
    ) -> None:
        if everywhere:
            table.update_spec().add_field("id", BucketTransform(2), "bucket").commit()
        delete = (
            equality_deletes(table, [7, 12], spec_id=0) if everywhere else equality_deletes(table, [7], **PARTITION)
        )
        assert self.rewrite(spark, server, table, delete) is None
        self.check(spark, duck, table, [each for each in range(20) if each != 7 and (each != 12 or not everywhere)])

    @pytest.mark.parametrize("partitioned", [True, False])
    def test_equality_deletes_that_outlive_no_older_file(
        self, spark: SparkSession, server: RestServer, duck: duckdb.DuckDBPyConnection, partitioned: bool
    ) -> None:
        """Iceberg drops the first, because no data file as old stays in the table, and forgets the new files, which are older."""
        server.catalog.create_namespace_if_not_exists("midst")
        where = PARTITION if partitioned else {}
        table = make_table(server.catalog, rows_of(range(10)), partitioned=partitioned, name=f"midst.{partitioned}")
        deletes = [equality_deletes(table, [7], **where), equality_deletes(table, [3], **where)]
        server.before_next_commit(
            lambda: [commit_files(server.catalog.load_table(table.name()), file) for file in deletes]
        )
        assert call(Table(spark, ".".join(table.name())), server, "id") is None
        self.check(spark, duck, table, [row for row in range(10) if row not in (3, 7)])

    def test_a_position_delete_of_several_files_of_the_old_spec(
        self, spark: SparkSession, server: RestServer, duck: duckdb.DuckDBPyConnection, table: PyIcebergTable
    ) -> None:
        commit_files(table, new_file(table, rows_of([20, 21]), **PARTITION))
        table.update_spec().add_field("id", BucketTransform(2), "bucket").commit()
        paths = [file.file_path for file in files_of(table) if file.partition[0] == "a"]
        delete = position_deletes(table, [(path, 1) for path in paths], **PARTITION)
        assert self.rewrite(spark, server, table, delete) is None
        self.check(spark, duck, table, [0, *range(2, 21)])


@pytest.mark.parametrize(("type_", "name"), [(pa.uuid(), "uuid"), (pa.binary(2), "fixed[2]")])
def test_equality_deletes_that_iceberg_applies_wrongly_are_refused(
    spark: SparkSession, server: RestServer, type_: pa.DataType, name: str
) -> None:
    server.catalog.create_namespace_if_not_exists("midst")
    schema = pa.schema([("id", pa.int64()), ("k", type_)])
    table = server.catalog.create_table(f"midst.{name[:4]}", schema, properties={"format-version": "2"})
    keys = [bytes([i]) * (16 if name == "uuid" else 2) for i in (1, 0x7F, 0x80, 0xFF)]
    storage = pa.array(keys, pa.binary(len(keys[0])))
    column = pa.ExtensionArray.from_storage(pa.uuid(), storage) if name == "uuid" else storage
    table.append(pa.table([pa.array(range(4), pa.int64()), column], schema=schema))
    named = Table(spark, f"midst.{name[:4]}")
    assert call(named, server, "id") is None
    commit_files(table.refresh(), equality_delete(table, [{"k": keys[1]}, {"k": keys[3]}], ["k"]))
    with untouched(named):
        failure = str(call(named, server, "id"))
    assert re.search(
        rf"Cannot rewrite data files of .* on Spark, because its equality delete file .* by column k of type {re.escape(name)}",
        failure,
    )
    result = rewrite_data_files(table.refresh(), "id", options={"rewrite-all": True})
    assert (result.rewritten_data_files_count, result.removed_delete_files_count) == (1, 1)
    assert table.scan().to_arrow()["id"].to_pylist() == [0, 2]


class TestChangesInTheMidst:
    def test_the_snapshot_that_a_rewrite_of_version_1_began_from_may_be_expired(
        self, spark: SparkSession, server: RestServer
    ) -> None:
        table = create(spark, "SELECT id FROM range(0, 2000, 1, 4)", properties={"format-version": "1"})

        def expire() -> None:
            other = server.catalog.load_table(table.name)
            other.append(pa.table({"id": pa.array([2000], pa.int64())}))
            newest = head_of(other.refresh())
            old = [each.snapshot_id for each in other.snapshots() if each != newest]
            other.maintenance.expire_snapshots().by_ids(old).commit()

        server.before_next_commit(expire)
        assert call(table, server, "id") is None
        assert server.before_commit is None
        assert table.operations() == ["append", "replace"]
        rows = [row[0] for row in spark.sql(f"SELECT id FROM {table.full_name} ORDER BY id").collect()]
        assert rows == list(range(2001))


@pytest.mark.parametrize("rows_too_many", [-1, 1])
def test_new_files_of_other_counts_than_their_manifests_say_are_not_committed(
    spark: SparkSession, server: RestServer, rows_too_many: int
) -> None:
    """A manifest that has not the number of rows that its data file has, as a faulty writer leaves it."""
    server.catalog.create_namespace_if_not_exists("counts")
    name = f"counts.t{rows_too_many + 1}"
    made = make_table(server.catalog, rows_of(range(10)), partitioned=True, name=name)
    lying = new_file(made, rows_of(range(10, 20), "b"), spec_id=1, partition=["b"])
    lying[[field.name for field in DATA_FILE_TYPE[3].fields].index("record_count")] = 10 + rows_too_many
    commit_files(made, lying)
    table = Table(spark, name)
    with untouched(table):
        failure = call(table, server, "id")
    why = rf"Cannot commit rewrite of .*, because the new files should have {10 + rows_too_many} rows by the manifests of 1 data files .* have 10\. Nothing was"
    assert re.search(why, str(failure))
    row = table.call("id", options={"partial-progress.enabled": "true", "max-concurrent-file-group-rewrites": "1"})
    assert (row.rewritten_data_files_count, row.failed_data_files_count) == (1, 1)
    assert table.operations() == ["append", "append", "replace"]
    assert table.orphans() == set()


class TestPartialProgress:
    PARTIAL: ClassVar = {"partial-progress.enabled": "true", "partial-progress.max-commits": "4"}

    @pytest.fixture
    def table(self, spark: SparkSession) -> Table:
        return create(
            spark,
            "SELECT id, cast(id % 4 AS int) AS p, hash(id) AS a FROM range(0, 2000, 1, 1)",
            partitioned_by="p",
            properties={"commit.retry.num-retries": "0"},
        )

    def numbered(self, server: RestServer, set_up: Callable[[int], object]) -> None:
        """Call a function with the number of each commit, as it comes in."""
        numbers = iter(range(100))
        server.before_commit = lambda: set_up(next(numbers))

    def test_an_unknown_commit_is_told(self, spark: SparkSession, server: RestServer, table: Table) -> None:
        rows = table.fingerprint()

        def second_is_unknown(number: int) -> None:
            server.answer, server.commits = (status(500), False) if number == 1 else (None, True)

        self.numbered(server, second_is_unknown)
        failure = str(call(table, server, "a", self.PARTIAL))
        assert "Cannot tell whether all of the rewrite of" in failure
        assert "3 of 4 file groups were committed in 3 commits for certain" in failure
        assert table.operations() == ["append", *["replace"] * 3]
        assert table.fingerprint() == rows
        assert len(table.orphans()) == 1, "the files of the commit in doubt"

    def test_a_call_whose_commits_all_fail_fails(self, server: RestServer, table: Table) -> None:
        server.answer, server.commits = status(409), False
        with untouched(table):
            failure = str(call(table, server, "a", self.PARTIAL))
        assert "because no file group could be rewritten: Cannot commit rewrite of" in failure
        assert "0 of 4 file groups were committed in 0 commits; the new files of the others were deleted" in failure

    def test_an_interrupted_call_tells_what_was_committed(
        self, spark: SparkSession, server: RestServer, table: Table
    ) -> None:
        # Each thread of Python has one of Java's, which is not used again once it was interrupted.
        java: list[Any] = []
        failures: list[str] = []

        def rewrite() -> None:
            assert spark.sparkContext._jvm is not None
            java.append(spark.sparkContext._jvm.Thread.currentThread())
            options = {**self.PARTIAL, "partial-progress.max-commits": "2", "max-concurrent-file-group-rewrites": "1"}
            try:
                table.call("a", options=options, catalog=f"rest_{server.server_port}")
            except Exception as error:
                failures.append(str(error))

        def interrupt(_: int) -> None:
            java[0].interrupt()
            # Else the commit may be answered, and the next job begin, before the thread has noticed.
            deadline = time.monotonic() + 60
            while java[0].isInterrupted() and time.monotonic() < deadline:
                time.sleep(0.005)

        self.numbered(server, interrupt)
        thread = threading.Thread(target=rewrite)
        thread.start()
        thread.join()
        spark.sql(f"REFRESH TABLE {table.full_name}")
        commits = table.operations().count("replace")
        if failures:
            said = f"because it was interrupted. {2 * commits} of 4 file groups were committed in {commits} commits"
            assert said in failures[0]
        else:
            # While the first two groups were committed, the others had been rewritten: only their commit was left.
            assert commits == 2
        assert table.leaves_little()

    # Spark 4.1 would not read a stale cache; 3.5 would.
    @pytest.mark.version
    def test_caches_are_refreshed_after_a_failure(self, spark: SparkSession, server: RestServer, table: Table) -> None:
        def first_is_unknown(number: int) -> None:
            server.answer, server.commits = (status(500), False) if number == 0 else (None, True)

        self.numbered(server, first_is_unknown)
        name = f"rest_{server.server_port}.{table.name}"
        spark.sql(f"CACHE TABLE cached_files AS SELECT DISTINCT input_file_name() FROM {name}")
        before = {row[0] for row in spark.sql("TABLE cached_files").collect()}
        # A REFRESH TABLE would hide that the rewrite has refreshed nothing.
        options = {**self.PARTIAL, "max-concurrent-file-group-rewrites": "1"}
        with pytest.raises(Exception, match="Cannot"):
            table.call("a", options=options, catalog=f"rest_{server.server_port}")
        after = {row[0] for row in spark.sql("TABLE cached_files").collect()}
        spark.sql("UNCACHE TABLE cached_files")
        current = {row[0] for row in spark.sql(f"SELECT file_path FROM {table.full_name}.files").collect()}
        assert after == current
        assert len(before & after) == 1


def test_a_refresh_that_fails_is_no_failed_rewrite(spark: SparkSession, server: RestServer) -> None:
    spark.conf.set(f"spark.sql.catalog.rest_{server.server_port}.cache-enabled", "false")
    table = create(spark, "SELECT id, hash(id) AS a FROM range(0, 2000, 1, 2)")
    rows = table.fingerprint()

    def no_more_loads() -> None:
        server.refusal = status(403)

    server.before_commit = no_more_loads
    assert call(table, server, "a") is None
    assert table.operations() == ["append", "replace"]
    assert table.fingerprint() == rows
