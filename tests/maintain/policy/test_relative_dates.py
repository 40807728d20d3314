"""Dates that move with the clock become literals, and what a condition says besides stays what it is."""

from datetime import datetime, timezone
from zoneinfo import ZoneInfo

import pytest

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.maintain.policy.relative_dates import folded
from iceberg_zorder.rewrite.predicate import parse_predicate

BERLIN = ZoneInfo("Europe/Berlin")
# In Berlin it is 0:30 of 29 March already, the night in which the clocks go from 2:00 to 3:00.
NIGHT = datetime(2026, 3, 28, 23, 30, tzinfo=timezone.utc)
# In Berlin it is noon of the day after.
NOON = datetime(2026, 3, 30, 10, 0, 5, 250_000, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("where", "now", "expected"),
    [
        ("d < today()", NIGHT, "d < DATE '2026-03-29'"),
        ("d < current_date", NIGHT, "d < DATE '2026-03-29'"),
        ("d < current_date() - interval '7' day", NIGHT, "d < DATE '2026-03-22'"),
        ("d < TODAY() - INTERVAL 2 WEEKS", NIGHT, "d < DATE '2026-03-15'"),
        ("d < today() - interval '1' month", NIGHT, "d < DATE '2026-02-28'"),
        ("d < today() - interval '1' quarter", NIGHT, "d < DATE '2025-12-29'"),
        ("d < today() - interval '1' year", NIGHT, "d < DATE '2025-03-29'"),
        ("d < interval 1 day + today()", NIGHT, "d < DATE '2026-03-30'"),
        ("d < today() - interval '-1' day", NIGHT, "d < DATE '2026-03-30'"),
        ("d < today() - interval '1 year 2 months'", NIGHT, "d < DATE '2025-01-29'"),
        ("ts < now()", NIGHT, "ts < TIMESTAMP '2026-03-28 23:30:00Z'"),
        ("ts < current_timestamp", NOON, "ts < TIMESTAMP '2026-03-30 10:00:05.250000Z'"),
        ("now() > ts", NIGHT, "TIMESTAMP '2026-03-28 23:30:00Z' > ts"),
        # days are days of the calendar, hours are exact: the night of the 29th has 23
        ("ts < now() - interval '1' day", NOON, "ts < TIMESTAMP '2026-03-29 10:00:05.250000Z'"),
        ("ts < now() - interval '2' day", NOON, "ts < TIMESTAMP '2026-03-28 11:00:05.250000Z'"),
        ("ts < now() - interval '48' hour", NOON, "ts < TIMESTAMP '2026-03-28 10:00:05.250000Z'"),
        ("ts < now() - interval 1 day 90 minutes", NOON, "ts < TIMESTAMP '2026-03-29 08:30:05.250000Z'"),
        (
            "ts < (now() - interval '1' day) + interval '30' second",
            NOON,
            "ts < TIMESTAMP '2026-03-29 10:00:35.250000Z'",
        ),
        # a date with hours is a timestamp, from midnight of the zone
        ("ts < today() - interval '1' hour", NIGHT, "ts < TIMESTAMP '2026-03-28 22:00:00Z'"),
        ("ts < date_trunc('day', now())", NIGHT, "ts < TIMESTAMP '2026-03-28 23:00:00Z'"),
        ("ts < date_trunc('day', today())", NIGHT, "ts < TIMESTAMP '2026-03-28 23:00:00Z'"),
        ("ts < date_trunc('day', now() - interval '1' hour)", NIGHT, "ts < TIMESTAMP '2026-03-27 23:00:00Z'"),
        ("ts < date_trunc('MINUTE', now())", NOON, "ts < TIMESTAMP '2026-03-30 10:00:00Z'"),
        ("ts < date_trunc('hour', now()) - interval '1' hour", NOON, "ts < TIMESTAMP '2026-03-30 09:00:00Z'"),
        ("ts < date_trunc('week', now())", NIGHT, "ts < TIMESTAMP '2026-03-22 23:00:00Z'"),
        ("ts < date_trunc('month', now() - interval '1' month)", NIGHT, "ts < TIMESTAMP '2026-01-31 23:00:00Z'"),
        ("ts < date_trunc('quarter', now())", NOON, "ts < TIMESTAMP '2025-12-31 23:00:00Z'"),
        ("ts < date_trunc('year', now())", NOON, "ts < TIMESTAMP '2025-12-31 23:00:00Z'"),
        (
            "ts BETWEEN today() - interval '2' day AND today() AND region = 'eu' OR d IN (today(), DATE '2026-01-01')",
            NIGHT,
            "ts BETWEEN DATE '2026-03-27' AND DATE '2026-03-29' AND region = 'eu' OR "
            "d IN (DATE '2026-03-29', CAST('2026-01-01' AS DATE))",
        ),
    ],
)
def test_relative_dates_become_literals(where: str, now: datetime, expected: str) -> None:
    assert folded(where, now, BERLIN) == expected
    parse_predicate(expected)


@pytest.mark.parametrize(
    "where",
    [
        "a = 'today()'",
        "today = 3 and `now` < 2",
        "a < TIMESTAMP '2026-01-01'",
        "d  >=  DATE '2026-01-01' -- the hot part",
    ],
)
def test_a_condition_without_relative_dates_is_left_as_it_is(where: str) -> None:
    assert folded(where, NIGHT, BERLIN) == where


@pytest.mark.parametrize(
    "rest",
    [
        "a <=> NULL",
        "NOT (a IS NULL OR `b c`.`d e` IN (1, 2.50, 3e5))",
        "s = 'x\\'y' AND t LIKE 'x%' AND startswith(s, 'ö')",
        "x = X'1F' AND n = 5L AND f = 1.5D AND isnan(f)",
        "isnotnull(a) AND b IS NOT TRUE AND c",
        "t = TIMESTAMP '2026-01-01 10:00:00+02:00' AND u = TIMESTAMP_NTZ '2026-01-01'",
        "a IS DISTINCT FROM 3 AND m = -1.50",
    ],
)
def test_what_stands_beside_a_relative_date_says_what_it_said(rest: str) -> None:
    written = folded(f"{rest} AND ts < now()", NIGHT, BERLIN)
    assert parse_predicate(written) == parse_predicate(f"{rest} AND ts < TIMESTAMP '2026-03-28 23:30:00Z'")


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("ts < now() - 7", "NOW() - 7 is not a date: add or subtract intervals such as interval '7' day"),
        ("ts < now() - interval '7'", "NOW() - INTERVAL '7' is not a date"),
        ("d < current_date('Asia/Tokyo')", "is neither a column nor a value"),
        ("ts < now() - today()", "NOW() - TODAY() is not a date"),
        ("ts < interval 1 day - now()", "INTERVAL '1' DAY - NOW() is not a date"),
        ("ts < now() - interval '1.5' day", "of whole years, quarters, months, weeks, days"),
        ("ts < now() - interval '1-2' year to month", "NOW() - INTERVAL '1-2' YEAR TO MONTH is not a date"),
        ("ts < date_trunc('decade', now())", "date_trunc takes minute, hour, day, week"),
        ("ts < date_trunc('day', ts)", "is neither a column nor a value"),
        ("ts < today() - interval '3000' year", "lies outside the years 1 to 9999"),
        ("ts - interval '1' day < now()", "ts - INTERVAL '1' DAY is neither a column nor a value"),
        ("now()", "is not supported: compare"),
        ("now() < today()", "compares two values"),
        ("ts < now(", "Expecting \\)"),
    ],
)
def test_what_cannot_be_worked_out_is_refused(where: str, why: str) -> None:
    with pytest.raises(InvalidInputError, match=why.replace("(", "\\(").replace(")", "\\)").replace("\\\\", "\\")):
        folded(where, NIGHT, BERLIN)
