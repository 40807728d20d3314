"""Bytes that are predicted from runs of rows, held against all rows written."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from iceberg_zorder.advice.candidates import ColumnSet, PartitionBy
from iceberg_zorder.advice.compression import Compression, ExpectedFiles, Places, Runs
from iceberg_zorder.advice.sampled_table import SampledTable
from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.keys import encode
from iceberg_zorder.layout.sample import Sample

ROWS, RUNS, OF_RUN = 160_000, 32, 1_250
FILES = 25
BYTES = FILES * 1_000
RNG = np.random.default_rng(4)


def expected(size: int) -> int:
    return max(1, size // 1_000)


def purchases() -> pa.Table:
    """Eight rows at a time are lines of a purchase."""
    ticket = np.arange(ROWS) // 8
    customer = RNG.integers(0, 10**6, ROWS // 8)[ticket]
    return pa.table({"ticket": ticket * 7, "customer": customer, "item": RNG.integers(0, 10**4, ROWS)})


def uploads() -> pa.Table:
    """A device sends 100 rows at a time, whose times rise."""
    upload = np.arange(ROWS) // 100
    begun = RNG.integers(0, 10**6, ROWS // 100)[upload]
    return pa.table(
        {
            "device": RNG.integers(0, 500, ROWS // 100)[upload],
            "measured": begun + np.arange(ROWS) % 100 * 60,
            "reading": RNG.integers(0, 10**5, ROWS),
        }
    )


def known(table: pa.Table, rows: Places, groups: int = 1) -> SampledTable:
    columns = tuple(ClusteringColumn((name,), "long") for name in table.column_names)
    sample = Sample(
        tuple(encode(table[name].combine_chunks().take(pa.array(rows)), "long") for name in table.column_names)
    )
    sizes = np.full(groups, BYTES // groups)
    of_row = rows * groups // ROWS
    return SampledTable(columns, sample, (None,) * 3, (True,) * 3, of_row, np.full(groups, ROWS // groups), sizes)


def written(table: pa.Table, rows: Places) -> int:
    with pq.ParquetWriter(pa.BufferOutputStream(), table.schema, compression="zstd", use_dictionary=False) as writer:
        writer.write_table(table.take(pa.array(rows)))
    group = writer.writer.metadata.row_group(0)
    return sum(group.column(at).total_compressed_size for at in range(group.num_columns))


def actual(table: pa.Table, layout: ColumnSet, files: ExpectedFiles, groups: int) -> float:
    """The bytes of all rows in a layout, relative to as large files in today's order."""
    file, place = layout.placed(known(table, np.arange(ROWS), groups), files, in_order=True)
    order = np.lexsort((place, file))
    new = np.split(order, np.flatnonzero(np.diff(file[order])) + 1)
    return sum(written(table, each) for each in new) / sum(
        written(table, each) for each in np.array_split(np.arange(ROWS), len(new))
    )


@pytest.mark.parametrize("columns", [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)])
@pytest.mark.parametrize("table", [purchases(), uploads()], ids=["purchases", "uploads"])
def test_a_quarter_of_the_rows_predicts_all(table: pa.Table, columns: tuple[int, ...]) -> None:
    starts = np.linspace(0, ROWS - OF_RUN, RUNS).astype(np.int64)
    rows = (starts[:, np.newaxis] + np.arange(OF_RUN)).ravel()
    found = Compression(Runs(known(table, rows), 1.0, 0.0), lambda places: written(table, rows[places]))
    layout = ColumnSet(columns)
    assert found.share(layout, 1_000, expected) == pytest.approx(actual(table, layout, expected, 1), rel=0.15)


def test_rows_of_a_partition_that_is_one_file_are_sorted() -> None:
    table, layout = purchases(), ColumnSet((2,))
    rows = np.arange(ROWS)
    found = Compression(Runs(known(table, rows, 40), 2.0, 0.5), lambda places: written(table, places))
    really = actual(table, layout, lambda _: 1, 40)
    assert really > 1.1
    assert found.share(layout, 1_000, lambda _: 1) == pytest.approx(0.5 + 2 * really, rel=0.05)


def test_partitions_keep_todays_order_and_without_runs_nothing_changes() -> None:
    table = purchases()
    found = Compression(Runs(known(table, np.arange(ROWS)), 1.5, 0.0), lambda places: written(table, places))
    assert found.share(PartitionBy(0, "identity"), 10**9, lambda _: 1) == pytest.approx(1.5, rel=0.1)
    assert Compression(None).share(ColumnSet((0,)), 1_000, expected) == 1.0
