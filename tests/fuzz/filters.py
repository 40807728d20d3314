"""Filters at and beside every bound, and which files the specification lets a reader skip for them."""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tests.fuzz.model import Entry, FileRows
from tests.fuzz.types import Leaf, Struct, decimal_of, from_bytes, is_floating, is_nan, leaves, unscaled


@dataclass(frozen=True)
class Filter:
    """One comparison."""

    leaf: Leaf
    operator: str  # one of = < <= > >= null notnull nan notnan starts
    value: Any = None

    def __str__(self) -> str:
        shown = repr(self.value)
        return f"{self.leaf.name} {self.operator} {shown if len(shown) < 60 else shown[:50] + '...'}"

    def holds(self, row: Sequence[Any]) -> bool:
        """Tell whether it is true for a row. NaN is in no range."""
        found, value = self.leaf.of(row), self.value
        if self.operator in ("null", "notnull"):
            return (found is None) == (self.operator == "null")
        if found is None:
            return False
        if self.operator in ("nan", "notnan"):
            return is_nan(found) == (self.operator == "nan")
        return _compare(found, self.operator, value)

    def may_hold(self, entry: Entry) -> bool:
        """Tell whether the statistics of a data file leave it open that one of its rows matches."""
        key = self.leaf.id
        values, nulls = entry.numbers("value_counts").get(key), entry.numbers("null_value_counts").get(key)
        nans = entry.numbers("nan_value_counts").get(key)
        if self.operator == "null":
            return nulls != 0
        if values is not None and values == nulls:
            return False
        if self.operator == "nan":
            return nans != 0
        if self.operator == "notnan":
            return values is None or nans is None or values != nans
        if self.operator == "notnull":
            return True
        if values is not None and nans is not None and values == nans:
            return False
        lower, upper = entry.numbers("lower_bounds").get(key), entry.numbers("upper_bounds").get(key)
        low = None if lower is None else from_bytes(lower, self.leaf.type)
        high = None if upper is None else from_bytes(upper, self.leaf.type)
        return _range_may_hold(low, high, self.operator, self.value)


def _compare(found: Any, operator: str, value: Any) -> bool:
    if operator == "starts":
        return bool(found.startswith(value))
    return bool(
        {
            "=": found == value,
            "<": found < value,
            "<=": found <= value,
            ">": found > value,
            ">=": found >= value,
        }[operator]
    )


def _range_may_hold(low: Any, high: Any, operator: str, value: Any) -> bool:
    if operator == "starts":
        return not (
            (low is not None and low[: len(value)] > value) or (high is not None and high[: len(value)] < value)
        )
    if operator in ("<", "<=", "=") and low is not None and not (low < value if operator == "<" else low <= value):
        return False
    return not (
        operator in (">", ">=", "=") and high is not None and not (high > value if operator == ">" else high >= value)
    )


def draw(rng: random.Random, schema: Struct, files: Sequence[FileRows], most: int = 300) -> list[Filter]:
    """Draw filters: sampled values, the bounds of every file, what lies beside them, prefixes, NULL and NaN."""
    found: list[Filter] = []
    for leaf in leaves(schema):
        found += [Filter(leaf, "null"), Filter(leaf, "notnull")]
        if is_floating(leaf.type):
            found += [Filter(leaf, "nan"), Filter(leaf, "notnan")]
        values = {id(each): each for each in _interesting(rng, leaf, files)}.values()
        for value in values:
            for each in (value, *beside(value, leaf.type)):
                found += [Filter(leaf, operator, each) for operator in ("=", "<", "<=", ">", ">=")]
            if isinstance(value, str | bytes):
                found += [Filter(leaf, "starts", value[:length]) for length in {1, 2, 16, 17, len(value)}]
    return rng.sample(found, most) if len(found) > most else found


def _interesting(rng: random.Random, leaf: Leaf, files: Sequence[FileRows]) -> Iterator[Any]:
    for file in files:
        for name in ("lower_bounds", "upper_bounds"):
            if (bound := file.entry.numbers(name).get(leaf.id)) is not None:
                yield from_bytes(bound, leaf.type)
        values = [value for row in file.rows if (value := leaf.of(row)) is not None and not is_nan(value)]
        if values:
            yield min(values)
            yield max(values)
            yield rng.choice(values)


def beside(value: Any, of: str) -> list[Any]:
    """Find the values of a type next to one.

    >>> beside(3, "int"), beside(b"a", "binary"), beside(Decimal("9.9"), "decimal(2,1)")
    ([2, 4], [b'a\\x00'], [Decimal('9.8')])
    """
    if isinstance(value, bool):
        return []
    if isinstance(value, float):
        if of == "float":
            return []
        return [each for each in (math.nextafter(value, -math.inf), math.nextafter(value, math.inf)) if each != value]
    if isinstance(value, Decimal):
        precision, scale = decimal_of(of)
        near = (unscaled(value, of) - 1, unscaled(value, of) + 1)
        return [Decimal(f"{each}E-{scale}") for each in near if abs(each) < 10**precision]
    if isinstance(value, int):
        if of in ("date", "time") or of.startswith("timestamp"):
            return [value - 1, value + 1] if abs(value) < 10**15 or of == "date" else []
        bits = 31 if of == "int" else 63
        return [each for each in (value - 1, value + 1) if -(1 << bits) <= each < 1 << bits]
    if isinstance(value, str):
        return [value + "\x00", value[:-1]] if value else ["\x00"]
    if of == "binary" and isinstance(value, bytes):
        return [value + b"\x00", *([value[:-1]] if len(value) > 1 else [])]
    return []


def wrongly_skipped(filters: Sequence[Filter], files: Sequence[FileRows]) -> list[str]:
    """Find the files that a reader of statistics would skip although they have rows of a filter, or of two at once."""
    found = []
    for file in files:
        rows = file.rows
        for each in filters:
            if not each.may_hold(file.entry):
                missed = [row for row in rows if each.holds(row)]
                if missed:
                    found.append(f"{each} skips {file.entry.path}, which has {len(missed)} such rows")
    return found
