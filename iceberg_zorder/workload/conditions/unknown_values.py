"""Comparisons with values that are not known: by which column they filter, and how."""

from __future__ import annotations

from sqlglot import exp

from iceberg_zorder.workload.conditions.columns import Columns, refused
from iceberg_zorder.workload.conditions.nodes import has_columns
from iceberg_zorder.workload.conditions.understood import Understood, lost, unknown_value
from iceberg_zorder.workload.filtered_columns import Kinds

_KINDS = {"=": "=", "<>": "other", "like": "prefix"}
_WRAPPERS = (exp.Paren, exp.Cast, exp.Neg, exp.Coalesce, exp.Nullif, exp.AtTimeZone)
_ROUNDED = (exp.Date, exp.TsOrDsToDate, exp.DateTrunc, exp.TimestampTrunc, exp.Year)


def unknown_comparison(columns: Columns, node: exp.Expr, operator: str, reason: str) -> Understood:
    """Understand a comparison of an expression with a value that is not known, such as a parameter."""
    found = _filtered(columns, node, _KINDS.get(operator, "range"))
    if found:
        return unknown_value(found)
    return refused(node, columns) if has_columns(node) and columns.find(node) is None else lost(reason)


def _filtered(columns: Columns, node: exp.Expr, kind: str) -> Kinds:
    column = columns.find(node)
    if column is not None:
        return {column.name: kind}
    if isinstance(node, _WRAPPERS):
        return _filtered(columns, node.this, kind)
    if isinstance(node, _ROUNDED):
        return _filtered(columns, node.this, "range" if kind == "=" else kind)
    if isinstance(node, exp.Substring | exp.Left):
        return _filtered(columns, node.this, "prefix")
    if isinstance(node, exp.Add | exp.Sub | exp.Mul):
        sides = [each for each in (node.this, node.expression) if has_columns(each)]
        return _filtered(columns, sides[0], kind) if len(sides) == 1 else {}
    return {}
