"""Rows of query logs: from CSV, or from JSON, whose objects stand on lines or in a list."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.rewrite.predicate import TooLargeError, as_timestamp
from iceberg_zorder.workload.workload import FAILED

QUERY = ("query", "querytext", "sql", "sqltext", "statement", "statementtext", "rawquery", "normalizedquery", "message")
CONDITION = ("filter", "condition", "predicate", "where")
_COUNT = ("count", "weight", "calls", "executions", "executioncount", "numexecutions", "frequency", "times")
_TIME = ("starttime", "createtime", "querystarttime", "created", "timestamp", "eventtime", "time", "endtime", "ts")
_NAMESPACE = ("schema", "schemaname", "defaultschema", "databasename", "database", "namespace")
_ID = ("queryid", "statementid", "executionid")
_STATE = ("state", "querystate", "status", "executionstatus", "type")
_FAILED = re.compile("fail|error|incident|cancel|abort|exception", re.IGNORECASE)
"""How the states of failed statements begin; a ``type`` is ClickHouse's."""
MOST_OF_JSON = 8 << 20
"""Most characters of a JSON text that is read at once: its values may take 30 times as many bytes."""
_ERROR = ("errorresult", "failureinfo")
"""Objects that are there if a statement failed."""


@dataclass(frozen=True)
class Row:
    """A row of a query log."""

    text: str  # the query, or the condition
    weight: float = 1.0  # how often it ran
    namespace: tuple[str, ...] = ()  # default namespace of its table names; empty if unknown
    at: datetime | None = None  # when it ran, with a zone
    refusal: str | None = None  # why the row cannot be used


def plain(name: object) -> str:
    """Reduce a name to its letters, so that ``query_text`` and ``queryText`` are the same."""
    return re.sub(r"[^a-z]", "", str(name).lower())


def csv_rows(text: str, wanted: tuple[str, ...] = QUERY) -> Iterator[Row]:
    r"""Read CSV with a header, separated by commas, semicolons or tabs.

    Examples
    --------
    >>> [row.weight for row in csv_rows("sql,count\nSELECT 1,3\n")]
    [3.0]
    """
    csv.field_size_limit(2**31 - 1)
    header = text.partition("\n")[0]
    delimiter = max(",;\t", key=header.count)
    try:
        yield from _rows(csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter), wanted, header.strip())
    except csv.Error as error:
        raise InvalidInputError(f"it is not valid CSV: {error}") from error


def json_rows(text: str, wanted: tuple[str, ...] = QUERY) -> Iterator[Row]:
    r"""Read a list of objects, or an object a line; the query may stand inside other objects.

    Examples
    --------
    >>> event = {"metadata": {"query": "SELECT 1"}, "context": {"schema": "db"}, "createTime": "2024-05-17T10:00:00Z"}
    >>> [(row.namespace, row.at.isoformat()) for row in json_rows(json.dumps(event))]
    [(('db',), '2024-05-17T10:00:00+00:00')]
    """
    if len(text) > MOST_OF_JSON and re.match(r"\s*(?:\[|\{\s*\n)", text):
        raise TooLargeError(f"its JSON is larger than {MOST_OF_JSON >> 20} MiB: write an object a line, or CSV")
    try:
        parsed = json.loads(text) if len(text) <= MOST_OF_JSON else None
    except (ValueError, RecursionError) as error:
        if text.lstrip().startswith("["):
            raise InvalidInputError(f"it is not valid JSON: {error}") from error
        parsed = None
    values: Iterable[Any] = parsed if isinstance(parsed, list) else [parsed]
    if parsed is None:
        values = (_of_line(line, wanted[0]) for line in io.StringIO(text))
    yield from _rows((_flat(value) for value in values if isinstance(value, dict)), wanted, "it")


def _of_line(line: str, key: str) -> Any:
    """Return the row of a line; the last line of a log may be cut off. A line that is too long is its own query."""
    if len(line) > MOST_OF_JSON:
        return {key: line}
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _flat(value: Mapping[str, Any]) -> dict[str, Any]:
    """Flatten nested objects; less deeply nested keys win."""
    flat: dict[str, Any] = {}
    objects = [value]
    while objects:
        value = objects.pop()
        for key, inner in value.items():
            if not isinstance(inner, Mapping) or plain(key) in _ERROR:
                flat.setdefault(key, inner)
        objects += [inner for inner in reversed([*value.values()]) if isinstance(inner, Mapping)]
    # Of keys that are alike but for their case or underscores, the last one counts.
    return dict(reversed(flat.items()))


def _rows(records: Iterable[Mapping[str, Any]], wanted: tuple[str, ...], what: str) -> Iterator[Row]:
    rows: dict[object, Row] = {}
    failed: set[object] = set()
    is_any = is_known = False
    for record in records:
        is_any = True
        fields = {plain(key): value for key, value in record.items()}
        name = next((each for each in wanted if isinstance(fields.get(each), str) and fields[each].strip()), None)
        is_known |= any(each in fields for each in wanted)
        # DuckDB logs more than queries.
        if name is None or (name == "message" and fields.get("type") not in (None, "QueryLog")):
            continue
        known = next((str(fields[each]) for each in _ID if fields.get(each) not in (None, "")), None)
        identity = len(rows) if known is None or name == "message" else known
        # Logs have a row when a statement begins, and another one when it ends.
        if identity not in rows:
            try:
                rows[identity] = _row(fields, str(fields[name]))
            except OverflowError as error:
                rows[identity] = Row(str(fields[name]), refusal=f"its row cannot be read: {error}")
        if any(_FAILED.match(str(fields.get(each))) for each in _STATE) or any(fields.get(each) for each in _ERROR):
            failed.add(identity)
    for key, row in rows.items():
        yield replace(row, refusal=FAILED) if key in failed else row
    if is_any and not is_known:
        raise InvalidInputError(f"{what} has no column named {', '.join(wanted[:-1])} or {wanted[-1]}")


def _row(fields: Mapping[str, Any], text: str) -> Row:
    given = next((fields[each] for each in _COUNT if fields.get(each) not in (None, "")), 1.0)
    try:
        weight = float(given)
    except (TypeError, ValueError):
        weight = -1.0
    if not 0 <= weight < math.inf:
        return Row(text, refusal=f"its count is '{given!s:.100}'")
    schema = next((str(fields[each]) for each in _NAMESPACE if fields.get(each)), "")
    at = next((moment for each in _TIME if (moment := _moment(fields.get(each))) is not None), None)
    return Row(text, weight, tuple(part for part in schema.split(".") if part), at)


def _moment(value: object) -> datetime | None:
    """Read a moment: a text, or seconds, milli- or microseconds since 1970."""
    if isinstance(value, str) and re.match(r"\d{4}-", value.strip()):
        # As DuckDB and Trino write it; what is below a microsecond does not count.
        return as_timestamp(re.sub(r"(\.\d{6})\d+", r"\1", value), has_zone=True)
    if isinstance(value, int | float) or (isinstance(value, str) and re.fullmatch(r"\d{10,16}", value)):
        for unit in (1, 1_000, 1_000_000):
            if 10**9 <= float(value) / unit < 10**10:
                return datetime.fromtimestamp(float(value) / unit, timezone.utc)
    return None
