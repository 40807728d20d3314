"""Rows that are made up between sampled ones, held against all rows."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from iceberg_zorder.advice.compression import Compression, Rewritten
from iceberg_zorder.advice.sampled_table import SampledTable
from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.keys import encode
from iceberg_zorder.layout.sample import Sample

ROWS, EVERY = 40_000, 8


def written(rows: pa.Table) -> dict[str, int]:
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, rows.schema, compression="zstd", use_dictionary=False) as writer:
        writer.write_table(rows)
    group = writer.writer.metadata.row_group(0)
    return {group.column(at).path_in_schema: group.column(at).total_compressed_size for at in range(group.num_columns)}


def sampled(values: pa.Array, kind: str) -> SampledTable:
    """Every eighth row of a table of one column."""
    keys = encode(values.take(pa.array(np.arange(0, ROWS, EVERY))), kind)
    count, size = np.array([ROWS]), np.array([8 * ROWS])
    column = ClusteringColumn(("a",), kind)
    return SampledTable((column,), Sample((keys,)), (None,), (True,), np.zeros(keys.rows, np.int64), count, size)


RNG = np.random.default_rng(4)
TABLES: dict[str, tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]] = {
    "what was by chance is sorted": (RNG.integers(0, 10**9, ROWS), lambda values: np.argsort(values, kind="stable")),
    "what was sorted is by chance": (
        np.sort(RNG.integers(0, 10**9, ROWS)),
        lambda values: RNG.permutation(len(values)),
    ),
    "few values are sorted": (RNG.zipf(1.5, ROWS) % 300, lambda values: np.argsort(values, kind="stable")),
    "it stays": (RNG.integers(0, 3_000, ROWS), lambda values: np.arange(len(values))),
}


@pytest.mark.parametrize("name", TABLES)
def test_another_order_comes_to_what_it_does(name: str) -> None:
    values, order = TABLES[name]
    rows = order(values)
    whole = written(pa.table({"a": values}))["a"]
    files = np.array_split(rows, 5)
    really = sum(written(pa.table({"a": values[file]}))["a"] for file in files)
    # What a file of today comes to is of rows as many as a file has.
    base = sum(written(pa.table({"a": each}))["a"] for each in np.array_split(values, 5))
    found = Compression(sampled(pa.array(values), "long"), Rewritten(float(whole), {"a": base}, base + 0.0, written))
    of_sampled = [file[file % EVERY == 0] // EVERY for file in files]
    assert found.share(of_sampled, ()) == pytest.approx(really / whole, rel=0.15, abs=0.03)


def test_a_sample_does_not_see_what_rows_between_have_in_common() -> None:
    """Four rows at a time share a value, as those of an order do; a layout separates them."""
    values = np.repeat(RNG.integers(0, 10**9, ROWS // 4), 4)
    today, shuffled = (written(pa.table({"a": each}))["a"] for each in (values, RNG.permutation(values)))
    repeats = [{"a": values[1:] == values[:-1]}]
    found = Rewritten(float(today), {"a": today}, float(today), written, {"a": shuffled / today}, {}, repeats)
    rows = sampled(pa.array(values), "long")
    separated, kept = (
        np.array_split(each, 5) for each in (RNG.permutation(rows.sample.rows), np.arange(rows.sample.rows))
    )
    assert Compression(rows, found).share(separated, ()) == pytest.approx(shuffled / today, rel=0.05)
    assert Compression(rows, found).share(kept, ()) == pytest.approx(1.0, rel=0.01)
    # By that column itself, the four rows stay together.
    torn = Compression(rows, found).share(separated, ()) - 1
    assert Compression(rows, found).share(separated, (0,)) - 1 == pytest.approx(torn / 4, rel=0.1)


def test_text_nulls_and_nothing_known() -> None:
    texts = pa.array([None if row % 3 == 0 else f"text {row % 50:03}" for row in range(ROWS)])
    rows = sampled(texts, "string")
    files = [np.arange(start, start + 1_000) for start in range(0, 5_000, 1_000)]
    assert Compression(rows, Rewritten(9.0, {"a": 9.0}, 9.0, written)).share(files, ()) == pytest.approx(1.0, abs=0.1)
    empty = sampled(pa.array([None] * ROWS, pa.string()), "string")
    assert Compression(empty, Rewritten(9.0, {"a": 9.0}, 9.0, written)).share(files, ()) == pytest.approx(1.0, abs=0.1)
    assert Compression(rows, None).share(files, ()) == 1.0
    assert Compression(rows, Rewritten(4.0, {"other": 9.0}, 9.0, written)).share([], ()) == 1.0
