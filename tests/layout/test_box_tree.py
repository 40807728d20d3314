"""The laws of adaptive cuts: a tree of boxes, its sizes, its cost, and the order of rows inside its leaves."""

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iceberg_zorder.layout.box_tree import BoxTree, Leaf
from iceberg_zorder.layout.curve import position_bits
from iceberg_zorder.layout.fit import grow, tighter_curve

BITS = 6
ROWS = st.integers(1, 3).flatmap(
    lambda columns: st.lists(
        st.lists(st.one_of(st.integers(0, 3), st.integers(0, 2**BITS - 1)), min_size=columns, max_size=columns),
        min_size=1,
        max_size=80,
    )
)


def columns_of(rows: list[list[int]]) -> list[npt.NDArray[np.int64]]:
    return list(np.array(rows, np.int64).T)


def permutations(columns: int, rows: int, seed: int) -> list[npt.NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    return [rng.permutation(rows) * 2 ** position_bits(columns) // rows for _ in range(columns)]


@settings(deadline=None)
@given(ROWS, st.integers(1, 12))
def test_leaves_are_boxes_that_part_the_rows(rows: list[list[int]], files: int) -> None:
    positions = columns_of(rows)
    tree = grow(positions, BITS, files, tolerance=0.25, weights=[1.0] * len(positions))
    leaf = tree.leaf(positions)
    assert tree.files == files
    for number, node in enumerate(tree.leaves):
        inside = [column[leaf == number] for column in positions]
        assert [int(column.min()) for column in inside] == list(node.lower)
        assert [int(column.max()) for column in inside] == list(node.upper)
        # Several files only where nothing can be told apart.
        assert node.files == 1 or node.lower == node.upper
    assert len({(*row, int(number)) for row, number in zip(rows, leaf, strict=True)}) == len(set(map(tuple, rows)))


@pytest.mark.parametrize(("columns", "files", "tolerance"), [(1, 7, 0.1), (2, 50, 0.25), (3, 64, 0.1), (4, 2, 0.25)])
def test_sizes_keep_to_the_tolerance(columns: int, files: int, tolerance: float) -> None:
    positions = permutations(columns, 10_000, seed=columns)
    tree = grow(positions, position_bits(columns), files, tolerance=tolerance, weights=[1.0] * columns)
    counts = np.bincount(tree.leaf(positions), minlength=files)
    # Rows are whole.
    assert math.floor((1 - tolerance) * 10_000 / files) <= counts.min()
    assert counts.max() <= math.ceil((1 + tolerance) * 10_000 / files)


def test_square_boxes_for_uniform_columns() -> None:
    positions = permutations(2, 65_536, seed=5)
    tree = grow(positions, 16, 64, tolerance=0.25, weights=[1.0, 1.0])
    leaf = tree.leaf(positions)
    extents = [[np.ptp(column[leaf == number]) / 65_536 for number in range(64)] for column in positions]
    # The best there is: eight by eight, each an eighth of either column.
    assert 0.11 < np.mean(extents[0]) < 0.14
    assert 0.11 < np.mean(extents[1]) < 0.14


def test_a_value_that_fills_several_files_is_cut_by_the_other_column() -> None:
    rng = np.random.default_rng(6)
    heavy = np.where(rng.random(20_000) < 0.5, 0, rng.integers(32_768, 65_536, 20_000))
    other = rng.integers(0, 65_536, 20_000)
    tree = grow([heavy, other], 16, 16, tolerance=0.25, weights=[1.0, 1.0])
    leaf = tree.leaf([heavy, other])
    of_heavy = np.unique(leaf[heavy == 0])
    assert 7 <= len(of_heavy) <= 10
    assert all(np.ptp(other[leaf == number]) < 65_536 / 4 for number in of_heavy)
    assert tree.files == len(tree.leaves)


def test_all_of_200_files_are_there() -> None:
    positions = permutations(3, 20_000, seed=7)
    tree = grow(positions, 16, 200, tolerance=0.25, weights=[1.0] * 3)
    counts = np.bincount(tree.leaf(positions), minlength=200)
    assert len(tree.leaves) == 200
    assert 75 <= counts.min() <= counts.max() <= 125


@given(st.lists(st.integers(0, 63), min_size=1, max_size=30), st.integers(0, 63), st.integers(0, 63))
def test_stretching_over_a_box_keeps_order_and_fills_it(rows: list[int], one: int, other: int) -> None:
    lower, upper = sorted((one, other))
    tree = BoxTree((Leaf(1, (lower,), (upper,)),))
    stretched = tree.rescaled(0, np.array(sorted(rows)), np.zeros(len(rows), np.int64), BITS)
    assert np.all(np.diff(stretched) >= 0)
    assert stretched.min() >= 0
    assert stretched.max() < 2**BITS
    edges = tree.rescaled(0, np.array([lower, upper]), np.zeros(2, np.int64), BITS)
    assert edges[0] == 0
    assert edges[1] == (upper - lower) * 2**BITS // (upper - lower + 1)


def test_the_tighter_curve_is_measured() -> None:
    square = permutations(2, 10_000, seed=8)
    tree = grow(square, 16, 5, tolerance=0.25, weights=[1.0, 1.0])
    assert tighter_curve(tree, square, 16) == "hilbert"
    # One column after another: nothing to gain, and a curve of one column is no curve.
    assert tighter_curve(tree, square, 16, leading=1) == "zorder"
    four_corners = [np.array([0, 0, 1, 1]) * 2**15, np.array([0, 1, 0, 1]) * 2**15]
    assert tighter_curve(BoxTree((Leaf(1, (0, 0), (2**15, 2**15)),)), four_corners, 16) == "zorder"
