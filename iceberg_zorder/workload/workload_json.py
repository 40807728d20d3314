"""Workloads as JSON, as ``docs/workload.md`` describes it: what the command ``workload`` writes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.columns import NameReader
from iceberg_zorder.request.predicate import parse_predicate
from iceberg_zorder.workload.predicate_text import column_text
from iceberg_zorder.workload.workload import (
    FULL_SCAN,
    KINDS,
    ColumnsOnly,
    NotUnderstood,
    Query,
    Workload,
    checked_weight,
)

VERSION = 1
_KEYS = ("version", "queries", "columns-only", "not-understood", "elsewhere")


def to_dict(workload: Workload) -> dict[str, Any]:
    """Make what JSON has of a workload.

    Examples
    --------
    >>> to_dict(Workload.of([Query("a = 1", 2.0)]))
    {'version': 1, 'queries': [{'filter': 'a = 1', 'weight': 2.0}], 'columns-only': [], 'not-understood': []}
    """
    return {
        "version": VERSION,
        "queries": [
            {"filter": each.filter, "weight": each.weight, **({"weaker": each.weaker} if each.weaker else {})}
            for each in workload.queries
        ],
        "columns-only": [
            {
                "columns": dict(each.columns),
                **({"filter": each.filter} if each.filter != FULL_SCAN else {}),
                "weight": each.weight,
            }
            for each in workload.columns_only
        ],
        "not-understood": [
            {"kind": each.kind, "text": each.text, "reason": each.reason, "weight": each.weight}
            for each in workload.not_understood
        ],
        **({"elsewhere": workload.elsewhere} if workload.elsewhere else {}),
    }


def to_json(workload: Workload) -> str:
    """Write a workload: a line for each query, so that files can be read and compared.

    Examples
    --------
    >>> print(to_json(Workload.of([Query("a = 1", 2.0)])), end="")
    {"version": 1,
     "queries": [
      {"filter": "a = 1", "weight": 2.0}
     ],
     "columns-only": [],
     "not-understood": []}
    """
    sections = []
    for key, value in to_dict(workload).items():
        lines = [json.dumps(each, ensure_ascii=False) for each in value] if isinstance(value, list) else []
        shown = "[\n  " + ",\n  ".join(lines) + "\n ]" if lines else json.dumps(value)
        sections.append(f"{json.dumps(key)}: {shown}")
    return "{" + ",\n ".join(sections) + "}\n"


def from_json(text: str, name: str) -> Workload:
    """Read a workload.

    Examples
    --------
    >>> from_json('{"version": 1, "queries": [{"filter": "a = 1", "weight": 2}]}', "w.json").queries
    (Query(filter='a = 1', weight=2.0, weaker=0.0),)
    >>> from_json('{"version": 1, "queries": [{"filter": "a ="}]}', "w.json")
    Traceback (most recent call last):
    iceberg_zorder.errors.InvalidInputError: Cannot read workload w.json, because queries[0].weight is missing
    """
    try:
        raw = json.loads(text, object_pairs_hook=_unique)
        _check_keys(raw, "it", _KEYS, required=("version", "queries"))
        if type(raw["version"]) is not int or raw["version"] != VERSION:
            raise InvalidInputError(f"version must be {VERSION} and is {json.dumps(raw['version'])}")
        return Workload.of(
            (_query(each, f"queries[{place}]") for place, each in _list(raw, "queries")),
            (_columns_only(each, f"columns-only[{place}]") for place, each in _list(raw, "columns-only")),
            (_not_understood(each, f"not-understood[{place}]") for place, each in _list(raw, "not-understood")),
            _weight(raw, "elsewhere", "") if "elsewhere" in raw else 0.0,
        )
    except InvalidInputError as error:
        raise InvalidInputError(f"Cannot read workload {name}, because {error}") from error
    except OverflowError as error:
        raise InvalidInputError(f"Cannot read workload {name}, because its weights add up to infinity") from error
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"Cannot read workload {name}, because it is no JSON: {error}") from error


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise InvalidInputError(f"key {next(key for key in keys if keys.count(key) > 1)} stands twice in an object")
    return found


def _list(raw: Mapping[str, Any], key: str) -> list[tuple[int, Any]]:
    found = raw.get(key, [])
    if not isinstance(found, list):
        raise InvalidInputError(f"{key} is no list")
    return list(enumerate(found))


def _check_keys(raw: object, place: str, known: Sequence[str], required: Sequence[str]) -> None:
    if not isinstance(raw, dict):
        raise InvalidInputError(f"{place} is no object")
    before = "" if place == "it" else f"{place}."
    for key in raw:
        if key not in known:
            near = get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
            raise InvalidInputError(f"{before}{key} is unknown: {hint}")
    for key in required:
        if key not in raw:
            raise InvalidInputError(f"{before}{key} is missing")


def _query(raw: Any, place: str) -> Query:
    _check_keys(raw, place, ("filter", "weight", "weaker"), ("filter", "weight"))
    query = Query(
        _filter(raw["filter"], place),
        _weight(raw, "weight", place),
        _weight(raw, "weaker", place) if "weaker" in raw else 0.0,
    )
    if query.weaker > query.weight:
        raise InvalidInputError(f"{place}.weaker is more than its weight")
    return query


def _columns_only(raw: Any, place: str) -> ColumnsOnly:
    _check_keys(raw, place, ("columns", "filter", "weight"), ("columns", "weight"))
    columns = raw["columns"]
    if not isinstance(columns, dict) or not columns:
        raise InvalidInputError(f"{place}.columns is no object with columns")
    found = {}
    for name, kind in columns.items():
        if kind not in KINDS:
            raise InvalidInputError(f"{place}.columns: {json.dumps(kind)} of {name} is none of {', '.join(KINDS)}")
        found[column_text(_name(name, place))] = kind
    condition = _filter(raw["filter"], place) if "filter" in raw else FULL_SCAN
    return ColumnsOnly(tuple(sorted(found.items())), _weight(raw, "weight", place), condition)


def _name(text: str, place: str) -> tuple[str, ...]:
    reader = NameReader(text, f"read {place}.columns")
    try:
        parts = reader.column()
        reader.end()
    except InvalidInputError as error:
        raise InvalidInputError(f"{place}.columns has no name in '{text}'") from error
    return parts


def _not_understood(raw: Any, place: str) -> NotUnderstood:
    _check_keys(raw, place, ("kind", "text", "reason", "weight"), ("text", "reason", "weight"))
    kind = raw.get("kind", "statement")
    if kind not in ("part", "statement"):
        raise InvalidInputError(f"{place}.kind is neither part nor statement")
    return NotUnderstood(kind, _text(raw, "text", place), _text(raw, "reason", place), _weight(raw, "weight", place))


def _filter(text: Any, place: str) -> str:
    if not isinstance(text, str):
        raise InvalidInputError(f"{place}.filter is no text")
    try:
        parse_predicate(text)
    except InvalidInputError as error:
        raise InvalidInputError(f"{place}.filter cannot be used: {error}") from error
    return text.strip()


def _text(raw: Mapping[str, Any], key: str, place: str) -> str:
    if not isinstance(raw[key], str):
        raise InvalidInputError(f"{place}.{key} is no text")
    return str(raw[key])


def _weight(raw: Mapping[str, Any], key: str, place: str) -> float:
    try:
        return checked_weight(raw[key])
    except InvalidInputError as error:
        raise InvalidInputError(f"{place}{'.' * bool(place)}{key}: {error}") from error
