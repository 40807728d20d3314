"""The columns that files are cut by for a workload."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from iceberg_zorder.advice.layouts.workload_columns import WorkloadPart, choose_columns
from tests.layout.test_queries import Query, boxes_of, uniform

TOP = 65_535


def chosen(positions: list[npt.NDArray[np.int64]], queries: list[Query], most: int = 4) -> list[int]:
    workload = boxes_of(queries, len(positions), TOP)
    return choose_columns([WorkloadPart(positions, 100, workload)], 16, tolerance=0.5, most=most)


def windows(column: int, width: int, weight: float = 1.0) -> list[Query]:
    return [Query(({column: (low, low + width)},), weight) for low in range(0, TOP - width, 1_999)]


def test_only_columns_that_queries_filter_on_are_chosen() -> None:
    assert chosen(uniform(4, 5_000), [*windows(3, 900), *windows(1, 900)]) in ([1, 3], [3, 1])


def test_the_most_useful_columns_stay_and_come_first() -> None:
    queries = [*windows(0, 900), *windows(1, 900, weight=30.0), *windows(2, 900, weight=6.0)]
    assert chosen(uniform(3, 5_000), queries, most=2) == [1, 2]
    assert chosen(uniform(3, 5_000), queries, most=1) == [1]


def test_a_column_that_follows_another_is_not_needed() -> None:
    one, other = uniform(2, 5_000)
    same = [
        Query((box,), 1.0) for box in ({0: (low, low + 900), 2: (low, low + 900)} for low in range(0, 60_000, 1_999))
    ]
    assert len(chosen([one, other, one], same)) == 1


def test_where_nothing_is_spared_no_column_is_chosen() -> None:
    positions = uniform(2, 500)
    assert chosen(positions, []) == []
    assert chosen(positions, [Query(({},), 1.0)]) == []
    assert chosen([np.zeros(50, np.int64)], windows(0, 900)) == []
    assert choose_columns([], 0, tolerance=0.5) == []
    assert chosen([np.empty(0, np.int64)], windows(0, 900)) == []


def test_what_parts_do_by_themselves_needs_no_column() -> None:
    x, y = uniform(2, 4_000)
    # Each part has a quarter of x, which queries ask for whole; the part that they ask for is cut by y.
    quarters = [(x * 4 // (TOP + 1) == quarter, quarter * 16_384) for quarter in range(4)]
    queries = [
        Query(({0: (start, start + 16_383), 1: (low, low + 32_767)},), 1.0)
        for _, start in quarters
        for low in (0, 32_768)
    ]
    assert chosen([x, y], queries, most=1) == [0]
    parts = [
        WorkloadPart(
            [x[mine], y[mine]], 4, boxes_of([each for each in queries if each.boxes[0][0][0] == start], 2, TOP)
        )
        for mine, start in quarters
    ]
    assert choose_columns(parts, 16, tolerance=0.5) == [1]


def test_queries_for_all_of_a_part_do_not_count_for_what_others_want_of_it() -> None:
    x, y = uniform(2, 2_000)
    every = [Query(({},), 1.0)] * 29
    one, other = [*every, *windows(0, 6_400)[:1]], windows(1, 6_400)
    parts = [WorkloadPart([x, y], 16, boxes_of(queries, 2, TOP)) for queries in (one, other)]
    assert choose_columns(parts, 16, tolerance=0.5, most=1) == [1]
