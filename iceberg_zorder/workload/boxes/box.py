"""A box: ranges of keys of some columns, which a row is in if each of its keys is in its range."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from iceberg_zorder.request.predicate import Name
from iceberg_zorder.workload.boxes.key_ranges import EVERYTHING, Edge, KeyRange


@dataclass(frozen=True)
class Box:
    """Ranges of columns.

    Parameters
    ----------
    ranges : tuple of (tuple of str, KeyRange)
        Of each column that is limited its range, which is not empty; in the order of their names.

    Examples
    --------
    >>> a, b = Box.of({("a",): KeyRange((0, 1), (0, 5))}), Box.of({("a",): KeyRange((0, 4), (0, 9))})
    >>> a.met(b)
    Box(ranges=((('a',), KeyRange(start=(0, 4), stop=(0, 5))),))
    >>> a.hull(b).range(("a",)), a.hull(Box(())).ranges
    (KeyRange(start=(0, 1), stop=(0, 9)), ())
    """

    ranges: tuple[tuple[Name, KeyRange], ...]

    @staticmethod
    def of(ranges: Mapping[Name, KeyRange]) -> Box:
        """Make a box; ranges of everything are left out."""
        return Box(tuple(sorted((name, each) for name, each in ranges.items() if each != EVERYTHING)))

    def range(self, name: Name) -> KeyRange:
        """Find the range of a column."""
        return next((each for column, each in self.ranges if column == name), EVERYTHING)

    def met(self, other: Box) -> Box | None:
        """Find what is in both; None if that is nothing."""
        found = dict(self.ranges)
        for name, each in other.ranges:
            found[name] = found[name].met(each) if name in found else each
            if found[name].is_empty:
                return None
        return Box.of(found)

    def hull(self, other: Box) -> Box:
        """Find the narrowest box that holds both."""
        others = dict(other.ranges)
        return Box.of({name: each.hull(others[name]) for name, each in self.ranges if name in others})


def cover(boxes: Sequence[Box], most: int) -> tuple[Box, ...]:
    """Cover boxes by fewer ones: neighbours are joined.

    Examples
    --------
    >>> boxes = [Box.of({("a",): KeyRange((0, key), (0, key + 1))}) for key in (7, 1, 8, 2, 1)]
    >>> [each.range(("a",)) for each in cover(boxes, 2)]
    [KeyRange(start=(0, 1), stop=(0, 3)), KeyRange(start=(0, 7), stop=(0, 9))]
    """
    distinct = sorted(set(boxes), key=place)
    if len(distinct) <= most:
        return tuple(distinct)
    ends = [number * len(distinct) // most for number in range(most + 1)]
    joined = []
    for start, stop in pairwise(ends):
        box = distinct[start]
        for each in distinct[start + 1 : stop]:
            box = box.hull(each)
        joined.append(box)
    return tuple(dict.fromkeys(joined))


def place(box: Box) -> tuple[tuple[Name, ...], tuple[tuple[Edge, Edge], ...]]:
    """Sort boxes by the names of their columns, then by their ranges.

    Examples
    --------
    >>> place(Box.of({("a",): KeyRange((0, 1), (0, 5))}))
    ((('a',),), (((0, 1), (0, 5)),))
    """
    return tuple(name for name, _ in box.ranges), tuple((each.start, each.stop) for _, each in box.ranges)
