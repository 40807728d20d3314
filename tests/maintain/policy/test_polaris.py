"""Settings from policies of Polaris, as its API answers them."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.maintain.policy.polaris import from_polaris
from iceberg_zorder.maintain.policy.settings import ExpireSnapshots
from tests.maintain.policy.policies import policy_of


def answer(*contents: Any, inherited: bool = False) -> dict[str, Any]:
    policies = [
        {
            "policy-type": "system.data-compaction",
            "inheritable": True,
            "name": f"compaction-{place}",
            "description": None,
            "content": content if isinstance(content, str) else json.dumps(content),
            "version": 0,
            "inherited": inherited,
            "namespace": ["policies"],
        }
        for place, content in enumerate(contents)
    ]
    return {"applicable-policies": policies, "next-page-token": None}


def content(config: dict[str, Any] | None = None, enable: bool = True) -> dict[str, Any]:
    return {"version": "2025-02-03", "enable": enable, "config": config or {}}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"enable": True}, {"enabled": True}),
        ({"enable": False}, {"enabled": False}),
        (
            {"enable": True, "target_file_size_bytes": 134217728},
            {"enabled": True, "options": {"target-file-size-bytes": 134217728}},
        ),
        (
            content({"target_file_size_bytes": 134217728, "compaction_strategy": "bin-pack"}),
            {"enabled": True, "options": {"target-file-size-bytes": 134217728}},
        ),
        (content({"triggers.scan-ratio": "1.3"}), {"enabled": True, "triggers": {"scan-ratio": 1.3}}),
        (content({"triggers.depth": 4}), {"enabled": True, "triggers": {"depth": 4}}),
        (content({"triggers.commit-count": "10"}), {"enabled": True, "triggers": {"commit-count": 10}}),
        (content({"triggers.cron": "0 3 * * *"}), {"enabled": True, "triggers": {"cron": "0 3 * * *"}}),
        (content({"triggers": {"depth": 4}}), {"enabled": True, "triggers": {"depth": 4}}),
        (content({"by": "user_id, ts", "branch": "7"}), {"enabled": True, "by": "user_id, ts", "branch": "7"}),
        (
            content({"options.partial-progress.enabled": "true", "options.max-scan-ratio": "1.5"}),
            {"enabled": True, "options": {"partial-progress.enabled": "true", "max-scan-ratio": "1.5"}},
        ),
        (
            content({"follow-ups.expire-snapshots.older-than": "5 days", "follow-ups.rewrite-manifests": "{}"}),
            {"enabled": True, "follow-ups": {"expire-snapshots": {"older-than": "5 days"}, "rewrite-manifests": {}}},
        ),
        (content({"conflicts.markers": "false"}), {"enabled": True, "conflicts": {"markers": False}}),
    ],
)
def test_a_policy_becomes_settings(said: dict[str, Any], expected: dict[str, Any]) -> None:
    assert from_polaris(answer(said)) == expected


def test_policies_of_other_types_and_no_policies_say_nothing() -> None:
    other = answer(content())
    other["applicable-policies"][0]["policy-type"] = "system.snapshot-expiry"
    assert from_polaris(other) == from_polaris(answer()) == from_polaris({}) == {}


def test_a_policy_of_the_table_wins_over_an_inherited_one() -> None:
    own = answer(content({"triggers.depth": 3}))["applicable-policies"]
    above = answer(content({"triggers.depth": 5, "engine": "spark"}, enable=False), inherited=True)[
        "applicable-policies"
    ]
    for policies in ([*own, *above], [*above, *own]):
        assert from_polaris({"applicable-policies": policies}) == {
            "enabled": True,
            "triggers": {"depth": 3},
            "engine": "spark",
        }


def test_the_files_rules_win_and_its_defaults_do_not() -> None:
    policy = policy_of(
        defaults={"engine": "pyiceberg", "branch": "audit", "triggers": {"interval": "1 day"}},
        tables={"a.b": {"triggers": {"depth": 7}}},
    )
    polaris = from_polaris(
        answer(
            content(
                {
                    "engine": "spark",
                    "triggers.depth": "3",
                    "triggers.scan-ratio": "2",
                    "follow-ups.expire-snapshots.retain-last": "4",
                },
                enable=False,
            )
        )
    )
    found = policy.settings("lake", ["a"], "b", polaris)
    assert found is not None
    assert (found.enabled, found.engine, found.branch) == (False, "spark", "audit")
    assert (found.triggers.depth, found.triggers.scan_ratio, found.triggers.interval) == (7, 2, timedelta(days=1))
    assert found.follow_ups.expire_snapshots == ExpireSnapshots(retain_last=4)


def test_a_policy_of_polaris_is_a_rule_for_its_table() -> None:
    policy = policy_of(defaults={"engine": "pyiceberg"}, **{"polaris-policies": "lake"})
    assert policy.polaris_policies == ("lake",)
    assert policy.settings("lake", ["a"], "b") is None
    found = policy.settings("lake", ["a"], "b", from_polaris(answer(content({"triggers.depth": "3"}))))
    assert found is not None
    assert (found.enabled, found.engine, found.triggers.depth) == (True, "pyiceberg", 3)
    found = policy.settings("lake", ["a"], "b", from_polaris(answer(content(enable=False))))
    assert found is not None
    assert (found.enabled, found.disabled_because) == (False, "the policy says enabled: false")


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("{", "its content is no JSON object"),
        ("[]", "its content is no JSON object"),
        ({}, "enable: is neither true nor false"),
        ({"enable": "yes"}, "enable: is neither true nor false"),
        ({"enable": True, "version": "2024-01-01"}, "version: '2024-01-01' is not 2025-02-03"),
        ({"enable": True, "config": []}, "config: is not a mapping"),
        (content({"triggers.scan-ratio": "0.5"}), "triggers.scan-ratio: 0.5 is not a number of at least 1"),
        (content({"triggers.scan-ration": "1.5"}), "triggers.scan-ration: is unknown: did you mean 'scan-ratio'?"),
        (content({"trigger.scan-ratio": "2"}), "trigger.scan-ratio: is unknown: did you mean 'triggers.scan-ratio'?"),
        (
            content({"workload.from": "/etc/passwd"}),
            "workload.from: names files of the maintainer's machine: that is for the policy's file to say",
        ),
        (
            content({"options.cuts": "odd"}),
            "options.cuts: cannot set cuts to 'odd', because it must be 'adaptive' or 'even'",
        ),
        (content({"where": "upper(a) = 'X'"}), "where: UPPER(a) is neither a column nor a value"),
        (
            {"enable": True, "target_file_size_bytes": -1},
            "options.target-file-size-bytes: 'target-file-size-bytes' is set to -1 but must be > 0",
        ),
    ],
)
def test_a_wrong_policy_is_refused_by_its_name(said: Any, why: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        from_polaris(answer(said))
    assert str(error.value) == f"Cannot use policy 'compaction-0' of Polaris, because {why}"
