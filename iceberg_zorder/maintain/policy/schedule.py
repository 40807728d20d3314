"""Schedules: cron expressions, and the hours in which tables may be rewritten."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timezone, tzinfo

from iceberg_zorder.errors import InvalidInputError

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_HOURS = re.compile(r"(?:(\S+) )?(\d{1,2}):(\d{2})-(\d{1,2}):(\d{2})")
_MINUTES_OF_A_DAY = 24 * 60


def check_cron(expression: str) -> None:
    """Check a cron expression; raises InvalidInputError, also if its time never comes."""
    from cronsim import CronSim, CronSimError

    wrong = f"'{expression}' is not a cron expression"
    if len(expression.split()) != 5:
        raise InvalidInputError(f"{wrong}: it needs five fields, such as 0 3 * * *")
    try:
        next(CronSim(expression, datetime(2026, 1, 1, tzinfo=timezone.utc)))
    except CronSimError as error:
        raise InvalidInputError(f"{wrong}: {error}") from error
    except StopIteration:
        raise InvalidInputError(f"{wrong}: its time never comes") from None


def cron_due(expression: str, last: datetime, now: datetime, zone: tzinfo) -> bool:
    """Return whether a cron expression has a time in ``(last, now]``.

    When clocks change, fixed hours follow Debian's cron: a skipped time fires right after the change, and a repeated
    time fires once.

    Examples
    --------
    >>> from datetime import timedelta
    >>> from zoneinfo import ZoneInfo
    >>> night = datetime(2026, 1, 31, 1, 59, tzinfo=timezone.utc)
    >>> cron_due("0 3 * * *", night, night + timedelta(minutes=1), ZoneInfo("Europe/Berlin"))
    True
    >>> cron_due("0 3 * * *", night, night + timedelta(minutes=1), timezone.utc)
    False
    """
    from cronsim import CronSim

    # In UTC, because Python compares two times of one zone by their local clocks.
    since, until = last.astimezone(timezone.utc), now.astimezone(timezone.utc)
    times = (each.astimezone(timezone.utc) for each in CronSim(expression, last.astimezone(zone)))
    # In a repeated hour, the first candidates may lie before ``last``.
    after = next((each for each in times if each > since), None)
    return after is not None and after <= until


@dataclass(frozen=True)
class HourRange:
    """A range of hours on some weekdays.

    Examples
    --------
    >>> HourRange.parse("sat,sun 22:00-06:00")
    HourRange(days=(5, 6), start=1320, end=360)
    """

    days: tuple[int, ...]
    """Weekdays on which the range begins; Monday is 0."""
    start: int
    end: int
    """Minutes of the day; the end is on the next day unless it is after the start."""

    @staticmethod
    def parse(text: str) -> HourRange:
        """Parse hours such as ``22:00-06:00`` or ``mon-fri 20:00-24:00``; raises InvalidInputError."""
        found = _HOURS.fullmatch(text)
        if found is None:
            raise InvalidInputError(f"'{text}' is not hours, such as 22:00-06:00 or sat,sun 00:00-24:00")
        days, *numbers = found.groups()
        hour, minute, end_hour, end_minute = map(int, numbers)
        start, end = hour * 60 + minute, end_hour * 60 + end_minute
        if start == end:
            raise InvalidInputError(f"'{text}' is empty: write 00:00-24:00 for the whole day")
        if start >= _MINUTES_OF_A_DAY or end > _MINUTES_OF_A_DAY or max(minute, end_minute) > 59:
            raise InvalidInputError(f"'{text}' has an invalid time")
        return HourRange(_days(days) if days else tuple(range(7)), start, end)

    def has(self, moment: datetime) -> bool:
        """Return whether a time lies in the range, by its own clock."""
        minute, today = moment.hour * 60 + moment.minute, moment.weekday()
        if self.start < self.end:
            return today in self.days and self.start <= minute < self.end
        began_yesterday = (today - 1) % 7 in self.days
        return (today in self.days and minute >= self.start) or (began_yesterday and minute < self.end)


def _days(text: str) -> tuple[int, ...]:
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        for name in (first, last or first):
            if name not in _DAYS:
                raise InvalidInputError(f"'{name}' is not a day: write {', '.join(_DAYS)}")
        start, end = _DAYS.index(first), _DAYS.index(last or first)
        found |= {(start + step) % 7 for step in range((end - start) % 7 + 1)}
    return tuple(sorted(found))
