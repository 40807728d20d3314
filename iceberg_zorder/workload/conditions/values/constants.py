"""Values of expressions without columns: literals, arithmetic, dates, and the moment at which a query runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any

from sqlglot import exp

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.request.predicate_values import NULL, Value, cast, negative, number
from iceberg_zorder.workload.conditions.nodes import (
    DATE_TYPES,
    INSTANT_TYPES,
    INTEGER_TYPES,
    TEXT_TYPES,
    WALL_TYPES,
    Type,
    shown,
    time_format,
    truncation_unit,
)
from iceberg_zorder.workload.conditions.values.arithmetic import (
    Operand,
    UnknownValueError,
    date_value,
    minus,
    moment,
    moment_value,
    numbers,
    plus,
    text_of,
    timestamp_value,
    with_zone_of,
)
from iceberg_zorder.workload.conditions.values.moments import (
    Interval,
    floored,
    following,
    interval_of,
    span,
    unit_named,
)
from iceberg_zorder.workload.conditions.values.typed import number_of, number_value

_NOW = {
    "now",
    "getdate",
    "getutcdate",
    "sysdate",
    "systimestamp",
    "utc_timestamp",
    "sysdatetime",
    "transaction_timestamp",
}
_TODAY = {"today", "curdate", "utc_date"}


@dataclass
class Clock:
    """The moment at which queries are taken to run.

    Parameters
    ----------
    now : datetime
        In UTC, with its zone.
    asked : bool, optional
        Whether anything depended on it.
    """

    now: datetime
    asked: bool = False

    def moment(self) -> datetime:
        """Tell the moment."""
        self.asked = True
        return self.now


class Constants:
    """Finds values.

    Parameters
    ----------
    clock : Clock
        When queries run.

    Examples
    --------
    >>> import sqlglot
    >>> from datetime import timezone
    >>> constants = Constants(Clock(datetime(2024, 5, 17, tzinfo=timezone.utc)))
    >>> str(constants.value(sqlglot.parse_one("date_trunc('month', current_date) - interval '1' day")))
    "DATE '2024-04-30'"
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._finders: dict[str, Callable[[Any], Operand]] = {
            **dict.fromkeys(("add", "sub"), self._sum),
            **dict.fromkeys(("mul", "div", "mod", "intdiv"), self._product),
            **dict.fromkeys(("cast", "trycast"), self._cast),
            **dict.fromkeys(("date", "tsordstodate", "datestrtodate"), self._date),
            **dict.fromkeys(
                ("timestamp", "tsordstotimestamp", "timestrtotime", "fromiso8601timestamp"), self._timestamp
            ),
            **dict.fromkeys(("datetime", "tsordstodatetime"), self._timestamp),
            **dict.fromkeys(
                ("dateadd", "datesub", "timestampadd", "timestampsub", "datetimeadd", "datetimesub", "tsordsadd"),
                self._shifted,
            ),
            **dict.fromkeys(("datetrunc", "timestamptrunc", "datetimetrunc"), self._truncated),
            **dict.fromkeys(("currenttimestamp", "currentdatetime", "localtimestamp", "systimestamp"), self._now),
            **dict.fromkeys(("year", "month", "day", "quarter", "hour", "minute", "extract"), self._part),
            **dict.fromkeys(("concat", "dpipe"), self._joined),
            **dict.fromkeys(("lower", "upper"), self._cased),
            **dict.fromkeys(("rawstring", "national"), self._text),
            "addmonths": self._months_added,
            "anonymous": self._anonymous,
            "attimezone": self._at_zone,
            "boolean": self._boolean,
            "currentdate": self._today,
            "datefromparts": self._date_of_parts,
            "hexstring": self._binary,
            "interval": self._interval,
            "lastday": self._last_day,
            "literal": self._literal,
            "neg": self._negative,
            "null": self._null,
            "paren": self._inner,
            "strtodate": self._to_date,
            "strtotime": self._to_timestamp,
            "timetounix": self._epoch,
            "strtounix": self._epoch,
            "timetostr": self._formatted,
        }

    def value(self, node: exp.Expr) -> Value:
        """Find the value of an expression."""
        found = self.operand(node)
        if isinstance(found, Interval):
            raise UnknownValueError(f"{shown(node)} is a length of time")
        return found

    def operand(self, node: exp.Expr) -> Operand:
        """Find the value of an expression, which may be a length of time; raises as ``value``."""
        find = self._finders.get(node.key)
        try:
            if find is not None:
                return find(node)
        except UnknownValueError:
            raise
        except (InvalidInputError, ArithmeticError, ValueError) as error:
            raise UnknownValueError(f"{shown(node)} has no value: {error}") from error
        raise UnknownValueError(f"the value of {shown(node)} is not known")

    def _literal(self, node: exp.Expr) -> Operand:
        return Value("string", str(node.this)) if node.is_string else number(str(node.this))

    def _binary(self, node: exp.Expr) -> Operand:
        digits = str(node.this)
        return Value("binary", bytes.fromhex("0" * (len(digits) % 2) + digits))

    def _text(self, node: exp.Expr) -> Operand:
        return Value("string", str(node.this))

    def _boolean(self, node: exp.Expr) -> Operand:
        return Value("boolean", bool(node.this))

    def _null(self, _: exp.Expr) -> Operand:
        return NULL

    def _inner(self, node: exp.Expr) -> Operand:
        return self.operand(node.this)

    def _negative(self, node: exp.Expr) -> Operand:
        found = self.operand(node.this)
        return found.negative() if isinstance(found, Interval) else negative(found)

    def _cast(self, node: exp.Expr) -> Operand:
        to = node.args["to"].this
        value = self.value(node.this)
        if value.content is None:
            return NULL
        if to in DATE_TYPES:
            return date_value(value)
        if to in INSTANT_TYPES | WALL_TYPES:
            return timestamp_value(value)
        if to in TEXT_TYPES:
            return value if value.type == "string" else Value("string", text_of(value))
        if to in INTEGER_TYPES:
            return cast(value, INTEGER_TYPES[to])
        if to == Type.BOOLEAN:
            return cast(value, "boolean")
        found = number_of(value)
        if found is None or to not in (Type.DECIMAL, Type.DOUBLE, Type.FLOAT, Type.BIGDECIMAL):
            if to in (Type.DOUBLE, Type.FLOAT):
                return cast(value, "double")
            raise UnknownValueError(f"the value of {shown(node)} is not known")
        parameters = [int(each.name) for each in node.args["to"].expressions]
        if to == Type.DECIMAL and parameters and (found * 10 ** (parameters[1:] or [0])[0]).denominator != 1:
            raise UnknownValueError(f"{shown(node)} is rounded")
        return number_value(found)

    def _date(self, node: exp.Expr) -> Operand:
        if node.args.get("format") is not None:
            return Value("date", self._parsed(node).date())
        return date_value(self.value(node.this))

    def _to_date(self, node: exp.Expr) -> Operand:
        return Value("date", self._parsed(node).date())

    def _to_timestamp(self, node: exp.Expr) -> Operand:
        return Value("timestamp_ntz", self._parsed(node))

    def _parsed(self, node: exp.Expr) -> datetime:
        text = self.value(node.this).content
        if not isinstance(text, str):
            raise UnknownValueError(f"{shown(node)} reads no text")
        return datetime.strptime(text, time_format(node))

    def _timestamp(self, node: exp.Expr) -> Operand:
        return timestamp_value(self.value(node.this))

    def _date_of_parts(self, node: exp.Expr) -> Operand:
        parts = [self.value(node.args[name]).content for name in ("year", "month", "day")]
        return Value("date", date(*parts))  # type: ignore[arg-type]

    def _anonymous(self, node: exp.Expr) -> Operand:
        name = node.name.lower()
        if name in _NOW and not node.expressions:
            return self._now(node)
        if name in _TODAY and not node.expressions:
            return self._today(node)
        if name == "make_date" and len(node.expressions) == 3:
            return Value("date", date(*(self.value(each).content for each in node.expressions)))  # type: ignore[arg-type]
        raise UnknownValueError(f"the value of {shown(node)} is not known")

    def _epoch(self, node: exp.Expr) -> Operand:
        since = moment(moment_value(self.value(node.this))) - datetime(1970, 1, 1)
        return number_value(Fraction(since // timedelta(microseconds=1), 1_000_000))

    def _now(self, _: exp.Expr) -> Operand:
        return Value("timestamp", self._clock.moment())

    def _today(self, _: exp.Expr) -> Operand:
        return Value("date", self._clock.moment().date())

    def _interval(self, node: exp.Expr) -> Operand:
        unit = node.args.get("unit")
        text = self.value(node.this).content
        if isinstance(unit, exp.IntervalSpan):
            return interval_of(str(text), None)
        return interval_of(str(text), unit.name if unit is not None else None)

    def _sum(self, node: exp.Expr) -> Operand:
        left, right = self.operand(node.this), self.operand(node.expression)
        return plus(left, right) if isinstance(node, exp.Add) else minus(left, right)

    def _product(self, node: exp.Expr) -> Operand:
        left, right = self.operand(node.this), self.operand(node.expression)
        if isinstance(left, Interval) or isinstance(right, Interval):
            interval, other = (left, right) if isinstance(left, Interval) else (right, left)
            factor = number_of(other) if isinstance(other, Value) else None
            if not isinstance(interval, Interval) or factor is None or factor.denominator != 1:
                raise UnknownValueError(f"the value of {shown(node)} is not known")
            return Interval(interval.months * int(factor), interval.rest * int(factor))
        a, b = numbers(left, right)
        if isinstance(node, exp.Mul):
            return number_value(a * b)
        # Whether 7 / 2 is 3 or 3.5 differs.
        if isinstance(node, exp.Div) and (a / b).denominator != 1 and left.type == right.type == "integer":
            raise UnknownValueError(f"the value of {shown(node)} differs from dialect to dialect")
        return number_value(a / b) if isinstance(node, exp.Div) else number_value(a % b if a >= 0 < b else -(-a % b))

    def shift(self, node: exp.Expr) -> Interval:
        """Find what a function such as DATE_ADD adds; raises as ``value``."""
        amount = self.operand(node.expression)
        unit = node.args.get("unit")
        if not isinstance(amount, Interval):
            count = number_of(amount)
            if count is None or count.denominator != 1:
                raise UnknownValueError(f"the value of {shown(node)} is not known")
            amount = span(int(count), unit_named(unit.name) if unit is not None else "day")
        return amount.negative() if node.key.endswith("sub") else amount

    def _shifted(self, node: exp.Expr) -> Operand:
        return plus(self.operand(node.this), self.shift(node))

    def _months_added(self, node: exp.Expr) -> Operand:
        months = self.value(node.expression).content
        if not isinstance(months, int):
            raise UnknownValueError(f"the value of {shown(node)} is not known")
        return plus(self.operand(node.this), Interval(months, timedelta()))

    def _truncated(self, node: exp.Expr) -> Operand:
        value = moment_value(self.value(node.this))
        if value.content is None:
            return NULL
        unit = truncation_unit(node)
        found = floored(moment(value), unit)
        return Value("date", found.date()) if value.type == "date" else with_zone_of(value, found)

    def _last_day(self, node: exp.Expr) -> Operand:
        found = moment(moment_value(self.value(node.this)))
        return Value("date", (following(floored(found, "month"), "month") - timedelta(days=1)).date())

    def _part(self, node: exp.Expr) -> Operand:
        name, of = (node.name, node.expression) if isinstance(node, exp.Extract) else (node.key, node.this)
        found = moment(moment_value(self.value(of)))
        unit = unit_named(name)
        if unit not in ("year", "month", "day", "hour", "minute", "quarter"):
            raise UnknownValueError(f"the value of {shown(node)} is not known")
        return Value("integer", (found.month + 2) // 3 if unit == "quarter" else getattr(found, unit))

    def _joined(self, node: exp.Expr) -> Operand:
        parts = node.expressions if isinstance(node, exp.Concat) else [node.this, node.expression]
        values = [self.value(each) for each in parts]
        if any(value.content is None for value in values):
            raise UnknownValueError(f"the value of {shown(node)} differs from dialect to dialect")
        return Value("string", "".join(text_of(value) for value in values))

    def _cased(self, node: exp.Expr) -> Operand:
        content = self.value(node.this).content
        if not isinstance(content, str):
            raise UnknownValueError(f"the value of {shown(node)} is not known")
        return Value("string", content.lower() if isinstance(node, exp.Lower) else content.upper())

    def _formatted(self, node: exp.Expr) -> Operand:
        found = moment(moment_value(self.value(node.this)))
        return Value("string", found.strftime(time_format(node)))

    def _at_zone(self, node: exp.Expr) -> Operand:
        zone = self.value(node.args["zone"]).content
        if zone not in ("UTC", "Z", "GMT"):
            raise UnknownValueError(f"{shown(node)} is in another zone than UTC")
        return self.operand(node.this)
