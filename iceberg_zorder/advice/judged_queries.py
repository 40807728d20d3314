"""A workload's queries: their shapes, those that recur, and how certain a saving is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median_low

import numpy as np
import numpy.typing as npt

from iceberg_zorder.rewrite.predicate import Name
from iceberg_zorder.workload.boxes import Box

_OF_ITS_SHAPE = 1 / 8
_OF_THE_MEDIAN = 4
"""A filter recurs if it exceeds the first number as a share of its shape's scans, and the second as a multiple of its
shape's median filter. Such filters, and those that are alone in their shape, are taken to come again as they are."""


@dataclass(frozen=True)
class JudgedQuery:
    """A filter with values."""

    filter: str  # condition in Spark SQL, distinct within a workload
    weight: float  # number of scans with this filter, above 0
    boxes: tuple[Box, ...]  # boxes of the matching values; a box without ranges matches every row
    kinds: tuple[tuple[Name, str], ...]  # filtered columns, each with one of a workload's ``KINDS``
    weaker: float = 0.0  # number of these scans whose conditions were understood only in part, in [0, weight]

    @property
    def is_full_scan(self) -> bool:
        """Whether the query reads everything with any layout."""
        return any(not box.ranges for box in self.boxes)


def recurring(queries: Iterable[JudgedQuery]) -> frozenset[str]:
    """Return the filters that are expected again; the others are examples of their shapes.

    Filters by the same columns in the same way form a shape. A filter recurs that is alone in its shape, or far heavier
    than the others; so does the only filter left beside such ones.

    Examples
    --------
    >>> queries = [JudgedQuery(f"a = {number}", 1.0, (), ((("a",), "="),)) for number in range(9)]
    >>> sorted(recurring([*queries, JudgedQuery("a = 9", 5.0, (), queries[0].kinds), JudgedQuery("b", 1.0, (), ())]))
    ['a = 9', 'b']
    """
    filters: set[str] = set()
    for _, shape in groupby(by_shape(queries), key=lambda each: each.kinds):
        filters |= set(_recurring(list(shape)))
    return frozenset(filters)


def _recurring(shape: list[JudgedQuery]) -> Iterator[str]:
    weights = [each.weight for each in shape]
    least = max(_OF_ITS_SHAPE * sum(weights), _OF_THE_MEDIAN * median_low(weights))
    heavy = [each.filter for each in shape if each.weight >= least]
    yield from heavy if len(heavy) < len(shape) - 1 else [each.filter for each in shape]


def standard_error(queries: Sequence[JudgedQuery], values: npt.NDArray[np.float64]) -> float:
    """Return the standard error of the queries' weighted average of a value.

    The queries are a stratified sample (W. G. Cochran, "Sampling Techniques", 1977, chapter 5): those that do not recur
    vary within their shapes.

    Examples
    --------
    >>> queries = [JudgedQuery(f"a = {number}", 1.0, (), ((("a",), "="),)) for number in range(100)]
    >>> values = np.arange(100) % 2 * 2.0
    >>> round(standard_error(queries, values), 3), round(standard_error(queries[:20], values[:20]), 3)
    (0.101, 0.229)
    >>> standard_error(queries[:1], values[:1])
    0.0
    """
    again = recurring(queries)
    places: dict[tuple[tuple[Name, str], ...], list[int]] = {}
    for place, query in enumerate(queries):
        if query.filter not in again:
            places.setdefault(query.kinds, []).append(place)
    weights = np.array([query.weight for query in queries])
    variance = 0.0
    for shape in places.values():
        weight, value = weights[shape], values[shape]
        variance += float(((weight * (value - np.average(value, weights=weight))) ** 2).sum()) / (1 - 1 / len(shape))
    return float(variance**0.5 / (weights.sum() or 1.0))


def by_shape(queries: Iterable[JudgedQuery]) -> list[JudgedQuery]:
    """Sort queries by shape, heaviest first, so that they can be dealt out in turns."""
    return sorted(queries, key=lambda each: (each.kinds, -each.weight, each.filter))
