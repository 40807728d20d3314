"""Comparisons of dates that are rounded, written or counted with a value."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from sqlglot import exp

from iceberg_zorder.request.predicate_values import Value
from iceberg_zorder.workload.conditions.columns import is_moment, kind_of
from iceberg_zorder.workload.conditions.comparisons.comparing import EXCHANGED, Comparing
from iceberg_zorder.workload.conditions.nodes import has_columns, shown, time_format, truncation_unit
from iceberg_zorder.workload.conditions.understood import Understood, all_understood, any_understood, lost
from iceberg_zorder.workload.conditions.values.arithmetic import Operand, minus, moment, moment_value
from iceberg_zorder.workload.conditions.values.moments import Interval, floored, following, unit_named
from iceberg_zorder.workload.conditions.values.typed import number_of
from iceberg_zorder.workload.normal_form import FALSE

_FORMAT_UNITS = (("%S", "second"), ("%M", "minute"), ("%H", "hour"), ("%d", "day"), ("%m", "month"), ("%Y", "year"))
_CODES = tuple(code for code, _ in reversed(_FORMAT_UNITS))


def date_of(c: Comparing, node: exp.Expr, operator: str, value: Operand) -> Understood:
    """Compare a date, or the date of a moment."""
    if not is_moment(kind_of(node.this, c.columns)):
        return c.refused(node)
    return floored_to(c, node.this, operator, value, "day")


def same_moment(c: Comparing, node: exp.Expr, operator: str, value: Operand) -> Understood:
    """Compare a moment, whatever it is cast to."""
    if not is_moment(kind_of(node.this, c.columns)):
        return c.refused(node)
    return c.compare(node.this, operator, value)


def at_zone(c: Comparing, node: exp.Expr, operator: str, value: Operand) -> Understood:
    """Compare a moment in a zone, which has to be UTC."""
    zone = c.constants.value(node.args["zone"]).content
    if zone not in ("UTC", "Z", "GMT"):
        return lost(f"{shown(node)} is in another zone than UTC")
    return same_moment(c, node, operator, value)


def truncated(c: Comparing, node: exp.Expr, operator: str, value: Operand) -> Understood:
    """Compare what DATE_TRUNC makes of a moment."""
    if not is_moment(kind_of(node.this, c.columns)):
        return c.refused(node)
    return floored_to(c, node.this, operator, value, truncation_unit(node))


def floored_to(c: Comparing, node: exp.Expr, operator: str, value: Operand, unit: str) -> Understood:
    """Compare what is rounded down to a unit of time."""
    if isinstance(value, Interval):
        return lost(f"{shown(node)} is compared with a length of time")
    if unit == "day" and kind_of(node, c.columns) == "date":
        return c.compare(node, operator, value)
    asked = moment(value)
    start = floored(asked, unit)
    return _bucket(c, node, operator, start, following(start, unit), is_start=asked == start)


def _bucket(
    c: Comparing, node: exp.Expr, operator: str, start: datetime, end: datetime, *, is_start: bool
) -> Understood:
    """Compare rounded moments with one that rounds to ``start``, of which ``end`` is the next."""

    def bound(operator: str, at: datetime) -> Understood:
        return c.compare(node, operator, Value("timestamp_ntz", at))

    if operator == "=":
        return all_understood([bound(">=", start), bound("<", end)]) if is_start else Understood(FALSE)
    if operator == "<>":
        return any_understood([bound("<", start), bound(">=", end)]) if is_start else c.not_null(node)
    if operator in ("<", ">="):
        return bound(operator, start if is_start else end)
    return bound("<" if operator == "<=" else ">=", end)


def part(c: Comparing, node: exp.Expr, operator: str, value: Operand) -> Understood:
    """Compare a part of a moment: its year."""
    name, of = (node.name, node.expression) if isinstance(node, exp.Extract) else (node.key, node.this)
    number = number_of(value) if isinstance(value, Value) else None
    of = of.this if isinstance(of, exp.TsOrDsToDate) else of
    if unit_named(name) != "year" or number is None or not is_moment(kind_of(of, c.columns)):
        return c.refused(node)
    year = number.numerator // number.denominator
    if not 1 <= year <= 9998:
        return lost(f"{value} is no year")
    start = datetime(year, 1, 1)
    return _bucket(c, of, operator, start, following(start, "year"), is_start=number == year)


def formatted(c: Comparing, node: exp.Expr, operator: str, value: Operand) -> Understood:
    """Compare a date that is written from the largest unit to the smallest, so that its text has its order."""
    of = node.this.this if isinstance(node.this, exp.TimeStrToTime | exp.TsOrDsToTimestamp) else node.this
    text = value.content if isinstance(value, Value) else None
    written = _written(text, time_format(node)) if isinstance(text, str) else None
    if written is None or not is_moment(kind_of(of, c.columns)):
        return c.refused(node)
    start, unit, is_whole = written
    if is_whole:
        return _bucket(c, of, operator, start, following(start, unit), is_start=True)
    # All texts are longer than this one.
    if operator in ("=", "<>"):
        return Understood(FALSE) if operator == "=" else c.not_null(of)
    return c.compare(of, "<" if operator in ("<", "<=") else ">=", Value("timestamp_ntz", start))


def _written(text: str, form: str) -> tuple[datetime, str, bool] | None:
    """Find the moment that a text is of, its unit, and whether it is as long as the format."""
    codes = tuple(re.findall("%[A-Za-z]", form))
    if codes != _CODES[: len(codes)] or not form.startswith("%Y"):
        return None
    for code in reversed(codes):
        shorter = form[: form.index(code) + 2]
        try:
            start = datetime.strptime(text, shorter)
        except ValueError:
            continue
        if start.strftime(shorter) == text:
            unit = next(unit for each, unit in _FORMAT_UNITS if each == code)
            return start, unit, shorter == form
    return None


def difference(c: Comparing, node: exp.Expr, operator: str, value: Operand) -> Understood:
    """Compare the days between two dates."""
    unit = node.args.get("unit")
    number = number_of(value) if isinstance(value, Value) else None
    is_days = unit is None or unit_named(unit.name) == "day"
    if not is_days or number is None or number.denominator != 1:
        return c.refused(node)
    end, start = node.this, node.expression
    days = Interval(0, timedelta(days=int(number)))
    if has_columns(end) == has_columns(start):
        return lost(f"{shown(node)} is of two columns")
    of, given = (end, start) if has_columns(end) else (start, end)
    at = moment_value(c.constants.value(given))
    is_date = kind_of(of, c.columns) == "date"
    if not is_date and not node.args.get("date_part_boundary"):
        return c.refused(node)
    day = Value("date", floored(moment(at), "day").date())
    asked = minus_value(day, days.negative() if of is end else days)
    return floored_to(c, of, operator if of is end else EXCHANGED[operator], asked, "day")


def minus_value(value: Value, by: Operand) -> Value:
    """Subtract, of a value that is no length of time."""
    found = minus(moment_value(value), by)
    assert isinstance(found, Value)  # noqa: S101 - a moment and an interval
    return found
