"""Columns of conditions as references: to a source of a statement, and a path inside it.

A reference is a column of sqlglot whose table is the number of its source, and whose name holds the path, so that
conditions that are copied from one query into another stay what they are.
"""

from __future__ import annotations

from sqlglot import exp

from iceberg_zorder.workload.conditions.nodes import PATH_SEPARATOR, SOURCE_MARK

Reference = tuple[int, tuple[str, ...]]
"""The number of a source, and the names down to the column."""


def referring(source: int, path: tuple[str, ...]) -> exp.Column:
    """Make a column of a reference.

    Examples
    --------
    >>> reference(referring(3, ("s", "x")))
    (3, ('s', 'x'))
    """
    return exp.Column(
        this=exp.Identifier(this=PATH_SEPARATOR.join(path), quoted=False),
        table=exp.Identifier(this=f"{SOURCE_MARK}{source}", quoted=False),
    )


def reference(node: exp.Expr) -> Reference | None:
    """Read a reference; None of what is none."""
    if not isinstance(node, exp.Column) or not node.table.startswith(SOURCE_MARK):
        return None
    return int(node.table[len(SOURCE_MARK) :]), tuple(node.name.split(PATH_SEPARATOR))


def sources_in(node: exp.Expr) -> set[int]:
    """Find the sources that an expression refers to, outside of subqueries; -1 is one that is not known."""
    found = set()
    for each in node.walk(prune=lambda each: isinstance(each, exp.Query)):
        if isinstance(each, exp.Column):
            known = reference(each)
            found.add(-1 if known is None else known[0])
        elif isinstance(each, exp.Query):
            found.add(-1)
    return found


def dotted(node: exp.Expr) -> tuple[str, ...] | None:
    """Read a name of any length; None of what is no name."""
    if isinstance(node, exp.Dot):
        before = dotted(node.this)
        is_name = isinstance(node.expression, exp.Identifier)
        return (*before, node.expression.name) if before is not None and is_name else None
    if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
        return tuple(part.name for part in node.parts)
    return None
