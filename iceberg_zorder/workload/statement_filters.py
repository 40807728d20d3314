"""The filters of the scans of a statement."""

from __future__ import annotations

from datetime import datetime

from iceberg_zorder.rewrite.predicate import TRUE
from iceberg_zorder.workload.conditions import Conditions, Understood, all_understood
from iceberg_zorder.workload.nodes import JOINED, ORIGIN, columns_in, shown
from iceberg_zorder.workload.predicate_text import column_text, predicate_text
from iceberg_zorder.workload.scanned_table import Scan, ScannedTable
from iceberg_zorder.workload.workload import JoinKeys, ScanFilter


def scan_filter(scan: Scan, table: ScannedTable, now: datetime) -> ScanFilter:
    """Return the filter that all relevant rows of a scan meet.

    Examples
    --------
    >>> import sqlglot
    >>> from datetime import datetime, timezone
    >>> from sqlglot.dialects.dialect import Dialect
    >>> from iceberg_zorder.workload.scans import find_scans
    >>> table = ScannedTable(("db", "t"), {("a",): "long"})
    >>> statement = sqlglot.parse_one("SELECT * FROM t JOIN u ON t.a = u.k WHERE u.k IN (1, 2)")
    >>> (scan,) = find_scans(statement, table, Dialect.get_or_raise(None))
    >>> scan_filter(scan, table, datetime.now(timezone.utc)).filter
    'a IN (1, 2)'
    """
    name = scan.node.alias_or_name
    conditions = Conditions(table, name, now)
    select = scan.node.parent_select
    is_alone = select is None or not (select.args.get("joins") or select.args.get("laterals"))
    found: list[Understood] = []
    missing: dict[tuple[str, str], None] = {}
    joins: dict[JoinKeys, None] = {}
    for fact in scan.facts:
        sources = {each.table for each in columns_in(fact)}
        if sources and name not in sources and not is_alone:
            continue
        understood = conditions.true_of(fact)
        found.append(understood)
        if JOINED in fact.meta and understood.predicate != TRUE:
            joins[fact.meta[JOINED]] = None
        if understood.lost and (is_alone or name in sources):
            reason = scan.unknown_keys.get(id(fact), understood.lost[0])
            missing[fact.meta.get(ORIGIN) or shown(fact), reason] = None
    whole = all_understood(found)
    unknown = {column_text(column): kind for column, kind in whole.unknown.items()}
    return ScanFilter(predicate_text(whole.predicate), unknown, tuple(missing), tuple(joins))
