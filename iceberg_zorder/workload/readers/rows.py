"""Rows of query logs: from CSV, or from JSON, whose objects stand on lines or in a list."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.request.predicate_values import as_timestamp
from iceberg_zorder.workload.workload import checked_weight

QUERY = ("query", "querytext", "sql", "sqltext", "statement", "statementtext", "rawquery", "normalizedquery", "message")
CONDITION = ("filter", "condition", "predicate", "where")
_COUNT = ("count", "weight", "calls", "executions", "executioncount", "numexecutions", "frequency", "times")
_TIME = ("starttime", "createtime", "querystarttime", "created", "timestamp", "eventtime", "time", "endtime", "ts")
_NAMESPACE = ("schema", "schemaname", "defaultschema", "databasename", "database", "namespace")
_ID = ("queryid", "statementid", "executionid")
_TYPE = "type"
_LONGEST_FIELD = 2**31 - 1


@dataclass(frozen=True)
class Row:
    """A row of a query log.

    Parameters
    ----------
    text : str
        The query, or the condition.
    weight : float
        How often it ran.
    namespace : tuple of str
        Where it looked for names that have none; empty if that is not told.
    at : datetime or None
        When it ran, with a zone.
    """

    text: str
    weight: float = 1.0
    namespace: tuple[str, ...] = ()
    at: datetime | None = None


@dataclass(frozen=True)
class BadRow:
    """A row that cannot be used, and why."""

    text: str
    reason: str


def csv_rows(text: str, wanted: tuple[str, ...] = QUERY) -> Iterator[Row | BadRow]:
    r"""Read CSV with a header, separated by commas, semicolons or tabs.

    Examples
    --------
    >>> [row.weight for row in csv_rows("sql,count\nSELECT 1,3\n")]
    [3.0]
    """
    csv.field_size_limit(_LONGEST_FIELD)
    header = text.partition("\n")[0]
    delimiter = max(",;\t", key=header.count)
    try:
        yield from _rows(csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter), wanted, header.strip())
    except csv.Error as error:
        raise InvalidInputError(f"it is no CSV: {error}") from error


def json_rows(values: Iterable[Any], wanted: tuple[str, ...] = QUERY) -> Iterator[Row | BadRow]:
    """Read objects, in which the query may stand inside other objects; yields and raises as ``csv_rows``.

    Examples
    --------
    >>> event = {"metadata": {"query": "SELECT 1"}, "context": {"schema": "db"}, "createTime": "2024-05-17T10:00:00Z"}
    >>> [(row.namespace, row.at.isoformat()) for row in json_rows([event])]
    [(('db',), '2024-05-17T10:00:00+00:00')]
    """
    yield from _rows((_flat(value) for value in values if isinstance(value, dict)), wanted, "it")


def json_values(text: str) -> Iterator[Any]:
    r"""Read JSON: a list, or values one after the other; None stands for a line that is none.

    Examples
    --------
    >>> list(json_values('[{"a": 1}]')), list(json_values('{"a": 1}\n{"a": 2}\n{"a"'))
    ([{'a': 1}], [{'a': 1}, {'a': 2}, None])
    """
    stripped = text.lstrip()
    if stripped.startswith("["):
        try:
            found = json.loads(stripped)
            yield from found if isinstance(found, list) else [found]
        except ValueError as error:
            raise InvalidInputError(f"it is no JSON: {error}") from error
        return
    decoder = json.JSONDecoder()
    place = 0
    while place < len(text):
        if text[place].isspace():
            place += 1
            continue
        try:
            value, place = decoder.raw_decode(text, place)
            yield value
        except (ValueError, RecursionError):
            yield None
            place = text.find("\n", place)
            place = len(text) if place < 0 else place


def _flat(value: Mapping[str, Any]) -> dict[str, Any]:
    """Bring what stands inside other objects to the top; what is less deep wins."""
    found: dict[str, Any] = {}
    level: list[Mapping[str, Any]] = [value]
    while level:
        deeper: list[Mapping[str, Any]] = []
        for each in level:
            for key, inner in each.items():
                if isinstance(inner, Mapping):
                    deeper.append(inner)
                else:
                    found.setdefault(key, inner)
        level = deeper
    return found


def _rows(records: Iterable[Mapping[str, Any]], wanted: tuple[str, ...], what: str) -> Iterator[Row | BadRow]:
    seen: set[str] = set()
    is_any = is_known = False
    for record in records:
        is_any = True
        fields = {re.sub(r"[^a-z]", "", str(key).lower()): value for key, value in record.items()}
        name = next((each for each in wanted if isinstance(fields.get(each), str) and fields[each].strip()), None)
        is_known |= any(each in fields for each in wanted)
        # DuckDB logs more than queries.
        if name is None or (name == "message" and fields.get(_TYPE) not in (None, "QueryLog")):
            continue
        identity = next((str(fields[each]) for each in _ID if fields.get(each) not in (None, "")), None)
        if name != "message" and identity is not None:
            if identity in seen:
                continue
            seen.add(identity)
        yield _row(fields, str(fields[name]))
    if is_any and not is_known:
        raise InvalidInputError(f"{what} has no column named {', '.join(wanted[:-1])} or {wanted[-1]}")


def _row(fields: Mapping[str, Any], text: str) -> Row | BadRow:
    given = next((fields[each] for each in _COUNT if fields.get(each) not in (None, "")), 1.0)
    try:
        weight = checked_weight(float(given) if isinstance(given, str) else given)
    except (InvalidInputError, ValueError):
        return BadRow(text, f"its count is '{given}'")
    schema = next((str(fields[each]) for each in _NAMESPACE if fields.get(each)), "")
    at = next((found for each in _TIME if (found := _moment(fields.get(each))) is not None), None)
    return Row(text, weight, tuple(part for part in schema.split(".") if part), at)


def _moment(value: object) -> datetime | None:
    """Read a moment: a text, or seconds, milli- or microseconds since 1970."""
    if isinstance(value, str):
        if re.fullmatch(r"\d{10}|\d{13}|\d{16}", value):
            return _moment(int(value))
        text = re.sub(r"(?<=\d)T(?=\d)", " ", value.strip())
        # As DuckDB and Trino write it; what is below a microsecond does not count.
        match = re.fullmatch(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?)\d*\s*(Z|UTC|[+-]\d\d(?::?\d\d)?)?", text)
        if match is None:
            return None
        zone = match[2] or ""
        return as_timestamp(f"{match[1]}{'Z' if zone in ('Z', 'UTC') else zone}", has_zone=True)
    if isinstance(value, int | float) and not isinstance(value, bool):
        for unit in (1, 1_000, 1_000_000):
            if 10**9 <= value / unit < 10**10:
                return datetime.fromtimestamp(value / unit, timezone.utc)
    return None
