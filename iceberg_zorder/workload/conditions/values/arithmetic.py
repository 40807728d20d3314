"""Arithmetic of values: numbers exactly, dates with intervals."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from fractions import Fraction
from typing import Any

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.request.predicate_values import NULL, Value, negative
from iceberg_zorder.workload.conditions.values.moments import Interval, later, span
from iceberg_zorder.workload.conditions.values.typed import moment_of, number_of, number_value

Operand = Value | Interval
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: bool(a == b),
    "<>": lambda a, b: bool(a != b),
    "<": lambda a, b: bool(a < b),
    "<=": lambda a, b: bool(a <= b),
    ">": lambda a, b: bool(a > b),
    ">=": lambda a, b: bool(a >= b),
}


class UnknownValueError(InvalidInputError):
    """A value that cannot be found without running the query; the message is the end of a sentence."""


def plus(left: Operand, right: Operand) -> Operand:
    """Add numbers, intervals, or an interval to a date; a number that is added to a date are days.

    Examples
    --------
    >>> str(plus(Value("date", date(2024, 1, 31)), Interval(1, timedelta())))
    "DATE '2024-02-29'"
    """
    if isinstance(left, Interval) and isinstance(right, Interval):
        return Interval(left.months + right.months, left.rest + right.rest)
    if isinstance(left, Interval):
        left, right = right, left
    if isinstance(left, Value) and isinstance(right, Interval):
        return _shifted(moment_value(left), right)
    if not isinstance(left, Value) or not isinstance(right, Value):
        raise UnknownValueError("it adds what has no sum")
    if left.content is None or right.content is None:
        return NULL
    if isinstance(right.content, date):
        left, right = right, left
    if isinstance(left.content, date) and isinstance(right.content, int):
        return _shifted(left, span(right.content, "day"))
    a, b = numbers(left, right)
    return number_value(a + b)


def minus(left: Operand, right: Operand) -> Operand:
    """Subtract; of two dates it is the days between them.

    Examples
    --------
    >>> str(minus(Value("date", date(2024, 3, 1)), Value("date", date(2024, 2, 1))))
    '29'
    """
    if isinstance(right, Interval):
        return plus(left, right.negative())
    if right.content is None:
        return NULL
    if isinstance(left, Value) and left.type == right.type == "date":
        return Value("integer", (moment(left) - moment(right)).days)
    if isinstance(left, Value) and isinstance(left.content, date) and isinstance(right.content, date):
        return Interval(0, moment(left) - moment(right))
    return plus(left, negative(right))


def compared(left: Value, operator: str, right: Value) -> bool | None:
    """Compare two values; None if one is NULL.

    Examples
    --------
    >>> compared(Value("integer", 1), "<", Value("string", "1.5"))
    True
    """
    if left.content is None or right.content is None:
        return None
    pair: tuple[Any, Any] | None = None
    if left.type == right.type:
        pair = left.content, right.content
    elif left.type != "string" or right.type != "string":
        a, b = number_of(left), number_of(right)
        if a is None or b is None:
            a, b = moment_of(left), moment_of(right)  # type: ignore[assignment]
        pair = (a, b) if a is not None and b is not None else None
    if pair is None:
        raise UnknownValueError(f"{left} is not compared with {right}")
    return _OPERATORS[operator](*pair)


def numbers(left: Operand, right: Operand) -> tuple[Fraction, Fraction]:
    """Give two operands as numbers; text is none."""
    found = [number_of(each) if isinstance(each, Value) and each.type != "string" else None for each in (left, right)]
    if found[0] is None or found[1] is None:
        raise UnknownValueError("it has operands that are no numbers")
    return found[0], found[1]


def text_of(value: Value) -> str:
    """Write a value as CAST does, where all dialects agree."""
    if value.type in ("string", "integer", "date"):
        return str(value.content)
    raise UnknownValueError(f"how {value} is written differs from dialect to dialect")


def moment(value: Value) -> datetime:
    """Give a date or a timestamp, also a text of one, as a moment in UTC without the zone."""
    found = moment_of(value)
    if found is None:
        raise UnknownValueError(f"{value} is no date")
    return found


def moment_value(value: Value) -> Value:
    """Read a text as a date, or as a timestamp if it has a time; other values stay."""
    if value.type != "string":
        return value
    is_date = re.fullmatch(r"\s*\d{4}-\d{1,2}-\d{1,2}\s*", str(value.content))
    return date_value(value) if is_date else timestamp_value(value)


def date_value(value: Value) -> Value:
    """Cast to a date."""
    if value.content is None:
        return NULL
    if isinstance(value.content, str | date):
        return Value("date", moment(value).date())
    raise UnknownValueError(f"{value} is no date")


def timestamp_value(value: Value) -> Value:
    """Cast to a timestamp; one with a zone stays one."""
    if value.content is None or value.type in ("timestamp", "timestamp_ntz"):
        return value
    return Value("timestamp_ntz", moment(value))


def with_zone_of(value: Value, moment: datetime) -> Value:
    """Make a timestamp that has a zone if a value has one."""
    if value.type == "timestamp":
        return Value("timestamp", moment.replace(tzinfo=timezone.utc))
    return Value("timestamp_ntz", moment)


def _shifted(value: Value, interval: Interval) -> Value:
    if value.content is None:
        return NULL
    found = later(moment(value), interval)
    is_whole = value.type == "date" and not interval.rest % timedelta(days=1)
    return Value("date", found.date()) if is_whole else with_zone_of(value, found)
