"""Replace relative dates in conditions, such as ``today() - interval '7' day``, by literals.

The rules are Spark's: days and larger units follow the calendar of a time zone, smaller units are exact. A date plus or
minus whole days stays a date; ``date_trunc`` always returns a timestamp.
"""

from __future__ import annotations

from datetime import datetime, timezone, tzinfo

import sqlglot
from sqlglot import exp

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.rewrite.predicate import parse_predicate, parsing
from iceberg_zorder.workload.constants import UnknownValueError, is_now, value_of


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
    >>> from datetime import timedelta
    >>> folded("ts < date_trunc('hour', now())", now, timezone(timedelta(hours=2)))
    "ts < TIMESTAMP '2026-03-31 22:00:00Z'"
    """
    with parsing():
        parsed = sqlglot.parse_one(where, dialect="spark")
    local = now.astimezone(zone)

    def literal(node: exp.Expr) -> exp.Expr:
        bare = node.unnest()
        is_made_of = isinstance(bare, exp.Add | exp.Sub | exp.TimestampTrunc) and any(map(_is_now, bare.walk()))
        if not (is_made_of or _is_now(bare)):
            return node
        try:
            if any(
                each.name.lstrip("+-").isdecimal() and not each.args.get("unit") for each in bare.find_all(exp.Interval)
            ):
                raise UnknownValueError("an interval has no unit")
            moment = value_of(node, local, zone).content
        except UnknownValueError as error:
            raise InvalidInputError(_refusal(node, error)) from None
        if isinstance(moment, datetime):
            utc = moment.astimezone(timezone.utc).replace(tzinfo=None)
            return exp.Var(this=f"TIMESTAMP '{utc.isoformat(sep=' ')}Z'")
        return exp.Var(this=f"DATE '{moment!s}'")

    text = parsed.transform(literal).sql(dialect="spark") if any(map(_is_now, parsed.walk())) else where
    parse_predicate(text)
    return text


def _is_now(node: exp.Expr) -> bool:
    """Return whether a node is the current date or time, without a precision or another time zone."""
    return is_now(node) and not isinstance(node.this, exp.Expr) and not node.expressions


def _refusal(node: exp.Expr, error: UnknownValueError) -> str:
    text = node.sql(dialect="spark")
    if isinstance(error.__cause__, OverflowError | ValueError) and not isinstance(error.__cause__, InvalidInputError):
        return f"{text} lies outside the years 1 to 9999"
    return (
        f"{text} is not a date: add or subtract intervals such as interval '7' day, of whole years, quarters, months, "
        "weeks, days, hours, minutes or seconds; date_trunc takes minute, hour, day, week, month, quarter or year"
    )
