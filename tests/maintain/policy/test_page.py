"""The page on policies has every key of the schema, and its policies are right."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest

from iceberg_zorder.maintain.policy.polaris import from_polaris
from iceberg_zorder.maintain.policy.read import parse_policy
from iceberg_zorder.maintain.policy.schema import policy_schema
from tests.maintain.policy.policies import ENVIRONMENT
from tests.pages import PAGES, rows, snippets

PAGE = "docs/maintenance.md"
SCHEMA = policy_schema()
SETTINGS = SCHEMA["$defs"]["settings"]["properties"]


@pytest.mark.parametrize(
    ("heading", "schema"),
    [
        ("| section |", SCHEMA),
        ("| key of `budget` |", SCHEMA["properties"]["budget"]),
        ("| setting |", SCHEMA["$defs"]["settings"]),
        ("| key of `workload` |", SETTINGS["workload"]["anyOf"][1]),
        ("| trigger |", SETTINGS["triggers"]),
        ("| follow-up |", SETTINGS["follow-ups"]),
        ("| key of `conflicts` |", SETTINGS["conflicts"]),
    ],
)
def test_every_key_is_told_with_its_default(heading: str, schema: Mapping[str, Any]) -> None:
    told = {row[0].strip("`"): row[1].strip("`") for row in rows(PAGE, heading)[1:]}
    assert list(told) == list(schema["properties"])
    defaults = {key: value["default"] for key, value in schema["properties"].items() if "default" in value}
    assert {key: str(value).lower() for key, value in defaults.items()} == {key: told[key].lower() for key in defaults}


def test_follow_ups_have_their_settings_told() -> None:
    told = {row[0].strip("`"): set(re.findall(r"`([\w-]+)`", row[1])) for row in rows(PAGE, "| follow-up |")[1:]}
    definitions = SCHEMA["$defs"]
    assert told == {
        key: set(definitions.get(key, {}).get("properties", {})) for key in SETTINGS["follow-ups"]["properties"]
    }


def test_its_policies_are_right() -> None:
    policies = [parse_policy(text, "policy.yaml", ENVIRONMENT) for text in snippets("yaml") if text in PAGES[PAGE]]
    settings = policies[0].settings("lake", ["logs"], "http_daily")
    assert settings is not None
    assert settings.where == "ts < today() - interval '2' day"
    settings = policies[1].settings("lake", ["sales"], "orders")
    assert settings is not None
    assert settings.workload is not None
    (content,) = (text for text in snippets("json") if text in PAGES[PAGE])
    answered = {"policy-type": "system.data-compaction", "name": "p", "inherited": False, "content": content}
    assert from_polaris({"applicable-policies": [answered]})["options"] == {"cuts": "even"}
    assert json.loads(content)["enable"]
