"""Rows far wider than others are read, held and written within the limit, too."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from tests.pyiceberg.lake import data_files, rewrite

SCHEMA = pa.schema([("a", pa.int64()), ("text", pa.large_string()), ("id", pa.int64())])


def texts(rows: int, width: int) -> list[str]:
    made_of = np.random.default_rng(rows)
    return [made_of.bytes(width // 2).hex() for _ in range(rows)]


@pytest.mark.parametrize("by", ["a", "a, zorder(id)"])
@pytest.mark.parametrize("alike", [True, False])
def test_large_rows_that_lie_together(catalog: SqlCatalog, by: str, alike: bool) -> None:
    made_of, limit, small, large = np.random.default_rng(1), 1_000_000, 50_000, 300
    keys = np.zeros(large, np.int64) if alike else made_of.integers(0, 1000, large)
    table = catalog.create_table("db.t", SCHEMA)
    table.append(pa.table([made_of.integers(0, 10**9, small), texts(small, 8), np.arange(small)], SCHEMA))
    table.append(pa.table([keys, texts(large, 20_000), np.arange(small, small + large)], SCHEMA))
    before = pa.concat_tables([pq.read_table(file.file_path.removeprefix("file://")) for file in data_files(table)])

    done = rewrite(table, by, limit=limit)
    (path,) = done.paths
    assert pq.read_table(path).cast(before.schema).sort_by("id").equals(before.sort_by("id"))
    footer = pq.ParquetFile(path).metadata
    sizes = [footer.row_group(place).total_byte_size for place in range(footer.num_row_groups)]
    # Pages have headers.
    assert max(sizes) <= limit // 4 * 1.01
    assert done.budget.peak <= limit * 1.01
    assert done.budget.used == 0
