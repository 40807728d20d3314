"""The filters that the scans of a statement have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from iceberg_zorder.workload.conditions.calendar_parts import with_whole_dates
from iceberg_zorder.workload.conditions.columns import Column
from iceberg_zorder.workload.conditions.condition import Conditions
from iceberg_zorder.workload.conditions.nodes import columns_in
from iceberg_zorder.workload.conditions.understood import Understood, all_understood
from iceberg_zorder.workload.conditions.values.constants import Clock, Constants
from iceberg_zorder.workload.filtered_columns import Kinds
from iceberg_zorder.workload.predicate_text import column_text, predicate_text
from iceberg_zorder.workload.scanned_table import ScannedTable
from iceberg_zorder.workload.scans.finder import Scan
from iceberg_zorder.workload.scans.references import Reference, reference
from iceberg_zorder.workload.scans.relations import Fact


@dataclass(frozen=True)
class ScanFilter:
    """What is known of a scan.

    Parameters
    ----------
    filter : str
        The filter, ``TRUE`` if there is none.
    unknown : dict of tuple of str to str
        Columns that are compared with values that are not known, and how.
    lost : tuple of (sqlglot.exp.Expr, str)
        Conditions that the filter leaves out, in whole or in part, and why.
    """

    filter: str
    unknown: Kinds = field(default_factory=dict)
    lost: tuple[tuple[exp.Expr, str], ...] = ()


def scan_filter(scan: Scan, table: ScannedTable, clock: Clock) -> ScanFilter:
    """Find the filter of a scan.

    Parameters
    ----------
    scan : Scan
        The scan.
    table : ScannedTable
        Its table.
    clock : Clock
        When the statement runs.

    Returns
    -------
    ScanFilter
        What is true of all rows of the scan that matter.

    Examples
    --------
    >>> import sqlglot
    >>> from datetime import datetime, timezone
    >>> from iceberg_zorder.workload.scans.finder import ScanFinder
    >>> table = ScannedTable(("db", "t"), {("a",): "long"})
    >>> (scan,) = ScanFinder(table).scans(sqlglot.parse_one("SELECT * FROM t JOIN u ON t.a = u.k WHERE u.k IN (1, 2)"))
    >>> scan_filter(scan, table, Clock(datetime.now(timezone.utc))).filter
    'a IN (1, 2)'
    """
    number = scan.source.number
    conditions = Conditions(_Columns(table, number, scan.facts), Constants(clock))
    found: list[Understood] = []
    missing: list[tuple[exp.Expr, str]] = []
    asked = with_whole_dates([fact.condition for fact in scan.facts])
    for fact, condition in zip(scan.facts, asked, strict=True):
        understood = conditions.true_of(condition)
        found.append(understood)
        if understood.lost and any((reference(each) or (-1,))[0] == number for each in columns_in(fact.condition)):
            missing.append((fact.origin, understood.lost[0]))
    whole = all_understood(found)
    return ScanFilter(predicate_text(whole.predicate), whole.unknown, tuple(missing))


class _Columns:
    """The columns of one scan, and those of other sources that a join makes equal to them."""

    def __init__(self, table: ScannedTable, number: int, facts: Sequence[Fact]) -> None:
        self._table = table
        self._number = number
        self._equal = _Equal(facts)

    def find(self, node: exp.Expr) -> Column | None:
        found = reference(node)
        if found is None:
            return None
        if found[0] == self._number:
            known = self._table.column(found[1])
            return None if known is None else Column(*known)
        for _, path in sorted(each for each in self._equal.to(found) if each[0] == self._number):
            known = self._table.column(path)
            if known is not None:
                return Column(*known, is_inferred=True)
        return None

    def foreign(self, node: exp.Column) -> str:
        found = reference(node)
        if found is not None and found[0] == self._number:
            return f"there is no column {column_text(found[1])} in {'.'.join(self._table.identifier)}"
        return "it asks for a column of another table"


class _Equal:
    """Which columns conditions make equal."""

    def __init__(self, facts: Sequence[Fact]) -> None:
        self._groups: dict[Reference, set[Reference]] = {}
        for fact in facts:
            node = fact.condition.unnest()
            if isinstance(node, exp.EQ):
                sides = [_lower(reference(each.unnest())) for each in (node.this, node.expression)]
                if sides[0] is not None and sides[1] is not None:
                    self._join(sides[0], sides[1])

    def to(self, column: Reference) -> set[Reference]:
        return self._groups.get(_lower(column) or column, set())

    def _join(self, one: Reference, other: Reference) -> None:
        joined = self._groups.get(one, {one}) | self._groups.get(other, {other})
        for each in joined:
            self._groups[each] = joined


def _lower(column: Reference | None) -> Reference | None:
    return None if column is None else (column[0], tuple(part.lower() for part in column[1]))
