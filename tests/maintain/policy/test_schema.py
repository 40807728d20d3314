"""The JSON schema is one, ships with the package, and has the keys that the dataclasses have."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from importlib.resources import files
from typing import Any

import yaml
from jsonschema import Draft202012Validator

from iceberg_zorder.maintain.policy.policy import Budget, Policy
from iceberg_zorder.maintain.policy.schema import policy_schema
from iceberg_zorder.maintain.policy.settings import (
    Conflicts,
    ExpireSnapshots,
    FollowUps,
    QueryFiles,
    RemoveOrphanFiles,
    RewriteManifests,
    RewritePositionDeleteFiles,
    TableSettings,
    Triggers,
)
from tests.maintain.policy.policies import FULL

SCHEMA = policy_schema()
SETTINGS = SCHEMA["$defs"]["settings"]["properties"]
# What the reader adds: the file's name, and why a table is off; the version is for the reader alone.
ADDED = {Policy: {"name"}, TableSettings: {"disabled_because"}}


def names(kind: type) -> set[str]:
    return {field.name.replace("_", "-") for field in fields(kind) if field.name not in ADDED.get(kind, set())}


def keys(schema: Mapping[str, Any]) -> set[str]:
    return set(schema.get("properties", {}))


def test_it_is_a_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_it_stands_beside_the_code_and_takes_every_setting() -> None:
    shipped = json.loads(files("iceberg_zorder.maintain.policy").joinpath("policy.schema.json").read_bytes())
    assert shipped == SCHEMA
    policy = yaml.safe_load(FULL)
    assert list(Draft202012Validator(SCHEMA).iter_errors(policy)) == []
    assert set(policy) == keys(SCHEMA)
    assert set(policy["defaults"]) == set(SETTINGS)
    assert set(policy["defaults"]["triggers"]) == keys(SETTINGS["triggers"])
    assert set(policy["defaults"]["follow-ups"]) == keys(SETTINGS["follow-ups"])


def test_its_keys_are_the_fields_of_the_dataclasses() -> None:
    definitions = SCHEMA["$defs"]
    assert names(Policy) | {"version"} == keys(SCHEMA)
    assert names(Budget) == keys(SCHEMA["properties"]["budget"])
    assert names(TableSettings) == set(SETTINGS)
    assert names(Triggers) == keys(SETTINGS["triggers"])
    assert names(FollowUps) == keys(SETTINGS["follow-ups"])
    assert names(QueryFiles) - {"sources"} | {"from"} == keys(SETTINGS["workload"]["anyOf"][1])
    assert names(Conflicts) == keys(SETTINGS["conflicts"])
    assert names(ExpireSnapshots) == keys(definitions["expire-snapshots"])
    assert names(RemoveOrphanFiles) == keys(definitions["remove-orphan-files"])
    assert names(RewriteManifests) == names(RewritePositionDeleteFiles) == keys(definitions["nothing-to-set"]) == set()


def properties(schema: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """All keys of a policy, wherever in it."""
    if isinstance(schema, Mapping):
        yield from schema.get("properties", {}).items()
        for inside in schema.values():
            yield from properties(inside)


def test_every_key_says_what_it_is_for_editors() -> None:
    told = list(properties(SCHEMA))
    assert len(told) > 40
    assert [name for name, schema in told if not schema.get("description")] == []
