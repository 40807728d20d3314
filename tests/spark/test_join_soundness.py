"""Tables whose bounds do not tell what a join may skip: each of these queries lost or doubled rows once."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.typedef import Record
from pyspark.sql import SparkSession

from tests.fuzz.model import EQUALITY_DELETES
from tests.fuzz.types import Field, Struct
from tests.fuzz.writing import Style, write_file
from tests.spark.joins.tables import IcebergTable, PartitionField
from tests.spark.tables import settings
from tests.spark.test_join_pruning import THRESHOLD, check, skipped

UUID = "concat_ws('-', substr(h, 1, 8), substr(h, 9, 4), substr(h, 13, 4), substr(h, 17, 4), substr(h, 21, 12))"
"""A UUID of a row, any bits, from its hash in hexadecimal numbers."""
HASHED = "SELECT id, md5(cast(id AS string)) AS h FROM range(2000)"
pytestmark = pytest.mark.usefixtures("own_tables")


@pytest.fixture(scope="module", autouse=True)
def no_table_is_small(spark: SparkSession) -> Iterator[None]:
    """Tables that Spark may broadcast take no keys; hints broadcast the other sides."""
    with settings(spark, {THRESHOLD: "1"}):
        yield


def test_uuids_in_buckets(spark: SparkSession) -> None:
    """Iceberg 1.12 compares bounds of UUIDs as signed numbers, and they are written as unsigned ones."""
    schema = Struct((Field(1, "id", "long"), Field(2, "u", "uuid")))
    partitions = [PartitionField("u_bucket", "bucket[4]", 2)]
    IcebergTable(spark, "uuids").create(schema, partitions, {"write.distribution-mode": "hash"})
    spark.sql(f"INSERT INTO lake.db.uuids SELECT id, {UUID} FROM ({HASHED})")
    spark.sql(f"CREATE TABLE lake.db.uuid_keys USING iceberg AS SELECT {UUID} AS k, id % 8 AS g FROM ({HASHED})")
    sql = "SELECT /*+ BROADCAST(d) */ t.* FROM lake.db.uuids t JOIN lake.db.uuid_keys d ON t.u = d.k WHERE g = 1"
    assert check(spark, sql).count() == 250


class TestTextThatIsNotUtf8:
    """The bound of 'M\\xC0A' has U+FFFD for what is not UTF-8, and so lies above 'Mé', which is greater than the text."""

    BAD = "SELECT /*+ COALESCE(1) */ s FROM VALUES (cast(X'4DC041' AS string)), ('Mé') AS t(s)"
    JOIN = "SELECT /*+ BROADCAST(d) */ t.s FROM {t} t JOIN lake.db.texts d ON t.s = d.k WHERE g = 1"

    @pytest.fixture
    def texts(self, spark: SparkSession) -> SparkSession:
        spark.sql("CREATE TABLE lake.db.texts USING iceberg AS SELECT * FROM VALUES ('Mé', 1), ('x', 2) AS t(k, g)")
        return spark

    @staticmethod
    def create(spark: SparkSession, partitioned: str) -> None:
        """Twelve files whose text is UTF-8, and which lie apart."""
        spark.sql(
            f"CREATE TABLE lake.db.bad_texts (s string) USING iceberg {partitioned}"
            " TBLPROPERTIES ('write.distribution-mode' = 'none', 'write.spark.fanout.enabled' = 'true')"
        )
        letters = "SELECT concat(substr('abcdefghijkl', cast(id AS int) + 1, 1), 'z') AS s FROM range(12)"
        spark.sql(f"INSERT INTO lake.db.bad_texts SELECT /*+ REPARTITION_BY_RANGE(12, s) */ s FROM ({letters})")
        assert len(spark.table("lake.db.bad_texts.files").collect()) == 12

    def test_it_may_be_the_source_of_a_partition(self, texts: SparkSession) -> None:
        self.create(texts, "PARTITIONED BY (truncate(1, s))")
        texts.sql(f"INSERT INTO lake.db.bad_texts {self.BAD}")
        assert check(texts, self.JOIN.format(t="lake.db.bad_texts")).count() == 1

    def test_it_may_be_on_a_branch(self, texts: SparkSession) -> None:
        self.create(texts, "")
        texts.sql("ALTER TABLE lake.db.bad_texts CREATE BRANCH side")
        texts.sql(f"INSERT INTO lake.db.bad_texts.branch_side {self.BAD}")
        assert check(texts, self.JOIN.format(t="lake.db.bad_texts.branch_side")).count() == 1

    def test_a_bound_may_be_cut_behind_it(self, texts: SparkSession) -> None:
        """Iceberg then raises the last character of the bound, so that it is no U+FFFD any more."""
        self.create(texts, "")
        cut = "concat(repeat('a', 15), cast(X'FF41' AS string))"
        texts.sql(
            f"INSERT INTO lake.db.bad_texts SELECT /*+ COALESCE(1) */ s FROM VALUES (repeat('a', 16)), (concat(repeat('a', 15), '😀x')), ({cut}) AS t(s)"
        )
        texts.sql("INSERT INTO lake.db.texts VALUES (concat(repeat('a', 15), '😀x'), 1)")
        query = check(texts, self.JOIN.format(t="lake.db.bad_texts"))
        assert (query.count(), skipped(query, "bad_texts")) == (1, [12])

    def test_it_may_come_after_a_query(self, texts: SparkSession) -> None:
        self.create(texts, "")
        query = check(texts, self.JOIN.format(t="lake.db.bad_texts"))
        assert (query.count(), skipped(query, "bad_texts")) == (0, [12])
        texts.sql(f"INSERT INTO lake.db.bad_texts {self.BAD}")
        assert check(texts, self.JOIN.format(t="lake.db.bad_texts")).count() == 1


def test_equality_deletes_with_wrong_values_in_other_columns(spark: SparkSession) -> None:
    """Only what they delete by need be right in their files, as the rows are read."""
    table = IcebergTable(spark, "wrong_deletes")
    schema = Struct((Field(1, "id", "long"), Field(2, "k", "int")))
    spark.sql(
        "CREATE TABLE lake.db.some_keys USING iceberg AS SELECT cast(id AS int) AS k, id DIV 20 AS g FROM range(40)"
    )
    table.create(schema, [], {"format-version": "2"})
    files = [[(place, place) for place in range(start, start + 10)] for start in range(0, 80, 10)]
    table.add([write_file(table.location(), schema, each, Style()) for each in files])
    deleted = [(id_, 1000) for id_ in (3, 5, 15)]
    table.add([write_file(table.location(), schema, deleted, Style(), content=EQUALITY_DELETES, equality_ids=[1])])
    sql = (
        "SELECT /*+ BROADCAST(d) */ t.* FROM lake.db.wrong_deletes t JOIN lake.db.some_keys d ON t.k = d.k WHERE g = 0"
    )
    assert check(spark, sql).count() == 17


@pytest.mark.parametrize("column", ["_last_updated_sequence_number", "_row_id"])
def test_row_lineage(spark: SparkSession, column: str) -> None:
    """A changed row has no sequence number of its own in its file, and a new row no id: bounds are of the other rows."""
    spark.sql(
        "CREATE TABLE lake.db.lineage (id BIGINT, p INT, n INT) USING iceberg PARTITIONED BY (p)"
        " TBLPROPERTIES ('format-version' = '3', 'write.merge.mode' = 'copy-on-write')"
    )
    for p in range(6):
        spark.sql(f"INSERT INTO lake.db.lineage SELECT id, {p}, 0 FROM range(100)")
    for p in range(6):
        spark.sql(
            f"MERGE INTO lake.db.lineage t USING (SELECT id, {p} AS p FROM range(90, 110)) s ON t.id = s.id AND t.p = s.p"
            " WHEN MATCHED THEN UPDATE SET n = 1 WHEN NOT MATCHED THEN INSERT (id, p, n) VALUES (s.id, s.p, 2)"
        )
    spark.sql(
        f"CREATE TABLE lake.db.lineage_keys USING iceberg AS SELECT DISTINCT {column} AS k, p AS g FROM lake.db.lineage WHERE n = 2"
    )
    for group in range(6):
        join = f"SELECT /*+ BROADCAST(d) */ t.* FROM lake.db.lineage t JOIN lake.db.lineage_keys d ON t.{column} = d.k"
        assert check(spark, f"{join} WHERE g = {group} AND n = 2").count() == 10


def test_columns_are_not_measured_for_a_scan_of_few_files(spark: SparkSession, catalog: SqlCatalog) -> None:
    """Manifests of 1,500 files of a day take longer to read than the one file of another day that a query wants."""
    spark.sql("CREATE TABLE lake.db.few_keys USING iceberg AS SELECT cast(id AS int) AS k, id % 5 AS g FROM range(20)")
    spark.sql("CREATE TABLE lake.db.many_files (k INT, day INT) USING iceberg PARTITIONED BY (day)")
    spark.sql("INSERT INTO lake.db.many_files SELECT /*+ COALESCE(1) */ cast(id AS int), 0 FROM range(2000)")
    table = catalog.load_table("db.many_files")
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        for number in range(1500):
            file = DataFile.from_args(
                content=DataFileContent.DATA,
                file_path=f"{table.location()}/data/day=1/{number}.parquet",
                file_format=FileFormat.PARQUET,
                partition=Record(1),
                record_count=1000,
                file_size_in_bytes=10_000,
                split_offsets=[4],
                lower_bounds={1: struct.pack("<i", 1000 * number)},
                upper_bounds={1: struct.pack("<i", 1000 * number + 999)},
            )
            file.spec_id = table.spec().spec_id
            append.append_data_file(file)
    spark.sql("REFRESH TABLE lake.db.many_files")
    plans = []
    for day in (0, 1):
        sql = f"SELECT * FROM lake.db.many_files t JOIN lake.db.few_keys d ON t.k = d.k WHERE t.day = {day} AND g = 3"
        plans.append(spark.sql(sql)._jdf.queryExecution().optimizedPlan().toString())
    assert ["dynamicpruning" in plan for plan in plans] == [False, True]


def test_imported_timestamps_of_milliseconds(spark: SparkSession, tmp_path: Path) -> None:
    """Iceberg takes the bounds of an imported file for microseconds, so that a filter loses its rows; a join must not."""
    times = "SELECT timestamp_seconds(1577836800 + id * 86400) AS t, id FROM range({})"
    sorted_ = f"SELECT /*+ REPARTITION_BY_RANGE(12, t) */ t FROM ({times.format(120)})"
    spark.sql(f"CREATE TABLE lake.db.times USING iceberg AS {sorted_}")
    spark.sql(f"CREATE TABLE lake.db.some_times USING iceberg AS SELECT t, id DIV 10 AS g FROM ({times.format(400)})")
    with settings(spark, {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MILLIS"}):
        imported = spark.sql(f"SELECT t FROM ({times.format(210)}) WHERE id >= 200").coalesce(1)
        imported.write.parquet(str(tmp_path / "imported"))
    source = f"`parquet`.`{tmp_path / 'imported'}`"
    spark.sql(f"CALL lake.system.add_files(table => 'db.times', source_table => '{source}')")
    assert len(spark.table("lake.db.times.files").collect()) == 13
    sql = "SELECT /*+ BROADCAST(d) */ t.t FROM lake.db.times t JOIN lake.db.some_times d ON t.t = d.t WHERE g = 20"
    assert check(spark, sql).count() == 10


def test_milliseconds_imported_by_pyiceberg(spark: SparkSession, catalog: SqlCatalog, tmp_path: Path) -> None:
    """PyIceberg's bounds are right, but Spark reads milliseconds as microseconds: these are what it joins."""
    table = catalog.create_table("db.milliseconds", pa.schema([("id", pa.int64()), ("t", pa.timestamp("us"))]))
    for day in range(8):
        times = [datetime(2020, 1, 1 + day, hour) for hour in range(24)]
        path = tmp_path / f"{day}.parquet"
        ids = pa.array(range(24 * day, 24 * day + 24), pa.int64())
        pq.write_table(pa.table({"id": ids, "t": pa.array(times, pa.timestamp("ms"))}), path)
        table.add_files([f"file://{path}"])
    sql = (
        "SELECT /*+ BROADCAST(d) */ t.id FROM lake.db.milliseconds t JOIN lake.db.milliseconds d ON t.t = d.t"
        " WHERE d.id % 24 = 7"
    )
    assert check(spark, sql).count() == 8


def test_imported_text_of_which_one_row_group_has_no_bounds(spark: SparkSession, tmp_path: Path) -> None:
    """Arrow writes no bounds of long text, and Iceberg takes those of the other row groups for the file's."""
    column = pa.schema([("s", pa.string())])
    spark.sql(
        "CREATE TABLE lake.db.imported_texts USING iceberg AS SELECT /*+ REPARTITION_BY_RANGE(8, s) */"
        " concat('a', id) AS s FROM range(8)"
    )
    (tmp_path / "imported").mkdir()
    with pq.ParquetWriter(tmp_path / "imported" / "a.parquet", column, use_dictionary=False) as writer:
        writer.write_table(pa.table({"s": ["m1", "m2", "m3"]}, schema=column))
        writer.write_table(pa.table({"s": ["zebra", "zz" * 3000]}, schema=column))
    source = f"`parquet`.`{tmp_path / 'imported'}`"
    spark.sql(f"CALL lake.system.add_files(table => 'db.imported_texts', source_table => '{source}')")
    spark.sql("CREATE TABLE lake.db.texts USING iceberg AS SELECT * FROM VALUES ('zebra', 1), ('a3', 1) AS t(k, g)")
    sql = "SELECT /*+ BROADCAST(d) */ t.s FROM lake.db.imported_texts t JOIN lake.db.texts d ON t.s = d.k WHERE g = 1"
    query = check(spark, sql)
    assert (query.count(), skipped(query, "imported_texts")) == (2, [7])


def test_text_of_pyiceberg_of_which_one_row_group_has_no_bounds(spark: SparkSession, catalog: SqlCatalog) -> None:
    """Arrow writes no bounds of long text, and PyIceberg takes those of the other row groups for the file's."""
    schema = pa.schema([("s", pa.string())])
    table = catalog.create_table("db.long_texts", schema, properties={"write.parquet.row-group-limit": "2"})
    for texts in (["a1"], ["b1"], ["c1"], ["d1"], ["m1", "m2", "zebra", "zz" * 3000]):
        table.append(pa.table({"s": texts}, schema=schema))
    spark.sql("CREATE TABLE lake.db.texts USING iceberg AS SELECT * FROM VALUES ('zebra', 1), ('a1', 1) AS t(k, g)")
    sql = "SELECT /*+ BROADCAST(d) */ t.s FROM lake.db.long_texts t JOIN lake.db.texts d ON t.s = d.k WHERE g = 1"
    query = check(spark, sql)
    assert (query.count(), skipped(query, "long_texts")) == (2, [3])


def test_imported_decimals_of_another_scale(spark: SparkSession, tmp_path: Path) -> None:
    """Iceberg takes their unscaled bounds for ones of the column's scale."""
    column = pa.schema([("x", pa.decimal128(9, 2))])
    spark.sql(
        "CREATE TABLE lake.db.imported_decimals USING iceberg TBLPROPERTIES ('read.parquet.vectorization.enabled' = 'false') AS"
        " SELECT /*+ REPARTITION_BY_RANGE(8, x) */ cast(id * 100 AS decimal(12, 4)) AS x FROM range(8)"
    )
    (tmp_path / "imported").mkdir()
    pq.write_table(
        pa.table({"x": [Decimal("1.25"), Decimal("77.50")]}, schema=column), tmp_path / "imported" / "a.parquet"
    )
    source = f"`parquet`.`{tmp_path / 'imported'}`"
    spark.sql(f"CALL lake.system.add_files(table => 'db.imported_decimals', source_table => '{source}')")
    spark.sql(
        "CREATE TABLE lake.db.decimals USING iceberg AS SELECT cast(k AS decimal(12, 4)) AS k, 1 AS g FROM VALUES (77.5), (300) AS t(k)"
    )
    sql = "SELECT /*+ BROADCAST(d) */ t.x FROM lake.db.imported_decimals t JOIN lake.db.decimals d ON t.x = d.k WHERE g = 1"
    query = check(spark, sql)
    assert (query.count(), skipped(query, "imported_decimals")) == (2, [7])
