"""When a table is due by cron, and when work may begin: over midnight, and where clocks are changed.

In Berlin 2026 the clocks go from 2:00 to 3:00 on 29 March (1:00 UTC), and from 3:00 back to 2:00 on 25 October (1:00 UTC).
"""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.maintain.policy.schedule import HourRange, check_cron, cron_due
from iceberg_zorder.maintain.policy.settings import TableSettings

BERLIN = "Europe/Berlin"


def utc(text: str) -> datetime:
    return datetime.fromisoformat(f"2026-{text}+00:00")


@pytest.mark.parametrize(
    ("expression", "zone", "last", "now", "due"),
    [
        ("0 3 * * *", "UTC", "01-31 02:59", "01-31 03:00", True),
        ("0 3 * * *", "UTC", "01-31 02:59:59.900", "01-31 02:59:59.990", False),
        ("0 3 * * *", "UTC", "01-31 03:00", "02-01 02:59", False),
        ("0 3 * * *", "UTC", "01-31 03:00", "02-05 12:00", True),
        ("0 3 * * *", BERLIN, "01-31 01:00", "01-31 02:00", True),
        ("0 3 * * *", BERLIN, "07-31 00:00", "07-31 01:00", True),
        ("0 3 * * *", BERLIN, "07-31 01:00", "07-31 02:00", False),
        ("0 3 * * mon", "UTC", "01-31 00:00", "02-02 02:00", False),
        ("0 3 * * mon", "UTC", "01-31 00:00", "02-02 03:00", True),
        ("0 3 1 * *", "UTC", "01-31 00:00", "02-01 03:00", True),
        # 2:30 is left out on 29 March: it comes when the clocks have been put forward, and then not again
        ("30 2 * * *", BERLIN, "03-29 00:00", "03-29 00:59", False),
        ("30 2 * * *", BERLIN, "03-29 00:00", "03-29 01:00", True),
        ("30 2 * * *", BERLIN, "03-29 01:00", "03-29 22:00", False),
        ("30 2 * * *", BERLIN, "03-29 01:00", "03-30 00:30", True),
        # 2:30 comes twice on 25 October: at 0:30 and at 1:30 UTC, and counts once
        ("30 2 * * *", BERLIN, "10-25 00:00", "10-25 00:30", True),
        ("30 2 * * *", BERLIN, "10-25 00:30", "10-25 12:00", False),
        ("30 2 * * *", BERLIN, "10-25 01:15", "10-25 12:00", False),
        ("30 2 * * *", BERLIN, "10-25 01:15", "10-26 01:30", True),
        # every hour is every hour
        ("0 * * * *", BERLIN, "10-25 00:00", "10-25 01:00", True),
        ("0 * * * *", BERLIN, "10-25 00:00", "10-25 00:59", False),
        ("0 * * * *", BERLIN, "03-29 00:00", "03-29 01:00", True),
    ],
)
def test_a_time_of_cron_has_come(expression: str, zone: str, last: str, now: str, due: bool) -> None:
    assert cron_due(expression, utc(last), utc(now), ZoneInfo(zone)) is due
    assert cron_due(expression, utc(last).astimezone(ZoneInfo("Asia/Tokyo")), utc(now), ZoneInfo(zone)) is due


MINUTES = st.integers(0, 3 * 24 * 60)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(["30 2 * * *", "*/15 * * * *", "0 3,2 * * *", "50 2 * * sun", "5 */2 * * *", "0 0 29 * *"]),
    st.sampled_from([utc("03-27 23:00"), utc("10-23 23:00")]),
    st.tuples(MINUTES, MINUTES, MINUTES).map(sorted),
)
def test_nothing_is_lost_or_doubled_between_two_passes(expression: str, start: datetime, moments: list[int]) -> None:
    first, second, third = (start + timedelta(minutes=each) for each in moments)
    zone = ZoneInfo(BERLIN)
    two = cron_due(expression, first, second, zone) or cron_due(expression, second, third, zone)
    assert cron_due(expression, first, third, zone) == two


@pytest.mark.parametrize(
    "expression", ["", "0 3 * *", "0 0 3 * * *", "60 * * * *", "0 3 32 * *", "@daily", "0 3 30 2 *"]
)
def test_what_is_no_cron_expression_is_refused(expression: str) -> None:
    with pytest.raises(InvalidInputError, match="is not a cron expression"):
        check_cron(expression)


@pytest.mark.parametrize(
    ("hours", "zone", "allowed", "refused"),
    [
        ((), BERLIN, ["01-31 00:00", "07-31 12:34"], []),
        (("09:00-17:00",), "UTC", ["01-31 09:00", "01-31 16:59:59"], ["01-31 08:59:59", "01-31 17:00"]),
        (("22:00-06:00",), "UTC", ["01-31 22:00", "02-01 00:00", "02-01 05:59"], ["02-01 06:00", "01-31 21:59"]),
        (("22:00-06:00",), BERLIN, ["01-31 21:00", "07-31 20:00", "07-31 03:59"], ["01-31 20:59", "07-31 04:00"]),
        (("00:00-24:00",), "UTC", ["01-31 00:00", "01-31 23:59:59"], []),
        # 31 January 2026 is a Saturday; a night belongs to the day on which it begins
        (("sat 00:00-24:00",), "UTC", ["01-31 00:00", "01-31 23:59"], ["01-30 23:59", "02-01 00:00"]),
        (("sat 22:00-06:00",), "UTC", ["01-31 22:00", "02-01 05:59"], ["01-31 05:00", "02-01 22:00"]),
        (("sun 22:00-06:00",), "UTC", ["02-01 23:00", "02-02 05:00"], ["02-01 05:00", "02-02 23:00"]),
        (("fri-mon 12:00-13:00",), "UTC", ["01-30 12:00", "02-02 12:00"], ["01-29 12:00", "02-03 12:00"]),
        (("mon,wed 12:00-13:00",), "UTC", ["02-02 12:30", "02-04 12:30"], ["02-03 12:30"]),
        (("22:00-06:00", "sat 00:00-24:00"), "UTC", ["01-31 12:00", "01-30 23:00"], ["01-30 12:00"]),
        # the hour from 2:00 is left out on 29 March, and comes twice on 25 October
        (("02:00-03:00",), BERLIN, ["03-28 01:30"], ["03-29 00:59", "03-29 01:00", "03-29 01:30"]),
        (("02:00-03:00",), BERLIN, ["10-25 00:00", "10-25 00:59", "10-25 01:00", "10-25 01:59"], ["10-25 02:00"]),
    ],
)
def test_work_begins_in_allowed_hours(
    hours: tuple[str, ...], zone: str, allowed: list[str], refused: list[str]
) -> None:
    found = TableSettings(allowed_hours=tuple(map(HourRange.parse, hours)), time_zone=ZoneInfo(zone))
    assert [each for each in [*allowed, *refused] if found.allows(utc(each))] == allowed


@pytest.mark.parametrize(
    "text", ["", "22-6", "22:00", "24:00-06:00", "22:00-24:01", "22:60-23:00", "12:00-12:00", "x 1:00-2:00"]
)
def test_what_is_no_hours_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError):
        HourRange.parse(text)
