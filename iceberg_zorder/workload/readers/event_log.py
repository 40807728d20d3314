"""Workloads from Spark's event logs: the filters of Iceberg's scans, as the plans of executed queries have them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.workload.predicate_text import predicate_text
from iceberg_zorder.workload.readers.spark_filters import SparkFilters
from iceberg_zorder.workload.scanned_table import ScannedTable
from iceberg_zorder.workload.workload import Gathered

_START = "SparkListenerSQLExecutionStart"
_RUNTIME = r" RuntimeFilters: \[(?P<runtime>.*)\]$"
_SCANS = (
    # Iceberg 1.11 and newer, and as before.
    re.compile(
        r"Iceberg\w*\(table=(?P<name>.*?), (?:schemaId|snapshotId|branch|type|caseSensitive)=.*?"
        r"filters=(?P<filters>.*?)"
        r"(?:, runtimeFilters=.*?)?(?:, groupedBy=.*?)?\)" + _RUNTIME,
        re.DOTALL,
    ),
    re.compile(
        r"\] (?P<name>\S.*?) \(branch=.*?\) \[filters=(?P<filters>.*), groupedBy=[^\]]*\]" + _RUNTIME, re.DOTALL
    ),
)
_HIDDEN = "(redacted)"
_OF_FILES = re.compile(r"_file#\d+ IN ")


class EventLogReader:
    """Reads event logs of one application after the other.

    Parameters
    ----------
    table : ScannedTable
        The table.
    gathered : Gathered
        Where scans are counted.

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
        self._filters = SparkFilters(table)

    def add(self, lines: Iterable[str]) -> int:
        """Count the scans of an application.

        Plans that are changed while they run are not counted again; a scan of what is cached is counted once. Of
        deletes and updates that copy files it is the scan that looks for the files.
        """
        seen: set[tuple[Any, str]] = set()
        events = 0
        for line in lines:
            events += '"Event":' in line[:20]
            if _START not in line[:200]:
                continue
            try:
                event = json.loads(line)
            except (ValueError, RecursionError):
                self._gathered.miss("statement", line[:100], "it is no JSON", 1.0)
                continue
            root = event.get("rootExecutionId", event.get("executionId"))
            is_elsewhere = True
            for text, is_cached in _scans(event.get("sparkPlanInfo") or {}):
                key = (None if is_cached else root), text
                if key not in seen:
                    seen.add(key)
                    is_elsewhere &= not self._scan(text)
            self._gathered.elsewhere += is_elsewhere
        return events

    def _scan(self, text: str) -> bool:
        """Count a scan, if it is one of the table; tells that."""
        match = next((found for pattern in _SCANS if (found := pattern.search(text))), None)
        if match is None:
            name = text.removeprefix("BatchScan ").partition("[")[0]
            if not self._is_named(name) or "filters=" not in text:
                return False
            self._gathered.miss("statement", text, "it is no scan that is known", 1.0)
            return True
        if not self._is_named(match["name"]):
            return False
        if _OF_FILES.search(match["runtime"]):
            return False
        lost = [(match["runtime"], "what a join finds is not known")] if match["runtime"] else []
        filters = match["filters"]
        if _HIDDEN in filters:
            self._gathered.add("TRUE", 1.0, lost=[*lost, (filters, "it is redacted")])
            return True
        try:
            self._gathered.add(predicate_text(self._filters.read(filters)), 1.0, lost=lost)
        except InvalidInputError as error:
            self._gathered.add("TRUE", 1.0, lost=[*lost, (filters, str(error))])
        return True

    def _is_named(self, name: str) -> bool:
        own = ".".join(self._table.identifier).lower()
        given = re.sub(r"\.(branch|tag)_[^.]*$", "", name.lower())
        return given == own or given.endswith(f".{own}")


def _scans(plan: Mapping[str, Any], *, is_cached: bool = False) -> Iterator[tuple[str, bool]]:
    """Find the scans of a plan, and whether they fill a cache."""
    stack = [(plan, is_cached)]
    while stack:
        node, cached = stack.pop()
        name = str(node.get("nodeName", ""))
        if name.startswith("BatchScan"):
            yield str(node.get("simpleString", "")), cached
        cached = cached or name.startswith("InMemoryTableScan")
        stack += [(child, cached) for child in reversed(node.get("children") or ())]
