"""The queries that candidates are judged by: a half chooses among them, and the other half tells what that is worth."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from iceberg_zorder.request.predicate import Name
from iceberg_zorder.workload.boxes.box import Box


@dataclass(frozen=True)
class JudgedQuery:
    """A filter with values.

    Parameters
    ----------
    filter : str
        A condition of Spark SQL; different ones of the queries of a workload.
    weight : float
        How many scans have it, above 0.
    boxes : tuple of Box
        What it asks for; one box without ranges if that is everything.
    kinds : tuple of (tuple of str, str)
        The columns that it filters by, each with one of ``KINDS`` of a workload.
    """

    filter: str
    weight: float
    boxes: tuple[Box, ...]
    kinds: tuple[tuple[Name, str], ...]

    @property
    def is_full_scan(self) -> bool:
        """Whether it reads everything, whatever the layout."""
        return any(not box.ranges for box in self.boxes)


def halves(queries: Iterable[JudgedQuery]) -> tuple[list[JudgedQuery], list[JudgedQuery]]:
    """Divide queries with different filters into a half that chooses and one that judges.

    Queries that filter by the same columns in the same way, the heaviest first, go to both halves by turns; so both
    have all shapes of queries, and no filter is in both.

    Parameters
    ----------
    queries : iterable of JudgedQuery
        The queries. Full scans do not choose, and are left out.

    Returns
    -------
    tuple of two lists of JudgedQuery
        The half that chooses, and the half that judges. A single query is in both.

    Examples
    --------
    >>> from iceberg_zorder.workload.boxes.key_ranges import KeyRange
    >>> box = Box(((("a",), KeyRange((0, 1), (0, 2))),))
    >>> queries = [JudgedQuery(f"a = {number}", 1.0, (box,), ((("a",), "="),)) for number in range(3)]
    >>> [[each.filter for each in half] for half in halves(queries)]
    [['a = 0', 'a = 2'], ['a = 1']]
    """
    ordered = by_shape(each for each in queries if not each.is_full_scan)
    return (ordered[::2], ordered[1::2]) if len(ordered) > 1 else (ordered, ordered)


def by_shape(queries: Iterable[JudgedQuery]) -> list[JudgedQuery]:
    """Sort queries by the columns that they filter by, the heaviest first: to be dealt out by turns."""
    return sorted(queries, key=lambda each: (each.kinds, -each.weight, each.filter))
