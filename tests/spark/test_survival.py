"""Rewrites whose files lose rows to other writers before the commit: the new files lose them, too."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import duckdb
import pytest
from pyspark.sql import SparkSession

from benchmarks.cost import stages_so_far
from iceberg_zorder.rewrite.snapshot_keys import SETTLED_FROM
from iceberg_zorder.spark import rewrite_data_files
from tests.present import present
from tests.pyiceberg.committing import commit_files, new_file, position_deletes
from tests.pyiceberg.lake import equality_delete
from tests.spark.tables import CATALOG, ICEBERG, create, needs_branch_argument
from tests.stack.rest import RestServer, hang_up, status

pytestmark = pytest.mark.usefixtures("version_3")

ROWS = (
    "SELECT id, cast(hash(id) % 1000 AS int) AS a, cast(id % 4 AS int) AS p, "
    "if(id % 5 = 0, NULL, 0.0D * (id % 2 * 2 - 1)) AS x, concat('s', id % 100) AS s FROM range(0, 4000, 1, 4)"
)
TWINS = "SELECT 5L AS id, 5 AS a, 1 AS p, 0.0D * (id % 2 * 2 - 1) AS x, 'twin' AS s FROM range(10)"
MERGE_ON_READ = {f"write.{kind}.mode": "merge-on-read" for kind in ("delete", "update", "merge")}
MERGE = (
    "MERGE INTO {t} t USING (SELECT id * 83 AS id FROM range(60)) u ON t.id = u.id WHEN MATCHED AND t.id % 2 = 0 THEN DELETE "
    "WHEN MATCHED THEN UPDATE SET a = -1 WHEN NOT MATCHED THEN INSERT (id, s) VALUES (u.id, 'merged')"
)
DML = (
    "DELETE FROM {t} WHERE id % 97 = 0",
    "UPDATE {t} SET s = 'new', a = a + 5 WHERE id % 89 = 1",
    MERGE,
    "DELETE FROM {t} WHERE s = 'new' AND id % 2 = 0",
    "INSERT INTO {t} SELECT id, 1, 1, 1.0D, 'again' FROM range(0, 970, 97)",
)


@dataclass
class Race:
    """A rewrite of a table, and writers right before its commits."""

    spark: SparkSession
    server: RestServer
    version: int
    select: str = ROWS
    partitioned_by: str = ""
    properties: Mapping[str, str] = field(default_factory=dict)
    branch: str = ""

    def __post_init__(self) -> None:
        properties = {"format-version": str(self.version), **MERGE_ON_READ, **self.properties}
        self.table = create(self.spark, self.select, partitioned_by=self.partitioned_by, properties=properties)
        if self.branch:
            self.sql(f"ALTER TABLE {self.table.full_name} CREATE BRANCH {self.branch}")
        self.oracle: Counter[Any] = Counter()

    def sql(self, *statements: str) -> None:
        for statement in statements:
            # The rewrite commits through another catalog.
            self.spark.sql(f"REFRESH TABLE {self.table.full_name}")
            self.spark.sql(statement.format(t=f"{self.table.full_name}{self.branch and f'.branch_{self.branch}'}"))

    def rows(self) -> Counter[Any]:
        """The rows; in version 3 with what must not change of them."""
        self.spark.sql(f"REFRESH TABLE {self.table.full_name}")
        lineage = ", _row_id, _last_updated_sequence_number" if self.version == 3 else ""
        version = f"VERSION AS OF '{self.branch}'" if self.branch else ""
        rows = self.spark.sql(f"SELECT *{lineage} FROM {self.table.full_name} {version}").collect()
        return Counter(repr(tuple(row)) for row in rows)

    def run(
        self,
        *writers: Callable[[], object],
        options: Mapping[str, str] | None = None,
        columns: str = "zorder(a, id)",
        **others: str,
    ) -> Any:
        """Rewrite; each writer acts as another commit comes in. Returns the result as a row, or the failure."""
        waiting = list(writers)

        def next_writer() -> None:
            if waiting:
                waiting.pop(0)()
                self.oracle = self.rows()

        self.oracle = self.rows()
        self.server.before_commit = next_writer
        given = {"rewrite-all": "true", "target-file-size-bytes": str(self.table.bytes() // 3), **(options or {})}
        named = {"branch": self.branch} if self.branch else {}
        try:
            name = f"{self.catalog}.{self.table.name}"
            return rewrite_data_files(self.spark, name, columns, options=given, **named, **others)
        except Exception as failure:
            return failure
        finally:
            self.server.before_commit = None
            assert self.rows() == self.oracle
            if self.server.answer is None:
                assert self.table.orphans() == set()

    @property
    def catalog(self) -> str:
        return f"rest_{self.server.server_port}"

    def survives(self, *writers: Callable[[], object], options: Mapping[str, str] | None = None, **others: str) -> int:
        """Rewrite beside writers; returns how many rows were translated in the last commit."""
        result = self.run(*writers, options=options, **others)
        assert not isinstance(result, Exception), result
        assert result.failed_data_files_count == 0
        assert self.table.operations()[-1] == "replace"
        return int(self.table.summary().get("zorder.translated-deletes", "0"))

    def again(self, *writers: Callable[[], object], options: Mapping[str, str] | None = None, **others: str) -> str:
        """Rewrite beside writers after which file groups are planned again; returns what is told of it."""
        result = self.run(*writers, options=options, **others)
        assert not isinstance(result, Exception), result
        assert result.failed_data_files_count == 0
        assert self.table.operations()[-1] == "replace"
        assert "because another operation changed their files meanwhile" in result.message
        return str(result.message)

    def conflict(self, *writers: Callable[[], object], options: Mapping[str, str] | None = None, **others: str) -> str:
        """Rewrite beside writers that it cannot survive; returns why."""
        failure = str(present(self.run(*writers, options=options, **others)))
        assert "conflicted with another operation" in failure
        assert "replace" not in self.table.operations()
        return failure

    def iceberg(self) -> Any:
        return self.server.catalog.load_table(self.table.name)

    def commit(self, *files: Any) -> None:
        commit_files(self.iceberg(), *files)

    def take_back(self) -> None:
        """Remove the delete files that the newest snapshot has added."""
        jvm: Any = self.spark.sparkContext._jvm
        self.spark.sql(f"REFRESH TABLE {self.table.full_name}")
        other = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(
            self.spark._jsparkSession, self.table.full_name
        )
        delta = other.newRowDelta()
        for delete in other.currentSnapshot().addedDeleteFiles(other.io()):
            delta.removeDeletes(delete)
        delta.commit()


@pytest.mark.version
@pytest.mark.parametrize("version", [3, 2])
def test_statements(spark: SparkSession, server: RestServer, duck: duckdb.DuckDBPyConnection, version: int) -> None:
    race = Race(spark, server, version, f"{ROWS} UNION ALL {TWINS}")
    race.sql("DELETE FROM {t} WHERE id % 101 = 5")
    assert 100 < race.survives(lambda: race.sql(*DML)) < 200
    summary = race.table.summary()
    assert summary["added-delete-files"] == summary["zorder.translated-delete-files"] != "0"
    assert int(summary["removed-delete-files"]) >= 4, "the deletes of the old files went with them"
    scan = f"iceberg_scan('{race.table.metadata_location()}')"
    expected = spark.sql(f"SELECT count(*), sum(id) FROM {race.table.full_name}").collect()[0]
    assert duck.sql(f"SELECT count(*), sum(id)::bigint FROM {scan}").fetchone() == tuple(expected)


@pytest.mark.parametrize("version", [3, 2])
@pytest.mark.parametrize("statement", [*DML[:2], MERGE], ids=["delete", "update", "merge"])
def test_one_statement(spark: SparkSession, server: RestServer, version: int, statement: str) -> None:
    race = Race(spark, server, version)
    assert race.survives(lambda: race.sql(statement)) > 20


@pytest.mark.parametrize("version", [3, 2])
def test_writers_in_a_row(spark: SparkSession, server: RestServer, version: int) -> None:
    race = Race(spark, server, version)
    writers = [lambda k=k: race.sql(f"DELETE FROM {{t}} WHERE id % 400 = {k}") for k in range(3)]
    assert race.survives(*writers) == 30
    assert race.table.operations() == ["append", "delete", "delete", "delete", "replace"]


@pytest.mark.parametrize("version", [3, 2])
def test_rows_that_live_again_after_a_translation(spark: SparkSession, server: RestServer, version: int) -> None:
    race = Race(spark, server, version)

    def write() -> None:
        race.take_back()
        race.sql("DELETE FROM {t} WHERE id % 400 = 4")

    assert race.survives(lambda: race.sql("DELETE FROM {t} WHERE id % 400 = 3"), write) == 10


@pytest.mark.parametrize("version", [3, 2])
def test_writers_that_are_always_faster(spark: SparkSession, server: RestServer, version: int) -> None:
    race = Race(spark, server, version)
    many = [lambda k=k: race.sql(f"DELETE FROM {{t}} WHERE id = {k}") for k in range(11)]
    assert "again after 10 translations of deletes" in race.again(*many)


@pytest.mark.version
@pytest.mark.parametrize("version", [3, 2])
def test_later_translations_look_for_what_died_since(spark: SparkSession, server: RestServer, version: int) -> None:
    """In files whose bounds may hold it, by clustering columns of every type that has bounds, also where values are hostile."""
    rows = (
        "SELECT id, if(id % 9 = 0, NULL, cast(hash(id) % 1000 AS int)) AS a, if(id % 9 = 1, NULL, date_add(date'1969-12-01', cast(id % 60 AS int))) AS d, "
        "timestamp_micros(if(id % 2 = 0, 1, -1) * hash(id, 1) * 1000000L) AS t, timestamp_ntz'1970-01-01 00:00:00' + make_interval(0, 0, 0, cast(hash(id, 2) % 9999 AS int)) AS n, "
        "cast(hash(id, 3) / 100 AS decimal(12, 2)) AS m, cast(hash(id, 4) AS decimal(38, 5)) AS w, hash(id, 5) * 1e300D AS f, "
        "concat(repeat('x', cast(id % 30 AS int)), decode(unhex(if(id % 3 = 0, 'F09F9880', hex('y'))), 'utf-8'), id % 50) AS s, "
        "cast(if(id % 5 = 0, unhex('61FF'), cast(concat('a', id) AS binary)) AS string) AS u, cast(concat('b', id % 77) AS binary) AS b "
        "FROM range(0, 3000, 1, 4)"
    )
    race = Race(spark, server, version, rows)
    columns = "zorder(a, d, t, n, m, w, f, s, u, b)"
    writers = [lambda k=k: race.sql(f"DELETE FROM {{t}} WHERE id IN ({k * 15}, {k * 45 + 2})") for k in range(1, 5)]
    assert race.survives(*writers, options={"target-file-size-bytes": "3000"}, columns=columns) == 8
    assert max(files_searched(spark)[-2:]) < len(race.table.data_files()) // 2


@pytest.mark.version
@pytest.mark.parametrize("version", [3, 2])
def test_days_that_calendars_lack(spark: SparkSession, server: RestServer, version: int) -> None:
    """As Java's old dates, days of October 1582 are others, by which rows would be looked for in other files."""
    day = "date_add(date'1582-10-01', cast(id % 25 + {twin} AS int)) AS d"
    halves = [f"SELECT xxhash64(id) AS w, {day.format(twin=twin)} FROM range(0, 1000, 1, 1)" for twin in (0, 10)]
    race = Race(spark, server, version, " UNION ALL ".join(halves))
    writers = [lambda k=k: race.sql(f"DELETE FROM {{t}} WHERE w = xxhash64({k}L) AND d < '1582-10-11'") for k in (5, 7)]
    assert race.survives(*writers, options={"target-file-size-bytes": "2000"}, columns="zorder(d)") == 2
    assert max(files_searched(spark)[-2:]) < len(race.table.data_files()) // 2


def jobs_of(spark: SparkSession) -> list[str]:
    """What Spark's jobs were described as, in their order."""
    jobs = spark.sparkContext._jsc.sc().statusStore().jobsList(None)
    of_all = [jobs.apply(place) for place in range(jobs.size())]
    described = [(job.jobId(), job.description().get()) for job in of_all if job.description().isDefined()]
    return [description for _, description in sorted(described)]


def files_searched(spark: SparkSession) -> list[int]:
    """How many data files each job read that looked for deleted rows."""
    found = [re.match("Finding deleted rows in ([0-9]+) files", each) for each in jobs_of(spark)]
    return [int(each[1]) for each in found if each]


@pytest.mark.parametrize("version", [3, 2])
def test_without_a_conflict_it_costs_nothing(spark: SparkSession, server: RestServer, version: int) -> None:
    """As many stages, bytes that Spark counts of their reads and shuffles, and requests to the catalog, as without translation."""
    costs = []
    for on_conflict in ("fail", "translate"):
        race, requests = Race(spark, server, version), list[str]()
        before = max(each.stageId() for each in stages_so_far(spark))
        server.before_load = lambda requests=requests: requests.append("load")
        try:
            race.survives(options={"on-conflict": on_conflict})
        finally:
            server.before_load = None
        stages = [each for each in stages_so_far(spark) if each.stageId() > before]
        read, shuffled = sum(each.inputBytes() for each in stages), sum(each.shuffleWriteBytes() for each in stages)
        costs.append((len(stages), read, shuffled, requests))
    assert costs[0] == costs[1]
    assert min(costs[0][:3]) > 0


def test_the_result_tells(spark: SparkSession, server: RestServer) -> None:
    race = Race(spark, server, 2)
    server.before_next_commit(lambda: race.sql("DELETE FROM {t} WHERE id % 97 = 0"))
    call = f"CALL {race.catalog}.system.zorder_rewrite(table => '{race.table.name}', sort_order => 'zorder(a, id)', options => map('rewrite-all', 'true'))"
    row = spark.sql(call).collect()[0]
    assert (
        "Other writers deleted 42 rows meanwhile: they are deleted from the new files by 1 delete file, which took"
        in row.message
    )
    assert '"translated_deletes":42' in row.result


@pytest.mark.parametrize("version", [3, 2])
def test_partial_progress(spark: SparkSession, server: RestServer, version: int) -> None:
    race = Race(spark, server, version, partitioned_by="p")
    options = {
        "partial-progress.enabled": "true",
        "partial-progress.max-commits": "4",
        "target-file-size-bytes": "20000",
    }
    race.survives(
        lambda: race.sql("DELETE FROM {t} WHERE id % 200 = 3"),
        lambda: None,
        lambda: race.sql("UPDATE {t} SET p = 0 WHERE id % 61 = 1"),
        options=options,
    )
    replaced = [each["summary"] for each in race.table.snapshots() if each["summary"]["operation"] == "replace"]
    assert len(replaced) == 4
    assert sum("zorder.translated-deletes" in each for each in replaced) > 1


def test_a_renamed_clustering_column_is_told(spark: SparkSession, server: RestServer) -> None:
    """The second commit of partial progress comes after the table was loaded anew."""
    race = Race(spark, server, 2, partitioned_by="p")
    options = {
        "partial-progress.enabled": "true",
        "partial-progress.max-commits": "4",
        "max-concurrent-file-group-rewrites": "1",
    }
    rename = f"ALTER TABLE {race.table.full_name} RENAME COLUMN a TO other"
    result = race.run(lambda: race.sql(rename), options=options)
    assert isinstance(result, Exception) or result.failed_data_files_count > 0
    if isinstance(result, Exception):
        assert "clustering column a was renamed or dropped" in str(result)


@needs_branch_argument
@pytest.mark.parametrize("version", [3, 2])
def test_branches(spark: SparkSession, server: RestServer, version: int) -> None:
    race = Race(spark, server, version, branch="audit")

    def write() -> None:
        spark.sql(f"DELETE FROM {race.table.full_name} WHERE id % 13 = 0")
        race.sql("DELETE FROM {t} WHERE id % 97 = 0")

    assert race.survives(write) == 42


@pytest.mark.parametrize("version", [3, 2])
def test_partitions_and_a_new_spec(spark: SparkSession, server: RestServer, version: int) -> None:
    race = Race(spark, server, version, partitioned_by="p", properties={"write.delete.granularity": "partition"})
    race.sql("DELETE FROM {t} WHERE id % 100 = 1")
    spark.sql(f"ALTER TABLE {race.table.full_name} ADD PARTITION FIELD bucket(2, id)")
    assert (
        race.survives(
            lambda: race.sql("DELETE FROM {t} WHERE id % 97 = 0"), options={"target-file-size-bytes": "20000"}
        )
        == 41
    )


@pytest.mark.parametrize("version", [3, 2])
def test_a_changed_schema(spark: SparkSession, server: RestServer, version: int) -> None:
    race = Race(spark, server, version)

    def write() -> None:
        for change in ("ADD COLUMN c int", "DROP COLUMN s", "RENAME COLUMN x TO y", "ALTER COLUMN p TYPE bigint"):
            spark.sql(f"ALTER TABLE {race.table.full_name} {change}")
        race.sql("UPDATE {t} SET c = 1 WHERE id % 97 = 0")

    if version == 3:
        assert race.survives(write) == 42
    else:
        assert "the table's schema has changed" in race.conflict(write)


class TestVersion2:
    def test_some_of_equal_rows(self, spark: SparkSession, server: RestServer) -> None:
        race = Race(spark, server, 2, f"{ROWS} UNION ALL {TWINS}")

        def write() -> None:
            found = spark.sql(
                "SELECT _file, _pos FROM (SELECT _file, _pos, cast(x AS string) AS x, row_number() OVER "
                f"(PARTITION BY cast(x AS string) ORDER BY _pos) AS n FROM {race.table.full_name} WHERE s = 'twin') "
                "WHERE n <= if(x = '0.0', 2, 1)"
            ).collect()
            race.commit(position_deletes(race.iceberg(), [(row[0], row[1]) for row in found]))

        assert race.survives(write) == 3

    def test_equal_rows_of_writers_in_a_row(self, spark: SparkSession, server: RestServer) -> None:
        """The copy that died for the first writer does not die once more for the second."""
        race = Race(spark, server, 2, f"{ROWS} UNION ALL {TWINS}")

        def write() -> None:
            race.sql("REFRESH TABLE {t}")
            twin = "SELECT _file, _pos FROM {t} WHERE s = 'twin' ORDER BY cast(x AS string), _file, _pos LIMIT 1"
            (row,) = spark.sql(twin.format(t=race.table.full_name)).collect()
            race.commit(position_deletes(race.iceberg(), [(row[0], row[1])]))

        assert race.survives(write, write) == 2

    def test_equality_deletes_beside(self, spark: SparkSession, server: RestServer) -> None:
        race = Race(spark, server, 2)
        race.sql("INSERT INTO {t} SELECT -id, 1, 1, 1.0D, 'kept' FROM range(1, 100)")

        def write() -> None:
            table = race.iceberg()
            race.commit(equality_delete(table, [{"a": a} for a in (97, 194, 7)], ["a"]))
            race.sql("DELETE FROM {t} WHERE a % 97 = 0")
            race.commit(equality_delete(race.iceberg(), [{"a": a} for a in (0, 97, 8)], ["a"]))
            race.sql("INSERT INTO {t} VALUES (-2000, 97, 0, 0.0D, 'again'), (-3000, 7, 0, 0.0D, 'again')")

        assert race.survives(write, where="id >= 0") > 5

    @pytest.mark.skipif(ICEBERG < (1, 12), reason="Iceberg 1.11 cannot read the table that the writer leaves")
    def test_an_equality_delete_by_a_column_that_the_new_files_lack(
        self, spark: SparkSession, server: RestServer
    ) -> None:
        """Its writer knows an old schema: the old files have the column."""
        race = Race(spark, server, 2)
        race.sql("INSERT INTO {t} SELECT -id, 1, 1, 1.0D, 'kept' FROM range(1, 100)")
        delete = equality_delete(race.iceberg(), [{"s": "s7"}], ["s"])
        spark.sql(f"ALTER TABLE {race.table.full_name} DROP COLUMN s")

        def write() -> None:
            race.commit(delete)
            race.sql("DELETE FROM {t} WHERE id IN (11, 12)")

        message = race.again(write, where="id >= 0")
        assert "deletes by a column that the new files lack" in message or "Cannot find field for ID" in message

    def test_deletes_that_only_seem_to_meet_the_files(self, spark: SparkSession, server: RestServer) -> None:
        race = Race(spark, server, 2)

        def write() -> None:
            table = race.iceberg()
            mine = new_file(table, table.scan(limit=3).to_arrow())
            paths = [row[0] for row in spark.sql(f"SELECT file_path FROM {race.table.full_name}.files").collect()]
            spread = [(mine.file_path, 0), (f"{min(paths)[:-1]} ", 0), (f"{max(paths)}~", 0)]
            race.commit(mine, position_deletes(table, spread))

        assert race.survives(write) == 0
        assert race.table.summary().get("added-delete-files", "0") == "0"

    def test_a_delete_file_of_other_files_too(self, spark: SparkSession, server: RestServer) -> None:
        race = Race(spark, server, 2, properties={"write.delete.granularity": "partition"})
        race.sql("INSERT INTO {t} SELECT -id, 1, 1, 1.0D, 'kept' FROM range(1, 1000)")
        assert race.survives(lambda: race.sql("DELETE FROM {t} WHERE id % 97 = 0"), where="id >= 0") == 42

    @pytest.mark.parametrize("of", ["large", "small"])
    def test_columns_are_read_within_limits(self, spark: SparkSession, server: RestServer, of: str) -> None:
        """Of a column of half of the bytes nothing is read; a small one finds rows alone, or with the others for those in doubt."""
        payload = "if(id % 7 = 0, 'same', repeat(uuid(), 4))" if of == "large" else "'same'"
        race = Race(
            spark, server, 2, f"SELECT id, cast(id % 1000 AS int) AS a, {payload} AS s FROM range(0, 4000, 1, 4)"
        )
        assert race.survives(lambda: race.sql("DELETE FROM {t} WHERE id % 97 = 0")) == 42

    def test_nested_columns_tell_no_rows_apart(self, spark: SparkSession, server: RestServer) -> None:
        race = Race(
            spark, server, 2, "SELECT id % 2000 AS id, 1 AS a, named_struct('n', id) AS n FROM range(0, 4000, 1, 4)"
        )
        assert "column n, whose type is struct" in race.again(lambda: race.sql("DELETE FROM {t} WHERE n.n = 97"))

    def test_nested_columns_of_rows_that_others_tell_apart(self, spark: SparkSession, server: RestServer) -> None:
        race = Race(
            spark, server, 2, "SELECT id % 2000 AS id, 1 AS a, named_struct('n', id) AS n FROM range(0, 4000, 1, 4)"
        )
        assert race.survives(lambda: race.sql("DELETE FROM {t} WHERE id = 97")) == 2


class TestConflicts:
    @pytest.mark.parametrize("version", [3, 2])
    def test_by_request(self, spark: SparkSession, server: RestServer, version: int) -> None:
        race = Race(spark, server, version)
        said = race.conflict(lambda: race.sql("DELETE FROM {t} WHERE id = 5"), options={"on-conflict": "fail"})
        assert "translated" not in said

    @pytest.mark.parametrize("version", [3, 2])
    def test_too_many_rows(self, spark: SparkSession, server: RestServer, version: int) -> None:
        race = Race(spark, server, version)
        race.sql("DELETE FROM {t} WHERE id % 10 = 0")
        assert "400 of 3,600 rows of a file group were deleted, more than 5%" in race.again(
            lambda: race.sql("DELETE FROM {t} WHERE id % 10 = 1")
        )

    @pytest.mark.parametrize("version", [3, 2])
    def test_too_many_rows_of_two_writers(self, spark: SparkSession, server: RestServer, version: int) -> None:
        race = Race(spark, server, version)
        few = [lambda k=k: race.sql(f"DELETE FROM {{t}} WHERE id % 33 = {k}") for k in (1, 2)]
        assert "244 of 4,000 rows of a file group were deleted, more than 5%" in race.again(*few)

    @pytest.mark.parametrize("version", [3, 2])
    def test_copied_files(self, spark: SparkSession, server: RestServer, version: int) -> None:
        race = Race(spark, server, version, properties={"write.delete.mode": "copy-on-write"})
        assert "was removed" in race.again(lambda: race.sql("DELETE FROM {t} WHERE id = 5"))

    @pytest.mark.parametrize("version", [3, 2])
    def test_revived_rows(self, spark: SparkSession, server: RestServer, version: int) -> None:
        race = Race(spark, server, version)
        race.sql("DELETE FROM {t} WHERE id % 97 = 0")

        def write() -> None:
            race.take_back()
            race.sql("DELETE FROM {t} WHERE id % 400 = 1")

        assert "were taken back" in race.again(write)

    @pytest.mark.parametrize("version", [3, 2])
    def test_an_expired_start(self, spark: SparkSession, server: RestServer, version: int) -> None:
        race = Race(spark, server, version)

        def write() -> None:
            race.sql("DELETE FROM {t} WHERE id = 5")
            first = race.table.snapshots()[0]["snapshot-id"]
            spark.sql(
                f"CALL {CATALOG}.system.expire_snapshots(table => '{race.table.name}', snapshot_ids => array({first}))"
            )

        assert "is no longer in the history of branch main" in race.conflict(write)


class TestPlannedAgain:
    """Of several file groups only those with conflicts are planned again, after the others are committed."""

    SEVERAL: ClassVar = {"write.distribution-mode": "none"}
    """Each partition has as many files as the rows have."""
    COPY_ON_WRITE: ClassVar = {
        **SEVERAL,
        **{f"write.{kind}.mode": "copy-on-write" for kind in ("delete", "update", "merge")},
    }
    PARTIAL: ClassVar = {"partial-progress.enabled": "true", "partial-progress.max-commits": "2"}

    @pytest.mark.parametrize("options", [{}, PARTIAL], ids=["at once", "partial progress"])
    @pytest.mark.parametrize("version", [3, 2])
    def test_the_group_of_a_replaced_file(
        self, spark: SparkSession, server: RestServer, version: int, options: Mapping[str, str]
    ) -> None:
        race = Race(spark, server, version, partitioned_by="p", properties=self.COPY_ON_WRITE)
        message = race.again(
            lambda: race.sql("UPDATE {t} SET a = -1 WHERE p = 2 AND id < 1000 AND id % 100 = 2"), options=options
        )
        assert "1 of 4 file groups were planned again" in message
        replaced = [each["summary"] for each in race.table.snapshots() if each["summary"]["operation"] == "replace"]
        assert len({each["zorder.rewrite-id"] for each in replaced}) == 1, "it is one rewrite"
        assert len(replaced) == (3 if options else 2)
        assert sum(int(each["deleted-data-files"]) for each in replaced) == 15, "the replaced file stays"
        assert not any(SETTLED_FROM in each for each in replaced), "the next rewrite looks at it"

    def test_others_translate(self, spark: SparkSession, server: RestServer) -> None:
        race = Race(spark, server, 2, partitioned_by="p", properties=self.SEVERAL)

        def write() -> None:
            race.sql("DELETE FROM {t} WHERE p = 1 AND id % 97 = 0")
            spark.sql(f"ALTER TABLE {race.table.full_name} SET TBLPROPERTIES ('write.update.mode' = 'copy-on-write')")
            race.sql("UPDATE {t} SET a = -1 WHERE p = 2 AND id < 1000 AND id % 97 = 1")

        assert "1 of 4 file groups were planned again" in race.again(write)
        assert race.table.operations() == ["append", "delete", "overwrite", "replace", "replace"]
        assert race.table.snapshots()[-2]["summary"]["zorder.translated-deletes"] == "11"

    @pytest.mark.parametrize("version", [3, 2])
    def test_too_many_rows_of_one_group(self, spark: SparkSession, server: RestServer, version: int) -> None:
        race = Race(spark, server, version, partitioned_by="p", properties=self.SEVERAL)
        delete = "DELETE FROM {t} WHERE p = 2 AND id % 40 = 2 OR id IN (100, 101, 103)"
        assert "1 of 4 file groups were planned again" in race.again(lambda: race.sql(delete))
        assert race.table.snapshots()[-2]["summary"]["zorder.translated-deletes"] == "3"

    def test_little_is_left(self, spark: SparkSession, server: RestServer) -> None:
        race = Race(spark, server, 2, properties=self.COPY_ON_WRITE)
        options = {"target-file-size-bytes": str(race.table.bytes() // 4)}
        race.again(lambda: race.sql("UPDATE {t} SET a = 1 WHERE id >= 1000"), options=options)
        assert race.table.summary()["added-data-files"] == "1", "and not as many as of the whole table"
        assert int(race.table.summary()["deleted-data-files"]) == 1

    def test_nothing_is_left(self, spark: SparkSession, server: RestServer) -> None:
        race = Race(spark, server, 2, "SELECT *, 1 AS q FROM (" + ROWS + ") WHERE p = 1", partitioned_by="p")
        result = race.run(lambda: race.sql("DELETE FROM {t} WHERE p = 1"))
        assert "other operations changed the data files of 1 file groups meanwhile" in result.message
        assert (result.rewritten_data_files_count, result.failed_data_files_count) == (0, 0)
        assert "replace" not in race.table.operations()

    def test_a_group_that_always_conflicts(self, spark: SparkSession, server: RestServer) -> None:
        race = Race(spark, server, 2, partitioned_by="p", properties=self.COPY_ON_WRITE)
        first, *later = [lambda k=k: race.sql(f"DELETE FROM {{t}} WHERE id = {2 + 1000 * k}") for k in range(3)]
        failure = str(present(race.run(first, lambda: None, *later)))
        assert "conflicted with another operation" in failure
        assert "3 other file groups were committed" in failure
        assert race.table.operations() == ["append", "overwrite", "replace", "overwrite", "overwrite"]

    def test_a_group_that_always_conflicts_with_partial_progress(self, spark: SparkSession, server: RestServer) -> None:
        race = Race(spark, server, 2, partitioned_by="p", properties=self.COPY_ON_WRITE)
        deletes = [lambda k=k: race.sql(f"DELETE FROM {{t}} WHERE id = {2 + 1000 * k}") for k in range(4)]
        # The first is before a commit of two groups, the second before the other, which may have to be sent again.
        first, second, third, fourth = deletes
        options = {**self.PARTIAL, "partial-progress.max-failed-commits": "1"}
        result = race.run(first, lambda: None, second, lambda: None, third, fourth, options=options)
        assert not isinstance(result, Exception), result
        assert (result.rewritten_data_files_count, result.failed_data_files_count) == (12, 1), result.message
        assert "In the end these still conflicted" in result.message

    def test_a_plan_that_cannot_be_made_again(self, spark: SparkSession, server: RestServer) -> None:
        race = Race(spark, server, 3, partitioned_by="p", properties=self.COPY_ON_WRITE)

        def write() -> None:
            race.sql("DELETE FROM {t} WHERE id = 2")
            spark.sql(f"ALTER TABLE {race.table.full_name} ADD COLUMN c int")

        failure = str(present(race.run(write)))
        assert "conflicted with another operation" in failure
        assert (
            "not rewritten again, because the table's schema, its partition spec or the branch has changed" in failure
        )
        assert "3 other file groups were committed" in failure


class TestOutcomes:
    def race(
        self, spark: SparkSession, server: RestServer, answer: Callable[..., None], commits: bool
    ) -> tuple[Race, Any]:
        race = Race(spark, server, 2, properties={"commit.retry.num-retries": "1"})

        def fault() -> None:
            server.answer, server.commits = answer, commits

        try:
            return race, race.run(lambda: race.sql("DELETE FROM {t} WHERE id % 97 = 0"), fault)
        finally:
            server.answer, server.commits = None, True

    def test_a_failed_commit_leaves_no_file(self, spark: SparkSession, server: RestServer) -> None:
        race, failure = self.race(spark, server, status(409), False)
        assert "conflicted with another operation" in str(failure)
        assert race.table.operations() == ["append", "delete"]
        assert race.table.orphans() == set()

    @pytest.mark.parametrize("committed", [True, False])
    def test_an_unknown_outcome_deletes_nothing(self, spark: SparkSession, server: RestServer, committed: bool) -> None:
        race, failure = self.race(spark, server, hang_up, committed)
        assert all(Path(path).exists() for path in race.table.data_paths())
        if not committed:
            assert "Cannot tell whether the rewrite" in str(failure)
            assert any("deletes" in path for path in race.table.orphans())
