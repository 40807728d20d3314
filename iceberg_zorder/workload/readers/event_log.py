"""Workloads from Spark's event logs: the filters of Iceberg's scans in the plans of executed queries."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import sqlglot
from sqlglot import exp

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.columns import quoted_name
from iceberg_zorder.rewrite.predicate import MOST_CHARACTERS, limited_dialect, parsing
from iceberg_zorder.workload.nodes import balanced
from iceberg_zorder.workload.readers.files import MOST_BYTES
from iceberg_zorder.workload.scanned_table import ScannedTable
from iceberg_zorder.workload.scans import qualified_condition
from iceberg_zorder.workload.statement_filters import scan_filter
from iceberg_zorder.workload.workload import FAILED, Gathered, ScanFilter

_START, _END = "SparkListenerSQLExecutionStart", "SparkListenerSQLExecutionEnd"
# Each is searched once: one expression for the whole text takes minutes for hostile text of a kilobyte.
_BEGIN = re.compile(r"Iceberg\w{0,40}\(table=")
_AFTER_NAME = re.compile(r", (?:schemaId|snapshotId|branch|type|caseSensitive)=")
_AFTER_FILTERS = re.compile(", runtimeFilters=|, groupedBy=")
_BEFORE_1_11 = re.compile(r"\] (?=\S)")
_HIDDEN = "(redacted)"
_OF_FILES = re.compile(r"_file#\d+ IN ")
_SPARK = limited_dialect("spark")
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_TEXT = re.compile(r"'(.*?)'(?=$|\)|, | AND | OR )|'.*", re.DOTALL)
"""A text without escapes: a quote ends the text if the filter continues after the quote. The rest if none does."""
_OPERATORS = r"(?= (?:=|!=|<=|>=|<|>|IS |NOT IN |IN |LIKE |NOT LIKE )|\))"

_Scans = list[tuple[Any, str]]
"""Scans of an execution: the root execution's hash, None for a cached scan, and the text."""
_MOST_KEPT = MOST_BYTES >> 2
"""Most characters of the scans of running executions, of which each counts as a thousand more."""


class EventLogReader:
    """Reads event logs of one application after the other; ``gathered`` counts the scans of the table.

    Examples
    --------
    >>> scan = "BatchScan lake.db.t[a#1] IcebergScan(table=lake.db.t, schemaId=0, filters=a = 1) RuntimeFilters: []"
    >>> plan = {"nodeName": "BatchScan lake.db.t", "simpleString": scan, "children": []}
    >>> event = {"Event": "SparkListenerSQLExecutionStart", "executionId": 7, "sparkPlanInfo": plan}
    >>> gathered = Gathered()
    >>> EventLogReader(ScannedTable(("db", "t"), {("a",): "long"}), gathered).add([json.dumps(event)])
    1
    >>> gathered.workload().queries
    (Query(filter='a = 1', weight=1.0, weaker=0.0),)
    """

    def __init__(self, table: ScannedTable, gathered: Gathered) -> None:
        self._table = table
        self._gathered = gathered

    def add(self, lines: Iterable[str]) -> int:
        """Count the scans of an application.

        Adaptive changes of a running plan are not counted again, and a cached scan is counted once. Those of failed
        executions are listed, and not counted. For copy-on-write deletes and updates, the scan that finds the files is
        counted. If the scans of running executions fill the memory, the oldest ones count as ended.
        """
        seen: set[int] = set()
        running: dict[int, list[_Scans]] = {}
        events = kept = 0
        for line in lines:
            events += '"Event":' in line[:20]
            is_start = _START in line[:200]
            if not is_start and _END not in line[:200]:
                continue
            try:
                event = json.loads(line)
                execution = hash(event.get("executionId"))
                root = hash(event.get("rootExecutionId", event.get("executionId")))
                in_plan = [*_scans(event.get("sparkPlanInfo") or {})] if is_start else []
            except (ValueError, TypeError, AttributeError, RecursionError):
                self._gathered.miss("statement", line[:100], "it is not an event of Spark, or is too long", 1.0)
                continue
            if is_start:
                scans = [(None if is_cached else root, text) for text, is_cached in in_plan]
                running.setdefault(execution, []).append(scans)
                kept += _size([scans])
                while kept > _MOST_KEPT:
                    kept -= self._end(running.pop(next(iter(running))), seen)
            else:
                kept -= self._end(running.pop(execution, []), seen, has_failed=bool(event.get("errorMessage")))
        for executions in running.values():
            self._end(executions, seen)
        return events

    def _end(self, executions: list[_Scans], seen: set[int], *, has_failed: bool = False) -> int:
        """Count the scans of executions, and return their size."""
        for scans in executions:
            is_elsewhere = True
            for of, text in scans:
                key = hash((of, text, has_failed))
                if key not in seen:
                    seen.add(key)
                    is_elsewhere &= not self._scan(text, has_failed=has_failed)
            self._gathered.elsewhere += is_elsewhere
        return _size(executions)

    def _scan(self, text: str, *, has_failed: bool) -> bool:
        """Count a scan if it reads the table; return whether it does."""
        is_long = len(text) > MOST_CHARACTERS
        parts = None if is_long else _parts_of(text)
        name, filters, runtime = parts or (text.removeprefix("BatchScan ").partition("[")[0], "", "")
        own = ".".join(self._table.identifier).lower()
        given = re.sub(r"\.(branch|tag)_[^.]*$", "", name.lower())
        if given != own and not given.endswith(f".{own}"):
            return False
        if parts is None:
            is_known = is_long or "filters=" in text
            why = "it is too long" if is_long else "this kind of scan is not known"
            if is_known:
                self._gathered.miss("statement", text, why, 1.0)
            return is_known
        if _OF_FILES.search(runtime):
            return False
        if has_failed:
            self._gathered.miss("statement", filters or "TRUE", FAILED, 1.0)
            return True
        lost = ((runtime, "the values that a join finds are not known"),) if runtime else ()
        try:
            read = filter_of_scan(filters, self._table)
        except InvalidInputError as error:
            read = ScanFilter("TRUE", lost=((filters, str(error)),))
        self._gathered.add(replace(read, lost=lost + read.lost), 1.0)
        return True


def _size(executions: list[_Scans]) -> int:
    return sum(1_000 * (1 + len(scans)) + sum(len(text) for _, text in scans) for scans in executions)


def _parts_of(text: str) -> tuple[str, str, str] | None:
    """Return the table, the filters and the runtime filters of a scan; None if it is not one of Iceberg."""
    scan, separator, runtime = text.rpartition(" RuntimeFilters: [")
    if not separator or not runtime.endswith("]"):
        return None
    begin = _BEGIN.search(scan)
    end = _AFTER_NAME.search(scan, begin.end()) if begin else None
    if begin and end and scan.endswith(")") and (at := scan.find("filters=", end.end())) >= 0:
        return (
            scan[begin.end() : end.start()],
            _AFTER_FILTERS.split(scan[at + len("filters=") : -1], 1)[0],
            runtime[:-1],
        )
    begin = _BEFORE_1_11.search(scan)
    name, branch, rest = scan[begin.end() :].partition(" (branch=") if begin else ("", "", "")
    filters, grouped, _ = rest.partition(") [filters=")[2].rpartition(", groupedBy=")
    return (name, filters, runtime[:-1]) if branch and grouped and scan.endswith("]") else None


def filter_of_scan(text: str, table: ScannedTable) -> ScanFilter:
    r"""Parse the filters of a scan, in which names and texts have no escapes and times are numbers.

    Examples
    --------
    >>> table = ScannedTable(("db", "t"), {("a b",): "date", ("s",): "string"})
    >>> filter_of_scan("a b IS NOT NULL, (a b >= 19732 OR s IN ('it's', 'x')), NOT (s LIKE 'y%')", table).filter
    "`a b` IS NOT NULL AND (`a b` >= DATE '2024-01-10' OR s IN ('it\\'s', 'x')) AND s NOT LIKE 'y%'"
    """
    if not text:
        return ScanFilter("TRUE")
    if _HIDDEN in text:
        raise InvalidInputError("it is redacted")
    names = {".".join(name): quoted_name(name) for name in table.columns}
    pattern = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    with parsing(text):
        pieces = _TEXT.split(text)
        # Every other piece is the inside of a text, or None.
        pieces[::2] = (
            re.sub(rf"(?<![\w.])({pattern}){_OPERATORS}", lambda found: names[found[0]], piece)
            .replace("is_nan(", "isnan(")
            .replace("not_nan(", "NOT isnan(")
            for piece in pieces[::2]
        )
        pieces[1::2] = ("'" if piece is None else exp.Literal.string(piece).sql(_SPARK) for piece in pieces[1::2])
        parsed = balanced(sqlglot.parse_one(f"({''.join(pieces)})", dialect=_SPARK))
        condition = exp.and_(*parsed.expressions) if isinstance(parsed, exp.Tuple) else parsed
        scan = qualified_condition(condition, table, _SPARK)
        for fact in scan.facts:
            for each in list(fact.find_all(exp.Literal)):
                _read_moment(each, table)
        return scan_filter(scan, table, _EPOCH)


def _read_moment(literal: exp.Literal, table: ScannedTable) -> None:
    """Convert days since 1970 to a date, and microseconds to a timestamp, if compared with such a column."""
    column = literal.parent.this if literal.parent is not None else None
    if not literal.is_int or not isinstance(column, exp.Column):
        return
    known = table.column([column.name])
    kind = "" if known is None else known[1]
    try:
        if kind == "date":
            day = (_EPOCH + timedelta(days=int(literal.name))).date()
            literal.replace(exp.cast(exp.Literal.string(day.isoformat()), "date"))
        elif kind in ("timestamp", "timestamptz"):
            moment = _EPOCH + timedelta(microseconds=int(literal.name))
            literal.replace(exp.cast(exp.Literal.string(moment.isoformat()), "timestamptz"))
    except OverflowError as error:
        raise InvalidInputError(f"{literal.name} is not a value of type {kind}") from error


def _scans(plan: Mapping[str, Any], *, is_cached: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield the scans of a plan, with whether they fill a cache."""
    stack = [(plan, is_cached)]
    while stack:
        node, cached = stack.pop()
        name = str(node.get("nodeName", ""))
        if name.startswith("BatchScan"):
            yield str(node.get("simpleString", ""))[: MOST_CHARACTERS + 1], cached
        cached = cached or name.startswith("InMemoryTableScan")
        stack += [(child, cached) for child in reversed(node.get("children") or ())]
