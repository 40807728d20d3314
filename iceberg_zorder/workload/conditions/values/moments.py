"""Units of time, and moments rounded to them; moments are without a zone here, and in UTC."""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from iceberg_zorder.errors import InvalidInputError

_UNITS = {
    "microsecond": ("microseconds", "us", "usec", "usecs"),
    "millisecond": ("milliseconds", "ms", "msec", "msecs"),
    "second": ("seconds", "s", "sec", "secs", "ss"),
    "minute": ("minutes", "m", "min", "mins", "mi"),
    "hour": ("hours", "h", "hr", "hrs", "hh", "hh24"),
    "day": ("days", "d", "dd", "ddd", "j"),
    "week": ("weeks", "w", "ww", "iw", "isoweek", "wk"),
    "month": ("months", "mon", "mons", "mm", "mth"),
    "quarter": ("quarters", "q", "qtr"),
    "year": ("years", "y", "yy", "yyy", "yyyy", "yr", "yrs", "syyyy", "iyear"),
}
_NAMES = {name: unit for unit, names in _UNITS.items() for name in (unit, *names)}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_LENGTHS = {
    "microsecond": timedelta(microseconds=1),
    "millisecond": timedelta(milliseconds=1),
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(days=7),
}
_MONDAY = datetime(1, 1, 1)
_PART = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)\s*([a-z]+)", re.IGNORECASE)
_CLOCK = re.compile(r"\s*([+-]?)(?:(\d+)\s+)?(\d+):(\d+)(?::(\d+)(?:\.(\d{1,6}))?)?\s*")


@dataclass(frozen=True)
class Interval:
    """A length of time.

    Parameters
    ----------
    months : int
        Whole months.
    rest : timedelta
        What it has beside them.
    """

    months: int
    rest: timedelta

    def negative(self) -> Interval:
        """Change the sign."""
        return Interval(-self.months, -self.rest)


def unit_named(name: str) -> str:
    """Find the unit of a name.

    Examples
    --------
    >>> unit_named("MM"), unit_named("days")
    ('month', 'day')
    """
    found = _NAMES.get(name.strip().lower())
    if found is None:
        raise InvalidInputError(f"'{name}' is no unit of time that is known")
    return found


def floored(moment: datetime, unit: str) -> datetime:
    """Round down to a unit; weeks begin on Mondays.

    Examples
    --------
    >>> floored(datetime(2024, 5, 17, 10), "quarter"), floored(datetime(2024, 5, 17, 10), "week")
    (datetime.datetime(2024, 4, 1, 0, 0), datetime.datetime(2024, 5, 13, 0, 0))
    """
    if unit in _MONTHS:
        return datetime(moment.year, (moment.month - 1) // _MONTHS[unit] * _MONTHS[unit] + 1, 1)
    return moment - (moment - _MONDAY) % _LENGTHS[unit]


def following(moment: datetime, unit: str) -> datetime:
    """Find the beginning of the unit after the one that a moment begins.

    Examples
    --------
    >>> following(datetime(2024, 12, 1), "month")
    datetime.datetime(2025, 1, 1, 0, 0)
    """
    return later(moment, span(1, unit))


def span(count: int, unit: str) -> Interval:
    """Make an interval of so many units."""
    if unit in _MONTHS:
        return Interval(count * _MONTHS[unit], timedelta())
    try:
        return Interval(0, count * _LENGTHS[unit])
    except OverflowError as error:
        raise InvalidInputError(f"{count} {unit}s are too long") from error


def later(moment: datetime, interval: Interval) -> datetime:
    """Add an interval: first its months, at the end of which days that a month lacks are its last one.

    Examples
    --------
    >>> later(datetime(2024, 1, 31), Interval(1, timedelta(hours=1)))
    datetime.datetime(2024, 2, 29, 1, 0)
    """
    months = moment.year * 12 + moment.month - 1 + interval.months
    year, month = months // 12, months % 12 + 1
    try:
        day = min(moment.day, calendar.monthrange(year, month)[1]) if 1 <= year <= 9999 else 0
        return moment.replace(year=year, month=month, day=day) + interval.rest
    except (ValueError, OverflowError) as error:
        raise InvalidInputError("a date is not in the years 1 to 9999") from error


def midnight(day: date) -> datetime:
    """Give the moment at which a day begins; a moment stays."""
    return day if isinstance(day, datetime) else datetime.combine(day, time())


def interval_of(text: str, unit: str | None) -> Interval:
    """Read an interval.

    Examples
    --------
    >>> interval_of("90", "DAY"), interval_of("1 year -2 months", None)
    (Interval(months=0, rest=datetime.timedelta(days=90)), Interval(months=10, rest=datetime.timedelta(0)))
    """
    text = text.strip()
    if unit and re.fullmatch(r"[+-]?\d+", text):
        return span(int(text), unit_named(unit))
    if unit and re.fullmatch(r"[+-]?\d*\.\d+", text) and unit_named(unit) in _LENGTHS:
        return Interval(0, float(text) * _LENGTHS[unit_named(unit)])
    years = re.fullmatch(r"([+-]?)(\d+)-(\d+)", text)
    if years:
        months = int(years[2]) * 12 + int(years[3])
        return Interval(-months if years[1] == "-" else months, timedelta())
    clock = _CLOCK.fullmatch(text)
    if clock:
        sign, days, hours, minutes, seconds, fraction = clock.groups(default="0")
        micros = int(fraction.ljust(6, "0"))
        rest = timedelta(int(days), int(seconds), micros, 0, int(minutes), int(hours))
        return Interval(0, -rest if sign == "-" else rest)
    return _of_parts(text)


def _of_parts(text: str) -> Interval:
    place, months, rest = 0, 0, timedelta()
    for part in _PART.finditer(text):
        if part.start() != place or "." in part[1]:
            break
        each = span(int(part[1]), unit_named(part[2]))
        months, rest, place = months + each.months, rest + each.rest, part.end()
    if place != len(text) or not text:
        raise InvalidInputError(f"'{text}' is no interval that is known")
    return Interval(months, rest)
