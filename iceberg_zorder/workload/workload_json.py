"""Workloads as JSON, as the command ``workload`` writes them; ``docs/reference/json/workload.md`` describes it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.columns import parse_name
from iceberg_zorder.rewrite.predicate import parse_predicate
from iceberg_zorder.workload.predicate_text import column_text
from iceberg_zorder.workload.workload import (
    FULL_SCAN,
    KINDS,
    ColumnsOnly,
    JoinKeys,
    NotUnderstood,
    Query,
    Workload,
)

VERSION = 1


def to_dict(workload: Workload) -> dict[str, Any]:
    """Return a workload in JSON types.

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
        **({"joins": [asdict(each) for each in workload.joins]} if workload.joins else {}),
    }


def to_json(workload: Workload) -> str:
    """Return a workload as JSON with one line per query, so that files can be read and compared.

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
    >>> from_json('{"version": 1, "queries": [{"filter": "a = 1"}]}', "w.json")
    Traceback (most recent call last):
    iceberg_zorder.errors.InvalidInputError: Cannot read workload w.json, because queries[0].weight: Field required
    """
    try:
        return _File.model_validate(json.loads(text, object_pairs_hook=_unique)).workload()
    except ValidationError as error:
        first = error.errors()[0]
        place = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in first["loc"]).lstrip(".")
        what = first["msg"].removeprefix("Value error, ").replace("Input should", "it should")
        what = f"{place}: {what}" if place else what
        raise InvalidInputError(f"Cannot read workload {name}, because {what}") from error
    except InvalidInputError as error:
        raise InvalidInputError(f"Cannot read workload {name}, because {error}") from error
    except OverflowError as error:
        raise InvalidInputError(f"Cannot read workload {name}, because its weights add up to infinity") from error
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"Cannot read workload {name}, because it is not valid JSON: {error}") from error


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        (key, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise InvalidInputError(f"key {key} appears twice in an object")
    return found


def _condition(text: str) -> str:
    """Check a filter."""
    try:
        parse_predicate(text)
    except InvalidInputError as error:
        raise InvalidInputError(f"it cannot be used: {error}") from error
    return text.strip()


def _name(text: str) -> str:
    """Check the name of a column, and return it as filters write it."""
    return column_text(parse_name(text, "read a column"))


_Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Filter = Annotated[str, AfterValidator(_condition)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, alias_generator=lambda name: name.replace("_", "-"))


class _Query(_Strict):
    filter: _Filter
    weight: _Weight
    weaker: _Weight = 0.0

    @model_validator(mode="after")
    def _check(self) -> _Query:
        if self.weaker > self.weight:
            raise InvalidInputError("weaker is more than weight")
        return self


class _ColumnsOnly(_Strict):
    columns: Annotated[dict[Annotated[str, AfterValidator(_name)], Literal[KINDS]], Field(min_length=1)]  # type: ignore[valid-type]
    weight: _Weight
    filter: _Filter = FULL_SCAN


class _NotUnderstood(_Strict):
    text: str
    reason: str
    weight: _Weight
    kind: Literal["part", "statement"] = "statement"


class _Join(_Strict):
    key: str
    filter: _Filter
    keys: Annotated[int, Field(ge=0)]
    weight: _Weight


class _File(_Strict):
    version: Annotated[int, Field(ge=VERSION, le=VERSION)]
    queries: list[_Query]
    columns_only: list[_ColumnsOnly] = Field(default_factory=list)
    not_understood: list[_NotUnderstood] = Field(default_factory=list)
    elsewhere: _Weight = 0.0
    joins: list[_Join] = Field(default_factory=list)

    def workload(self) -> Workload:
        return Workload.of(
            (Query(each.filter, each.weight, each.weaker) for each in self.queries),
            (ColumnsOnly(tuple(sorted(each.columns.items())), each.weight, each.filter) for each in self.columns_only),
            (NotUnderstood(each.kind, each.text, each.reason, each.weight) for each in self.not_understood),
            self.elsewhere,
            (JoinKeys(each.key, each.filter, each.keys, each.weight) for each in self.joins),
        )
