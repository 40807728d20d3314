"""Helpers for nodes of sqlglot: the columns in a node, and its text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp
from sqlglot.dialects.dialect import DialectType
from sqlglot.errors import SqlglotError

from iceberg_zorder.rewrite.predicate import TooLargeError

_MOST_LEVELS = 500
"""Greatest depth of a parsed statement: sqlglot goes from each column up to the root."""

ORIGIN = "origin"
"""Key under which a condition keeps its original text."""
JOINED = "joined"
"""Key under which a condition keeps the join whose keys it has."""

UNKNOWN_KEYS = "unknown keys"
"""Key under which a join's column keeps the reason why the keys are not known."""


def balanced(parsed: exp.Expr) -> exp.Expr:
    """Make chains of AND and OR as shallow as they can be; raises TooLargeError for a tree that is deep otherwise.

    Examples
    --------
    >>> import sqlglot
    >>> found = balanced(sqlglot.parse_one("a OR b OR c OR d"))
    >>> found.this.sql(), found.expression.sql(), found.sql()
    ('a OR b', 'c OR d', 'a OR b OR c OR d')
    """
    for node in list(parsed.find_all(exp.And, exp.Or)):
        kind = type(node)
        if type(node.parent) is not kind:
            parts = list(node.flatten(unnest=False))
            while len(parts) > 2:
                pairs = zip(parts[::2], parts[1::2], strict=False)
                parts = [*(kind(this=one, expression=other) for one, other in pairs), *parts[len(parts) & ~1 :]]
            node.set("this", parts[0])
            node.set("expression", parts[1])
    level, depth = [parsed], 0
    while level:
        level, depth = [child for node in level for child in node.iter_expressions()], depth + 1
        if depth > _MOST_LEVELS:
            raise TooLargeError("it is nested too deeply")
    return parsed


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
