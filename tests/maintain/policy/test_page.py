"""The page on policies has every key, and its policies are right."""

from dataclasses import fields
from datetime import timedelta

import pytest
from pydantic import TypeAdapter

from iceberg_zorder.maintain.policy.read import parse_policy
from iceberg_zorder.maintain.policy.settings import (
    Budget,
    Conflicts,
    FollowUps,
    PolicyFile,
    QueryFiles,
    TableSettings,
    Triggers,
)
from iceberg_zorder.rewrite.measures import duration
from tests.maintain.policy.policies import ENVIRONMENT
from tests.pages import PAGES, rows, snippets
from tests.present import present

PAGE = "docs/do/policy.md"


@pytest.mark.parametrize(
    ("heading", "kind"),
    [
        ("| section |", PolicyFile),
        ("| key of `budget` |", Budget),
        ("| setting |", TableSettings),
        ("| key of `workload` |", QueryFiles),
        ("| trigger |", Triggers),
        ("| follow-up |", FollowUps),
        ("| key of `conflicts` |", Conflicts),
    ],
)
def test_every_key_is_told_with_its_default(heading: str, kind: type) -> None:
    told = {row[0].strip("`"): row[1].strip("`") for row in rows(PAGE, heading)[1:]}
    assert list(told) == list(TypeAdapter(kind).json_schema()["properties"])
    for field in fields(kind):
        default, key = field.default, field.name.replace("_", "-")
        if isinstance(default, timedelta):
            assert duration(told[key]) == default
        elif isinstance(default, bool):
            assert told[key] == str(default).lower()


def test_its_policies_are_right() -> None:
    policies = [parse_policy(text, "policy.yaml", ENVIRONMENT) for text in snippets("yaml") if text in PAGES[PAGE]]
    settings = present(policies[0].settings("lake", ["logs"], "http_daily"))
    assert settings.where == "ts < today() - interval '2' day"
    settings = present(policies[1].settings("lake", ["sales"], "orders"))
    assert settings.workload is not None
