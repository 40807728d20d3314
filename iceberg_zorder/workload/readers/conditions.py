"""Workloads from conditions: what stands after WHERE, without a query around it."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.workload.conditions.values.constants import Clock
from iceberg_zorder.workload.readers.rows import BadRow, Row
from iceberg_zorder.workload.readers.statements import add_filter
from iceberg_zorder.workload.scanned_table import ScannedTable
from iceberg_zorder.workload.scans import qualified_condition
from iceberg_zorder.workload.statement_filters import scan_filter
from iceberg_zorder.workload.workload import Gathered


def add_conditions(
    gathered: Gathered, rows: Iterable[Row | BadRow], table: ScannedTable, clock: Clock, dialect: str | None
) -> None:
    """Count scans that have conditions.

    Examples
    --------
    >>> from datetime import datetime, timezone
    >>> gathered, clock = Gathered(), Clock(datetime(2024, 5, 17, tzinfo=timezone.utc))
    >>> table = ScannedTable(("db", "t"), {("day",): "date"})
    >>> add_conditions(gathered, [Row("day > current_date() - 7", 3.0)], table, clock, None)
    >>> gathered.workload().queries
    (Query(filter="day > DATE '2024-05-10'", weight=3.0, weaker=0.0),)
    """
    found = Dialect.get_or_raise(dialect or "spark")
    for row in rows:
        if isinstance(row, BadRow):
            gathered.miss("statement", row.text, row.reason, 1.0)
            continue
        try:
            scan = qualified_condition(exp.condition(row.text, dialect=found), table, found)
        except SqlglotError:
            gathered.miss("statement", row.text, "it cannot be parsed", row.weight)
            continue
        except InvalidInputError as error:
            gathered.miss("statement", row.text, str(error), row.weight)
            continue
        at = clock if row.at is None else Clock(row.at)
        add_filter(gathered, scan_filter(scan, table, at), row.weight)


def condition_lines(text: str) -> list[Row]:
    r"""Read one condition a line; lines that begin with # or -- are left out.

    Examples
    --------
    >>> [row.text for row in condition_lines("# two\na = 1\n\nb > 2;\n")]
    ['a = 1', 'b > 2']
    """
    lines = (line.strip().rstrip(";").rstrip() for line in text.splitlines())
    return [Row(line) for line in lines if line and not line.startswith(("#", "--"))]
