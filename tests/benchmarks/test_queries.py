"""The benchmark of queries: what is drawn, what is measured, and the page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import sqlglot
from pyiceberg.catalog.sql import SqlCatalog

from benchmarks.queries import __main__ as bench
from benchmarks.queries import tpcds, tpch
from benchmarks.queries.duck import connection
from benchmarks.queries.engines import DuckEngine, Looked, Rows, for_spark
from benchmarks.queries.measure import measured
from benchmarks.queries.page import page
from benchmarks.queries.sets import TPCH
from benchmarks.queries.tables import TITLES, Tables, layouts


def test_drawn_queries_of_tpch_run() -> None:
    with connection("tpch") as duck:
        duck.execute("CALL dbgen(sf = 0.01)")
        for text in tpch.queries(7, 0.01).values():
            duck.execute(text)


def test_moved_queries_of_tpcds_run() -> None:
    with connection("tpcds") as duck:
        duck.execute("CALL dsdgen(sf = 0)")
        for text in tpcds.queries(7).values():
            duck.execute(f"EXPLAIN {text}")


@pytest.mark.parametrize("seed", [0, 1])
def test_queries_move_to_where_there_are_sales(seed: int) -> None:
    for text in tpcds.queries(seed).values():
        query = sqlglot.parse_one(text, dialect="duckdb")
        assert all(1998 <= int(each.this) <= 2002 for each in tpcds._numbers(query, "d_year"))
        assert all(1 <= int(each.this) <= 12 for each in tpcds._numbers(query, "d_moy"))
        assert all(1176 <= int(each.this) <= 1235 for each in tpcds._numbers(query, "d_month_seq"))
        assert for_spark(text)


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


class _Made:
    """An engine that gives made-up rows."""

    def __init__(self, rows: Mapping[str, Rows]) -> None:
        self._rows = rows
        self._layout = ""
        self.ran: list[str] = []

    def use(self, layout: str) -> None:
        self._layout = layout

    def run(self, query: str) -> Rows:
        self.ran.append(self._layout if "LIMIT" in query else f"{self._layout} without LIMIT")
        return self._rows[self._layout]

    def look(self, query: str) -> Looked:
        return Looked(1, 10, None)


def test_layouts_take_turns_and_other_rows_are_told() -> None:
    same = _Made({"a": [(1, 2.0)], "b": [(1, 2.0 + 1e-12)]})
    found = measured(same, {"q": "SELECT x FROM t LIMIT 1"}, ("a", "b"), 3, print)[0]
    assert found.alike
    assert same.ran == [*"abbaab"]
    begins = _Made({"a": [(1,)], "b": [(1,)]})
    three = dict.fromkeys(("p", "q", "r"), "SELECT x FROM t LIMIT 1")
    each_of_three = measured(begins, three, ("a", "b"), 1, print, ["p", "r"])
    assert begins.ran == [*"ab", *"ba"]
    assert [set(each.seconds) for each in each_of_three] == [{"a", "b"}, set(), {"a", "b"}]
    assert [each.bytes for each in each_of_three] == [{"a": 10, "b": 10}] * 3
    other = _Made({"a": [(1, 2.0)], "b": [(1, 2.1)]})
    assert not measured(other, {"q": "SELECT x FROM t LIMIT 1"}, ("a", "b"), 1, print)[0].alike
    assert other.ran == ["a", "b", "a without LIMIT", "b without LIMIT"]


def _run(**values: Any) -> dict[str, Any]:
    names = ("ingested", "iceberg", "ours")
    queries = [_query("H1", (100, 80, 50), (2.0, 2.0, 1.0)), _query("H2", (100, 100, 110), (1.0, 1.0, 2.0))]
    tables = {name: {table: [3, 2_000_000] for table in TPCH.usual} for name in names}
    run = {"set": "tpch", "engine": "spark", "scale": 1.0, "rounds": 3, "threads": 2, "machine": "a machine"}
    run |= {"layouts": names, "queries": queries, "filtered": {"H1": ["orders"], "H2": []}}
    return {**run, "by": {}, "tables": tables, **values}


def _query(name: str, sizes: tuple[int, ...], seconds: tuple[float, ...]) -> dict[str, Any]:
    by_layout = [dict(zip(("ingested", "iceberg", "ours"), each, strict=bool(each))) for each in (sizes, seconds)]
    return {"query": name, "bytes": by_layout[0], "seconds": by_layout[1], "read": {}, "alike": True}


def test_page_sums_and_compares() -> None:
    shown = page({"runs": [_run(), _run(scale=5.0, engine="duckdb")]})
    line = "| TPC-H, Spark | 1 | ours, usual columns | 0.0 | -20% | 1, 1 |  |  | 3.0 | +0% | 1.00 | 1, 1 |"
    assert line in shown
    assert "- TPC-H, 1 of 2 queries: H1 (orders)." in shown
    assert "| orders | 3 | 2.0 | 2.0 | 2.0 | o_orderdate, o_custkey |" in shown
    assert "| H2 | 0.0 | 1.00 | 1.10 | 1.000 | 1.00 | 2.00 |" in shown
    assert "has no option `workload`" in " ".join(shown.split())
    headings = [line.removeprefix("### TPC-H, ") for line in shown.splitlines() if line.startswith("### ")]
    of_tables = ["the tables at scale factor 1", "the tables at scale factor 5"]
    assert headings == [*of_tables, "DuckDB, scale factor 5", "Spark, scale factor 1"]


def test_page_leaves_open_what_was_not_timed() -> None:
    untimed = _query("H3", (100, 60, 60), ())
    run = _run()
    shown = page({"runs": [{**run, "queries": [*run["queries"], untimed]}]})
    assert "| ours, usual columns | 0.0 | -27% | 2, 1 |  |  | 3.0 | +0% | 1.00 | 1, 1 |" in shown
    assert "Timed, and held against each other, are 2 of 3 queries." in shown
    assert "| H3 | 0.0 | 0.60 | 0.60 |  |  |  |" in shown


def test_page_tells_of_the_workload_and_of_other_results() -> None:
    names = (*TITLES,)
    run = _run(layouts=names, by={"workload": dict.fromkeys(TPCH.usual, "") | {"orders": "o_orderdate"}})
    for query in run["queries"]:
        query["bytes"]["workload"], query["seconds"]["workload"], query["alike"] = 40, 1.0, False
    run["tables"]["workload"] = run["tables"]["ours"]
    shown = page({"runs": [run]})
    assert "| orders | 3 | 2.0 | 2.0 | 2.0 | 2.0 | o_orderdate, o_custkey | o_orderdate |" in shown
    assert "| 2.0 | ps_partkey, ps_suppkey | as it was |" in shown
    assert "**Results differ between layouts** of H1, H2." in shown
    assert "5 other draws" in " ".join(shown.split())


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
