"""Rows go where the layout says, by whatever tables it is found; and a layout does not ask in which order rows came."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.fit import LayoutRequest, fit
from iceberg_zorder.layout.keys import encode
from iceberg_zorder.layout.layout import layout_hash
from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.sample.sampled_row_groups import row_hashes
from iceberg_zorder.sort import routing
from iceberg_zorder.sort.routing import Router, _RangeTable

LONGS = st.integers(-(2**63), 2**63 - 1)
COLUMNS = [
    ClusteringColumn(("s",), "string"),
    ClusteringColumn(("x",), "long"),
    ClusteringColumn(("f",), "double"),
    ClusteringColumn(("few",), "string"),
]
WISHES = [
    LayoutRequest(files=9),
    LayoutRequest(files=9, cuts="even"),
    LayoutRequest(files=7, curve="hilbert"),
    LayoutRequest(files=7, curve="hilbert", cuts="even"),
    LayoutRequest(files=5, leading_orders=((True, False), (False, True))),
    LayoutRequest(files=5, leading_orders=((True, False),), cuts="even", boundaries=10),
    LayoutRequest(files=40, boundaries=1),
]


def columns(rows: int, seed: int) -> list[pa.Array]:
    random = np.random.default_rng(seed)
    x = random.integers(-(2**62), 2**62, rows) >> random.integers(0, 60, rows)
    f = np.where(random.random(rows) < 0.1, np.nan, random.normal(size=rows))
    few = pa.array(["a", "b", "c"]).take(pa.array(random.integers(0, 3, rows), mask=random.random(rows) < 0.1))
    return [
        pa.array([None if v % 17 == 0 else f"common {v % 1000:03d}" for v in x.tolist()]),
        pa.array(x, mask=random.random(rows) < 0.05),
        pa.array(f, mask=random.random(rows) < 0.05),
        few.dictionary_encode(),
    ]


def sample(of: list[pa.Array]) -> Sample:
    return Sample(tuple(encode(array, column.type) for array, column in zip(of, COLUMNS, strict=True)))


@pytest.mark.parametrize("tables", ["small", "large"])
@pytest.mark.parametrize("place", range(len(WISHES)))
def test_rows_go_where_the_layout_says(monkeypatch: pytest.MonkeyPatch, place: int, tables: str) -> None:
    if tables == "small":
        monkeypatch.setattr(routing, "_LARGEST_TABLE", 1)
    layout = fit(COLUMNS, sample(columns(2000, seed=place)), WISHES[place])
    rows = columns(20_000, seed=100 + place)
    positions = np.arange(20_000)
    file, index = Router(layout).route(rows, "file:/x.parquet", positions)
    expected = sample(rows)
    assert file.tolist() == layout.file(expected, row_hashes("file:/x.parquet", positions)).tolist()
    assert index.tolist() == layout.index(expected).tolist()


@pytest.mark.parametrize("place", range(len(WISHES)))
def test_the_order_of_sampled_rows_does_not_matter(place: int) -> None:
    rows = columns(3000, seed=5)
    shuffled = pa.array(np.random.default_rng(6).permutation(3000))
    hashes = {
        layout_hash(fit(COLUMNS, sample(each), WISHES[place]))
        for each in (rows, [array.take(shuffled) for array in rows])
    }
    assert len(hashes) == 1


@given(boundaries=st.sets(LONGS, min_size=1, max_size=30), keys=st.lists(LONGS, max_size=20))
def test_ranges_find_what_a_search_finds(boundaries: set[int], keys: list[int]) -> None:
    ordered = np.array(sorted(boundaries), np.int64)
    near = [b + d for b in boundaries for d in (-1, 0, 1) if -(2**63) <= b + d < 2**63]
    asked = np.array([*keys, *near], np.int64)
    assert _RangeTable(ordered).find(asked).tolist() == np.searchsorted(ordered, asked, side="right").tolist()
