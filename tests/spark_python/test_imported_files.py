"""Parquet files of other writers, whose physical types Iceberg's readers in Spark may take for others."""

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.typedef import Record
from pyspark.sql import SparkSession

from tests.pyiceberg.committing import commit_files
from tests.spark.tables import Table, create

START = dt.datetime(2025, 1, 1)


def imported(catalog: Catalog, spark: SparkSession, path: Path, columns: str, rows: pa.Table, **written: Any) -> Table:
    """Make a table of a file that some other tool has written, with a mapping of names as ``add_files`` makes it."""
    table = create(spark, f"SELECT {columns} LIMIT 0")
    pq.write_table(rows, path, **written)
    made = catalog.load_table(table.name)
    with made.transaction() as transaction:
        transaction.set_properties({"schema.name-mapping.default": made.schema().name_mapping.model_dump_json()})
    file = DataFile.from_args(
        _table_format_version=2,
        content=DataFileContent.DATA,
        file_path=path.as_uri(),
        file_format=FileFormat.PARQUET,
        partition=Record(),
        file_size_in_bytes=path.stat().st_size,
        record_count=rows.num_rows,
    )
    file.spec_id = 0
    commit_files(made, file)
    spark.sql(f"REFRESH TABLE {table.full_name}")
    return table


@pytest.mark.parametrize("sampled_before", [False, True])
def test_milliseconds_stay_what_they_are(
    spark: SparkSession, catalog: Catalog, tmp_path: Path, sampled_before: bool
) -> None:
    moments = pa.array([START + dt.timedelta(days=number % 20) for number in range(400)], pa.timestamp("ms", "UTC"))
    rows = pa.table({"id": pa.array(range(400), pa.int64()), "at": moments})
    table = imported(
        catalog, spark, tmp_path / "millis.parquet", "1L AS id, timestamp_millis(0) AS at", rows, version="2.6"
    )
    plan = table.plan("zorder(id, at)", {"rewrite-all": "true"})
    (plan.sampled() if sampled_before else plan).execute()
    assert table.operations()[-1] == "replace"
    written = catalog.load_table(table.name).scan().to_arrow().sort_by("id")
    assert written["at"].to_pylist() == moments.to_pylist()


def test_columns_without_a_value_stay_so(spark: SparkSession, catalog: Catalog, tmp_path: Path) -> None:
    rows = pa.table({"id": pa.array(range(400), pa.int64()), "v": pa.nulls(400), "w": [{"a": None}] * 400})
    columns = "1L AS id, 'a' AS v, named_struct('a', 1.5D) AS w"
    table = imported(catalog, spark, tmp_path / "nulls.parquet", columns, rows)
    table.plan("id", {"rewrite-all": "true"}).execute()
    assert table.operations()[-1] == "replace"
    written = catalog.load_table(table.name).scan().to_arrow().sort_by("id")
    assert written.to_pylist() == rows.to_pylist()


@pytest.mark.parametrize(
    ("columns", "values", "why"),
    [
        (
            "cast(1 AS int) AS v",
            pa.array([65535], pa.uint16()),
            r"column v of \S+\.parquet is int32 \(INTEGER\(16,false\)\) in Parquet.* as int",
        ),
        (
            "'a' AS v",
            pa.array([b"0123456789abcdef"]),
            r"column v of \S+\.parquet is binary in Parquet.* as string",
        ),
        (
            "array(timestamp_millis(0)) AS v",
            pa.array([[START]], pa.list_(pa.timestamp("ns", "UTC"))),
            r"column v\.element of \S+\.parquet is int64 \(TIMESTAMP\(NANOS,true\)\) in Parquet.* as timestamptz",
        ),
        (
            "named_struct('d', cast(1 AS decimal(9, 2))) AS v",
            pa.array([{"d": 1}], pa.struct([("d", pa.decimal128(9, 1))])),
            r"column v\.d of \S+\.parquet is fixed_len_byte_array \(DECIMAL\(9,1\)\) in Parquet.* as decimal\(9, 2\)",
        ),
    ],
)
def test_what_is_misread_is_refused(
    spark: SparkSession, catalog: Catalog, tmp_path: Path, columns: str, values: pa.Array, why: str
) -> None:
    rows = pa.table({"id": pa.array([1], pa.int64()), "v": values})
    table = imported(catalog, spark, tmp_path / "other.parquet", f"1L AS id, {columns}", rows, version="2.6")
    operations = table.operations()
    with pytest.raises(Exception, match=f"Cannot rewrite data files of .*, because {why}"):
        table.call("id")
    assert (table.operations(), table.orphans()) == (operations, set())
