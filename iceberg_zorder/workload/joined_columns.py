"""The columns by which queries join a table; the joined keys are known only while a query runs."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp, parse_one

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.rewrite.predicate import Name, parsing
from iceberg_zorder.workload.scanned_table import ScannedTable
from iceberg_zorder.workload.workload import Workload

_MISNAMED = "there is no column"
"""The reason for an unknown name; a column of another table has another reason."""


def joined_columns(workload: Workload, table: ScannedTable) -> dict[Name, float]:
    """Return the columns that queries compare for equality with columns of other tables or with subqueries.

    Examples
    --------
    >>> from iceberg_zorder.workload.workload import NotUnderstood, Query
    >>> texts = ["s.day = d.day", "d.key = s.item", "upper(name) = d.key", "item IN (SELECT k FROM d)", "day = day"]
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
            # A scan may have several join columns.
            found[name] = min(found.get(name, 0.0) + part.weight, workload.weight)
    return dict(sorted(found.items(), key=lambda each: -each[1]))


def _joined_column(text: str, table: ScannedTable) -> Name | None:
    """Return the table's only column in a join condition; None if the text is not one."""
    try:
        with parsing():
            # The dialect is no longer known; dialects differ in quotes.
            node = parse_one(text, dialect="spark" if "`" in text else "tsql" if "[" in text else None)
    except InvalidInputError:
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
    # If the table has both names, its own column is ambiguous.
    return names.pop() if len(names) == 1 else None


def _found(parts: Sequence[str], table: ScannedTable) -> Name | None:
    """Return the column that a name ends with; a struct's field wins over a column of the same name."""
    found = (table.column(parts[start:]) for start in range(len(parts)))
    return next((each[0] for each in found if each is not None), None)
