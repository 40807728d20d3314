"""The scan fraction, against its definition."""

import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.metrics.scan_fraction import scan_fraction

INTEGERS = st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5)
BOUNDS = st.one_of(st.none(), INTEGERS)
FILES = st.lists(st.tuples(BOUNDS, BOUNDS, st.integers(1, 10**12)), min_size=1, max_size=12)


def naive(values: list[int], files: list[tuple[int | None, int | None, int]]) -> float:
    shares = []
    for value in values:
        read = [size for low, high, size in files if low is None or high is None or low <= value <= high]
        shares.append(sum(read) / sum(size for _, _, size in files))
    return sum(shares) / len(shares)


@given(st.lists(INTEGERS, min_size=1, max_size=30), FILES)
def test_it_agrees_with_the_naive_reference(values: list[int], files: list[tuple[int | None, int | None, int]]) -> None:
    found = scan_fraction(values, *([file[part] for file in files] for part in range(3)))  # type: ignore[arg-type]
    assert 0 <= found <= 1
    assert math.isclose(found, naive(values, files), abs_tol=1e-12)


@pytest.mark.parametrize(
    ("value", "other", "lower", "upper"),
    [
        ("b", "c", "a", "b"),
        (b"\x80", b"\x7f", b"\x80", b"\xff"),
        (Decimal("-1.50"), Decimal("-1.49"), Decimal(-2), Decimal("-1.5")),
        (2**63 - 1, 2**63 - 2, 2**63 - 1, 2**63 - 1),
        (0.5, 1.5, -1.0, 1.0),
        (True, False, True, True),
    ],
)
def test_values_of_any_type(value: Any, other: Any, lower: Any, upper: Any) -> None:
    assert scan_fraction([value], [lower], [upper], [7]) == 1.0
    assert scan_fraction([other], [lower], [upper], [7]) == 0.0


def test_a_file_without_a_bound_counts_as_read() -> None:
    assert scan_fraction([100], [None, 1, 1, None], [2, None, 2, None], [1, 2, 4, 8]) == 11 / 15


def test_nothing_to_measure_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="no value to look for"):
        scan_fraction([], [1], [2], [3])
    with pytest.raises(InvalidInputError, match="2 lower bounds, 1 upper bounds and 1 sizes"):
        scan_fraction([1], [1, 2], [2], [3])
