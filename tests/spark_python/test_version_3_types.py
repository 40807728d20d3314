"""Columns that only tables of format version 3 have, through a rewrite without a JVM."""

from typing import Any

import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog
from pyspark.sql import SparkSession

from iceberg_zorder.pyiceberg import rewrite_data_files
from tests.spark.tables import LINEAGE, Table

DEFAULTS = {
    "BooleanType": True,
    "IntegerType": -7,
    "LongType": 1099511627776,
    "FloatType": 1.5,
    "DoubleType": -2.5,
    "DateType": "1969-12-31",
    "TimestampType.withZone": "2026-01-02T03:04:05.123456+00:00",
    "TimestampType.withoutZone": "1960-01-02T03:04:05.123456",
    "StringType": "naïve",
    "UUIDType": "f79c3e09-677c-4bbd-a479-3f349cb785e7",
    "DecimalType": "-12.30",
}
"""A default of each type, as a value or as text that Iceberg reads."""


def iceberg_table(spark: SparkSession, name: str) -> Any:
    jvm: Any = spark.sparkContext._jvm
    return jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, name)


def literal(spark: SparkSession, name: str) -> tuple[Any, Any]:
    """A type, and a default of it."""
    iceberg: Any = spark.sparkContext._jvm.org.apache.iceberg  # type: ignore[union-attr]
    kind, _, of = name.partition(".")
    types = getattr(iceberg.types.Types, kind)
    of_type = types.of(9, 2) if kind == "DecimalType" else getattr(types, of or "get")()
    return of_type, iceberg.expressions.Literal.of(DEFAULTS[name]).to(of_type)


def test_defaults_of_columns_that_files_lack(spark: SparkSession, catalog: SqlCatalog) -> None:
    table = Table(spark, "db.defaults")
    spark.sql(
        f"CREATE TABLE {table.full_name} (id bigint, s struct<x: int>) USING iceberg TBLPROPERTIES ('format-version' = '3')"
    )
    spark.sql(f"INSERT INTO {table.full_name} SELECT id, named_struct('x', cast(id AS int)) FROM range(1000)")
    update = iceberg_table(spark, table.full_name).updateSchema()
    for place, name in enumerate(DEFAULTS):
        update.addColumn(f"c{place}", *literal(spark, name))
    update.addColumn("s", "y", *literal(spark, "IntegerType"))
    update.commit()
    spark.sql(f"REFRESH TABLE {table.full_name}")
    values = ", ".join(["NULL"] * len(DEFAULTS))
    spark.sql(f"INSERT INTO {table.full_name} SELECT id, NULL, {values} FROM range(1000, 1100)")
    before = table.fingerprint(extra=LINEAGE)
    assert spark.sql(f"SELECT * FROM {table.full_name} WHERE c1 = -7 AND s.y = -7").count() == 1000
    result = rewrite_data_files(catalog.load_table(table.name), ["id", "c1"], options={"rewrite-all": True})
    assert result.failed_data_files_count == 0
    spark.sql(f"REFRESH TABLE {table.full_name}")
    assert table.fingerprint(extra=LINEAGE) == before
    assert spark.sql(f"SELECT * FROM {table.full_name} WHERE c1 = -7 AND s.y = -7").count() == 1000


def test_unknown_columns_are_in_no_file(spark: SparkSession, catalog: SqlCatalog) -> None:
    table = Table(spark, "db.unknown")
    spark.sql(f"CREATE TABLE {table.full_name} (id bigint, i int) USING iceberg TBLPROPERTIES ('format-version' = '3')")
    spark.sql(f"INSERT INTO {table.full_name} SELECT id, cast(id AS int) FROM range(1000)")
    types: Any = spark.sparkContext._jvm.org.apache.iceberg.types.Types  # type: ignore[union-attr]
    iceberg_table(spark, table.full_name).updateSchema().addColumn("u", types.UnknownType.get()).commit()
    spark.sql(f"REFRESH TABLE {table.full_name}")
    before = table.fingerprint(extra=LINEAGE)
    result = rewrite_data_files(catalog.load_table(table.name), ["i", "id"], options={"rewrite-all": True})
    assert result.failed_data_files_count == 0
    spark.sql(f"REFRESH TABLE {table.full_name}")
    assert table.fingerprint(extra=LINEAGE) == before
    for file in table.data_files():
        assert pq.read_schema(file.file_path.removeprefix("file:")).names == ["id", "i", *LINEAGE]
