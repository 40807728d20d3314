"""The benchmark of queries: what is drawn, what is measured, and the page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from benchmarks.queries import __main__ as bench
from benchmarks.queries.duck import connection
from benchmarks.queries.engines import DuckEngine
from benchmarks.queries.measure import measured
from benchmarks.queries.page import page
from benchmarks.queries.sets import TPCH
from benchmarks.queries.tables import Tables, layouts


@pytest.fixture
def two_layouts(tmp_path: Path) -> Mapping[str, Mapping[str, str]]:
    """A table of 4 files by a, and one of 4 files that all have everything."""
    catalog = SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}")
    rows = pa.table({"a": list(range(4_000)), "b": [number % 7 for number in range(4_000)]})
    found = {}
    for layout in ("sorted", "mixed"):
        catalog.create_namespace(layout)
        table = catalog.create_table(f"{layout}.t", rows.schema)
        for part in range(4):
            table.append(
                rows.slice(part * 1_000, 1_000) if layout == "sorted" else rows.take(list(range(part, 4_000, 4)))
            )
        found[layout] = {"t": table.metadata_location.removeprefix("file://")}
    catalog.close()
    return found


def test_duckdb_tells_which_files_it_opens(two_layouts: Mapping[str, Mapping[str, str]]) -> None:
    with connection("avro", "iceberg") as duck:
        engine = DuckEngine(duck, two_layouts)
        found, whole = measured(
            engine,
            {"few": "SELECT a, b FROM t WHERE a < 500", "all": "SELECT sum(a / 3), b FROM t GROUP BY b LIMIT 5"},
            ("sorted", "mixed"),
            1,
            print,
        )
    assert found.files == {"sorted": 1, "mixed": 4}
    assert 0 < found.read["sorted"] < found.read["mixed"]
    assert 0 < found.bytes["sorted"] < found.bytes["mixed"]
    assert whole.files == {"sorted": 4, "mixed": 4}
    assert found.alike
    assert whole.alike
    assert set(found.seconds) == {"sorted", "mixed"}


@pytest.mark.full
def test_layouts_are_made_and_measured(tmp_path: Path) -> None:
    tables = Tables(TPCH, 0.01, tmp_path, files=8)
    found = bench.run(tables, "duckdb", 1, 2, ["H6", "H12"])
    assert tuple(tables.made) == layouts()
    assert [query["query"] for query in found["queries"] if query["seconds"]] == ["H6", "H12"]
    for query in (query for query in found["queries"] if query["seconds"]):
        assert query["alike"]
        assert 0 < query["bytes"]["ours"] < query["bytes"]["ingested"]
        assert query["files"]["ours"] < query["files"]["ingested"]
    assert "lineitem" in found["filtered"]["H6"]
    assert page({"runs": [found]})
