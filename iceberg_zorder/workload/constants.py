"""Evaluate SQL expressions without columns: literals, casts, sums, shifted and rounded dates, the current time."""

from __future__ import annotations

from datetime import date, datetime
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
_UNITS = {"mm": "month", "mon": "month", "yy": "year", "yyyy": "year", "dd": "day", "hh": "hour"}
_DIALECT = Dialect.get_or_raise(None)


class UnknownValueError(InvalidInputError):
    """A value that only the running query knows; the message follows "because"."""


def value_of(node: exp.Expr, now: datetime) -> Value:
    """Return the value of an expression.

    Examples
    --------
    >>> import sqlglot
    >>> str(value_of(sqlglot.parse_one("date_trunc('month', current_date) - interval '1' day"), datetime(2024, 5, 17)))
    "DATE '2024-04-30'"
    """
    try:
        return _value(node, now)
    except UnknownValueError:
        raise
    except (InvalidInputError, UnsupportedUnit, ArithmeticError, ValueError) as error:
        raise UnknownValueError(f"the value of {shown(node)} is not known") from error


def _value(node: exp.Expr, now: datetime) -> Value:
    if isinstance(node, exp.National):
        return Value("string", str(node.this))
    if isinstance(node, _NOW) or (isinstance(node, exp.Anonymous) and node.name.lower() in _NOW_NAMES):
        return Value("timestamp", now)
    if isinstance(node, exp.CurrentDate):
        return Value("date", now.date())
    if isinstance(node, exp.Literal) or not isinstance(node.this, exp.Expr):
        return literal_value(node)
    return _made_of(node, _value(node.this, now), now)


def _made_of(node: exp.Expr, value: Value, now: datetime) -> Value:
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
        return _moved(node, value, now)
    if isinstance(node, exp.Mul):
        return number_value(_number(value) * _number(_value(node.expression, now)))
    if isinstance(node, TRUNCATIONS):
        value = as_moment(value)
        return value if value == NULL else Value(value.type, floored(value.content, unit_of(node)))
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


def _moved(node: exp.Expr, value: Value, now: datetime) -> Value:
    """Return a date or number after an addition or subtraction."""
    sign = -1 if node.key.endswith("sub") else 1
    by = node.expression
    if value == NULL:
        return NULL
    if not isinstance(node, exp.Add | exp.Sub) or isinstance(by, exp.Interval):
        value = as_moment(value)
    if not isinstance(value.content, date):
        return number_value(_number(value) + sign * _number(_value(by, now)))
    unit = "month" if isinstance(node, exp.AddMonths) else unit_of(by if isinstance(by, exp.Interval) else node)
    count = to_int(str(_value(by.this if isinstance(by, exp.Interval) else by, now).content))
    if count is None:
        raise UnknownValueError(f"the value of {shown(node)} is not known")
    moved = value.content + interval(unit, sign * count)
    return Value("timestamp_ntz" if isinstance(moved, datetime) and value.type == "date" else value.type, moved)


def _number(value: Value) -> Decimal:
    if isinstance(value.content, bool) or not isinstance(value.content, int | Decimal):
        raise UnknownValueError(f"{value} is no number")
    return Decimal(value.content)
