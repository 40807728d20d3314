"""What nodes of sqlglot say: types, units of time, formats, and which columns they have."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp
from sqlglot.dialects.dialect import DialectType
from sqlglot.errors import SqlglotError

from iceberg_zorder.workload.conditions.values.arithmetic import UnknownValueError
from iceberg_zorder.workload.conditions.values.moments import unit_named

Type = exp.DataType.Type

ORIGIN = "origin"
"""Where a condition keeps its text as it was written."""

_STRICT = re.compile(r"(%[A-Za-z])strict")

DATE_TYPES = {Type.DATE, Type.DATE32}
INSTANT_TYPES = {Type.TIMESTAMPTZ, Type.TIMESTAMPLTZ}
WALL_TYPES = {Type.TIMESTAMP, Type.TIMESTAMPNTZ, Type.DATETIME, Type.DATETIME2, Type.DATETIME64, Type.TIMESTAMP_NS}
WALL_TYPES |= {Type.TIMESTAMP_MS, Type.TIMESTAMP_S, Type.SMALLDATETIME}
TEXT_TYPES = {Type.TEXT, Type.VARCHAR, Type.NVARCHAR, Type.CHAR, Type.NCHAR}
INTEGER_TYPES = {Type.TINYINT: "tinyint", Type.SMALLINT: "smallint", Type.INT: "int", Type.BIGINT: "bigint"}


def columns_in(node: exp.Expr) -> Iterator[exp.Column]:
    """Find the columns of an expression, without those of subqueries.

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
    """Read the name of a column's source, the column's and its fields'; None of what is no column."""
    if isinstance(node, exp.Dot):
        before = path_of(node.this)
        is_name = isinstance(node.expression, exp.Identifier)
        return (*before, node.expression.name) if before is not None and is_name else None
    return (node.table, node.name) if isinstance(node, exp.Column) else None


def has_columns(node: exp.Expr) -> bool:
    """Tell whether an expression has columns, or a subquery."""
    return any(isinstance(each, exp.Column | exp.Query) for each in node.walk())


def truncation_unit(node: exp.Expr) -> str:
    """Find the unit that DATE_TRUNC rounds to."""
    unit = node.args.get("unit")
    if isinstance(unit, exp.WeekStart):
        raise UnknownValueError(f"{shown(node)} has weeks of another kind")
    return unit_named(unit.name if unit is not None else "day")


def time_format(node: exp.Expr) -> str:
    """Find the format that dates are read or written in, as Python has it."""
    given = node.args.get("format")
    text = (given.name if given is not None else "%Y-%m-%d").replace("strict", "")
    if "%" not in text or re.search(r"%[^YmdHMS]|[A-Za-z](?<!%[YmdHMS])", text):
        raise UnknownValueError(f"{shown(node)} has the format '{text}'")
    return text


def sql_of(node: exp.Expr, dialect: DialectType) -> str:
    """Write SQL, without comments; the kind of node where sqlglot reads what it cannot write."""
    try:
        return node.sql(dialect=dialect, comments=False)
    except (ValueError, AttributeError, TypeError, SqlglotError):
        return node.key


def shown(node: exp.Expr) -> str:
    """Write a part of a condition, without the end of a long one."""
    plain = node.transform(lambda each: exp.column(each.name) if isinstance(each, exp.Column) else each)
    sql = _STRICT.sub(r"\1", sql_of(plain, ""))
    return sql if len(sql) <= 100 else f"{sql[:97]}..."
