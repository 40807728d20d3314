"""The columns of a table in conditions, and the types of expressions over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from sqlglot import exp

from iceberg_zorder.request.predicate import Name
from iceberg_zorder.workload.conditions.nodes import (
    DATE_TYPES,
    INSTANT_TYPES,
    INTEGER_TYPES,
    TEXT_TYPES,
    WALL_TYPES,
    columns_in,
    has_columns,
    shown,
)
from iceberg_zorder.workload.conditions.understood import Understood, lost
from iceberg_zorder.workload.conditions.values.typed import INTEGERS, MOMENTS

Type = exp.DataType.Type
_DATES = (exp.Date, exp.TsOrDsToDate, exp.LastDay)
_KEPT = (
    *(exp.Paren, exp.Neg, exp.Coalesce, exp.Nullif, exp.DateTrunc, exp.TimestampTrunc, exp.DatetimeTrunc),
    *(exp.DateAdd, exp.DateSub, exp.TimestampAdd, exp.TimestampSub, exp.AtTimeZone),
)
"""Functions whose type is that of their first argument."""


@dataclass(frozen=True)
class Column:
    """A column of the table.

    Parameters
    ----------
    name : tuple of str
        Its name, and that of the fields down to it.
    kind : str
        Its type, as Iceberg writes it.
    """

    name: Name
    kind: str


class Columns(Protocol):
    """Which columns of a condition are the table's."""

    def find(self, node: exp.Expr) -> Column | None:
        """Find a column of the table; None if it is another one's, or no column."""

    def foreign(self, node: exp.Column) -> str:
        """Say why a column is none of the table, as the end of a sentence."""


def refused(node: exp.Expr, columns: Columns) -> Understood:
    """Say why nothing is understood of an expression."""
    for column in columns_in(node):
        whole: exp.Expr = column
        while isinstance(whole.parent, exp.Dot):
            whole = whole.parent
        if columns.find(column) is None and columns.find(whole) is None:
            return lost(columns.foreign(column))
    if any(isinstance(each, exp.Query) for each in node.walk()):
        return lost("it asks a subquery")
    return lost(f"{shown(node)} is neither a column nor a value")


def kind_of(node: exp.Expr, columns: Columns) -> str | None:
    """Find the type of an expression, as Iceberg writes it; None if it is not known."""
    if isinstance(node, exp.Column | exp.Dot):
        found = columns.find(node)
        return found.kind if found is not None else None
    if isinstance(node, exp.Cast):
        return _kind_of_cast(node)
    if isinstance(node, _DATES):
        return "date"
    if isinstance(node, exp.TsOrDsAdd):
        return "date"
    if isinstance(node, _KEPT):
        return kind_of(node.this, columns)
    if isinstance(node, exp.Add | exp.Sub | exp.Mul):
        sides = [each for each in (node.this, node.expression) if has_columns(each)]
        kind = kind_of(sides[0], columns) if len(sides) == 1 else None
        # What is left of two dates is no date.
        is_difference = isinstance(node, exp.Sub) and is_moment(kind) and not isinstance(node.expression, exp.Interval)
        return None if is_difference and not isinstance(node.expression, exp.Literal) else kind
    return None


def integer_kind(kind: str | None) -> bool:
    """Tell whether a type has whole numbers."""
    return kind in INTEGERS


def is_moment(kind: str | None) -> bool:
    """Tell whether a type has dates, or timestamps."""
    return kind in MOMENTS


def _kind_of_cast(node: exp.Cast) -> str | None:
    to = node.args["to"]
    if to.this in DATE_TYPES:
        return "date"
    if to.this in WALL_TYPES | INSTANT_TYPES:
        return "timestamptz" if to.this in INSTANT_TYPES else "timestamp"
    if to.this in TEXT_TYPES:
        return "string"
    if to.this in INTEGER_TYPES:
        return "long" if to.this == Type.BIGINT else "int"
    if to.this == Type.DECIMAL and len(to.expressions) == 2:
        return f"decimal({', '.join(each.name for each in to.expressions)})"
    return "double" if to.this in (Type.DOUBLE, Type.FLOAT) else None
