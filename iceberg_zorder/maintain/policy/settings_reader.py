"""Validate a policy's values with pydantic, whose errors get their line and field."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from iceberg_zorder.maintain.policy.problems import Path, Problem, reason, refusal
from iceberg_zorder.maintain.policy.settings import PolicyFile, TableSettings
from iceberg_zorder.rewrite.options import spelled_alike

_T = TypeVar("_T")
FILE = TypeAdapter(PolicyFile)
SETTINGS = TypeAdapter(TableSettings)


def policy_schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of policies, for editors."""
    return _schema(FILE)


@cache
def _schema(kind: TypeAdapter[Any]) -> dict[str, Any]:
    return kind.json_schema()


def validated(
    kind: TypeAdapter[_T],
    raw: object,
    name: str,
    lines: Mapping[Path, int] = MappingProxyType({}),
    context: Mapping[str, Any] = MappingProxyType({}),
) -> _T:
    """Return values of a kind; raises InvalidInputError with all problems.

    ``context`` may have the ``environment``, and the names of ``catalogs`` that rules may name.

    Examples
    --------
    >>> validated(SETTINGS, {"by": ["a", "b"], "options": {"max-scan-ratio": 1.5}}, "policy.yaml").options
    {'max-scan-ratio': '1.5'}
    """
    try:
        return kind.validate_python(raw, context=context)
    except ValidationError as error:
        found = set(_problems(error, _schema(kind)))
    # Rules are merged with the defaults; problems of defaults are reported once.
    found -= {(path, text) for path, text in found if len(path) > 2 and (("defaults", *path[2:]), text) in found}
    # No cause, because a library's message about a value may show secrets.
    raise refusal(name, found, lines)


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Merge settings key by key, also in nested mappings; ``over`` wins."""
    found = dict(base)
    for key, value in over.items():
        before = found.get(key)
        both = isinstance(before, Mapping) and isinstance(value, Mapping)
        found[key] = merged(before, value) if both and before is not None else value
    return found


def _problems(error: ValidationError, schema: Mapping[str, Any]) -> Iterator[Problem]:
    for found in error.errors(include_url=False):
        path = tuple(part for part in found["loc"] if part != "[key]")
        if found["type"] == "value_error":
            yield path, reason(found["ctx"]["error"])
        elif found["type"] == "unexpected_keyword_argument":
            known = _keys(schema, path[:-1])
            otherwise = f"known are {', '.join(known)}" if known else "it has no settings"
            yield path, f"is unknown{spelled_alike(str(path[-1]), known, otherwise)}"
        elif found["type"] == "missing":
            yield path, "is missing"
        else:
            shown = "the value" if path[:1] == ("catalogs",) else _shown(found["input"])
            needed = "Input should be a mapping" if found["type"] == "dataclass_type" else found["msg"]
            yield path, needed.replace("Input", shown).replace("tuple", "list")


def _shown(value: object) -> str:
    if value is None or isinstance(value, Mapping | list):
        return "nothing" if value is None else "a list" if isinstance(value, list) else "a mapping"
    text = value if isinstance(value, str) else json.dumps(value)
    short = text if len(text) <= 60 else f"{text[:57]}..."
    return f"'{short}'" if isinstance(value, str) else short


def _keys(schema: Mapping[str, Any], path: Path) -> list[str]:
    """Return the keys that the mapping at a path may have."""
    place = schema
    for part in path:
        place = place.get("properties", {}).get(str(part)) or place.get("additionalProperties", {})
        for choice in (place, *place.get("anyOf", ())):
            if "$ref" in choice:
                place = schema["$defs"][choice["$ref"].rpartition("/")[2]]
            elif "additionalProperties" in choice:
                place = choice
    return list(place.get("properties", ()))


if __name__ == "__main__":
    sys.stdout.write(json.dumps(policy_schema(), indent=2))
