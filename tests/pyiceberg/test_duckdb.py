"""DuckDB, which shares no code with us, reads what the PyIceberg engine wrote."""

import re

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from iceberg_zorder.pyiceberg import rewrite_data_files
from tests.pyiceberg.lake import table_of


@pytest.mark.parametrize("partitioned", [False, True])
def test_rows_and_skipped_files(catalog: SqlCatalog, duck: duckdb.DuckDBPyConnection, partitioned: bool) -> None:
    rng = np.random.default_rng(1)
    rows = pa.table(
        {
            "id": np.arange(40_000),
            "p": np.arange(40_000, dtype=np.int32) % 2,
            "a": rng.integers(0, 1 << 50, 40_000),
            "day": pa.array(rng.integers(0, 5000, 40_000).astype("datetime64[D]")),
            "name": [f"name {i * 7919 % 1000}" if i % 50 else None for i in range(40_000)],
        }
    )
    table = table_of(catalog, rows, 4, by="p" if partitioned else "")
    size = sum(table.inspect.files()["file_size_in_bytes"].to_pylist())
    rewrite_data_files(table, ["a", "day"], options={"rewrite-all": True, "target-file-size-bytes": size // 16})
    files = len(table.inspect.files())
    assert files >= 12

    scan = f"iceberg_scan('{table.metadata_location}')"
    assert duck.sql(f"SELECT * FROM {scan} ORDER BY id").to_arrow_table().cast(rows.schema) == rows
    value = rows["a"][12_345].as_py()
    plan = duck.sql(f"EXPLAIN ANALYZE SELECT count(*) FROM {scan} WHERE a = {value}").fetchall()[0][1]
    (read,) = re.findall(r"Total Files Read: (\d+)", plan)
    assert int(read) <= files // 2
