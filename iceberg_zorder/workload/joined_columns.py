"""The columns by which queries join a table; the joined keys are known only while a query runs."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from iceberg_zorder.rewrite.predicate import Name
from iceberg_zorder.workload.scanned_table import ScannedTable
from iceberg_zorder.workload.workload import Workload

_MISNAMED = "there is no column"
"""Why a name stands for nothing that is known, rather than for a column of another table."""
_USING = "USING ("


def joined_columns(workload: Workload, table: ScannedTable) -> dict[Name, float]:
    """Return the columns that queries make equal to those of other tables, or to what a subquery gives.

    Examples
    --------
    >>> from iceberg_zorder.workload.workload import NotUnderstood, Query
    >>> texts = ["s.day = d.day", "d.key = s.item", "upper(name) = d.key", "item IN (SELECT k FROM d)", "USING (day)"]
    >>> lost = [NotUnderstood("part", text, "", weight) for text, weight in zip(texts, [2, 3, 9, 1.5, 0.5])]
    >>> table = ScannedTable(("db", "s"), {("day",): "int", ("item",): "int", ("name",): "string"})
    >>> joined_columns(Workload.of([Query("TRUE", 4.0)], not_understood=lost), table)
    {('item',): 4.0, ('day',): 2.5}
    """
    found: dict[Name, float] = {}
    for part in workload.not_understood:
        if part.kind != "part" or not part.weight or part.reason.startswith(_MISNAMED):
            continue
        name = _joined_column(part.text, table)
        if name is not None:
            # A scan may have several.
            found[name] = min(found.get(name, 0.0) + part.weight, workload.weight)
    return dict(sorted(found.items(), key=lambda each: -each[1]))


def _joined_column(text: str, table: ScannedTable) -> Name | None:
    """Return the one column of the table that a text compares with columns of others; None if it is not that."""
    if text.startswith(_USING) and text.endswith(")"):
        # As it is noted of a join, with the name as it is.
        using = table.column([text[len(_USING) : -1]])
        return None if using is None else using[0]
    try:
        # In whose dialect it is, is not known any more; quotes are what they differ in.
        node = parse_one(text, dialect="spark" if "`" in text else "tsql" if "[" in text else None)
    except SqlglotError:
        return None
    if isinstance(node, exp.In) and node.args.get("query"):
        sides = [node.this]
    elif isinstance(node, exp.EQ):
        sides = [node.this, node.expression]
    else:
        return None
    if not all(isinstance(side, exp.Column) for side in sides):
        return None
    names = {found for side in sides if (found := _found([part.name for part in side.parts], table)) is not None}
    # Of two names that the table has both, nobody knows here which one is its own.
    return names.pop() if len(names) == 1 else None


def _found(parts: Sequence[str], table: ScannedTable) -> Name | None:
    """Return the column that a name ends with: the field of a struct before a column that is named as the field is."""
    found = (table.column(parts[start:]) for start in range(len(parts)))
    return next((each[0] for each in found if each is not None), None)
