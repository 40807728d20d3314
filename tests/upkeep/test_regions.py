"""The laws of regions, on random boxes."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.fit import LayoutRequest
from iceberg_zorder.layout.keys import encode
from iceberg_zorder.report.data_files import ColumnBounds, DataFiles
from iceberg_zorder.upkeep.regions import RegionSizes, cut_regions
from iceberg_zorder.upkeep.upkeep_request import UpkeepRequest

Extent = tuple[int, int] | str
"""Of a file in a column: its bounds, "no values", or "no bounds"."""

EXTENTS = st.one_of(
    st.tuples(st.integers(0, 40), st.integers(0, 8)).map(lambda each: (each[0], each[0] + each[1])),
    st.just("no values"),
    st.just("no bounds"),
)
FILES = st.lists(st.tuples(EXTENTS, EXTENTS, st.integers(1, 100)), min_size=1, max_size=25)
ANYTHING = 1e9


def files_of(files: list[tuple[Extent, Extent, int]]) -> DataFiles:
    columns = []
    for name, extents in zip("ab", zip(*((a, b) for a, b, _ in files), strict=True), strict=True):
        lower, upper = (
            encode(pa.array([None if isinstance(each, str) else each[end] for each in extents], pa.int64()), "long")
            for end in (0, 1)
        )
        valued = np.array([0.0 if each == "no values" else 1.0 for each in extents])
        columns.append(ColumnBounds(ClusteringColumn((name,), "long"), lower, upper, valued))
    sizes = np.array([file[2] for file in files], np.int64)
    return DataFiles(np.zeros(len(files), np.int64), sizes, sizes, tuple(columns))


def request(ratio: float = ANYTHING, weights: tuple[float, float] = (1.0, 1.0)) -> UpkeepRequest:
    return UpkeepRequest(
        ratio,
        lambda size: max(1, size // 20),
        lambda size: max(1, size // 13),
        LayoutRequest(1),
        [None, None],
        list(weights),
    )


def are_apart(one: list[Extent], other: list[Extent]) -> bool:
    """Whether no value can be in both."""
    if "no bounds" in one + other:
        return {*one} == {"no values"} or {*other} == {"no values"}
    values, others = ([each for each in extents if not isinstance(each, str)] for extents in (one, other))
    if not values or not others:
        return True
    return max(high for _, high in values) < min(low for low, _ in others) or (
        max(high for _, high in others) < min(low for low, _ in values)
    )


@given(FILES, st.integers(1, 400), st.integers(1, 100), st.booleans())
def test_each_file_is_in_one_region(
    files: list[tuple[Extent, Extent, int]], bound: int, least: int, is_across: bool
) -> None:
    found = cut_regions(files_of(files), 200, RegionSizes(bound, least, is_across), request())
    places = [place for region in found.regions for place in region.files.tolist()]
    assert sorted(places) == list(range(len(files)))
    assert all(np.all(np.diff(region.files) > 0) for region in found.regions)
    if len(found.regions) > 1:
        assert all(0 < span <= 1 for region in found.regions for span in region.spans)


@given(FILES, st.integers(1, 400), st.integers(1, 100), st.booleans())
def test_clean_regions_overlap_no_other_in_some_column(
    files: list[tuple[Extent, Extent, int]], bound: int, least: int, is_across: bool
) -> None:
    found = cut_regions(files_of(files), 200, RegionSizes(bound, least, is_across), request()).regions
    assert is_across or all(region.is_clean for region in found)
    for one, other in combinations(found, 2):
        if one.is_clean or other.is_clean:
            extents = ([[files[place][column] for place in each.files] for each in (one, other)] for column in (0, 1))
            assert any(are_apart(*each) for each in extents)


@given(FILES, st.integers(1, 400), st.integers(1, 100), st.booleans())
def test_bounds_are_honoured(files: list[tuple[Extent, Extent, int]], bound: int, least: int, is_across: bool) -> None:
    found = cut_regions(files_of(files), 200, RegionSizes(bound, least, is_across), request()).regions
    for region in found:
        size = sum(files[place][2] for place in region.files)
        if is_across:
            assert size <= bound or len(region.files) == 1
        elif len(found) > 1:
            assert size >= least


@given(FILES, st.integers(1, 400), st.integers(1, 100))
def test_what_costs_too_much_is_cut_into_fewer_or_not_at_all(
    files: list[tuple[Extent, Extent, int]], bound: int, least: int
) -> None:
    sizes = RegionSizes(bound, least, False)
    found, any_cost = (cut_regions(files_of(files), 200, sizes, request(ratio)) for ratio in (1.05, ANYTHING))
    assert len(found.regions) <= len(any_cost.regions)
    if found.expected is None or found.in_one is None:
        assert len(any_cost.regions) == 1
    else:
        assert (len(found.regions) > 1) == (found.expected <= 1.05 * found.in_one)


def test_touching_bounds_are_no_clean_cut() -> None:
    for second, regions in ((5, 1), (6, 2)):
        files: list[tuple[Extent, Extent, int]] = [((0, 5), (0, 9), 50), ((second, 10), (0, 9), 50)]
        assert len(cut_regions(files_of(files), 200, RegionSizes(50, 1, False), request()).regions) == regions


def test_files_without_values_come_together() -> None:
    files: list[tuple[Extent, Extent, int]] = [
        ("no values", (0, 9), 50),
        ((0, 5), (0, 9), 50),
        ("no values", (0, 9), 50),
        ((0, 5), (0, 9), 50),
    ]
    found = cut_regions(files_of(files), 200, RegionSizes(100, 1, False), request()).regions
    assert [region.files.tolist() for region in found] == [[1, 3], [0, 2]]


@pytest.mark.parametrize(("weights", "regions"), [((0.0, 1.0), 1), ((1.0, 0.0), 2), ((0.0, 0.0), 1)])
def test_columns_without_bounds_are_not_cut_in(weights: tuple[float, float], regions: int) -> None:
    files: list[tuple[Extent, Extent, int]] = [((0, 5), (0, 9), 50), ((6, 9), (0, 9), 50)]
    found = cut_regions(files_of(files), 200, RegionSizes(50, 1, False), request(weights=weights))
    assert len(found.regions) == regions


def test_files_that_all_span_are_halved() -> None:
    files: list[tuple[Extent, Extent, int]] = [((0, 40), (0, 40), 50)] * 8
    found = cut_regions(files_of(files), 2_000, RegionSizes(200, 1, True), request())
    assert [region.files.tolist() for region in found.regions] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert not any(region.is_clean for region in found.regions)
    assert found.expected is not None
    assert found.in_one is not None
    assert found.expected > 1.05 * found.in_one


def test_a_cut_across_is_where_the_fewest_bytes_span() -> None:
    # In a, one file spans the middle; in b, all do.
    files: list[tuple[Extent, Extent, int]] = [((0, 10), (0, 40), 50)] * 3
    files += [((20, 30), (0, 40), 50)] * 3 + [((0, 30), (0, 40), 50)]
    found = cut_regions(files_of(files), 2_000, RegionSizes(200, 1, True), request()).regions
    sides = [set(region.files.tolist()) for region in found]
    assert any({0, 1, 2} <= side for side in sides)
    assert any({3, 4, 5} <= side for side in sides)


@pytest.mark.parametrize("side", [2, 3])
def test_regions_of_appends_in_the_order_of_a_column_cost_nothing(side: int) -> None:
    """By b each is a part of all; layouts of regions alone would not know, and would cut by it again."""
    files: list[tuple[Extent, Extent, int]] = [
        ((0, 40_000), (day * 1_000, day * 1_000 + 900), 80) for day in range(4**side)
    ]
    found = cut_regions(files_of(files), 20_000, RegionSizes(80 * 4 ** (side - 1), 1, False), request(1.05))
    assert len(found.regions) == 4
    spans = [region.spans for region in found.regions]
    assert [a for a, _ in spans] == pytest.approx([1.0] * 4, abs=0.05)
    assert [b for _, b in spans] == pytest.approx([0.25] * 4, abs=0.01)
