"""Appends by Spark: each row to the file that the layout says, and the same files as the PyIceberg engine's."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyspark.sql import DataFrame, SparkSession

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.fit import LayoutRequest, fit
from iceberg_zorder.layout.keys import encode
from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.pyiceberg import append as append_without_spark
from iceberg_zorder.spark import append
from iceberg_zorder.spark.append import arrow
from iceberg_zorder.spark.routing_sql import file_of_row, keys_of_tasks
from tests.fuzz.random_values import Values
from tests.fuzz.types import to_arrow
from tests.spark.tables import CATALOG
from tests.spark.tables import Table as SparkTable

TYPES = [
    "boolean",
    "int",
    "long",
    "float",
    "double",
    "date",
    "timestamp",
    "timestamptz",
    "decimal(9,2)",
    "decimal(18,0)",
    "decimal(38,10)",
    "string",
    "binary",
    "fixed[3]",
    "uuid",
]
ORDERS = {"curve": (), "ascending": ((False, False),), "descending": ((True, False),), "nulls first": ((True, True),)}


@pytest.mark.parametrize("kind", TYPES)
def test_spark_routes_as_the_layout_does(spark: SparkSession, catalog: Catalog, kind: str) -> None:
    rng = random.Random(kind)
    pool: list[Any] = [None, *Values(rng)._fresh(kind, 60)]
    pool += [float("nan"), float("inf"), -0.0] if kind in ("float", "double") else []
    values = [rng.choice(pool) for _ in range(600)]
    schema = Schema.model_validate(
        {
            "type": "struct",
            "schema-id": 0,
            "fields": [
                {"id": 1, "name": "id", "type": "long", "required": False},
                {"id": 2, "name": "v v", "type": kind, "required": False},
            ],
        }
    )
    name = f"db.routes_{TYPES.index(kind)}"
    table = catalog.create_table(name, schema)
    table.append(pa.Table.from_arrays([pa.array(range(600)), to_arrow(values, kind)], names=["id", "v v"]))
    keys = encode(to_arrow(values, kind), str(table.schema().find_field(2).field_type))
    columns = [ClusteringColumn(("v v",), str(table.schema().find_field(2).field_type))]
    frame = spark.table(f"{CATALOG}.{name}")
    for leading in ORDERS.values():
        layout = fit(columns, Sample((keys,)), LayoutRequest(9, leading_orders=leading, size_tolerance=0.9))
        expected = layout.file(Sample((keys,)), np.arange(600)).tolist()
        routed = frame.selectExpr("id", f"{file_of_row(layout, ['`v v`'], 'id')} AS file").orderBy("id").collect()
        assert [row["file"] for row in routed] == expected
        assert len(set(expected)) > 1


def test_a_number_of_a_task_goes_to_it(spark: SparkSession) -> None:
    keys = keys_of_tasks(37)
    frame = spark.createDataFrame([(key,) for key in keys], "k int").repartition(37, "k")
    found = frame.selectExpr("k", "spark_partition_id() AS task").collect()
    assert {row["k"]: row["task"] for row in found} == {key: task for task, key in enumerate(keys)}


SPECS = {
    "plain": "",
    "identity": "PARTITIONED BY (p)",
    "bucket": "PARTITIONED BY (bucket(3, b))",
    "truncate": "PARTITIONED BY (truncate(1, s))",
    "days": "PARTITIONED BY (days(ts))",
    "two": "PARTITIONED BY (bucket(2, s), months(ts))",
    "nested": "PARTITIONED BY (n.x)",
    "decimal": "PARTITIONED BY (bucket(3, m))",
}
ROWS = (
    "id AS a, CAST(hash(id) % 1000 AS BIGINT) AS b, CONCAT(CHAR(97 + id % 2), hash(id, 1) % 500) AS s, "
    "timestamp_micros(id * 8640000) AS ts, CAST(id % 2 AS INT) AS p, "
    "CAST(id % 50 AS DECIMAL(20, 2)) AS m, "
    "IF(id % 9 = 0, NULL, named_struct('x', id % 3, 'y', hash(id, 2) / 7)) AS n"
)


def make(spark: SparkSession, catalog: Catalog, name: str, spec: str, version: int = 2) -> Table:
    """A table of 4,000 rows in four files, by which bytes are estimated alike."""
    spark.sql(
        f"CREATE TABLE {CATALOG}.db.{name} USING iceberg {spec} TBLPROPERTIES ('format-version' = '{version}') AS "
        f"SELECT {ROWS} FROM range(0, 4000, 1, 4)"
    )
    return catalog.load_table(f"db.{name}")


def files_of(table: Table, known: set[str]) -> list[tuple[Any, ...]]:
    """The new files: partition, rows and bounds."""
    table.refresh()
    return sorted(
        (str(file.partition), file.record_count, str(file.lower_bounds), str(file.upper_bounds))
        for task in table.scan().plan_files()
        for file in [task.file]
        if file.file_path not in known
    )


@pytest.mark.parametrize("spec", SPECS)
def test_both_engines_write_the_same_files(spark: SparkSession, catalog: Catalog, spec: str) -> None:
    by = "zorder(n.y, s)" if spec == "plain" else "zorder(b, s)"
    frame = spark.sql(f"SELECT {ROWS} FROM range(4000, 14000, 1, 3)")
    found = []
    for engine in ("spark", "pyiceberg"):
        table = make(spark, catalog, f"alike_{engine}_{spec}", SPECS[spec])
        known = {task.file.file_path for task in table.scan().plan_files()}
        on_spark = SparkTable(spark, ".".join(table.name()))
        if engine == "spark":
            result = append(frame, on_spark.full_name, by, file_bytes=20_000)
        else:
            result = append_without_spark(table, arrow(frame), by, file_bytes=20_000)
        files = files_of(table, known)
        assert (result.added_data_files_count, result.added_records_count) == (len(files), 10_000)
        found.append((files, result.clustered_partitions_count, on_spark.fingerprint()))
    assert found[0] == found[1]
    assert found[0][1] > 0


def test_what_an_ordinary_append_can(spark: SparkSession, catalog: Catalog) -> None:
    table = make(spark, catalog, "ordinary", "")
    full = f"{CATALOG}.db.ordinary"
    spark.sql(
        f"ALTER TABLE {full} SET TBLPROPERTIES ('write.spark.accept-any-schema' = 'true', 'zorder.columns' = 'b, s')"
    )
    spark.sql(f"ALTER TABLE {full} CREATE BRANCH side")
    more = spark.sql(f"SELECT {ROWS}, 'new' AS z FROM range(100, 3100)")
    result = append(more, full, branch="side", file_bytes=10_000, write_options={"mergeSchema": "true"})
    assert result.added_data_files_count > 1
    rows = spark.sql(f"SELECT count(*), count(z), sum(a) FROM {full} VERSION AS OF 'side'").collect()[0]
    assert tuple(rows) == (7_000, 3_000, sum(range(4_000)) + sum(range(100, 3_100)))
    assert spark.table(full).count() == 4_000
    assert {file["sort_order_id"] for file in spark.table(f"{full}.files").collect()} == {0}
    assert table.refresh().schema().find_field("z").field_type is not None


def test_a_stream_appends_its_batches(spark: SparkSession, catalog: Catalog, tmp_path: Path) -> None:
    make(spark, catalog, "streamed", "")
    spark.sql(f"SELECT {ROWS} FROM range(0, 3000, 1, 2)").write.parquet(str(tmp_path / "rows"))
    schema = spark.read.parquet(str(tmp_path / "rows")).schema
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "rows"))

    def add(batch: DataFrame, _: int) -> None:
        append(batch, f"{CATALOG}.db.streamed", "b, s", file_bytes=9_000)

    query = (
        stream.writeStream.foreachBatch(add)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert spark.table(f"{CATALOG}.db.streamed").count() == 7_000
    assert SparkTable(spark, "db.streamed").operations() == ["append"] * 3


@pytest.mark.parametrize("version", [1, 3])
def test_rows_that_fill_no_two_files_are_appended_as_they_come(
    spark: SparkSession, catalog: Catalog, version: int
) -> None:
    name = f"few_{version}"
    make(spark, catalog, name, "", version)
    full = f"{CATALOG}.db.{name}"
    result = append(spark.sql(f"SELECT {ROWS} FROM range(0, 100, 1, 2)"), full, "b, s")
    assert (result.clustered_partitions_count, result.added_records_count) == (0, 100)
    empty = append(spark.sql(f"SELECT {ROWS} FROM range(0)"), full, "b, s")
    assert (empty.added_data_files_count, empty.added_records_count) == (0, 0)
    assert spark.table(full).count() == 4_100


def test_refusals(spark: SparkSession, catalog: Catalog) -> None:
    make(spark, catalog, "refused", "")
    full = f"{CATALOG}.db.refused"
    frame = spark.sql(f"SELECT {ROWS} FROM range(0, 1000)")
    for arguments, why in (
        ({}, "no columns are named"),
        ({"columns": "nope"}, "has no such column"),
        ({"columns": "b", "options": {"rewrite-all": True}}, "an append has only"),
        ({"columns": "b", "options": {"memory-limit-bytes": 1 << 30}}, "an append has only"),
        ({"columns": "b", "file_bytes": 0}, "must be a positive"),
        ({"columns": "b", "branch": "nope"}, "has no such branch"),
    ):
        with pytest.raises(InvalidInputError, match=why):
            append(frame, full, **arguments)
    with pytest.raises(InvalidInputError, match="b"):
        append(frame.drop("b"), full, "b", file_bytes=1_000)
    assert SparkTable(spark, "db.refused").operations() == ["append"]
