"""A row group without values takes no bounds away from its file."""

from __future__ import annotations

import struct

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from iceberg_zorder.pyiceberg.write.file_writer import parquet_settings
from tests.pyiceberg.lake import rewrite


def test_a_row_group_of_nan_leaves_the_bounds_of_the_others(catalog: SqlCatalog) -> None:
    properties = {"write.parquet.row-group-limit": "500"}
    table = catalog.create_table("db.t", pa.schema([("id", pa.int64()), ("f", pa.float64())]), properties=properties)
    table.append(pa.table({"id": range(1_000), "f": [float("nan") if i < 500 else float(i) for i in range(1_000)]}))
    done = rewrite(table, "id")
    (file,) = done.files
    assert pq.ParquetFile(done.paths[0]).num_row_groups == 2
    assert [struct.unpack("<d", bounds[2])[0] for bounds in (file.lower_bounds, file.upper_bounds)] == [500.0, 999.0]
    assert file.nan_value_counts[2] == 500


def test_bloom_filters_take_the_bytes_that_the_table_allows(catalog: SqlCatalog) -> None:
    properties = {
        "write.parquet.bloom-filter-enabled.column.id": "true",
        "write.parquet.bloom-filter-max-bytes": "4096",
    }
    table = catalog.create_table("db.t", pa.schema([("id", pa.int64())]))
    with table.transaction() as change:
        change.set_properties(properties)
    # A split block filter of n values is wrong for 1 in 100 at 9.68 bits a value.
    assert parquet_settings(table)["bloom_filter_options"]["id"]["ndv"] == pytest.approx(4096 * 8 / 9.68, rel=0.01)
