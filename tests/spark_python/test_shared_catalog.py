"""Spark and PyIceberg see the same tables in one SQLite catalog, told of once in PyIceberg's words."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog import load_catalog
from pyspark.sql import SparkSession

from iceberg_zorder.spark import rewrite_data_files
from iceberg_zorder.spark.catalogs import spark_catalog


def test_both_engines_share_the_tables(spark: SparkSession, tmp_path: Path) -> None:
    name = "shared_by_both"
    properties = {"type": "sql", "uri": f"sqlite:///{tmp_path}/c.db", "warehouse": str(tmp_path / "my warehouse")}
    for key, value in spark_catalog(name, properties).settings.items():
        spark.conf.set(key, value)
    catalog = load_catalog(name, **properties)

    # PyIceberg writes, Spark reads and rewrites, PyIceberg reads.
    catalog.create_namespace("py")
    rows = pa.table({"id": pa.array(range(100), pa.int64()), "s": [f"s{i % 7}" for i in range(100)]})
    written = catalog.create_table("py.t", rows.schema)
    for start in range(0, 100, 20):
        written.append(rows.slice(start, 20))
    assert spark.table(f"{name}.py.t").count() == 100
    result = rewrite_data_files(spark, f"{name}.py.t", ["id", "s"], options={"rewrite-all": True})
    assert result.rewritten_data_files_count == 5
    read = catalog.load_table("py.t")
    assert read.scan().to_arrow().sort_by("id").to_pylist() == rows.to_pylist()
    assert read.metadata.current_snapshot().summary.operation.value == "replace"  # type: ignore[union-attr]

    # Spark writes, PyIceberg reads and appends, Spark reads.
    spark.sql(f"CREATE NAMESPACE {name}.jvm")
    spark.sql(f"CREATE TABLE {name}.jvm.t USING iceberg AS SELECT id, concat('s', id) AS s FROM range(50)")
    table = catalog.load_table("jvm.t")
    assert table.scan().to_arrow().num_rows == 50
    table.append(table.scan().to_arrow())
    spark.sql(f"REFRESH TABLE {name}.jvm.t")
    assert spark.table(f"{name}.jvm.t").count() == 100
    assert [tuple(row) for row in spark.sql(f"SHOW NAMESPACES IN {name}").collect()] == [("jvm",), ("py",)]
