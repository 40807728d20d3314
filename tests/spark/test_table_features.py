"""What a table may be besides a plain one of Parquet files: a rewrite keeps it so."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.spark.tables import ICEBERG, LINEAGE, SPARK, Table, create, unchanged

ROWS = "SELECT id, cast(id % 97 AS int) AS a, hash(id) AS b, cast(id AS string) AS c FROM range(0, 8000, 1, 4)"


@pytest.mark.parametrize("version", ["2", "3"])
@pytest.mark.parametrize("file_format", ["orc", "avro"])
def test_files_of_other_formats(spark: SparkSession, file_format: str, version: str) -> None:
    properties = {"write.format.default": file_format, "format-version": version, "write.delete.mode": "merge-on-read"}
    table = create(spark, ROWS, properties=properties)
    spark.sql(f"DELETE FROM {table.full_name} WHERE id % 5 = 0")
    # Before 1.12 Iceberg reads the number of the batch as the row's from ORC files.
    has_lineage = version == "3" and (file_format != "orc" or ICEBERG >= (1, 12))
    extra = LINEAGE if has_lineage else ()
    before = table.fingerprint(extra=extra)
    table.call("zorder(a, b)", options=table.target_for(5))
    assert table.fingerprint(extra=extra) == before
    files = [row[0] for row in spark.sql(f"SELECT file_path FROM {table.full_name}.files WHERE content = 0").collect()]
    assert len(files) > 1
    assert {Path(file).suffix for file in files} == {f".{file_format}"}
    assert table.orphans() == set()


def test_a_table_whose_format_has_changed(spark: SparkSession) -> None:
    table = create(spark, ROWS, properties={"write.format.default": "avro"})
    spark.sql(f"ALTER TABLE {table.full_name} SET TBLPROPERTIES ('write.format.default' = 'parquet')")
    spark.sql(f"INSERT INTO {table.full_name} {ROWS}")
    with unchanged(table):
        table.call("hilbert(a, b)")
    assert {Path(file).suffix for file in table.data_paths()} == {".parquet"}


@pytest.mark.skipif(SPARK < (4, 0), reason="variants came with Spark 4.0")
@pytest.mark.skipif(ICEBERG < (1, 11), reason="Iceberg 1.10 cannot read other columns beside a variant")
def test_variants_are_carried(spark: SparkSession) -> None:
    table = create(
        spark,
        "SELECT id, id % 50 AS a, parse_json(concat('{\"k\": ', id, ', \"list\": [1, null]}')) AS v FROM range(0, 4000, 1, 4)",
        properties={"format-version": "3"},
    )
    values = f"SELECT id, cast(v AS string) FROM {table.full_name} ORDER BY id"
    before = spark.sql(values).collect()
    table.call("zorder(a, id)", options=table.target_for(3))
    assert spark.sql(values).collect() == before


def test_properties_of_the_table_are_honoured(spark: SparkSession) -> None:
    properties = {
        "write.object-storage.enabled": "true",
        "write.parquet.bloom-filter-enabled.column.c": "true",
        "write.parquet.compression-codec": "gzip",
        "write.metadata.metrics.column.c": "none",
        "write.parquet.row-group-size-bytes": "20000",
        "write.distribution-mode": "range",
    }
    table = create(spark, ROWS, properties=properties)
    with unchanged(table):
        table.call("zorder(a, b)", options={"target-file-size-bytes": "100000000"})
    (path,) = table.data_paths()
    assert len(Path(path).relative_to(f"{table.path()}/data").parts) > 2, "directories by hash"
    metadata = pq.ParquetFile(path).metadata
    assert metadata.num_row_groups > 1
    assert metadata.row_group(0).column(0).compression == "GZIP"
    metrics = table.data_files()[0].readable_metrics
    assert metrics.c.lower_bound is None
    assert metrics.a.lower_bound == 0


def test_tags_and_other_branches_stay_where_they_are(spark: SparkSession) -> None:
    table = create(spark, ROWS)
    spark.sql(f"ALTER TABLE {table.full_name} CREATE TAG before")
    spark.sql(f"ALTER TABLE {table.full_name} CREATE BRANCH other")
    refs = f"SELECT name, snapshot_id FROM {table.full_name}.refs WHERE name <> 'main' ORDER BY name"
    before = spark.sql(refs).collect()
    with unchanged(table):
        table.call("zorder(a, b)")
    assert spark.sql(refs).collect() == before
    assert table.fingerprint(version="VERSION AS OF 'before'") == table.fingerprint()


def test_a_column_with_a_default(spark: SparkSession) -> None:
    table = created_with_default(spark)
    with unchanged(table):
        table.call("zorder(a, added)")
    counts = spark.sql(f"SELECT added, count(*) FROM {table.full_name} GROUP BY added ORDER BY added").collect()
    assert [tuple(row) for row in counts] == [(7, 8000), (8, 1000)]


def created_with_default(spark: SparkSession) -> Table:
    """A table with rows older than a column, whose default PyIceberg or Java sets: Spark's ALTER TABLE does not."""
    table = create(spark, ROWS, properties={"format-version": "3"})
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    java = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, table.full_name)
    types = jvm.org.apache.iceberg.types.Types
    seven = jvm.org.apache.iceberg.expressions.Literal.of(7)
    java.updateSchema().addColumn("added", types.IntegerType.get(), None, seven).commit()
    spark.catalog.refreshTable(table.full_name)
    spark.sql(f"INSERT INTO {table.full_name} SELECT id, 1, 2, 'x', 8 FROM range(8000, 9000)")
    return table


@pytest.mark.parametrize("version", ["1", "2", "3"])
def test_a_schema_that_has_changed(spark: SparkSession, version: str) -> None:
    select = "SELECT id, cast(id % 97 AS int) AS a, cast(id AS float) AS f, cast(id AS decimal(9, 2)) AS d, 'x' AS gone"
    nested = "named_struct('Inner One', id, 'list', array(id, NULL), 'map', map('k', id)) AS `s.t`"
    table = create(spark, f"{select}, {nested} FROM range(0, 4000, 1, 4)", properties={"format-version": version})
    name = table.full_name
    for change in (
        "DROP COLUMN gone",
        "RENAME COLUMN a TO `größe (m)`",
        "ALTER COLUMN `größe (m)` TYPE bigint",
        "ALTER COLUMN f TYPE double",
        "ALTER COLUMN d TYPE decimal(18, 2)",
        "ALTER COLUMN d FIRST",
        "ADD COLUMN gone int AFTER id",
        "ADD COLUMN `s.t`.added string AFTER `Inner One`",
        "RENAME COLUMN `s.t`.`Inner One` TO one",
    ):
        spark.sql(f"ALTER TABLE {name} {change}")
    spark.sql(
        f"INSERT INTO {name} SELECT 1.5, id, 7, id % 7, id, named_struct('one', id, 'added', 'y', 'list', array(id),"
        " 'map', map('z', id)) FROM range(0, 1000, 1, 2)"
    )
    with unchanged(table):
        table.call("zorder(`größe (m)`, `s.t`.one)", options=table.target_for(6))
    assert table.summary()["zorder.columns"] == "`größe (m)`,`s.t`.one"
    added = f"SELECT count(*), count(gone), count(`s.t`.added), count(`s.t`.one) FROM {name}"
    assert list(spark.sql(added).collect()[0]) == [5000, 1000, 1000, 5000]


@pytest.mark.skipif(SPARK < (4, 1), reason="geometries came with Spark 4.1")
def test_geometries_are_carried(spark: SparkSession) -> None:
    table = Table(spark, "db.geometries")
    spark.conf.set("spark.sql.geospatial.enabled", "true")
    try:
        spark.sql(
            f"CREATE TABLE {table.full_name} (id BIGINT, g GEOMETRY(4326)) USING iceberg TBLPROPERTIES ('format-version' = '3')"
        )
    except Exception as error:
        pytest.skip(f"this Iceberg takes no geometries from Spark: {str(error)[:200]}")
    point = "ST_SetSrid(ST_GeomFromWKB(unhex('0101000000000000000000F03F0000000000000040')), 4326)"
    spark.sql(f"INSERT INTO {table.full_name} SELECT id, {point} FROM range(0, 4000, 1, 4)")
    values = f"SELECT id, hex(ST_AsBinary(g)) FROM {table.full_name} ORDER BY id"
    before = spark.sql(values).collect()
    table.call("id")
    assert spark.sql(values).collect() == before
