"""Rows far wider than others are read, held and written within the limit, too."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from iceberg_zorder.pyiceberg.file_groups import DataFileTask
from iceberg_zorder.pyiceberg.read.reader import Reader
from tests.pyiceberg.lake import data_files, rewrite

SCHEMA = pa.schema([("a", pa.int64()), ("text", pa.large_string()), ("id", pa.int64())])


def texts(rows: int, width: int) -> list[str]:
    made_of = np.random.default_rng(rows)
    return [made_of.bytes(width // 2).hex() for _ in range(rows)]


def of_width(catalog: SqlCatalog, rows: int, width: int) -> Table:
    """A table of one file."""
    table = catalog.create_table("db.t", SCHEMA)
    table.append(pa.table([np.arange(rows), texts(rows, width), np.arange(rows)], SCHEMA))
    return table


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


def lengths(table: Table, batch_bytes: int, *columns: str) -> list[int]:
    """How many rows each batch has that is read of a table."""
    (file,) = data_files(table)
    wanted = table.schema().select(*columns) if columns else None
    task = DataFileTask(file, 0)
    return [len(rows.positions) for rows in Reader(table, [task], wanted, batch_bytes=batch_bytes).rows(task)]


@pytest.mark.parametrize(
    ("width", "most"), [(1_000_000, 1), (100_000, 10), (500, 1024), (8, 8000)], ids=lambda value: str(value)
)
def test_batches_have_few_rows_only_where_these_are_wide(catalog: SqlCatalog, width: int, most: int) -> None:
    rows = min(50_000, max(10, 4_000_000 // width))
    table = of_width(catalog, rows, width)
    found = lengths(table, 300_000)
    assert sum(found) == rows
    assert most // 2 < max(found) <= most * 2 if most not in (1, 1024) else max(found) == most
