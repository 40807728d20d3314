"""A condition as boxes over the keys of columns: a row for which it is true is in one of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.request.predicate import (
    And,
    Comparison,
    Constant,
    In,
    IsNan,
    IsNull,
    Name,
    Not,
    Or,
    Predicate,
    StartsWith,
)
from iceberg_zorder.request.predicate_values import Value
from iceberg_zorder.workload.boxes.box import Box, cover, place
from iceberg_zorder.workload.boxes.key_ranges import NANS, NOT_NAN, NOT_NULL, NULLS, KeyRange
from iceberg_zorder.workload.boxes.operands import compared, prefixed
from iceberg_zorder.workload.normal_form import normal_form

MOST_BOXES = 64
IN_LIMIT = 200
"""Of longer lists Iceberg's evaluator of metrics does not look at the values (``IN_PREDICATE_LIMIT``)."""
_NOT_IN_LIMIT = 20


def boxes_of(predicate: Predicate, types: Mapping[Name, str], most: int = MOST_BOXES) -> tuple[Box, ...]:
    """Find boxes that hold every row for which a condition is true.

    They hold no other row, unless the condition has a list of more than 200 values, NOT IN of more than 20, a value of
    a type that is compared in a way that keys do not show, or comes to more than ``most`` boxes.

    Examples
    --------
    >>> from iceberg_zorder.request.predicate import parse_predicate
    >>> types = {("a",): "long", ("s",): "string"}
    >>> for box in boxes_of(parse_predicate("a IN (1, 3) AND s LIKE 'x%'"), types):
    ...     print([(*name, each.start, each.stop) for name, each in box.ranges])
    [('a', (0, 1), (0, 2)), ('s', (0, b'x'), (0, b'y'))]
    [('a', (0, 3), (0, 4)), ('s', (0, b'x'), (0, b'y'))]
    >>> boxes_of(parse_predicate("a > 1 AND a < 2"), types), boxes_of(parse_predicate("TRUE"), types)
    ((), (Box(ranges=()),))
    """
    return _Boxes(types, most).of(normal_form(predicate))


class _Boxes:
    def __init__(self, types: Mapping[Name, str], most: int) -> None:
        self._types = types
        self._most = most

    def of(self, predicate: Predicate) -> tuple[Box, ...]:
        if isinstance(predicate, Constant):
            return (Box(()),) if predicate.value else ()
        if isinstance(predicate, Or):
            return cover([box for each in predicate.predicates for box in self.of(each)], self._most)
        if isinstance(predicate, And):
            return self._all([self.of(each) for each in predicate.predicates])
        if isinstance(predicate, Not):
            inner = predicate.predicate
            if isinstance(inner, And | Or | Not | Constant):
                raise TypeError(f"{predicate} is not in normal form")
            name, kind = self._column(inner.column)
            return self._boxes(name, _not_in(inner, kind))
        name, kind = self._column(predicate.column)
        return self._boxes(name, _in(predicate, kind))

    def _all(self, parts: list[tuple[Box, ...]]) -> tuple[Box, ...]:
        """Meet each box of a part with each of the others."""
        found: tuple[Box, ...] = (Box(()),)
        # The order counts where there are too many boxes: it is Java's, too.
        for part in sorted(set(parts), key=lambda part: (len(part), [place(box) for box in part])):
            one, other = found, part
            while len(one) * len(other) > self._most:
                if len(one) > len(other):
                    one = cover(one, (len(one) + 1) // 2)
                else:
                    other = cover(other, (len(other) + 1) // 2)
            met = (left.met(right) for left, right in product(one, other))
            found = cover([box for box in met if box is not None], self._most)
        return found

    def _boxes(self, name: Name, ranges: Iterable[KeyRange]) -> tuple[Box, ...]:
        return cover([Box.of({name: each}) for each in ranges], self._most)

    def _column(self, name: Name) -> tuple[Name, str]:
        if name in self._types:
            return name, self._types[name]
        lower = [part.lower() for part in name]
        found = [each for each in self._types if [part.lower() for part in each] == lower]
        if len(found) != 1:
            shown = ".".join(name)
            raise InvalidInputError(
                f"column '{shown}' is ambiguous when case does not count" if found else f"there is no column '{shown}'"
            )
        return found[0], self._types[found[0]]


def _in(part: Comparison | In | StartsWith | IsNull | IsNan, kind: str) -> tuple[KeyRange, ...]:
    """Find the keys of which a part in normal form is true."""
    if isinstance(part, Comparison):
        return compared(kind, part.operator, part.value)
    if isinstance(part, In):
        if len(part.values) > IN_LIMIT:
            return (NOT_NULL,)
        return tuple(each for value in part.values for each in compared(kind, "=", value))
    if isinstance(part, StartsWith):
        return (prefixed(kind, part.prefix),)
    return (NULLS,) if isinstance(part, IsNull) else (NANS,)


def _not_in(part: Comparison | In | StartsWith | IsNull | IsNan, kind: str) -> tuple[KeyRange, ...]:
    """Find the keys of which a part is false."""
    if isinstance(part, IsNull):
        return (NOT_NULL,)
    if isinstance(part, IsNan):
        return NOT_NAN
    if isinstance(part, StartsWith):
        excluded = prefixed(kind, part.prefix)
        # Where keys do not show what begins so, all of them may be wanted.
        return (NOT_NULL,) if excluded == NOT_NULL else _between([excluded])
    if not isinstance(part, In) or len(part.values) > _NOT_IN_LIMIT:
        return (NOT_NULL,)
    equal = [compared(kind, "=", value) for value in part.values]
    if kind == "boolean":
        left = [compared(kind, "=", Value("boolean", each)) for each in (False, True)]
        return tuple(ranges[0] for ranges in left if ranges not in equal)
    return _between([each[0] for each in equal if each and each[0] != NOT_NULL])


def _between(excluded: Iterable[KeyRange]) -> tuple[KeyRange, ...]:
    """Find what is not NULL beside and between ranges."""
    found, start = [], NOT_NULL.start
    for each in sorted(excluded, key=lambda each: each.start):
        found.append(KeyRange(start, each.start))
        start = max(start, each.stop)
    return tuple(each for each in (*found, KeyRange(start, NOT_NULL.stop)) if not each.is_empty)
