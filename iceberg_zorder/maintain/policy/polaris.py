"""The same policy from Apache Polaris: policies of the type ``system.data-compaction``, with our keys in ``config``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from iceberg_zorder.maintain.policy.problems import Problems
from iceberg_zorder.maintain.policy.schema import policy_schema, schema_problems
from iceberg_zorder.maintain.policy.settings_reader import merged, settings_of

POLICY_TYPE = "system.data-compaction"
SCHEMA_VERSION = "2025-02-03"

_TARGET_SIZE = "target_file_size_bytes"
_OF_MACHINE = "workload"
_NUMBER = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?")
# Of these a text that looks like a number is a text.
_TEXTS = {"by", "branch", "where", "catalog", "time-zone", "engine", "allowed-hours", "triggers.cron"}


def from_polaris(applicable_policies: Mapping[str, Any]) -> dict[str, Any]:
    """Read settings from the policies that apply to a table.

    Keys of ``config`` are those of a policy's settings, with dots between those inside one another, such as
    ``triggers.scan-ratio``, and with texts as values. The map is free for all services, so that keys unlike any of ours
    are left alone; those that are nearly one of ours are refused.

    Parameters
    ----------
    applicable_policies : mapping
        What ``GET /polaris/v1/{catalog}/applicable-policies`` answers.

    Returns
    -------
    dict
        Settings, for :meth:`~iceberg_zorder.maintain.policy.policy.Policy.settings`; those of policies that are
        attached to the table itself win over inherited ones.

    Raises
    ------
    InvalidInputError
        When a policy is of another version, or its content is wrong.

    Examples
    --------
    >>> content = '{"version": "2025-02-03", "enable": true, "config": {"triggers.scan-ratio": "1.3"}}'
    >>> policy = {"policy-type": "system.data-compaction", "name": "p", "inherited": False, "content": content}
    >>> from_polaris({"applicable-policies": [policy]})
    {'enabled': True, 'triggers': {'scan-ratio': 1.3}}
    """
    policies = [
        policy
        for policy in applicable_policies.get("applicable-policies") or ()
        if policy.get("policy-type") == POLICY_TYPE
    ]
    found: dict[str, Any] = {}
    for policy in sorted(policies, key=lambda each: not each.get("inherited", False)):
        found = merged(found, _settings(policy))
    return found


def _settings(policy: Mapping[str, Any]) -> dict[str, Any]:
    problems = Problems(f"policy '{policy.get('name', '')}' of Polaris")
    content = _content(policy, problems)
    if content.get("version", SCHEMA_VERSION) != SCHEMA_VERSION:
        problems.add(("version",), f"'{content['version']}' is not {SCHEMA_VERSION}")
    if not isinstance(content.get("enable"), bool):
        problems.add(("enable",), "is neither true nor false")
    config = {} if content.get("config") is None else content["config"]
    if not isinstance(config, Mapping):
        problems.add(("config",), "is not a mapping")
        config = {}
    problems.raise_any()
    found: dict[str, Any] = {"enabled": content["enable"]}
    target = content.get(_TARGET_SIZE, config.get(_TARGET_SIZE))
    if target is not None:
        found["options"] = {"target-file-size-bytes": target}
    for key, value in config.items():
        for place in _places(key, problems):
            found = merged(found, _nested(place, _value(key, value)))
    for path, text in schema_problems({"version": 1, "catalogs": {"of": {}}, "defaults": found}):
        problems.add(path[1:], text)
    settings_of(found, problems)
    problems.raise_any()
    return found


def _content(policy: Mapping[str, Any], problems: Problems) -> Mapping[str, Any]:
    content = policy.get("content") or "{}"
    try:
        read = json.loads(content) if isinstance(content, str) else content
    except ValueError:
        read = None
    if not isinstance(read, Mapping):
        problems.add((), "its content is no JSON object")
        problems.raise_any()
    return dict(read or {})


def _places(key: str, problems: Problems) -> Iterator[tuple[str, ...]]:
    """Find where in the settings a key stands; nowhere, if it is of another service."""
    known = list(policy_schema()["$defs"]["settings"]["properties"])
    first, _, rest = key.partition(".")
    if first == _OF_MACHINE:
        problems.add((key,), "names files of the maintainer's machine: that is for the policy's file to say")
    elif first in known:
        # Names of options have dots of their own.
        yield (first, rest) if first == "options" and rest else tuple(key.split("."))
    elif near := get_close_matches(first, known, n=1, cutoff=0.8):
        problems.add((key,), f"is unknown: did you mean '{'.'.join(filter(None, (near[0], rest)))}'?")


def _nested(path: tuple[str, ...], value: object) -> dict[str, Any]:
    first, *rest = path
    return {first: _nested(tuple(rest), value) if rest else value}


def _value(key: str, value: object) -> object:
    if not isinstance(value, str) or key in _TEXTS or key.startswith("options."):
        return value
    if value.lower() in ("true", "false"):
        return value.lower() == "true"
    if value == "{}":
        return {}
    if _NUMBER.fullmatch(value):
        return float(value) if "." in value else int(value)
    return value
