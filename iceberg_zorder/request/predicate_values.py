"""Values in predicates: literals of Spark SQL, and casts of them, with the types that Spark gives them."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Context, Decimal
from zoneinfo import ZoneInfo

from iceberg_zorder.errors import InvalidInputError

Content = bool | int | float | Decimal | str | bytes | date | datetime | None

_EXACT = Context(prec=100)
"""A context with more digits than any decimal; the default rounds to 28."""
_WHOLE_NUMBERS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?", re.DOTALL)
_TIME = re.compile(r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?")
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?(?::(\d{2}))?")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
_NOT_FINITE = {"nan": "nan", "infinity": "inf", "inf": "inf", "+infinity": "inf", "+inf": "inf"}
_NOT_FINITE |= {"-infinity": "-inf", "-inf": "-inf"}


@dataclass(frozen=True)
class Value:
    """A value that a column is compared with.

    Examples
    --------
    >>> Value("date", date(2026, 1, 31))
    Value(type='date', content=datetime.date(2026, 1, 31))
    """

    type: str
    """One of ``null``, ``boolean``, ``integer`` (of whatever width), ``decimal``, ``float``, ``double``, ``string``,
    ``binary``, ``date``, ``timestamp`` (an instant) and ``timestamp_ntz`` (of no zone)."""
    content: Content
    """The value: a ``float`` as the double that it equals, a ``timestamp`` in UTC, a ``timestamp_ntz`` without a
    zone."""

    def __str__(self) -> str:
        if self.type == "null":
            return "NULL"
        if isinstance(self.content, bytes):
            return f"X'{self.content.hex()}'"
        if isinstance(self.content, str):
            return f"'{self.content}'"
        if self.type in ("date", "timestamp", "timestamp_ntz"):
            return f"{self.type.upper()} '{self.content}'"
        return str(self.content)


NULL = Value("null", None)


def number(text: str) -> Value:
    """Read a number without a suffix: whole, with a point (a decimal), or with an exponent (a double)."""
    if not _NUMBER.fullmatch(text):
        raise InvalidInputError(f"'{text}' is no number")
    if "e" in text.lower():
        return Value("double", float(text))
    return Value("decimal", Decimal(text)) if "." in text else Value("integer", int(text))


def negative(value: Value) -> Value:
    """Change the sign of a number."""
    if isinstance(value.content, bool) or not isinstance(value.content, int | float | Decimal):
        raise InvalidInputError(f"{value} has no negative")
    # Not the operator: it rounds a decimal to the digits of the context.
    content = value.content.copy_negate() if isinstance(value.content, Decimal) else -value.content
    return Value(value.type, content)


def cast(value: Value, to: str, *, precision: int = 10, scale: int = 0) -> Value:
    """Convert a value as Spark's CAST does; raises InvalidInputError if that loses anything.

    Examples
    --------
    >>> cast(Value("string", "2026-01-31"), "date")
    Value(type='date', content=datetime.date(2026, 1, 31))
    >>> cast(Value("string", "2026-01-31 10:00:00 Europe/Berlin"), "timestamp").content.isoformat()
    '2026-01-31T09:00:00+00:00'
    """
    if value.type == "null":
        return value
    content = value.content
    found: Content = None
    if to in ("date", "timestamp", "timestamp_ntz"):
        found = _moment(value, to)
    elif to == "string":
        found = str(content) if value.type in ("integer", "string") else None
    elif to == "binary":
        found = content.encode() if isinstance(content, str) else content if isinstance(content, bytes) else None
    elif to == "boolean":
        found = _boolean(content)
    elif to in _WHOLE_NUMBERS or to in ("decimal", "float", "double"):
        found = _numeric(value, to, precision, scale)
    if found is None:
        raise InvalidInputError(f"{value} has no equal of type {to}")
    return Value("integer" if to in _WHOLE_NUMBERS else to, found)


def _boolean(content: Content) -> bool | None:
    if isinstance(content, str):
        return {"true": True, "false": False}.get(content.strip().lower())
    return content if isinstance(content, bool) else None


def _numeric(value: Value, to: str, precision: int, scale: int) -> int | float | Decimal | None:
    content = value.content
    if isinstance(content, str):
        text = content.strip()
        if to in ("float", "double") and text.lower() in _NOT_FINITE:
            content = float(_NOT_FINITE[text.lower()])
        elif _NUMBER.fullmatch(text):
            content = float(text) if to in ("float", "double") else Decimal(text)
    if isinstance(content, bool) or not isinstance(content, int | float | Decimal):
        return None
    if to == "double":
        return float(content)
    if to == "float":
        return as_float(float(content))
    if value.type in ("float", "double"):
        return None
    exact = Decimal(content)
    if to == "decimal":
        unscaled = exact.scaleb(scale, _EXACT)
        return (
            exact
            if unscaled == unscaled.to_integral_value() and unscaled.copy_abs() < Decimal(10) ** precision
            else None
        )
    bits = _WHOLE_NUMBERS[to]
    return int(exact) if exact == exact.to_integral_value() and -(1 << bits - 1) <= exact < 1 << bits - 1 else None


def as_float(value: float) -> float:
    """Round a double to the nearest single-precision float, to infinity where it is too large."""
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    return rounded


def _moment(value: Value, to: str) -> date | datetime | None:
    content = value.content
    if isinstance(content, str):
        return as_date(content) if to == "date" else as_timestamp(content, has_zone=to == "timestamp")
    if value.type == to and isinstance(content, date):
        return content
    if value.type == "date" and isinstance(content, date):
        return datetime.combine(content, time(), timezone.utc if to == "timestamp" else None)
    return None


def as_date(text: str) -> date | None:
    """Read a date; month and day may be missing, and a time of day is ignored. None if it is no date."""
    match = _DATE.fullmatch(text.strip())
    if match is None:
        return None
    try:
        return date(*(int(part or 1) for part in match.groups()))
    except ValueError:
        return None


def as_timestamp(text: str, *, has_zone: bool) -> datetime | None:
    """Read a timestamp; the default time is midnight. None if it is none, or has a zone without ``has_zone``.

    Examples
    --------
    >>> as_timestamp("2026-01-31T10:00:00.5+02:00", has_zone=True).isoformat()
    '2026-01-31T08:00:00.500000+00:00'
    >>> as_timestamp("2026-01-31", has_zone=False).isoformat()
    '2026-01-31T00:00:00'
    >>> as_timestamp("2026-01-31 10:00:00Z", has_zone=False) is None
    True
    """
    day_text, separator, rest = re.fullmatch(r"([^ T]*)([ T]?)(.*)", text.strip(), re.DOTALL).groups()  # type: ignore[union-attr]
    day = as_date(day_text)
    match = _TIME.match(rest)
    if day is None or (separator and match is None):
        return None
    zone_text = rest[match.end() :].strip() if match else ""
    if zone_text and not has_zone:
        return None
    zone = _zone(zone_text) if zone_text else timezone.utc
    hour, minute, second, fraction = match.groups() if match else ("0", "0", None, None)
    micros = (fraction or "").ljust(6, "0")
    if zone is None or micros[6:].strip("0"):
        return None
    try:
        moment = datetime.combine(day, time(int(hour), int(minute), int(second or 0), int(micros[:6])))
        return moment.replace(tzinfo=zone).astimezone(timezone.utc) if has_zone else moment
    except (ValueError, OverflowError):
        return None


def _zone(text: str) -> tzinfo | None:
    if text in ("Z", "UTC", "GMT", "UT"):
        return timezone.utc
    match = _OFFSET.fullmatch(text)
    if match is None:
        try:
            return ZoneInfo(text)
        except (LookupError, ValueError, OSError):
            return None
    sign, *parts = match.groups()
    hours, minutes, seconds = (int(part or 0) for part in parts)
    offset = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    if offset > timedelta(hours=18) or minutes > 59 or seconds > 59:
        return None
    return timezone(-offset if sign == "-" else offset)
