"""Evaluate SQL expressions without columns: literals, casts, sums, shifted and rounded dates, the current time."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Context, Decimal

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.helper import to_int
from sqlglot.optimizer.simplify import UnsupportedUnit, datetime_floor, interval

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.rewrite.predicate import NULL, TYPES, Value, cast, literal_value, negative
from iceberg_zorder.workload.nodes import shown

DATES = (exp.Date, exp.TsOrDsToDate, exp.DateStrToDate)
TIMESTAMPS = (exp.Timestamp, exp.Datetime, exp.TimeStrToTime, exp.TsOrDsToTimestamp, exp.TsOrDsToDatetime)
TRUNCATIONS = (exp.DateTrunc, exp.TimestampTrunc, exp.DatetimeTrunc)
_NOW = (exp.CurrentTimestamp, exp.CurrentDatetime, exp.Localtimestamp, exp.Systimestamp)
_NOW_NAMES = {"now", "getdate", "getutcdate", "sysdate", "systimestamp", "utc_timestamp", "sysdatetime"}
_MOVES = (
    *(exp.Add, exp.Sub, exp.DateAdd, exp.DateSub, exp.TimestampAdd, exp.TimestampSub),
    *(exp.DatetimeAdd, exp.DatetimeSub, exp.TsOrDsAdd, exp.AddMonths),
)
_SPAN = re.compile(r"([+-]?\d+)\s+([A-Za-z]+)")
_EXACT_UNITS = {"hour", "minute", "second", "millisecond", "microsecond"}
"""Units that are exact when clocks change; days and longer units follow the calendar."""
_UNITS = {"mm": "month", "mon": "month", "yy": "year", "yyyy": "year", "dd": "day", "hh": "hour"}
_DIALECT = Dialect.get_or_raise(None)


class UnknownValueError(InvalidInputError):
    """A value that only the running query knows; the message follows "because"."""


def is_now(node: exp.Expr) -> bool:
    """Return whether an expression is the current date or time."""
    return isinstance(node, (*_NOW, exp.CurrentDate)) or (
        isinstance(node, exp.Anonymous) and node.name.lower() in (*_NOW_NAMES, "today")
    )


def value_of(node: exp.Expr, now: datetime, zone: tzinfo | None = None) -> Value:
    """Return the value of an expression; raises UnknownValueError.

    With a ``zone``, which ``now`` then is in, dates with hours and truncated dates are timestamps of the zone, as in
    Spark.

    Examples
    --------
    >>> import sqlglot
    >>> str(value_of(sqlglot.parse_one("date_trunc('month', current_date) - interval '1' day"), datetime(2024, 5, 17)))
    "DATE '2024-04-30'"
    """
    try:
        return _value(node, now, zone)
    except UnknownValueError:
        raise
    except (InvalidInputError, UnsupportedUnit, ArithmeticError, ValueError) as error:
        raise UnknownValueError(f"the value of {shown(node)} is not known") from error


def _value(node: exp.Expr, now: datetime, zone: tzinfo | None) -> Value:
    if isinstance(node, exp.National):
        return Value("string", str(node.this))
    if is_now(node):
        is_date = isinstance(node, exp.CurrentDate) or node.name.lower() == "today"
        return Value("date", now.date()) if is_date else Value("timestamp", now)
    if isinstance(node, exp.Literal) or not isinstance(node.this, exp.Expr):
        return literal_value(node)
    if isinstance(node, exp.Add) and _spans(node.this, now) and not _spans(node.expression, now):
        return _moved(node, _value(node.expression, now, zone), node.this, now, zone)
    return _made_of(node, _value(node.this, now, zone), now, zone)


def _made_of(node: exp.Expr, value: Value, now: datetime, zone: tzinfo | None) -> Value:
    """Return the value of an expression, given the value of its first operand."""
    if isinstance(node, exp.Cast):
        return _cast(node, value)
    if isinstance(node, DATES) and node.args.get("format") is None:
        return as_moment(value, "date")
    if isinstance(node, TIMESTAMPS):
        return as_moment(value, "timestamp_ntz")
    if isinstance(node, exp.StrToDate | exp.StrToTime | exp.TsOrDsToDate):
        found = datetime.strptime(str(value.content), format_of(node))
        return Value("timestamp_ntz", found) if isinstance(node, exp.StrToTime) else Value("date", found.date())
    if isinstance(node, _MOVES):
        return _moved(node, value, node.expression, now, zone)
    if isinstance(node, exp.Mul):
        return number_value(_number(value) * _number(_value(node.expression, now, zone)))
    if isinstance(node, TRUNCATIONS):
        value = as_moment(value)
        return value if value == NULL else _truncated(value, unit_of(node), zone)
    if isinstance(node, exp.Neg):
        return negative(value)
    if isinstance(node, exp.Paren):
        return value
    raise UnknownValueError(f"the value of {shown(node)} is not known")


def unit_of(node: exp.Expr) -> str:
    """Return a function's unit of time; a day by default."""
    unit = node.args.get("unit")
    name = "day" if unit is None else unit.name.lower()
    return _UNITS.get(name, name.removesuffix("s"))


def floored(moment: object, unit: str) -> date:
    """Round down to a unit; weeks begin on Mondays.

    Examples
    --------
    >>> floored(date(2024, 5, 17), "quarter"), floored(datetime(2024, 5, 17, 10), "week")
    (datetime.date(2024, 4, 1), datetime.datetime(2024, 5, 13, 0, 0))
    """
    assert isinstance(moment, date)  # noqa: S101 - of a date or a timestamp
    return datetime_floor(moment, unit, _DIALECT)


def following(moment: datetime, unit: str) -> datetime:
    """Return the start of the unit after the one that starts at ``moment``."""
    found: datetime = moment + interval(unit)
    return found


def format_of(node: exp.Expr) -> str:
    """Return a date format in Python's notation."""
    given = node.args.get("format")
    return (given.name if given is not None else "%Y-%m-%d").replace("strict", "")


def as_moment(value: Value, to: str | None = None) -> Value:
    """Return a value as a date or timestamp, parsed from text if needed, cast to ``to`` if given.

    Examples
    --------
    >>> str(as_moment(Value("string", "2024-01-31"))), str(as_moment(Value("string", "2024-01-31 10:00:00"), "date"))
    ("DATE '2024-01-31'", "DATE '2024-01-31'")
    """
    if isinstance(value.content, str):
        text = value.content.strip()
        value = cast(value, "date" if len(text) <= len("2024-01-31") else "timestamp")
    if to == "date" and isinstance(value.content, datetime):
        return Value("date", value.content.date())
    if to == "timestamp_ntz" and value.type == "timestamp":
        return value
    if value != NULL and not isinstance(value.content, date):
        raise UnknownValueError(f"{value} is no date")
    return value if to is None else cast(value, to)


def number_value(number: Decimal) -> Value:
    """Return a number as a value; whole numbers become integers."""
    plain = number.normalize(Context(prec=100))
    return Value("integer", int(plain)) if plain == plain.to_integral_value() else Value("decimal", plain)


def _cast(node: exp.Cast, value: Value) -> Value:
    kind = TYPES.get(node.to.this, "timestamp_ntz" if node.to.is_type(*exp.DataType.TEMPORAL_TYPES) else None)
    if kind in ("date", "timestamp", "timestamp_ntz"):
        # The session's time zone is unknown; UTC is assumed.
        return as_moment(value, "date" if kind == "date" else "timestamp_ntz")
    if kind is None or node.args.get("format") is not None:
        raise UnknownValueError(f"the value of {shown(node)} is not known")
    sizes = [int(each.name) for each in node.to.expressions if kind == "decimal"]
    return cast(value, kind, **dict(zip(("precision", "scale"), sizes or (38, 0), strict=False)))


def _at_midnight(moment: date, zone: tzinfo | None) -> datetime:
    return moment if isinstance(moment, datetime) else datetime.combine(moment, time(), zone)


def _truncated(value: Value, unit: str, zone: tzinfo | None) -> Value:
    if zone is None or not isinstance(value.content, date):
        return Value(value.type, floored(value.content, unit))
    start = _at_midnight(floored(_at_midnight(value.content, zone), unit), zone)
    # Where clocks are put back at midnight, a day begins at the first one.
    return Value("timestamp", start if unit in _EXACT_UNITS else start.replace(fold=0))


def _moved(node: exp.Expr, value: Value, by: exp.Expr, now: datetime, zone: tzinfo | None) -> Value:
    """Return a date or number after an addition or subtraction."""
    sign = -1 if node.key.endswith("sub") else 1
    if value == NULL:
        return NULL
    spans = _spans(by, now)
    if spans or not isinstance(node, exp.Add | exp.Sub):
        value = as_moment(value)
    moment = value.content
    if not isinstance(moment, date):
        return number_value(_number(value) + sign * _number(_value(by, now, zone)))
    if not spans and zone is None:
        unit = "month" if isinstance(node, exp.AddMonths) else unit_of(node)
        spans = [(unit, str(_value(by, now, zone).content))]
    calendar, exact = interval("day", 0), timedelta()
    for unit, text in spans or [("day", "")]:
        count = to_int(text)
        if count is None:
            raise UnknownValueError(f"the value of {shown(node)} is not known")
        if unit in _EXACT_UNITS:
            exact += timedelta(**{f"{unit}s": sign * count})
        else:
            calendar += interval(unit, sign * count)
    moment += calendar
    if not exact:
        return Value(value.type, moment)
    start = _at_midnight(moment, zone)
    if start.tzinfo is None:
        return Value("timestamp_ntz" if value.type == "date" else value.type, start + exact)
    return Value("timestamp", (start.astimezone(timezone.utc) + exact).astimezone(start.tzinfo))


def _spans(node: exp.Expr, now: datetime) -> list[tuple[str, str]]:
    """Return the units and numbers of an interval, which may be a sum of intervals; empty for anything else."""
    node = node.unnest()
    if isinstance(node, exp.Add):
        left, right = _spans(node.this, now), _spans(node.expression, now)
        return left + right if left and right else []
    if not isinstance(node, exp.Interval):
        return []
    text = str(_value(node.this, now, None).content)
    found = _SPAN.findall(text)
    if not found or "".join(text.split()) != "".join(map("".join, found)):
        return [(unit_of(node), text)]
    return [(_UNITS.get(unit.lower(), unit.lower().removesuffix("s")), number) for number, unit in found]


def _number(value: Value) -> Decimal:
    if isinstance(value.content, bool) or not isinstance(value.content, int | Decimal):
        raise UnknownValueError(f"{value} is no number")
    return Decimal(value.content)
