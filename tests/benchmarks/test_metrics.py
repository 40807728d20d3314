from dataclasses import dataclass
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.boxes import EMPTY, UNKNOWN
from benchmarks.metrics import Boxes, Predicates, scan_fractions

RANKS = 30


@dataclass(frozen=True)
class Case:
    boxes: Boxes
    predicates: Predicates


@st.composite
def intervals(draw: st.DrawFn) -> tuple[int, int]:
    low, high = sorted(draw(st.tuples(st.integers(0, RANKS), st.integers(0, RANKS))))
    return low, high


@st.composite
def cases(draw: st.DrawFn) -> Case:
    columns, boxes, rows = draw(st.integers(2, 3)), draw(st.integers(1, 6)), draw(st.integers(1, 40))
    bound = st.one_of(intervals(), st.just(EMPTY), st.just(UNKNOWN))
    bounds = np.array([[draw(bound) for _ in range(boxes)] for _ in range(columns)], np.int64)
    sizes = np.array([draw(st.lists(st.integers(1, 1000), min_size=boxes, max_size=boxes))] * columns, np.int64)
    ranks = [
        np.array(draw(st.lists(st.integers(0, RANKS), min_size=rows, max_size=rows)), np.int64) for _ in range(columns)
    ]
    return Case(Boxes(bounds[..., 0], bounds[..., 1], sizes), Predicates.drawn(ranks))


def meets(boxes: Boxes, column: int, box: int, low: int, high: int) -> bool:
    lower, upper = boxes.lower[column, box], boxes.upper[column, box]
    return bool(lower <= upper) and any(lower <= rank <= upper for rank in range(low, high + 1))


def naive_single(boxes: Boxes, predicates: np.ndarray) -> float:
    shares = []
    for column in range(len(boxes.lower)):
        for low, high in predicates[column].T:
            read = sum(
                int(size) for box, size in enumerate(boxes.sizes[column]) if meets(boxes, column, box, low, high)
            )
            shares.append(100 * read / int(boxes.sizes[column].sum()))
    return fmean(shares)


def naive_conjunction(case: Case) -> float:
    boxes, wide = case.boxes, case.predicates.ranges[-1]
    shares = []
    for i, j, a, b in case.predicates.conjunctions:
        read = sum(
            int(size)
            for box, size in enumerate(boxes.sizes[0])
            if meets(boxes, i, box, *wide[i][:, a]) and meets(boxes, j, box, *wide[j][:, b])
        )
        shares.append(100 * read / int(boxes.sizes[0].sum()))
    return fmean(shares)


@settings(max_examples=40, deadline=None)
@given(cases())
def test_scan_fractions_are_those_of_a_naive_loop(case: Case) -> None:
    found = scan_fractions(case.boxes, case.predicates)
    assert found.equality == pytest.approx(naive_single(case.boxes, case.predicates.equality))
    assert found.ranges == pytest.approx([naive_single(case.boxes, each) for each in case.predicates.ranges])
    assert found.conjunction is not None
    assert found.conjunction == pytest.approx(naive_conjunction(case))
    assert found.average == pytest.approx(fmean([found.equality, *found.ranges, found.conjunction]))
