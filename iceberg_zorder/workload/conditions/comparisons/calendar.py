"""Comparisons of dates that are rounded, written or counted with a value."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from fractions import Fraction

from sqlglot import exp

from iceberg_zorder.request.predicate_values import Value
from iceberg_zorder.workload.conditions.columns import integer_kind, is_moment, kind_of
from iceberg_zorder.workload.conditions.comparisons.comparing import Comparing
from iceberg_zorder.workload.conditions.nodes import shown, time_format, truncation_unit
from iceberg_zorder.workload.conditions.understood import Understood, all_understood, any_understood, lost
from iceberg_zorder.workload.conditions.values.arithmetic import Operand, moment
from iceberg_zorder.workload.conditions.values.moments import Interval, floored, following, unit_named
from iceberg_zorder.workload.conditions.values.typed import number_of, number_value
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
    """Compare a part of a moment: its year, or all seconds of it."""
    name, of = (node.name, node.expression) if isinstance(node, exp.Extract) else (node.key, node.this)
    if name.lower() == "epoch":
        return epoch(c, node, operator, value)
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
    is_epoch = isinstance(node, exp.UnixToStr)
    is_known = integer_kind(kind_of(of, c.columns)) if is_epoch else is_moment(kind_of(of, c.columns))
    if written is None or not is_known:
        return c.refused(node)
    if is_epoch:
        of = exp.UnixToTime(this=of.copy())
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


def epoch(c: Comparing, node: exp.Expr, operator: str, value: Operand) -> Understood:
    """Compare seconds since 1970, which are rounded down by some dialects, and by others not."""
    of = node.expression if isinstance(node, exp.Extract) else node.this
    number = number_of(value) if isinstance(value, Value) else None
    if number is None or not is_moment(kind_of(of, c.columns)):
        return c.refused(node)
    start = datetime(1970, 1, 1) + timedelta(microseconds=int(number * 1_000_000))
    end = start + timedelta(seconds=1)
    moments = Value("timestamp_ntz", start), Value("timestamp_ntz", end)
    if operator == "=":
        return all_understood([c.compare(of, ">=", moments[0]), c.compare(of, "<", moments[1])])
    if operator == "<=":
        return c.compare(of, "<", moments[1])
    return c.compare(of, operator, moments[0]) if operator != "<>" else lost(f"{shown(node)} may be rounded")


def of_epoch(c: Comparing, node: exp.Expr, operator: str, value: Operand) -> Understood:
    """Compare the moment of a number of seconds since 1970, or of parts of them."""
    scale = node.args.get("scale")
    digits = 0 if scale is None else c.constants.value(scale).content
    if not integer_kind(kind_of(node.this, c.columns)) or not isinstance(digits, int) or isinstance(value, Interval):
        return c.refused(node)
    micros = (moment(value) - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    return c.compare(node.this, operator, number_value(Fraction(micros * 10**digits, 1_000_000)))
