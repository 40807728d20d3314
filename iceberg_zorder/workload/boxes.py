"""Conditions as boxes: over the keys of columns, and over the positions of a layout."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from itertools import pairwise, product
from uuid import UUID

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.boundaries import Boundaries
from iceberg_zorder.layout.keys import NAN, NULL, VALUE, Beginning, KeyColumn, domain, encode
from iceberg_zorder.layout.layout import LayoutColumn
from iceberg_zorder.layout.split_costs import QueryBoxes
from iceberg_zorder.rewrite.predicate import And, Comparison, Name, Or, Predicate, Value, as_date, as_timestamp, in_utc
from iceberg_zorder.workload.normal_form import normal_form


@dataclass(frozen=True)
class Box:
    """Ranges of columns.

    Examples
    --------
    >>> a, b = Box.of({("a",): KeyRange((0, 1), (0, 5))}), Box.of({("a",): KeyRange((0, 4), (0, 9))})
    >>> a.met(b)
    Box(ranges=((('a',), KeyRange(start=(0, 4), stop=(0, 5))),))
    >>> a.hull(b).range(("a",)), a.hull(Box(())).ranges
    (KeyRange(start=(0, 1), stop=(0, 9)), ())
    """

    ranges: tuple[tuple[Name, KeyRange], ...]  # non-empty range of each limited column, sorted by name

    @staticmethod
    def of(ranges: Mapping[Name, KeyRange]) -> Box:
        """Return a box; unlimited ranges are left out."""
        return Box(tuple(sorted((name, each) for name, each in ranges.items() if each != EVERYTHING)))

    def range(self, name: Name) -> KeyRange:
        """Return the range of a column."""
        return next((each for column, each in self.ranges if column == name), EVERYTHING)

    def met(self, other: Box) -> Box | None:
        """Return the intersection; None if it is empty."""
        found = dict(self.ranges)
        for name, each in other.ranges:
            found[name] = found[name].met(each) if name in found else each
            if found[name].is_empty:
                return None
        return Box.of(found)

    def hull(self, other: Box) -> Box:
        """Return the narrowest box that holds both."""
        others = dict(other.ranges)
        return Box.of({name: each.hull(others[name]) for name, each in self.ranges if name in others})


def cover(boxes: Sequence[Box], most: int) -> tuple[Box, ...]:
    """Return at most ``most`` boxes that cover the given ones, by joining neighbours.

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
    return tuple(dict.fromkeys(reduce(Box.hull, distinct[start:stop]) for start, stop in pairwise(ends)))


def place(box: Box) -> tuple[tuple[Name, ...], tuple[tuple[Edge, Edge], ...]]:
    """Return the sort key of a box: the names of its columns, then its ranges.

    Examples
    --------
    >>> place(Box.of({("a",): KeyRange((0, 1), (0, 5))}))
    ((('a',),), (((0, 1), (0, 5)),))
    """
    return tuple(name for name, _ in box.ranges), tuple((each.start, each.stop) for _, each in box.ranges)


END = 3

Edge = tuple[int] | tuple[int, int | bytes]
"""A state, with a key for edges before a value."""


@dataclass(frozen=True)
class KeyRange:
    """A range of keys from one edge to another; it is empty unless the first is smaller.

    Examples
    --------
    >>> low, high = KeyRange((VALUE,), (VALUE, 7)), KeyRange((VALUE, 3), (NULL,))
    >>> low.met(high)
    KeyRange(start=(0, 3), stop=(0, 7))
    >>> low.hull(NULLS) == EVERYTHING, low.met(NULLS).is_empty
    (True, True)
    """

    start: Edge
    stop: Edge

    @property
    def is_empty(self) -> bool:
        """Whether the range is empty."""
        return self.start >= self.stop

    def met(self, other: KeyRange) -> KeyRange:
        """Return the intersection."""
        return KeyRange(max(self.start, other.start), min(self.stop, other.stop))

    def hull(self, other: KeyRange) -> KeyRange:
        """Return the narrowest range that holds both, neither of them empty."""
        return KeyRange(min(self.start, other.start), max(self.stop, other.stop))


EVERYTHING = KeyRange((VALUE,), (END,))
NOT_NULL = KeyRange((VALUE,), (NULL,))
NANS = KeyRange((NAN,), (NULL,))
NULLS = KeyRange((NULL,), (END,))
NOT_NAN = (KeyRange((VALUE,), (NAN,)), NULLS)
_WITHOUT_VALUES = {"IS NULL": (NULLS,), "IS NOT NULL": (NOT_NULL,), "isnan": (NANS,), "NOT isnan": NOT_NAN}


_EPOCH = datetime(1970, 1, 1)
_MICROSECONDS_OF_A_DAY = 86_400_000_000
_NANOSECONDS = 1_000
_TOP_OF_INT, _TOP_OF_LONG, _TOP_OF_DECIMAL = 1 << 31, 1 << 63, 1 << 127


def compared(type_name: str, operator: str, value: Value) -> tuple[KeyRange, ...]:
    r"""Return the keys for which a comparison is true.

    Numbers are compared exactly, and NaN is above all numbers, as in Spark.

    Examples
    --------
    >>> compared("int", "<", Value("decimal", Decimal("5.5")))
    (KeyRange(start=(0,), stop=(0, 6)),)
    >>> compared("string", "<>", Value("string", "a"))
    (KeyRange(start=(0,), stop=(0, b'a')), KeyRange(start=(0, b'a\x00'), stop=(2,)))
    >>> compared("int", "=", Value("decimal", Decimal("5.5")))
    ()
    """
    edges = _edges(type_name, value)
    if edges is None:
        return (NOT_NULL,)
    at, after = edges
    if operator == "<>" and type_name == "boolean":
        return compared(type_name, "=", Value("boolean", at == (VALUE, 0)))
    if operator == "<>" and at == after:
        return (NOT_NULL,)
    below, above = KeyRange(NOT_NULL.start, at), KeyRange(after, NOT_NULL.stop)
    ranges = {
        "=": (KeyRange(at, after),),
        "<>": (below, above),
        "<": (below,),
        "<=": (KeyRange(NOT_NULL.start, after),),
        ">": (above,),
        ">=": (KeyRange(at, NOT_NULL.stop),),
    }[operator]
    return tuple(each for each in ranges if not each.is_empty)


def prefixed(type_name: str, prefix: str) -> KeyRange:
    """Return the keys of values with a prefix.

    Examples
    --------
    >>> prefixed("string", "ab")
    KeyRange(start=(0, b'ab'), stop=(0, b'ac'))
    """
    encoded = _encoded(prefix)
    if type_name != "string" or not encoded:
        return NOT_NULL
    # UTF-8 has no byte 255.
    return KeyRange((VALUE, encoded), (VALUE, encoded[:-1] + bytes([encoded[-1] + 1])))


def _edges(type_name: str, value: Value) -> tuple[Edge, Edge] | None:
    """Return the edges before and after a value; None if its comparison does not follow the keys."""
    if type_name in ("float", "double"):
        return _of_floating(value)
    if type_name in ("string", "binary", "uuid") or type_name.startswith("fixed"):
        key = bytes_of(type_name, value)
        return None if key is None else ((VALUE, key), (VALUE, key + b"\0"))
    number = units_of(type_name, value)
    if number is None:
        return None
    return _before(type_name, math.ceil(number)), _before(type_name, math.floor(number) + 1)


def _before(type_name: str, unit: int) -> Edge:
    """Return the edge before a whole number of a type's units; no such type has NaN."""
    is_long = domain(type_name) == "long"
    top = _TOP_OF_INT if type_name == "int" else _TOP_OF_LONG if is_long else _TOP_OF_DECIMAL
    if unit >= top:
        return (NULL,)
    if unit <= -top:
        return (VALUE,)
    return VALUE, unit if is_long else (unit + top).to_bytes(16, "big")


def _of_floating(value: Value) -> tuple[Edge, Edge] | None:
    content = value.content
    if isinstance(content, bool) or not isinstance(content, int | float | Decimal):
        return None
    try:
        double = float(content)
    except OverflowError:
        return None
    if math.isnan(double):
        return (NAN,), (NULL,)
    key = int(encode(pa.array([double]), "double").keys[0])
    return (VALUE, key), (VALUE, key + 1)


def units_of(type_name: str, value: Value) -> Fraction | None:
    """Return a value in the units of a type's keys; None if it is of another type.

    Examples
    --------
    >>> units_of("date", Value("string", "1970-01-08")), units_of("decimal(9, 2)", Value("integer", 5))
    (Fraction(7, 1), Fraction(500, 1))
    """
    content = value.content
    if type_name in ("int", "long") or type_name.startswith("decimal"):
        scale = int(type_name.rstrip(")").split(",")[1]) if type_name.startswith("decimal") else 0
        number = _number(content, is_int=type_name == "int")
        return None if number is None else number * 10**scale
    if type_name == "boolean":
        return {"true": Fraction(1), "false": Fraction(0)}.get(str(content).lower())
    if type_name == "date":
        content = as_date(content) if isinstance(content, str) else content
        return Fraction(_microseconds(content), _MICROSECONDS_OF_A_DAY) if isinstance(content, date) else None
    if type_name == "time":
        return _of_day(content)
    if type_name.startswith("timestamp"):
        if isinstance(content, str):
            content = as_timestamp(content, has_zone=type_name.startswith("timestamptz"))
        units = _NANOSECONDS if type_name.endswith("_ns") else 1
        return Fraction(_microseconds(content) * units) if isinstance(content, date) else None
    return None


def _number(content: object, *, is_int: bool) -> Fraction | None:
    if isinstance(content, int | Decimal) and not isinstance(content, bool):
        return Fraction(content) if isinstance(content, int) or content.is_finite() else None
    # A double represents every int, but not every long or decimal.
    return Fraction(content) if is_int and isinstance(content, float) and math.isfinite(content) else None


def _of_day(content: object) -> Fraction | None:
    try:
        moment = time.fromisoformat(content) if isinstance(content, str) else None
    except ValueError:
        return None
    return None if moment is None else Fraction(_microseconds(datetime.combine(_EPOCH, moment.replace(tzinfo=None))))


def bytes_of(type_name: str, value: Value) -> bytes | None:
    """Return a value as the bytes of a type; None if it is of another type."""
    content = value.content
    if type_name == "uuid":
        try:
            return UUID(content).bytes if isinstance(content, str) else None
        except ValueError:
            return None
    if type_name == "string":
        return _encoded(content) if isinstance(content, str) else None
    return content if isinstance(content, bytes) else _encoded(content) if isinstance(content, str) else None


def _encoded(text: str) -> bytes | None:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return None


def _microseconds(moment: date) -> int:
    if not isinstance(moment, datetime):
        moment = datetime.combine(moment, time())
    return (in_utc(moment) - _EPOCH) // timedelta(microseconds=1)


MOST_BOXES = 64
IN_LIMIT = 200
"""Iceberg's metrics evaluator ignores the values of longer lists (``IN_PREDICATE_LIMIT``)."""
_NOT_IN_LIMIT = 20


def boxes_of(predicate: Predicate, types: Mapping[Name, str], most: int = MOST_BOXES) -> tuple[Box, ...]:
    """Return boxes that hold every row for which a condition is true.

    They hold other rows only if the condition has a list of more than 200 values, a NOT IN of more than 20 values, or a
    comparison that does not follow the keys, or if it needs more than ``most`` boxes.

    Examples
    --------
    >>> from iceberg_zorder.rewrite.predicate import parse_predicate
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
        if isinstance(predicate, Or):
            return cover([box for each in predicate.predicates for box in self.of(each)], self._most)
        if isinstance(predicate, And):
            return self._all([self.of(each) for each in predicate.predicates])
        name, kind = self._column(predicate.column)
        return cover([Box.of({name: each}) for each in _ranges(predicate, kind)], self._most)

    def _all(self, parts: list[tuple[Box, ...]]) -> tuple[Box, ...]:
        """Intersect each box of a part with each box of the others."""
        boxes: tuple[Box, ...] = (Box(()),)
        # With too many boxes the order matters; it equals Java's.
        for part in sorted(set(parts), key=lambda part: (len(part), [place(box) for box in part])):
            one, other = boxes, part
            while len(one) * len(other) > self._most:
                if len(one) > len(other):
                    one = cover(one, (len(one) + 1) // 2)
                else:
                    other = cover(other, (len(other) + 1) // 2)
            met = (left.met(right) for left, right in product(one, other))
            boxes = cover([box for box in met if box is not None], self._most)
        return boxes

    def _column(self, name: Name) -> tuple[Name, str]:
        if name in self._types:
            return name, self._types[name]
        lower = [part.lower() for part in name]
        alike = [each for each in self._types if [part.lower() for part in each] == lower]
        if len(alike) != 1:
            shown = ".".join(name)
            raise InvalidInputError(
                f"column '{shown}' is ambiguous when case does not count" if alike else f"there is no column '{shown}'"
            )
        return alike[0], self._types[alike[0]]


def _ranges(part: Comparison, kind: str) -> tuple[KeyRange, ...]:
    """Return the keys for which a comparison in normal form is true."""
    operator, values = part.operator, part.values
    if operator in _WITHOUT_VALUES:
        return _WITHOUT_VALUES[operator]
    if operator in ("LIKE", "NOT LIKE"):
        keys = prefixed(kind, str(values[0].content))
        # If keys cannot express the prefix, all keys may match.
        return (keys,) if operator == "LIKE" or keys == NOT_NULL else _between([keys])
    if operator not in ("IN", "NOT IN"):
        return compared(kind, operator, values[0])
    if len(values) > (IN_LIMIT if operator == "IN" else _NOT_IN_LIMIT):
        return (NOT_NULL,)
    equal = [compared(kind, "=", value) for value in values]
    if operator == "IN":
        return tuple(each for ranges in equal for each in ranges)
    if kind == "boolean":
        left = [compared(kind, "=", Value("boolean", each)) for each in (False, True)]
        return tuple(ranges[0] for ranges in left if ranges not in equal)
    return _between([each[0] for each in equal if each and each[0] != NOT_NULL])


def _between(excluded: Iterable[KeyRange]) -> tuple[KeyRange, ...]:
    """Return the non-NULL ranges around and between given ranges."""
    found, start = [], NOT_NULL.start
    for each in sorted(excluded, key=lambda each: each.start):
        found.append(KeyRange(start, each.start))
        start = max(start, each.stop)
    return tuple(each for each in (*found, KeyRange(start, NOT_NULL.stop)) if not each.is_empty)


def query_boxes(queries: Iterable[tuple[Sequence[Box], float]], columns: Sequence[LayoutColumn]) -> QueryBoxes:
    """Convert the boxes of queries to a layout's positions.

    Examples
    --------
    >>> from iceberg_zorder.layout.columns import ClusteringColumn
    >>> boundaries = Boundaries(np.array([10, 20, 30]))
    >>> column = LayoutColumn(0, ClusteringColumn(("a",), "long"), boundaries, np.array([0, 16, 32, 48, 60, 62]))
    >>> below = Box.of({("a",): KeyRange((VALUE,), (VALUE, 20))})
    >>> found = query_boxes([((), 9.0), ((below, Box(())), 2.0)], [column])
    >>> found.lower.tolist(), found.upper.tolist(), found.query.tolist(), found.weights.tolist()
    ([[0, 0]], [[16, 62]], [0, 0], [2.0])
    """
    wanted = [(boxes, weight) for boxes, weight in queries if boxes]
    edges = position_boxes([box for boxes, _ in wanted for box in boxes], columns)
    query = np.repeat(np.arange(len(wanted)), [len(boxes) for boxes, _ in wanted])
    return QueryBoxes(edges[:, :, 0], edges[:, :, 1], query, np.array([weight for _, weight in wanted]))


def position_boxes(boxes: Sequence[Box], columns: Sequence[LayoutColumn]) -> npt.NDArray[np.int64]:
    """Return the positions that rows in the boxes may have.

    Examples
    --------
    >>> from iceberg_zorder.layout.columns import ClusteringColumn
    >>> boundaries = Boundaries(np.array([10, 20, 30]))
    >>> column = LayoutColumn(0, ClusteringColumn(("a",), "long"), boundaries, np.array([0, 16, 32, 48, 60, 62]))
    >>> boxes = [Box.of({(name,): KeyRange((VALUE, 10), (VALUE, 20))}) for name in "ab"]
    >>> position_boxes(boxes, [column]).tolist()
    [[[16, 16], [0, 62]]]
    """
    ends = np.empty((len(columns), len(boxes), 2), np.int64)
    for place, each in enumerate(columns) if boxes else ():
        low, high = bucket_ranges([box.range(each.column.parts) for box in boxes], each.boundaries)
        # Positions of a descending column fall. The last entry serves ranges that end with the last bucket.
        positions, slices = np.append(each.positions, 0), np.stack([low, high + 1], axis=1).ravel()
        ends[place, :, 0] = np.minimum.reduceat(positions, slices)[::2]
        ends[place, :, 1] = np.maximum.reduceat(positions, slices)[::2]
    return ends


def bucket_ranges(
    ranges: Sequence[KeyRange], boundaries: Boundaries
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the lowest and the highest bucket of ranges of keys, which are not empty, both included.

    The keys need not be cut as those of the boundaries are, see :func:`iceberg_zorder.layout.sample.sampled_bytes`.

    Examples
    --------
    >>> boundaries = Boundaries(np.array([10, 20, 30]))
    >>> of_values = [KeyRange((VALUE, low), (VALUE, 20)) for low in (9, 10)]
    >>> bucket_ranges([*of_values, KeyRange((VALUE, 25), (NAN,)), KeyRange((NAN,), (END,))], boundaries)
    (array([0, 1, 2, 4]), array([1, 1, 3, 5]))
    """
    low = _buckets([each.start for each in ranges], boundaries, "right")
    # The number of boundaries at or below the key just below a stop equals the number below the stop.
    high = _buckets([each.stop for each in ranges], boundaries, "left")
    are_keys = np.array([len(each.stop) == 2 for each in ranges], np.bool_)
    return low, np.where(are_keys, high, high - 1)


def value_ranges(
    ranges: Sequence[KeyRange], values: Boundaries, kept: Beginning | None = None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the places of the first and the last value in each range of keys.

    If a range holds no value, its first place is after its last.

    Examples
    --------
    >>> values = Boundaries(np.array([10, 20, 30]))
    >>> of_values = [KeyRange((VALUE, low), (VALUE, 21)) for low in (9, 20, 21)]
    >>> value_ranges([*of_values, KeyRange((VALUE,), (END,)), KeyRange((NAN,), (END,))], values)
    (array([0, 1, 2, 0, 3]), array([1, 1, 1, 2, 2]))
    """
    starts = [each.start for each in ranges]
    if kept is not None:
        starts = [
            (edge[0], kept.of(edge[1])) if len(edge) == 2 and isinstance(edge[1], bytes) else edge for edge in starts
        ]
    # The buckets of NaN and NULL are after all values.
    edges = starts, [each.stop for each in ranges]
    first, after = (np.minimum(_buckets(each, values, "left"), values.size) for each in edges)
    return first, after - 1


def _buckets(edges: Sequence[Edge], boundaries: Boundaries, side: str) -> npt.NDArray[np.int64]:
    """Return the bucket at each edge; for edges at keys, the number of boundaries below, or not above."""
    found = np.array([0 if edge[0] == VALUE else boundaries.size + edge[0] for edge in edges], np.int64)
    places = [place for place, edge in enumerate(edges) if len(edge) == 2]
    if places:
        found[places] = _counts(boundaries, [edge[1] for edge in edges if len(edge) == 2], side)
    return found


def _counts(boundaries: Boundaries, keys: Sequence[int | bytes], side: str) -> npt.NDArray[np.int64]:
    """Return the number of boundaries below each key, or not above it."""
    if side == "left" and boundaries.size:
        ordered = boundaries.keys
        ordered = ordered if isinstance(ordered, np.ndarray) else ordered.to_numpy(zero_copy_only=False)
        # Keys of bytes may end in zeros, which numpy's byte arrays drop.
        return np.searchsorted(ordered, np.array(keys, ordered.dtype), side="left").astype(np.int64)
    of_bytes = isinstance(keys[0], bytes)
    column = pa.array(keys, pa.large_binary()) if of_bytes else np.array(keys, np.int64)
    return boundaries.bucket_of(KeyColumn(column, np.full(len(keys), VALUE, np.uint8)))
