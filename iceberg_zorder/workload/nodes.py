"""Helpers for nodes of sqlglot: the columns in a node, and its text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp
from sqlglot.dialects.dialect import DialectType
from sqlglot.errors import SqlglotError

ORIGIN = "origin"
"""Key under which a condition keeps its original text."""
JOINED = "joined"
"""Key under which a condition keeps the join whose keys it has."""

UNKNOWN_KEYS = "unknown keys"
"""Key under which a join's column keeps the reason why the keys are not known."""


def columns_in(node: exp.Expr) -> Iterator[exp.Column]:
    """Return the columns of an expression, without those of subqueries.

    Examples
    --------
    >>> import sqlglot
    >>> [each.name for each in columns_in(sqlglot.parse_one("a = (SELECT max(b) FROM t) + c"))]
    ['a', 'c']
    """
    for each in node.walk(prune=lambda each: isinstance(each, exp.Query)):
        if isinstance(each, exp.Column):
            yield each


def path_of(node: exp.Expr) -> tuple[str, ...] | None:
    """Return the names of a column's source, the column and its fields; None if the node is not a column."""
    if isinstance(node, exp.Dot):
        before = path_of(node.this)
        is_name = isinstance(node.expression, exp.Identifier)
        return (*before, node.expression.name) if before is not None and is_name else None
    return (node.table, node.name) if isinstance(node, exp.Column) else None


def has_columns(node: exp.Expr) -> bool:
    """Return whether an expression has columns, or a subquery."""
    return node.find(exp.Column, exp.Query) is not None


def sql_of(node: exp.Expr, dialect: DialectType) -> str:
    """Return SQL without comments; the node's kind if sqlglot cannot generate it."""
    try:
        return node.sql(dialect=dialect, comments=False)
    except (ValueError, AttributeError, TypeError, SqlglotError):
        return node.key


def shown(node: exp.Expr) -> str:
    """Return a part of a condition as text, shortened if long."""
    plain = node.transform(lambda each: exp.column(each.name) if isinstance(each, exp.Column) else each)
    sql = re.sub(r"(%[A-Za-z])strict", r"\1", sql_of(plain, ""))
    return sql if len(sql) <= 100 else f"{sql[:97]}..."
