"""Helpers for nodes of sqlglot: the columns in a node, and its text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sqlglot import exp
from sqlglot.dialects.dialect import DialectType
from sqlglot.errors import SqlglotError

from iceberg_zorder.rewrite.predicate import TooLargeError

OWN_TABLE = "TABLE"
"""What the inliner calls the table whose scans are looked for."""
HALF_JOINS = ("HALF SEMI", "HALF ANTI")
"""What the inliner calls kinds of joins whose right sides sqlglot's scopes leave out otherwise."""
MOVED = ("joins", "laterals", "pivots", "sample")
"""What stands beside a table, and stays beside a query in its place."""
_MOST_LEVELS = 500
"""Greatest depth of a parsed statement: sqlglot goes from each column up to the root."""

ORIGIN = "origin"
"""Key under which a condition keeps its original text, if its names are what they seem."""
SHARED_NAMES = "shared names"
"""Key of joins by USING behind an outer join: their names stand for a column of either side."""
JOINED = "joined"
"""Key under which a condition keeps the join whose keys it has."""


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


def conjuncts(condition: exp.Expr | None) -> Iterator[exp.Expr]:
    """Split a condition at AND."""
    if condition is None:
        return
    condition = condition.unnest()
    if isinstance(condition, exp.And):
        for each in condition.flatten():
            yield from conjuncts(each)
    else:
        yield condition


def with_values(fact: exp.Expr, values: Mapping[str, exp.Expr]) -> exp.Expr:
    """Return a condition with values in place of columns, by their names."""
    root = exp.Paren(this=fact.copy())
    for column in list(columns_in(root)):
        value = values[column.name]
        column.replace(value.copy() if isinstance(value, exp.Column) else exp.Paren(this=value.copy()))
    found: exp.Expr = root.this
    found.pop()
    return found


def is_cut(query: exp.Expr) -> bool:
    """Return whether a query keeps only some rows, and the choice depends on all rows, as with LIMIT."""
    distinct = query.args.get("distinct")
    is_first = isinstance(distinct, exp.Distinct) and distinct.args.get("on") is not None
    if is_first or any(query.args.get(key) for key in ("limit", "offset", "sample", "pivots")):
        return True
    # Queries inside are asked for themselves.
    own = query.walk(prune=lambda each: each is not query and isinstance(each, exp.Query))
    return any(isinstance(each, exp.Column) and each.name.lower() == "rownum" for each in own)


def is_of_sources(node: exp.Expr | None, names: set[str]) -> bool:
    """Return whether a node is a column of one of several sources."""
    return isinstance(node, exp.Column) and node.table in names


def both_ways(equal: exp.EQ) -> list[tuple[exp.Expr, exp.Expr]]:
    """Return the sides of an equality in either order."""
    return [(equal.this, equal.expression), (equal.expression, equal.this)]


def holds_for_equals(condition: exp.Expr) -> bool:
    """Return whether a condition on a column holds for columns that equal it, whatever their types.

    Text may stand for a date beside one column, and for itself beside the other, where the order differs.
    """
    return isinstance(condition, exp.EQ | exp.In) or not any(text.is_string for text in condition.find_all(exp.Literal))
