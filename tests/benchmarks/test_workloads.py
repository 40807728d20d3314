"""The benchmark of cuts from a workload: what is measured, what it is held against, and the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession

from benchmarks.layouts import ICEBERG_CATALOG
from benchmarks.workloads import __main__ as bench
from benchmarks.workloads.baselines import QdTree
from benchmarks.workloads.made_up import calls, geo, iot, logs, shop, trips
from benchmarks.workloads.measure import bounds, is_read, matches, matching, scan_fraction
from benchmarks.workloads.page import page
from benchmarks.workloads.peers import written
from benchmarks.workloads.tables import NULL, Query, equal


@pytest.mark.parametrize("make", [calls, shop, iot, logs, geo, trips])
def test_no_file_with_a_matching_row_is_skipped(make: Any) -> None:
    table = make(2_000, Path())
    file = np.random.default_rng(1).integers(0, 50, 2_000)
    found = bounds(table.keys, file, 50)
    queries = [*table.queries(60, 7), *table.unforeseen(60, 8)]
    for query in queries:
        assert set(file[matches(table.keys, query)]) <= set(np.flatnonzero(is_read(found, query)))
    assert matching(table.keys, queries) < scan_fraction(found, queries)
    assert table.queries(60, 7) == table.queries(60, 7) != table.queries(60, 8)


def test_nulls_are_looked_for_where_they_are() -> None:
    keys = {"a": np.array([1, NULL, 5, 9])}
    found = bounds(keys, np.array([0, 0, 1, 2]), 4)
    asked: list[Query] = [({"a": (NULL, NULL)},), ({"a": (2, 6)},), ({"a": (1, 1)}, {"a": (9, 9)})]
    assert [np.flatnonzero(is_read(found, query)).tolist() for query in asked] == [[0], [1], [0, 2]]
    assert scan_fraction(found, asked) == pytest.approx(100 * (2 + 1 + 3) / 4 / 3)


def test_a_qd_tree_cuts_where_queries_begin_and_end() -> None:
    keys = {"a": np.arange(100)}
    tree = QdTree(keys, [({"a": (25, 49)},)], files=4)
    file, files = tree.file(keys)
    assert files == 3
    assert [np.flatnonzero(file == leaf)[[0, -1]].tolist() for leaf in range(3)] == [[0, 24], [25, 49], [50, 99]]


def test_a_table_is_measured_and_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "HELD_OUT", 40)
    case = bench.measured("iot", 64, 4_000)
    layouts = ["ours", "all", "set", "weighted", "qd_tree", "k_d_tree"]
    for workload in (0, 1):
        assert all(case["matching"][workload] <= case[name]["scanned"][workload] < 100 for name in layouts)
    assert case["weighted"]["scanned"][0] <= case["set"]["scanned"][0] <= case["all"]["scanned"][0]
    assert set(case["ours"]["columns"][0]) <= {"device", "measured", "reading"}
    case |= {"iceberg": {**case["all"], "files": 64}, "liquid": {**case["set"], "files": 63}}
    shown = page({"machine": "a machine", "rows": 4_000, "cases": [case, {**case, "ours": case["all"]}]})
    assert f"| iot | 64 | {case['matching'][0]:.2f} |" in shown
    worst = case["all"]["scanned"][0] / case["set"]["scanned"][0] - 1
    assert f"the worst is iot in 64 files, at {worst:+.1%}\n" in shown
    assert "For 64 files Iceberg's z-order wrote 64, liquid clustering wrote 63." in shown


@pytest.mark.full
def test_a_peer_puts_every_row_into_a_file(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set(f"spark.sql.catalog.{ICEBERG_CATALOG}", "org.apache.iceberg.spark.SparkCatalog")
    spark.conf.set(f"spark.sql.catalog.{ICEBERG_CATALOG}.type", "hadoop")
    spark.conf.set(f"spark.sql.catalog.{ICEBERG_CATALOG}.warehouse", str(tmp_path / "iceberg"))
    table = iot(4_000, tmp_path)
    file, files = written(spark, "iot", table, ["device", "measured"], "iceberg", 8, tmp_path)
    assert files == len(np.unique(file)) == 8
    found = bounds(table.keys, file, files)
    assert found.rows.sum() == 4_000
    # Rows that a file was told of are in it: a moment has larger numbers than a device, so that by the bits of values
    # files are ranges of moments, and one moment lies in a file, or in two where they meet.
    assert scan_fraction(found, [({"measured": equal(each)},) for each in table.keys["measured"][::50]]) < 30
