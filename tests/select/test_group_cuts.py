"""The laws of file groups, on random boxes."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.keys import encode
from iceberg_zorder.metrics.data_files import ColumnBounds, DataFiles
from iceberg_zorder.select.group_cuts import cut_groups

Extent = tuple[int, int] | str
"""Of a file in a column: its bounds, "no values", or "no bounds"."""

EXTENTS = st.one_of(
    st.tuples(st.integers(0, 40), st.integers(0, 8)).map(lambda each: (each[0], each[0] + each[1])),
    st.just("no values"),
    st.just("no bounds"),
)
FILES = st.lists(st.tuples(EXTENTS, EXTENTS, st.integers(1, 100)), min_size=1, max_size=25)


def groups_of(
    files: list[tuple[Extent, Extent, int]], bound: int, weights: tuple[float, float] = (1.0, 1.0), most: int = 100
) -> list[list[int]]:
    columns = []
    for name, extents in zip("ab", zip(*((a, b) for a, b, _ in files), strict=True), strict=True):
        lower, upper = (
            encode(pa.array([None if isinstance(each, str) else each[end] for each in extents], pa.int64()), "long")
            for end in (0, 1)
        )
        valued = np.array([0.0 if each == "no values" else 1.0 for each in extents])
        columns.append(ColumnBounds(ClusteringColumn((name,), "long"), lower, upper, valued))
    sizes = np.array([file[2] for file in files], np.int64)
    described = DataFiles(np.zeros(len(files), np.int64), sizes, sizes, tuple(columns))
    found = cut_groups(described, np.arange(len(files)), bound, most, [None, None], weights)
    assert all(1 <= extent <= 1_000 for _, extents in found for extent in extents)
    return [places.tolist() for places, _ in found]


@given(FILES, st.integers(1, 400), st.integers(1, 30))
def test_each_file_is_in_one_group_and_the_bounds_hold(
    files: list[tuple[Extent, Extent, int]], bound: int, most: int
) -> None:
    found = groups_of(files, bound, most=most)
    assert sorted(place for group in found for place in group) == list(range(len(files)))
    assert all(group == sorted(group) for group in found)
    assert all(len(group) == 1 or sum(files[place][2] for place in group) <= bound for group in found)
    assert all(len(group) <= most for group in found)


def test_files_without_values_come_together() -> None:
    files: list[tuple[Extent, Extent, int]] = [
        ("no values", (0, 9), 50),
        ((0, 5), (0, 9), 50),
        ("no values", (0, 9), 50),
        ((0, 5), (0, 9), 50),
    ]
    assert groups_of(files, 100) == [[1, 3], [0, 2]]


@pytest.mark.parametrize(
    ("weights", "groups"),
    [((0.0, 1.0), [[0, 3], [1, 2]]), ((1.0, 0.0), [[0, 2], [1, 3]]), ((0.0, 0.0), [[0, 1], [2, 3]])],
)
def test_columns_without_bounds_are_not_cut_in(weights: tuple[float, float], groups: list[list[int]]) -> None:
    files: list[tuple[Extent, Extent, int]] = [
        ((0, 5), (0, 4), 50),
        ((6, 9), (5, 9), 50),
        ((0, 5), (5, 9), 50),
        ((6, 9), (0, 4), 50),
    ]
    assert groups_of(files, 100, weights) == groups


def test_files_that_all_span_are_halved() -> None:
    assert groups_of([((0, 40), (0, 40), 50)] * 8, 200) == [[0, 1, 2, 3], [4, 5, 6, 7]]


@pytest.mark.parametrize("groups", [1, 2, 3, 5, 7, 10, 16])
def test_groups_are_as_few_as_the_bound_allows(groups: int) -> None:
    files: list[tuple[Extent, Extent, int]] = [((place, place), (0, 40), 10) for place in range(20 * groups)]
    assert [len(group) for group in groups_of(files, 200, most=1_000)] == [20] * groups


def test_extents_are_of_the_whole_partition() -> None:
    """Also where some of its files are cut only: those that an unfinished rewrite has left."""
    places = encode(pa.array(range(10)), "long")
    bounds = ColumnBounds(ClusteringColumn(("a",), "long"), places, places, np.ones(10))
    files = DataFiles(np.zeros(10, np.int64), np.full(10, 100), np.full(10, 100), (bounds,))
    found = cut_groups(files, np.array([4, 5, 6, 7, 9]), 300, 100, [None], [1.0])
    assert [(each.tolist(), extents) for each, extents in found] == [([4, 5], [200]), ([6, 7, 9], [400])]


def test_many_small_files_do_not_make_large_ones_narrow() -> None:
    """Streams leave many bounds between few rows."""
    lower = encode(pa.array([*range(0, 400, 100), *range(400, 440)]), "long")
    upper = encode(pa.array([*range(99, 400, 100), *range(400, 440)]), "long")
    bounds = ColumnBounds(ClusteringColumn(("a",), "long"), lower, upper, np.ones(44))
    rows = np.array([1_000] * 4 + [1] * 40)
    files = DataFiles(np.zeros(44, np.int64), rows, rows, (bounds,))
    found = cut_groups(files, np.arange(44), 2_040, 100, [None], [1.0])
    assert [(each.tolist(), extents) for each, extents in found] == [([0, 1], [496]), ([*range(2, 44)], [505])]


def test_a_cut_is_where_the_fewest_bytes_span() -> None:
    # In a, one file spans the middle; in b, all do.
    files: list[tuple[Extent, Extent, int]] = [((0, 10), (0, 40), 50)] * 3
    files += [((20, 30), (0, 40), 50)] * 3 + [((0, 30), (0, 40), 50)]
    sides = [set(group) for group in groups_of(files, 200)]
    assert any({0, 1, 2} <= side for side in sides)
    assert any({3, 4, 5} <= side for side in sides)
