"""A workload's queries in two halves: one chooses a candidate, the other judges it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import median_low

from iceberg_zorder.rewrite.predicate import Name
from iceberg_zorder.workload.boxes import Box

_OF_ITS_SHAPE = 1 / 8
_OF_THE_MEDIAN = 4
"""A filter recurs if it exceeds the first number as a share of its shape's scans, and the second as a multiple of its
shape's median filter. A recurring filter is in both halves: else one half would have none like it."""


@dataclass(frozen=True)
class JudgedQuery:
    """A filter with values.

    Parameters
    ----------
    filter : str
        Condition in Spark SQL, distinct within a workload.
    weight : float
        Number of scans with this filter, above 0.
    boxes : tuple of Box
        Boxes of the matching values; a box without ranges matches every row.
    kinds : tuple of (tuple of str, str)
        Filtered columns, each with one of a workload's ``KINDS``.
    weaker : float, optional
        Number of these scans whose conditions were understood only in part, in [0, weight].
    """

    filter: str
    weight: float
    boxes: tuple[Box, ...]
    kinds: tuple[tuple[Name, str], ...]
    weaker: float = 0.0

    @property
    def is_full_scan(self) -> bool:
        """Whether the query reads everything with any layout."""
        return any(not box.ranges for box in self.boxes)


def halves(queries: Iterable[JudgedQuery]) -> tuple[list[JudgedQuery], list[JudgedQuery]]:
    """Divide distinct queries into a choosing half and a judging half.

    Both halves represent the workload. Filters by the same columns in the same way form a shape. Of each shape, sorted
    by weight, the halves take turns; weights are scaled so that each half has half of the shape's weight (a stratified
    sample: W. G. Cochran, "Sampling Techniques", 1977, chapter 5). A filter that is alone in its shape, or far heavier
    than the others, is in both halves with half of its weight; so is the only filter left beside such ones.

    Examples
    --------
    >>> from iceberg_zorder.workload.boxes import KeyRange
    >>> box = Box(((("a",), KeyRange((0, 1), (0, 2))),))
    >>> queries = [JudgedQuery(f"a = {number}", 1.0, (box,), ((("a",), "="),)) for number in range(3)]
    >>> [[(each.filter, each.weight) for each in half] for half in halves(queries)]
    [[('a = 0', 0.75), ('a = 2', 0.75)], [('a = 1', 1.5)]]
    >>> [[each.weight for each in half] for half in halves([*queries, replace(queries[0], filter="a = 9", weight=5.0)])]
    [[2.5, 0.75, 0.75], [2.5, 1.5]]
    """
    choosing: list[JudgedQuery] = []
    judging: list[JudgedQuery] = []
    for shape in _shapes(each for each in queries if not each.is_full_scan):
        again = [each for each in shape if _comes_again(each, shape)]
        others = [each for each in shape if each not in again]
        if len(others) == 1:
            again, others = shape, []
        for half, of_half in ((choosing, others[::2]), (judging, others[1::2])):
            half += [replace(each, weight=each.weight / 2) for each in again]
            share = sum(each.weight for each in others) / 2 / (sum(each.weight for each in of_half) or 1.0)
            half += [replace(each, weight=each.weight * share) for each in of_half]
    return choosing, judging


def by_shape(queries: Iterable[JudgedQuery]) -> list[JudgedQuery]:
    """Sort queries by shape, heaviest first, so that they can be dealt out in turns."""
    return sorted(queries, key=lambda each: (each.kinds, -each.weight, each.filter))


def _shapes(queries: Iterable[JudgedQuery]) -> Iterator[list[JudgedQuery]]:
    return (list(shape) for _, shape in groupby(by_shape(queries), key=lambda each: each.kinds))


def _comes_again(query: JudgedQuery, shape: list[JudgedQuery]) -> bool:
    weights = [each.weight for each in shape]
    return len(shape) == 1 or (
        query.weight > _OF_ITS_SHAPE * sum(weights) and query.weight >= _OF_THE_MEDIAN * median_low(weights)
    )
