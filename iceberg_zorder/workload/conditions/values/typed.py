"""Comparisons of a column with values of other types, by a value of the column's own type that says the same."""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Callable
from datetime import date, datetime, timezone
from decimal import Context, Decimal
from fractions import Fraction

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.request.predicate import Comparison, IsNan, IsNull, Name, Not, Predicate
from iceberg_zorder.request.predicate_values import Value, as_date, as_timestamp
from iceberg_zorder.workload.conditions.values.moments import midnight
from iceberg_zorder.workload.normal_form import FALSE
from iceberg_zorder.workload.predicate_text import column_text

INTEGERS = {"int": 32, "long": 64}
FLOATS = ("float", "double")
MOMENTS = ("date", "timestamp", "timestamptz")
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)\s*")
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_DAY = 86_400_000_000
_EXACT = Context(prec=100)


def typed_comparison(column: Name, kind: str, operator: str, value: Value) -> Predicate:
    """Compare a column with a value.

    Examples
    --------
    >>> typed_comparison(("a",), "int", "<", Value("decimal", Decimal("5.5")))
    Comparison(column=('a',), operator='<=', value=Value(type='integer', content=5))
    >>> typed_comparison(("day",), "date", ">", Value("string", "2024-01-31"))
    Comparison(column=('day',), operator='>', value=Value(type='date', content=datetime.date(2024, 1, 31)))
    """
    if value.content is None:
        return FALSE
    base = kind.partition("(")[0].partition("[")[0]
    if base in INTEGERS:
        most = 2 ** (INTEGERS[base] - 1)
        return _ranged(column, operator, _number(column, kind, value), -most, most - 1, _integer)
    if match := _DECIMAL.fullmatch(kind):
        precision, scale = int(match[1]), int(match[2])
        number, most = _number(column, kind, value) * 10**scale, 10**precision - 1
        return _ranged(column, operator, number, -most, most, lambda units: _decimal(Fraction(units, 10**scale)))
    if base in FLOATS:
        return _floating(column, kind, operator, value)
    if base in MOMENTS:
        return _moment(column, base, operator, value)
    return Comparison(column, operator, _same(column, base, kind, operator, value))


def refusal(column: Name, kind: str, value: Value) -> InvalidInputError:
    """Say that a column and a value are not compared."""
    short = kind if len(kind) <= 40 else f"{kind[:37]}..."
    return InvalidInputError(f"column {column_text(column)} of type {short} is not compared with {value}")


def number_of(value: Value) -> Fraction | None:
    """Read a number, also from text; None if it is none, or not finite.

    Examples
    --------
    >>> number_of(Value("string", " 0.5 ")), number_of(Value("boolean", True))
    (Fraction(1, 2), None)
    """
    content = value.content
    if isinstance(content, bool):
        return None
    if isinstance(content, float):
        # As decimals are written for it: that is what the other side of a comparison is, once it is a double.
        return Fraction(repr(content)) if math.isfinite(content) else None
    if isinstance(content, int | Decimal):
        return Fraction(content)
    return Fraction(content.strip()) if isinstance(content, str) and _NUMBER.fullmatch(content) else None


def number_value(number: Fraction) -> Value:
    """Write a number as a value: whole, or as a decimal, or as a double where no decimal is exact."""
    if number.denominator == 1:
        return Value("integer", int(number))
    return _decimal(number)


def moment_of(value: Value) -> datetime | None:
    """Read a moment, also from text, in UTC and without the zone; None if it is none.

    Examples
    --------
    >>> moment_of(Value("string", "2024-01-31 10:00:00+02:00"))
    datetime.datetime(2024, 1, 31, 8, 0)
    """
    content = value.content
    if isinstance(content, str):
        content = as_timestamp(content, has_zone=True)
    if isinstance(content, datetime):
        return content.astimezone(timezone.utc).replace(tzinfo=None) if content.tzinfo else content
    return midnight(content) if isinstance(content, date) else None


def _number(column: Name, kind: str, value: Value) -> Fraction:
    found = number_of(value)
    if found is None:
        raise refusal(column, kind, value)
    return found


def _integer(number: int) -> Value:
    return Value("integer", number)


def _decimal(number: Fraction) -> Value:
    if number.denominator == 1:
        return Value("integer", int(number))
    found = _EXACT.divide(Decimal(number.numerator), Decimal(number.denominator))
    return Value("decimal", found) if Fraction(found) == number else Value("double", float(number))


def _ranged(
    column: Name, operator: str, number: Fraction, least: int, most: int, make: Callable[[int], Value]
) -> Predicate:
    """Compare with a number what is a whole number of a range."""
    if number.denominator != 1:
        if operator in ("=", "<>"):
            return FALSE if operator == "=" else Not(IsNull(column))
        is_less = operator in ("<", "<=")
        operator, number = ("<=", Fraction(math.floor(number))) if is_less else (">=", Fraction(math.ceil(number)))
    whole = int(number)
    if least <= whole <= most:
        return Comparison(column, operator, make(whole))
    is_met = operator == "<>" or operator in (("<", "<=") if whole > most else (">", ">="))
    return Not(IsNull(column)) if is_met else FALSE


def _floating(column: Name, kind: str, operator: str, value: Value) -> Predicate:
    number = number_of(value)
    if number is not None:
        return Comparison(column, operator, number_value(number))
    content = value.content
    if isinstance(content, str):
        names = {"nan": "nan", "infinity": "inf", "inf": "inf", "-infinity": "-inf", "-inf": "-inf"}
        content = float(names[content.strip().lower()]) if content.strip().lower() in names else None
    if not isinstance(content, float) or (math.isnan(content) and operator not in ("=", "<>")):
        raise refusal(column, kind, value)
    return (
        IsNan(column)
        if math.isnan(content) and operator == "="
        else Comparison(column, operator, Value("double", content))
    )


def _moment(column: Name, kind: str, operator: str, value: Value) -> Predicate:
    moment = moment_of(value)
    if moment is None:
        raise refusal(column, kind, value)
    if kind == "timestamp":
        return Comparison(column, operator, Value("timestamp_ntz", moment))
    if kind == "timestamptz":
        return Comparison(column, operator, Value("timestamp", moment.replace(tzinfo=timezone.utc)))
    since = moment - datetime(1, 1, 1)
    micros = since.days * _DAY + since.seconds * 1_000_000 + since.microseconds
    first, last = 0, date.max.toordinal() - 1
    return _ranged(
        column, operator, Fraction(micros, _DAY), first, last, lambda days: Value("date", date.fromordinal(days + 1))
    )


def _same(column: Name, base: str, kind: str, operator: str, value: Value) -> Value:
    """Find the value of the column's type that equals a value."""
    content = value.content
    if base == "string" and isinstance(content, str):
        return value
    if base == "boolean" and str(content).lower() in ("true", "false") and operator in ("=", "<>"):
        return Value("boolean", str(content).lower() == "true")
    if base in ("binary", "fixed") and isinstance(content, bytes):
        return value
    if base == "uuid" and isinstance(content, str) and operator in ("=", "<>"):
        try:
            return Value("string", str(uuid.UUID(content)))
        except ValueError as error:
            raise refusal(column, kind, value) from error
    if base == "time" and isinstance(content, str) and re.fullmatch(r"\d\d:\d\d(:\d\d(\.\d{1,6})?)?", content):
        return value
    raise refusal(column, kind, value)


def is_date_text(text: str) -> bool:
    """Tell whether a text is a date, in full.

    Examples
    --------
    >>> is_date_text("2024-01-31"), is_date_text("2024-01"), is_date_text("2024-02-31")
    (True, False, False)
    """
    return bool(re.fullmatch(r"\d{4}-\d\d-\d\d", text)) and as_date(text) is not None
