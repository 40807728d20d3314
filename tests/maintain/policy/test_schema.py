"""The JSON schema of policies, which editors take, knows every setting and tells what it is."""

from collections.abc import Iterator, Mapping
from typing import Any

import yaml
from jsonschema import Draft202012Validator

from iceberg_zorder.maintain.policy.settings_reader import policy_schema
from tests.maintain.policy.policies import FULL

SCHEMA = policy_schema()


def test_it_is_a_schema_which_takes_a_policy_and_refuses_another() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    policy = yaml.safe_load(FULL)
    validator = Draft202012Validator(SCHEMA)
    assert list(validator.iter_errors(policy)) == []
    policy["defaults"]["trigers"] = {}
    assert [error.validator for error in validator.iter_errors(policy)] == ["additionalProperties"]


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
