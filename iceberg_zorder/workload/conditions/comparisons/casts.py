"""Comparisons of a column, of a cast of it, and of its beginning with a value."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from iceberg_zorder.request.predicate import Comparison, IsNull, Name, Not, StartsWith
from iceberg_zorder.request.predicate_values import Value
from iceberg_zorder.workload.conditions.columns import integer_kind, is_moment, kind_of
from iceberg_zorder.workload.conditions.comparisons.calendar import floored_to
from iceberg_zorder.workload.conditions.comparisons.comparing import Comparing
from iceberg_zorder.workload.conditions.nodes import DATE_TYPES, INSTANT_TYPES, TEXT_TYPES, WALL_TYPES, shown
from iceberg_zorder.workload.conditions.understood import Understood, any_understood, lost
from iceberg_zorder.workload.conditions.values.arithmetic import Operand
from iceberg_zorder.workload.conditions.values.moments import Interval
from iceberg_zorder.workload.conditions.values.typed import is_date_text, number_of, number_value, typed_comparison
from iceberg_zorder.workload.normal_form import FALSE, normal_form


def inner(c: Comparing, node: exp.Expr, operator: str, value: Operand) -> Understood:
    """Compare what stands inside."""
    return c.compare(node.this, operator, value)


def column(c: Comparing, node: exp.Expr, operator: str, value: Operand) -> Understood:
    """Compare a column."""
    found = c.columns.find(node)
    if found is None:
        return c.refused(node)
    if isinstance(value, Interval):
        return lost(f"{shown(node)} is compared with a length of time")
    return Understood(normal_form(typed_comparison(found.name, found.kind, operator, value)))


def cast(c: Comparing, node: exp.Expr, operator: str, value: Operand) -> Understood:
    """Compare a column that is cast."""
    to, kind = node.args["to"].this, kind_of(node.this, c.columns)
    if kind is None:
        return c.refused(node)
    if is_moment(kind) and to in DATE_TYPES:
        return floored_to(c, node.this, operator, value, "day")
    if is_moment(kind) and to in INSTANT_TYPES | WALL_TYPES:
        return c.compare(node.this, operator, value)
    if to in TEXT_TYPES and kind == "string":
        return c.compare(node.this, operator, value)
    if to in TEXT_TYPES:
        return _as_text(c, node, kind, operator, value)
    if not _is_widened(kind, node.args["to"]):
        return lost(f"{shown(node)} does not keep the order of {kind}")
    return c.compare(node.this, operator, value)


def _as_text(c: Comparing, node: exp.Expr, kind: str, operator: str, value: Operand) -> Understood:
    content = value.content if isinstance(value, Value) else None
    if isinstance(content, str) and kind == "date" and is_date_text(content):
        return c.compare(node.this, operator, value)
    if isinstance(content, str) and integer_kind(kind) and operator in ("=", "<>"):
        number = number_of(Value("string", content))
        if number is not None and str(number) == content:
            return c.compare(node.this, operator, number_value(number))
    return lost(f"{shown(node)} is compared as text")


def beginning(c: Comparing, node: exp.Expr, operator: str, value: Operand) -> Understood:
    """Compare the first so many characters of a text."""
    is_left = isinstance(node, exp.Left)
    start = Value("integer", 1) if is_left else c.constants.value(node.args["start"])
    length = node.expression if is_left else node.args.get("length")
    text = value.content if isinstance(value, Value) else None
    found = c.columns.find(node.this)
    if found is None or found.kind != "string" or start.content != 1 or length is None or not isinstance(text, str):
        return c.refused(node)
    count = c.constants.value(length).content
    if not isinstance(count, int) or count < 1:
        return c.refused(node)
    return _prefix_comparison(found.name, operator, text, count)


def _prefix_comparison(column: Name, operator: str, text: str, count: int) -> Understood:
    """Compare the first ``count`` characters of a column."""

    def plain(operator: str) -> Understood:
        return Understood(Comparison(column, operator, Value("string", text)))

    if operator in ("=", "<>") and len(text) == count:
        return Understood(StartsWith(column, text) if operator == "=" else Not(StartsWith(column, text)))
    if operator == "=" and len(text) > count:
        return Understood(FALSE)
    if operator == "<>" and len(text) > count:
        return Understood(Not(IsNull(column)))
    if operator in ("<", "<=") and (len(text) > count or (len(text) == count and operator == "<=")):
        return any_understood([plain("<"), Understood(StartsWith(column, text[:count]))])
    # What is cut to its beginning is no greater than before.
    return plain(operator)


def _is_widened(kind: str, to: Any) -> bool:
    """Tell whether a cast keeps each value as it is."""
    Type = exp.DataType.Type  # noqa: N806 - as sqlglot has it
    whole, floating = {Type.BIGINT, Type.INT128}, {Type.DOUBLE}
    if kind == "boolean":
        return bool(to.this == Type.BOOLEAN)
    if integer_kind(kind):
        wide = whole | floating | ({Type.INT} if kind == "int" else set())
        parameters = [int(each.name) for each in to.expressions]
        is_wide_decimal = to.this == Type.DECIMAL and parameters and parameters[0] - (parameters[1:] or [0])[0] >= 19
        return to.this in wide or bool(is_wide_decimal) or (to.this == Type.DECIMAL and kind == "int")
    if kind in ("float", "double"):
        return to.this in floating or (kind == "float" and to.this == Type.FLOAT)
    if kind.startswith("decimal"):
        scale = int(kind.rstrip(")").partition(",")[2])
        parameters = [int(each.name) for each in to.expressions]
        return to.this in floating or (to.this == Type.DECIMAL and len(parameters) == 2 and parameters[1] >= scale)
    return False
