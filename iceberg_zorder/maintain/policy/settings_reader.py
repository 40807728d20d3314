"""Validate a policy's values with pydantic, and rephrase its errors."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.maintain.policy.problems import Path, Problems, reason
from iceberg_zorder.maintain.policy.settings import PolicyFile, TableSettings
from iceberg_zorder.maintain.policy.written import shown
from iceberg_zorder.rewrite.options import (
    KNOWN_OPTIONS,
    MEMORY_LIMIT,
    SMALLEST_MEMORY_LIMIT,
    RewriteOptions,
    domain_faults,
    option_text,
    rewrite_options,
    spelled_alike,
)

_FORMS = {
    "budget": "a mapping of bytes, minutes and tables",
    "namespaces": "a mapping of globs to settings",
    "tables": "a mapping of globs to settings",
    "options": "a mapping of options",
    "workload": "false, or a mapping with from, days, format, dialect, readers, pays-within and relayout",
    "triggers": "a mapping of triggers",
    "follow-ups": "a mapping of follow-ups",
    "rewrite-position-delete-files": "false or {}",
    "rewrite-manifests": "false or {}",
    "expire-snapshots": "false, or a mapping with older-than and retain-last",
    "remove-orphan-files": "false, or a mapping with older-than",
    "conflicts": "a mapping with markers, back-off, max-back-off and lease",
    "": "a policy: keys such as version, catalogs and tables, each with a value",
}
_FILE = TypeAdapter(PolicyFile)
_SETTINGS = TypeAdapter(TableSettings)


def policy_schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of policies, for editors."""
    return _schema(_FILE)


@cache
def _schema(kind: TypeAdapter[Any]) -> dict[str, Any]:
    return kind.json_schema()


def policy_file(raw: object, problems: Problems) -> PolicyFile | None:
    """Return a policy file as values; add its problems to ``problems``."""
    found: PolicyFile | None = _read(_FILE, raw, problems, ())
    return found


def settings_of(raw: Mapping[str, Any], problems: Problems) -> TableSettings:
    """Return the settings of a table, given its merged rules.

    Examples
    --------
    >>> settings_of({"by": ["a", "b"], "options": {"max-scan-ratio": 1.5}}, Problems("policy.yaml")).options
    {'max-scan-ratio': '1.5'}
    """
    settings = read_settings(raw, problems, ())
    problems.raise_any()
    return settings or TableSettings()


def read_settings(raw: Mapping[str, Any], problems: Problems, path: Path) -> TableSettings | None:
    """Return the settings at a path; add their problems to ``problems``."""
    settings: TableSettings | None = _read(_SETTINGS, raw, problems, path)
    check_options(raw, problems, path)
    return settings


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Merge settings key by key, also in nested mappings; ``over`` wins."""
    found = dict(base)
    for key, value in over.items():
        before = found.get(key)
        both = isinstance(before, Mapping) and isinstance(value, Mapping)
        found[key] = merged(before, value) if both and before is not None else value
    return found


def _read(kind: TypeAdapter[Any], raw: object, problems: Problems, path: Path) -> Any:
    try:
        return kind.validate_python(raw)
    except ValidationError as error:
        for inside, text in _told(error, _schema(kind)):
            # Duplicate keys and aliases of themselves are reported already.
            if not ((*path, *inside) and problems.has((*path, *inside))):
                problems.add((*path, *inside), text)
        return None


def _told(error: ValidationError, schema: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    for found in error.errors(include_url=False):
        path = tuple(part for part in found["loc"] if part != "[key]")
        if found["type"] == "value_error":
            yield path, str(found["ctx"]["error"])
        elif found["type"] == "unexpected_keyword_argument":
            known = _keys(schema, path[:-1])
            otherwise = f"known are {', '.join(known)}" if known else "it has no settings"
            yield path, f"is unknown{spelled_alike(str(path[-1]), known, otherwise)}"
        elif found["type"] == "missing":
            yield path, "is missing"
        else:
            form = _FORMS.get(str(path[-1]) if path else "", "a mapping of settings")
            yield path, f"{shown(found['input'])} is not {form}"


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


def check_options(raw: Mapping[str, Any], problems: Problems, path: Path) -> None:
    """Check options one by one, so that each problem has its line, then all together."""
    options, workload = raw.get("options"), raw.get("workload")
    if not isinstance(options, Mapping):
        return
    # workload-share needs a workload, which may come from workload.from.
    beside = {"workload": ""} if isinstance(workload, Mapping) and workload.get("from") else {}
    found = {}
    for name, value in options.items():
        inside = (*path, "options", name)
        if problems.has(inside):
            continue
        if name not in KNOWN_OPTIONS:
            problems.add(inside, f"is unknown{spelled_alike(name, KNOWN_OPTIONS, 'it is no option of rewrites')}")
        elif name == "dry-run":
            problems.add(inside, "is for a single call: no pass would write anything")
        elif name in beside:
            problems.add(inside, "conflicts with workload.from: set only one of them")
        else:
            try:
                found[name] = option_text(name, value)
                _check({**beside, name: found[name]})
            except InvalidInputError as error:
                problems.add(inside, reason(error))
    if not problems.has((*path, "options")):
        try:
            _check({**beside, **found})
        except InvalidInputError as error:
            problems.add((*path, "options"), reason(error))


def _check(options: Mapping[str, str]) -> None:
    _checked_options(tuple(options.items()))


@lru_cache(maxsize=1_000)  # most rules and tables have the same few options
def _checked_options(options: tuple[tuple[str, str], ...]) -> RewriteOptions:
    # An explicit memory limit avoids reading the machine's.
    read = rewrite_options({MEMORY_LIMIT: str(SMALLEST_MEMORY_LIMIT), **dict(options)})
    for fault in domain_faults(read, read.target_file_size, read.min_file_size, read.max_file_size):
        raise InvalidInputError(fault)
    return read


if __name__ == "__main__":
    sys.stdout.write(json.dumps(policy_schema(), indent=2))
