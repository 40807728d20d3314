"""The benchmark of cuts from a workload: what is measured, what it is held against, and the page."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.workloads.made_up import calls, geo, iot, logs, shop, trips
from benchmarks.workloads.measure import bounds, is_read, matches, matching, scan_fraction
from benchmarks.workloads.tables import NULL, Query


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
