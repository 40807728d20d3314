"""Workloads from Iceberg's scan reports, in which values are hidden: columns and operators only."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.request.predicate import And, IsNan, IsNull, Name, Not, Predicate
from iceberg_zorder.workload.conditions.understood import (
    Understood,
    all_understood,
    any_understood,
    lost,
    unknown_value,
)
from iceberg_zorder.workload.normal_form import FALSE, TRUE, all_of, normal_form
from iceberg_zorder.workload.predicate_text import column_text, predicate_text
from iceberg_zorder.workload.scanned_table import ScannedTable
from iceberg_zorder.workload.workload import Gathered

_KINDS = {
    "eq": "=",
    "in": "in",
    "starts-with": "prefix",
    "lt": "range",
    "lt-eq": "range",
    "gt": "range",
    "gt-eq": "range",
}
_KINDS |= {"not-eq": "other", "not-in": "other", "not-starts-with": "other"}
_NEGATED = {"=": "other", "in": "other", "prefix": "other", "other": "=", "range": "range"}
_OPPOSITES = {"not-in": "in", "not-starts-with": "prefix", "not-eq": "="}
_LOGGED = re.compile(
    r"ScanReport\{tableName=(?P<name>.*?), snapshotId=-?\d+, filter=(?P<filter>.*), schemaId=-?\d+, projected"
)
_WORDS = {"==": "eq", "!=": "not-eq", "<": "lt", "<=": "lt-eq", ">": "gt", ">=": "gt-eq", "startsWith": "starts-with"}
_WORDS |= {"notStartsWith": "not-starts-with", "in": "in", "not in": "not-in"}
_REF = re.compile(r'ref\(name="(.*?)"\)')
_OPERATOR = re.compile(r" (==|!=|<=|>=|<|>|startsWith|notStartsWith|not in|in) ")
_UNARY = re.compile(r"(is_null|not_null|is_nan|not_nan)\(")
_VALUES = re.compile(r'\("[^"]*"(?:, "[^"]*")*(?:, ... \([^)]*\) ...)?\)|"+[^"]*"+')


def add_reports(gathered: Gathered, reports: Iterable[Any], table: ScannedTable) -> None:
    """Count the scans of reports as clients send them to REST catalogs; values that are none are passed over.

    Parameters
    ----------
    gathered : Gathered
        Where they are counted.
    reports : iterable
        What JSON has of them.
    table : ScannedTable
        The table.

    Examples
    --------
    >>> gathered = Gathered()
    >>> report = {"table-name": "lake.db.t", "filter": {"type": "lt", "term": "a", "value": "(2-digit-int)"}}
    >>> add_reports(gathered, [report, report], ScannedTable(("db", "t"), {("a",): "int"}))
    >>> gathered.workload().columns_only
    (ColumnsOnly(columns=(('a', 'range'),), weight=2.0, filter='TRUE'),)
    """
    for value in reports:
        report = value.get("report", value) if isinstance(value, dict) else None
        if not isinstance(report, dict) or "filter" not in report or "table-name" not in report:
            continue
        _add(gathered, str(report["table-name"]), report["filter"], json.dumps(report["filter"]), table)


def add_logged(gathered: Gathered, text: str, table: ScannedTable) -> None:
    """Count the scans of reports as Iceberg's LoggingMetricsReporter logs them, among other lines.

    Examples
    --------
    >>> gathered = Gathered()
    >>> line = 'ScanReport{tableName=lake.db.t, snapshotId=7, filter=ref(name="a") == "(h)", schemaId=0, projected...'
    >>> add_logged(gathered, line, ScannedTable(("db", "t"), {("a",): "int"}))
    >>> gathered.workload().columns_only
    (ColumnsOnly(columns=(('a', '='),), weight=1.0, filter='TRUE'),)
    """
    for match in _LOGGED.finditer(text):
        try:
            found: Any = _Logged(match["filter"]).read()
        except InvalidInputError as error:
            found = error
        _add(gathered, match["name"], found, match["filter"], table)


def _add(gathered: Gathered, name: str, expression: Any, text: str, table: ScannedTable) -> None:
    if not _is_named(name, table):
        gathered.elsewhere += 1.0
        return
    if isinstance(expression, InvalidInputError):
        gathered.add("TRUE", 1.0, lost=[(text, str(expression))])
        return
    found = _understood(expression, table, negated=False)
    # That a column is not NULL goes without saying where it is compared.
    whole = found.predicate
    parts = whole.predicates if isinstance(whole, And) else (whole,)
    kept = [each for each in parts if not _is_implied(each, found.unknown)]
    predicate = all_of(kept) if found.unknown else found.predicate
    columns = {column_text(column): kind for column, kind in found.unknown.items()}
    gathered.add(predicate_text(predicate), 1.0, columns=columns, lost=[(text, reason) for reason in found.lost])


def _is_implied(part: Predicate, columns: Mapping[Name, str]) -> bool:
    return isinstance(part, Not) and isinstance(part.predicate, IsNull) and part.predicate.column in columns


def _understood(node: Any, table: ScannedTable, *, negated: bool) -> Understood:
    if isinstance(node, bool) or node in ("true", "false"):
        return Understood(TRUE if (node in (True, "true")) != negated else FALSE)
    kind = str(node.get("type", "")) if isinstance(node, dict) else ""
    if kind in ("and", "or"):
        parts = [_understood(node.get(side), table, negated=negated) for side in ("left", "right")]
        return all_understood(parts) if (kind == "and") != negated else any_understood(parts)
    if kind == "not":
        return _understood(node.get("child"), table, negated=not negated)
    term = node.get("term") if isinstance(node, dict) else None
    column = table.column(_path(term, table)) if isinstance(term, str) else None
    if column is None:
        return lost(
            f"{term} is no column of {'.'.join(table.identifier)}" if term else "it is no expression that is known"
        )
    if kind in ("is-null", "not-null", "is-nan", "not-nan"):
        predicate = IsNull(column[0]) if kind.endswith("null") else IsNan(column[0])
        return Understood(normal_form(Not(predicate) if kind.startswith("not") != negated else predicate))
    if kind not in _KINDS:
        return lost(f"{kind or 'it'} is no operator that is known")
    if not negated:
        return unknown_value({column[0]: _KINDS[kind]})
    return unknown_value({column[0]: _OPPOSITES.get(kind) or _NEGATED[_KINDS[kind]]})


def _path(name: str, table: ScannedTable) -> Name:
    """Find the parts of a name that are joined by dots, which may be in the parts, too."""
    return next((each for each in table.columns if ".".join(each).lower() == name.lower()), tuple(name.split(".")))


def _is_named(name: str, table: ScannedTable) -> bool:
    own = ".".join(table.identifier).lower()
    return name.lower() == own or name.lower().endswith(f".{own}")


class _Logged:
    """Reads expressions as they are logged into what JSON has of them."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0

    def read(self) -> Any:
        found = self._expression()
        if self._place != len(self._text):
            raise InvalidInputError(f"it goes on with {self._text[self._place :][:40]}")
        return found

    def _take(self, word: str) -> bool:
        found = self._text.startswith(word, self._place)
        self._place += len(word) * found
        return found

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self._text, self._place)
        self._place = found.end() if found is not None else self._place
        return found

    def _closed(self, value: Any) -> Any:
        if not self._take(")"):
            raise InvalidInputError(f"a parenthesis is missing before {self._text[self._place :][:40]}")
        return value

    def _expression(self) -> Any:
        for word in ("true", "false"):
            if self._take(word):
                return word == "true"
        if self._take("not("):
            return self._closed({"type": "not", "child": self._expression()})
        if self._take("("):
            left = self._expression()
            for word in ("and", "or"):
                if self._take(f" {word} "):
                    return self._closed({"type": word, "left": left, "right": self._expression()})
            return self._closed(left)
        unary = self._match(_UNARY)
        if unary is not None:
            return self._closed({"type": unary[1].replace("_", "-"), "term": self._term()})
        term = self._term()
        operator = self._match(_OPERATOR)
        if operator is None or self._match(_VALUES) is None:
            raise InvalidInputError(f"{self._text[self._place :][:40]} is no comparison that is known")
        return {"type": _WORDS[operator[1]], "term": term}

    def _term(self) -> str:
        found = self._match(_REF)
        if found is None:
            raise InvalidInputError(f"{self._text[self._place :][:40]} is no column")
        return found[1]


def logged_lines(lines: Iterable[str]) -> Iterator[str]:
    """Keep the lines that may have reports."""
    return (line for line in lines if "ScanReport{" in line)
