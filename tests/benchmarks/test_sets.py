from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from benchmarks.sets import SETS, BenchmarkSet

ROWS = 2_000
NEED_A_GENERATOR = {"lineitem", "lineitem3", "store_sales"}
OWN = [of for of in SETS if of.name not in NEED_A_GENERATOR]


def name(of: BenchmarkSet) -> str:
    return of.name


def test_own_sets_are_these() -> None:
    assert {of.name for of in OWN} == {"uniform", "symbols", "customers", "urls", "mixed", "geo", "iot", "calls"}


@pytest.mark.parametrize("of", OWN, ids=name)
def test_rows_are_the_same_every_time(of: BenchmarkSet, tmp_path: Path) -> None:
    one, other = (pq.read_table(of.source(ROWS, tmp_path / each)) for each in ("one", "other"))
    # NaN is no equal of NaN, but it is the same text.
    assert one.schema == other.schema
    assert str(one.to_pylist()) == str(other.to_pylist())
    assert one.num_rows == ROWS
    assert set(of.columns) < set(one.column_names)


@pytest.mark.parametrize("of", OWN, ids=name)
def test_a_set_that_is_there_is_not_made_again(of: BenchmarkSet, tmp_path: Path) -> None:
    path = of.source(ROWS, tmp_path)
    made = path.stat().st_mtime_ns
    assert of.source(ROWS, tmp_path) == path
    assert path.stat().st_mtime_ns == made
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_names_are_distinct() -> None:
    assert len({of.name for of in SETS}) == len(SETS)
