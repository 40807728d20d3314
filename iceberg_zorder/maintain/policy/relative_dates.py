"""Replace relative dates in conditions, such as ``today() - interval '7' day``, by literals.

The rules are Spark's: days and larger units follow the calendar of a time zone, smaller units are exact. A date plus or
minus whole days stays a date; ``date_trunc`` always returns a timestamp.
"""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone, tzinfo

import sqlglot
from sqlglot import exp

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.rewrite.predicate import parse_predicate, parsing

_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_DAYS = {"DAY": 1, "WEEK": 7}
_SECONDS = {"HOUR": 3_600, "MINUTE": 60, "SECOND": 1}
_TRUNCATED = ("MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")
_PART = re.compile(r"([+-]?\d+)\s+([A-Za-z]+)")


@dataclass(frozen=True)
class _Interval:
    months: int = 0
    days: int = 0
    seconds: int = 0

    def __add__(self, other: _Interval) -> _Interval:
        return _Interval(self.months + other.months, self.days + other.days, self.seconds + other.seconds)

    def times(self, factor: int) -> _Interval:
        return _Interval(self.months * factor, self.days * factor, self.seconds * factor)


def folded(where: str, now: datetime, zone: tzinfo) -> str:
    """Return a condition with its relative dates replaced by literals.

    It may use ``now()``, ``current_timestamp``, ``today()``, ``current_date``, ``date_trunc('day', ...)`` of these, and
    add or subtract intervals. A date compared with timestamps means midnight UTC, as in any condition;
    ``date_trunc('day', now())`` is midnight in the time zone.

    Examples
    --------
    >>> now = datetime(2026, 3, 31, 22, 30, tzinfo=timezone.utc)
    >>> folded("day >= today() - interval '1' month and a = 1", now, timezone.utc)
    "day >= DATE '2026-02-28' AND a = 1"
    >>> folded("ts < date_trunc('hour', now())", now, timezone(timedelta(hours=2)))
    "ts < TIMESTAMP '2026-03-31 22:00:00Z'"
    """
    with parsing():
        parsed = sqlglot.parse_one(where, dialect="spark")
    clock = _Clock(now.astimezone(zone), zone)
    text = parsed.transform(clock.replaced).sql(dialect="spark") if clock.is_in(parsed) else where
    parse_predicate(text)
    return text


class _Clock:
    """Evaluates relative dates at a time."""

    def __init__(self, now: datetime, zone: tzinfo) -> None:
        self._now = now
        self._zone = zone

    def is_in(self, condition: exp.Expr) -> bool:
        return any(self._own(node) is not None for node in condition.walk())

    def replaced(self, node: exp.Expr) -> exp.Expr:
        """Return a node as a literal if it is a relative date, else unchanged."""
        try:
            moment = self._moment(node)
        except InvalidInputError:
            raise
        except (OverflowError, ValueError):
            raise InvalidInputError(f"{node.sql(dialect='spark')} lies outside the years 1 to 9999") from None
        if moment is None:
            return node
        if not isinstance(moment, datetime):
            return exp.Var(this=f"DATE '{moment.isoformat()}'")
        utc = moment.astimezone(timezone.utc).replace(tzinfo=None)
        return exp.Var(this=f"TIMESTAMP '{utc.isoformat(sep=' ')}Z'")

    def _own(self, node: exp.Expr) -> date | datetime | None:
        name = node.name.lower() if isinstance(node, exp.Anonymous) and not node.expressions else ""
        if name == "today" or (isinstance(node, exp.CurrentDate) and not node.this):
            return self._now.date()
        return self._now if name == "now" or (isinstance(node, exp.CurrentTimestamp) and not node.this) else None

    def _moment(self, node: exp.Expr) -> date | datetime | None:
        """Evaluate a date or timestamp; None if it is not relative to now."""
        if isinstance(node, exp.Paren):
            return self._moment(node.this)
        if isinstance(node, exp.TimestampTrunc) and (moment := self._moment(node.this)) is not None:
            return self._truncated(self._timestamp(moment), node.text("unit").upper(), node)
        if not isinstance(node, exp.Add | exp.Sub):
            return self._own(node)
        left, right = self._moment(node.this), self._moment(node.expression)
        sign = -1 if isinstance(node, exp.Sub) else 1
        if left is not None and (interval := _interval(node.expression)):
            return self._later(left, interval.times(sign))
        if right is not None and sign == 1 and (interval := _interval(node.this)):
            return self._later(right, interval)
        if left is not None or right is not None:
            raise InvalidInputError(
                f"{node.sql(dialect='spark')} is not a date: add or subtract intervals such as interval '7' day"
            )
        return None

    def _timestamp(self, moment: date | datetime) -> datetime:
        return moment if isinstance(moment, datetime) else datetime.combine(moment, time(), self._zone)

    def _later(self, moment: date | datetime, interval: _Interval) -> date | datetime:
        month = moment.year * 12 + moment.month - 1 + interval.months
        year, month = month // 12, month % 12 + 1
        moment = moment.replace(year=year, month=month, day=min(moment.day, monthrange(year, month)[1]))
        moment += timedelta(days=interval.days)
        if not interval.seconds:
            return moment
        # When clocks change, a local hour may be missing or occur twice.
        exact = self._timestamp(moment).astimezone(timezone.utc) + timedelta(seconds=interval.seconds)
        return exact.astimezone(self._zone)

    def _truncated(self, moment: datetime, unit: str, node: exp.Expr) -> datetime:
        if unit not in _TRUNCATED:
            raise InvalidInputError(
                f"{node.sql(dialect='spark')} has an unknown unit: write one of {', '.join(_TRUNCATED).lower()}"
            )
        cut = moment.replace(second=0, microsecond=0)
        size = _TRUNCATED.index(unit)
        if size == 0:
            return cut
        cut = cut.replace(minute=0)
        if size == 1:
            return cut
        cut = cut.replace(hour=0, fold=0)
        if unit == "WEEK":
            return cut - timedelta(days=cut.weekday())
        months = _MONTHS.get(unit)
        return cut if months is None else cut.replace(month=(cut.month - 1) // months * months + 1, day=1)


def _interval(node: exp.Expr) -> _Interval | None:
    """Parse an interval; sqlglot parses ``interval 1 day 2 hours`` as a sum of two."""
    if isinstance(node, exp.Paren):
        return _interval(node.this)
    if isinstance(node, exp.Add):
        left, right = _interval(node.this), _interval(node.expression)
        return left + right if left and right else None
    if not isinstance(node, exp.Interval):
        return None
    unit = node.args.get("unit")
    text = node.this.name if isinstance(node.this, exp.Literal) else node.this.sql(dialect="spark")
    words = text if unit is None else f"{text} {unit.sql(dialect='spark')}"
    parts = _PART.findall(words)
    if not parts or " ".join(" ".join(part) for part in parts) != " ".join(words.split()):
        raise _no_interval(node)
    total = _Interval()
    for number, name in parts:
        singular = name.upper().removesuffix("S")
        months, days, seconds = (units.get(singular, 0) * int(number) for units in (_MONTHS, _DAYS, _SECONDS))
        if not any(singular in units for units in (_MONTHS, _DAYS, _SECONDS)):
            raise _no_interval(node)
        total += _Interval(months, days, seconds)
    return total


def _no_interval(node: exp.Expr) -> InvalidInputError:
    return InvalidInputError(
        f"{node.sql(dialect='spark')} is not supported: write whole numbers of years, quarters, months, weeks, days, "
        "hours, minutes and seconds"
    )
