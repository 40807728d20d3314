"""Comparisons of sums, products and differences with a value."""

from __future__ import annotations

from datetime import timedelta

from sqlglot import exp

from iceberg_zorder.request.predicate_values import Value
from iceberg_zorder.workload.conditions.columns import integer_kind, is_moment, kind_of
from iceberg_zorder.workload.conditions.comparisons.calendar import floored_to
from iceberg_zorder.workload.conditions.comparisons.comparing import EXCHANGED, Comparing
from iceberg_zorder.workload.conditions.nodes import has_columns, shown
from iceberg_zorder.workload.conditions.understood import Understood, lost
from iceberg_zorder.workload.conditions.values.arithmetic import Operand, minus, moment, moment_value, numbers, plus
from iceberg_zorder.workload.conditions.values.moments import Interval, floored, unit_named
from iceberg_zorder.workload.conditions.values.typed import number_of, number_value


def negative(c: Comparing, node: exp.Expr, operator: str, value: Operand) -> Understood:
    """Compare a number whose sign is changed."""
    if not _is_exact(kind_of(node.this, c.columns)):
        return c.refused(node)
    return c.compare(node.this, EXCHANGED[operator], minus(Value("integer", 0), value))


def sum_of(c: Comparing, node: exp.Expr, operator: str, value: Operand) -> Understood:
    """Compare a sum or a difference."""
    left, right = node.this, node.expression
    is_added = isinstance(node, exp.Add)
    if not has_columns(right):
        return moved(c, left, operator, value, c.constants.operand(right), is_added=is_added)
    if has_columns(left):
        return lost(f"{shown(node)} is of two columns")
    constant = c.constants.operand(left)
    if is_added:
        return moved(c, right, operator, value, constant, is_added=True)
    kind = kind_of(right, c.columns)
    if isinstance(constant, Value) and is_moment(kind):
        is_days = kind == "date" and isinstance(value, Value) and value.type == "integer"
        if is_days or isinstance(value, Interval):
            return _moved_moment(c, right, EXCHANGED[operator], constant, value)
        return c.refused(node)
    if not isinstance(constant, Value) or not _is_exact(kind):
        return c.refused(node)
    return c.compare(right, EXCHANGED[operator], minus(constant, value))


def moved(c: Comparing, node: exp.Expr, operator: str, value: Operand, by: Operand, *, is_added: bool) -> Understood:
    """Compare a sum, or a difference, of an expression and a constant."""
    kind = kind_of(node, c.columns)
    if is_moment(kind):
        if isinstance(by, Interval):
            return _moved_moment(c, node, operator, value, by if is_added else by.negative())
        if not is_added and by.type in ("date", "timestamp", "timestamp_ntz"):
            if isinstance(value, Interval) and value.months:
                return lost("a month has no length")
            return c.compare(node, operator, plus(by, value))
        if kind == "date" and by.type == "integer" and isinstance(value, Value):
            return c.compare(
                node, operator, minus(moment_value(value), by) if is_added else plus(moment_value(value), by)
            )
    if isinstance(value, Value) and isinstance(by, Value) and _is_exact(kind):
        a, b = numbers(value, by)
        return c.compare(node, operator, number_value(a - b if is_added else a + b))
    return c.refused(node)


def _moved_moment(c: Comparing, node: exp.Expr, operator: str, value: Operand, by: Operand) -> Understood:
    if isinstance(by, Interval) and by.months:
        return lost("a month has no length")
    if not isinstance(value, Value):
        return c.refused(node)
    return c.compare(node, operator, minus(moment_value(value), by))


def product(c: Comparing, node: exp.Expr, operator: str, value: Operand) -> Understood:
    """Compare a product."""
    of, by = (node.expression, node.this) if has_columns(node.expression) else (node.this, node.expression)
    if has_columns(by) or not isinstance(value, Value) or not _is_exact(kind_of(of, c.columns)):
        return c.refused(node)
    number, factor = numbers(value, c.constants.value(by))
    if factor == 0:
        return c.refused(node)
    return c.compare(of, operator if factor > 0 else EXCHANGED[operator], number_value(number / factor))


def shifted(c: Comparing, node: exp.Expr, operator: str, value: Operand) -> Understood:
    """Compare a date to which so many units are added."""
    kind = kind_of(node.this, c.columns)
    by = c.constants.shift(node)
    if isinstance(node, exp.TsOrDsAdd) and kind in ("timestamp", "timestamptz"):
        if not isinstance(value, Value) or by.months:
            return c.refused(node)
        return floored_to(c, node.this, operator, moment_value(minus_value(value, by)), "day")
    return moved(c, node.this, operator, value, by, is_added=True)


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


def _is_exact(kind: str | None) -> bool:
    return integer_kind(kind) or bool(kind and kind.startswith("decimal"))
