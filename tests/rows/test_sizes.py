"""The bytes of rows are counted as Arrow counts them, without a copy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from iceberg_zorder.rows.buckets import Part
from iceberg_zorder.rows.sizes import bytes_up_to, cuts

TEXTS = ["a", "", None, "b" * 100, "cc"]
COLUMNS: dict[str, pa.Array] = {
    "long": pa.array([1, 2, None, 4, 5]),
    "string": pa.array(TEXTS),
    "large string": pa.array(TEXTS, pa.large_string()),
    "view": pa.array(TEXTS, pa.string_view()),
    "fixed": pa.array([b"ab", None, b"cd", b"ef", b"gh"], pa.binary(2)),
    "uuid": pa.array([bytes(16)] * 5, pa.uuid()),
    "list": pa.array([[1], [], None, list(range(50)), [2, 3]], pa.large_list(pa.int64())),
    "list of strings": pa.array([["a"], [], None, ["b" * 100], ["c", "d"]], pa.list_(pa.string())),
    "map": pa.array([[("k", 1)], [], None, [("k" * 100, 2)], []], pa.map_(pa.string(), pa.int64())),
    "struct": pa.array([{"a": 1, "s": text} for text in TEXTS]),
    "dictionary": pa.array(TEXTS).dictionary_encode(),
    "null": pa.nulls(5),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("how", ["whole", "sliced"])
def test_every_type(name: str, how: str) -> None:
    column = COLUMNS[name]
    if how == "sliced":
        column = pa.concat_arrays([column, column]).slice(3, 5)
    found = bytes_up_to(column, np.arange(6))
    plain = column.indices if name == "dictionary" else column
    # Arrow counts the marks of NULL, too, and the offset after the last row, of every column inside.
    assert plain.nbytes - 24 <= found[-1] <= plain.nbytes
    assert found[0] == 0
    assert (np.diff(found) >= 0).all()
    if name not in ("long", "fixed", "uuid", "dictionary", "null", "view"):
        long = column.to_pylist().index(max(column.to_pylist(), key=lambda value: len(str(value))))
        assert np.diff(found)[long] >= 100


def test_nothing_has_no_bytes() -> None:
    for column in COLUMNS.values():
        assert bytes_up_to(column.slice(0, 0), np.zeros(1, np.int64)).tolist() == [0]


def rows(of: list[Any]) -> pa.RecordBatch:
    return pa.record_batch({"s": pa.array(of), "index": np.arange(len(of))})


def test_the_sizes_of_ranges_are_those_of_their_rows() -> None:
    part = Part(0, rows(["x"] * 1000 + ["y" * 10_000] * 10), (0, 1000, 1010, 1010))
    none, small, large, none_again = part.sizes
    assert (none, none_again) == (0, 0)
    assert small + large == part.rows.nbytes
    assert abs(small - 13_000) < 100
    assert abs(large - 100_120) < 100


def test_rows_are_cut_by_bytes() -> None:
    of = rows(["x"] * 1000 + ["y" * 10_000] * 10 + ["z" * 50_000, "x"])
    pieces = list(cuts(of, 25_000))
    assert [start for start, _ in pieces] == np.cumsum([0, *(length for _, length in pieces)])[:-1].tolist()
    assert sum(length for _, length in pieces) == of.num_rows
    assert max(of.slice(*piece).nbytes for piece in pieces if piece[1] > 1) <= 25_010
    assert (1010, 1) in pieces
