"""Cuts from a workload: a tree of boxes for queries that are known, and for those that are not."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from iceberg_zorder.layout.box_tree import BoxTree, Split
from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.fit import LayoutRequest, fit, grow
from iceberg_zorder.layout.keys import encode
from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.layout.split_costs import QueryBoxes

BITS = 6
TOP = 2**BITS - 1


@dataclass(frozen=True)
class Query:
    """Boxes, each with a range for some columns, and how often they are asked for."""

    boxes: tuple[dict[int, tuple[int, int]], ...]
    weight: float


def boxes_of(queries: list[Query], columns: int, top: int = TOP) -> QueryBoxes:
    """The boxes of queries as the core takes them."""
    boxes = [(number, box) for number, query in enumerate(queries) for box in query.boxes]
    lower, upper = (
        np.array([[box.get(c, (0, top))[side] for _, box in boxes] for c in range(columns)], np.int64).reshape(
            columns, len(boxes)
        )
        for side in (0, 1)
    )
    weights = np.array([query.weight for query in queries], np.float64)
    return QueryBoxes(lower, upper, np.array([number for number, _ in boxes], np.int64), weights)


@st.composite
def cases(draw: Any) -> tuple[list[list[int]], list[Query], int]:
    columns = draw(st.integers(1, 3))
    position = st.one_of(st.integers(0, 3), st.integers(0, TOP))
    rows = draw(st.lists(st.lists(position, min_size=columns, max_size=columns), min_size=1, max_size=60))
    values = st.tuples(position, st.sampled_from([0, 0, 1, 5, 30])).map(lambda r: (r[0], min(TOP, r[0] + r[1])))
    ranges = st.one_of(values, st.tuples(position, position))
    box = st.dictionaries(st.integers(0, columns - 1), ranges, max_size=columns)
    query = st.builds(
        Query, st.lists(box, min_size=1, max_size=3).map(tuple), st.sampled_from([0.0, 1.0, 1.0, 2.5, 0.3])
    )
    return rows, draw(st.lists(query, max_size=8)), draw(st.integers(0, columns - 1))


@settings(deadline=None, max_examples=25)
@given(cases(), st.randoms(use_true_random=False))
def test_the_order_of_the_sampled_rows_does_not_count(
    case: tuple[list[list[int]], list[Query], int], random: Any
) -> None:
    rows, queries, leading = case
    shuffled = random.sample(rows, len(rows))
    trees = [
        grow(
            list(np.array(order, np.int64).T),
            BITS,
            5,
            tolerance=0.5,
            weights=[1.0] * len(rows[0]),
            leading=leading,
            workload=boxes_of(queries, len(rows[0])),
        )
        for order in (rows, shuffled)
    ]
    assert trees[0] == trees[1]


def uniform(columns: int, rows: int) -> list[npt.NDArray[np.int64]]:
    rng = np.random.default_rng(columns)
    return [rng.permutation(rows) * 65_536 // rows for _ in range(columns)]


def grown(
    positions: list[npt.NDArray[np.int64]], files: int, queries: list[Query] | None, share: float = 0.95
) -> BoxTree:
    workload = None if queries is None else boxes_of(queries, len(positions), 65_535)
    return grow(
        positions,
        16,
        files,
        tolerance=0.5,
        weights=[1.0] * len(positions),
        workload=workload,
        workload_share=share,
    )


def test_without_a_query_that_counts_the_tree_is_the_plain_one() -> None:
    positions = uniform(2, 5_000)
    plain = grown(positions, 20, None)
    everything, never = Query(({},), 1.0), Query(({0: (7, 7), 1: (9, 3)},), 1.0)
    for queries in ([], [everything], [never], [Query(({0: (0, 9)},), 0.0)]):
        assert grown(positions, 20, queries) == plain
    assert grown(positions, 20, [Query(({0: (0, 9)},), 1.0)]) != plain


def test_a_column_that_no_query_filters_on_is_hardly_cut() -> None:
    queries = [Query(({0: (low, low + 999)},), 1.0) for low in range(0, 60_000, 777)]
    splits = [node.column for node in grown(uniform(3, 20_000), 32, queries).nodes if isinstance(node, Split)]
    assert splits.count(0) > 25
    # As often as either for queries that nobody foresaw.
    plain = [node.column for node in grown(uniform(3, 20_000), 32, queries, share=0.0).nodes if isinstance(node, Split)]
    assert min(plain.count(column) for column in range(3)) >= 3


def test_files_end_where_the_ranges_of_queries_do() -> None:
    queries = [Query(({0: (13_107, 26_213)},), 1.0), Query(({0: (26_214, 65_535)},), 1.0)]
    starts = {node.start for node in grown(uniform(2, 20_000), 16, queries).nodes if isinstance(node, Split)}
    assert {13_107, 26_214} <= starts


def test_a_value_that_one_query_asks_for_is_not_learnt_by_heart() -> None:
    positions = uniform(2, 20_000)
    once = [Query(({0: (value, value)},), 1.0) for value in positions[0][:40].tolist()]
    other = [Query(({0: (value, value)},), 1.0) for value in positions[0][40:80].tolist()]
    assert grown(positions, 64, once) == grown(positions, 64, other)
    often = [Query(({0: (value, value)},), 1.0) for value in positions[0][:2].tolist()] * 20
    assert grown(positions, 64, often) != grown(positions, 64, once)
    # So does one query that is asked twice as often as others.
    value, other_value = positions[0][100:102].tolist()
    known = [[*once, Query(({0: (each, each)},), 20.0)] for each in (value, other_value)]
    assert grown(positions, 64, known[0]) != grown(positions, 64, known[1])


def test_a_query_of_several_boxes_weighs_as_much_as_one_of_one() -> None:
    positions = uniform(2, 20_000)
    one = [Query(({0: (0, 655)},), 1.0), Query(({1: (0, 655)},), 1.0)]
    split = [Query(({0: (0, 655)},) * 5, 1.0), Query(({1: (0, 655)},), 1.0)]
    assert grown(positions, 16, one) == grown(positions, 16, split)


def test_all_of_200_files_for_100_queries_are_there() -> None:
    rng = np.random.default_rng(9)
    positions = uniform(4, 20_000)
    ranges = [(column, int(low)) for low in rng.integers(0, 60_000, 25) for column in range(4)]
    queries = [Query(({column: (low, low + 5_000 * (low % 2))},), 1.0) for column, low in ranges]
    tree = grown(positions, 200, queries)
    counts = np.bincount(tree.leaf(positions), minlength=200)
    assert len(tree.leaves) == 200
    assert 50 <= counts.min() <= counts.max() <= 150


def test_a_layout_is_fitted_to_queries_of_its_columns() -> None:
    rng = np.random.default_rng(11)
    values = [np.full(2_000, 7), rng.integers(0, 1_000, 2_000), rng.integers(0, 1_000, 2_000)]
    sample = Sample(tuple(encode(pa.array(each), "long") for each in values))
    columns = [ClusteringColumn((name,), "long") for name in "xyz"]
    fitted: list[Layout] = []

    def wanted(layout: Layout) -> QueryBoxes:
        fitted.append(layout)
        column = layout.columns[1]
        keys = encode(pa.array([100, 199]), "long")
        low, high = column.positions[column.boundaries.bucket_of(keys)].tolist()
        return boxes_of([Query(({1: (low, high)},), 1.0)], 2, 65_535)

    request = LayoutRequest(files=10, size_tolerance=0.5)
    layout = fit(columns, sample, request, wanted)
    assert [column.column.name for column in fitted[0].columns] == ["y", "z"]
    asked = (values[2] >= 100) & (values[2] < 200)
    file, plain = (each.file(sample, np.arange(2_000)) for each in (layout, fit(columns, sample, request)))
    # Half as many rows are read for those that are asked for.
    assert 2 * np.isin(file, file[asked]).sum() < np.isin(plain, plain[asked]).sum()
    assert fit(columns, sample, request, wanted, workload_share=0.5) != layout
    # Of a file group that spans its partition, queries outside the workload count no more than of the partition.
    assert fit(columns, sample, request.spanning([1_000] * 3), wanted).cuts == layout.cuts
