"""What a table may be besides a plain one of Parquet files: a rewrite keeps it so."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.spark.tables import SPARK, Table, create, unchanged

ROWS = "SELECT id, cast(id % 97 AS int) AS a, hash(id) AS b, cast(id AS string) AS c FROM range(0, 8000, 1, 4)"


@pytest.mark.parametrize("version", ["2", "3"])
@pytest.mark.parametrize("file_format", ["orc", "avro"])
def test_files_of_other_formats(spark: SparkSession, file_format: str, version: str) -> None:
    properties = {"write.format.default": file_format, "format-version": version, "write.delete.mode": "merge-on-read"}
    table = create(spark, ROWS, properties=properties)
    spark.sql(f"DELETE FROM {table.full_name} WHERE id % 5 = 0")
    extra = ("_row_id", "_last_updated_sequence_number") if version == "3" else ()
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
        table.call("zorder(a, b)")
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
