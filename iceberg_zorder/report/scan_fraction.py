"""Scan fraction: the share of a table's bytes that the lower/upper bounds of its files do not rule out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from iceberg_zorder.errors import InvalidInputError

MAX_PREDICATES = 1_000


def drawn_evenly(values: Sequence[Any], count: int = MAX_PREDICATES) -> list[Any]:
    """Draw values at evenly spaced ranks.

    Parameters
    ----------
    values : sequence
        Comparable values without NULL and NaN, in any order.
    count : int
        How many at most, at least 1.

    Returns
    -------
    list
        min(count, len(values)) of them, sorted.

    Examples
    --------
    >>> drawn_evenly([5, 3, 1, 2, 4, 6], count=3)
    [1, 3, 5]
    """
    ordered = sorted(values)
    drawn = min(count, len(ordered))
    return [ordered[i * len(ordered) // drawn] for i in range(drawn)]


def scan_fraction(values: Sequence[Any], lower: Sequence[Any], upper: Sequence[Any], sizes: Sequence[int]) -> float:
    """Average the scan fraction of ``column = value`` over values.

    Parameters
    ----------
    values : sequence of length >= 1
        The values to look for, such as :func:`drawn_evenly` draws from a sample's rows.
    lower, upper : sequences, one element per file
        Bounds of the column, comparable to the values, truncated or not; None for a file without, which counts as read.
    sizes : sequence of int
        Sizes of the files in bytes; their sum is positive.

    Returns
    -------
    float
        In [0, 1]; lower is better.

    Raises
    ------
    InvalidInputError
        When there is no value, or the lengths differ.

    Examples
    --------
    >>> scan_fraction([1, 5], lower=[0, 4, None], upper=[3, 9, None], sizes=[10, 10, 20])
    0.75
    """
    if not len(values):
        raise InvalidInputError("Cannot measure a scan fraction, because there is no value to look for")
    if not len(lower) == len(upper) == len(sizes):
        raise InvalidInputError(
            f"Cannot measure a scan fraction, because there are {len(lower)} lower bounds, {len(upper)} upper bounds "
            f"and {len(sizes)} sizes"
        )
    weights = np.asarray(sizes, np.int64)
    known = np.array([low is not None and high is not None for low, high in zip(lower, upper, strict=True)], np.bool_)
    always = int(weights[~known].sum())
    low_values = _objects([value for value, is_known in zip(lower, known, strict=True) if is_known])
    high_values = _objects([value for value, is_known in zip(upper, known, strict=True) if is_known])
    read = sum(
        always + int(weights[known][(low_values <= value) & (high_values >= value)].sum()) for value in _objects(values)
    )
    return read / (len(values) * int(weights.sum()))


def _objects(values: Sequence[Any]) -> npt.NDArray[np.object_]:
    """Make an array that compares element by element as Python does, whatever the type."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
