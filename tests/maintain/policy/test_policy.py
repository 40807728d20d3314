"""What a policy says of a table: all settings, and how rules are merged."""

from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.maintain.policy.policy import Policy
from iceberg_zorder.maintain.policy.read import read_policy
from iceberg_zorder.maintain.policy.schedule import HourRange
from iceberg_zorder.maintain.policy.settings import (
    Budget,
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
from tests.maintain.policy.policies import ENVIRONMENT, HERE, policy_of


def settings(policy: Policy, name: str = "sales.orders", catalog: str = "lake", **more: Any) -> TableSettings:
    *namespace, table = name.split(".")
    found = policy.settings(catalog, namespace, table, **more)
    assert found is not None
    return found


def test_every_setting_is_read() -> None:
    policy = read_policy(HERE / "full.yaml", ENVIRONMENT)
    assert policy.budget == Budget(bytes=100 * 10**9, minutes=60, tables=20)
    assert policy.interval == timedelta(minutes=5)
    assert policy.catalogs["lake"].properties == {
        "type": "rest",
        "uri": "http://lake.internal:8181",
        "credential": "maintainer:hunter2",
    }
    assert policy.catalogs["pond"].properties == {}
    assert settings(policy) == TableSettings(
        enabled=True,
        catalog=("lake",),
        by="zorder(`user_id`, `ts`)",
        engine="auto",
        branch="audit",
        where="ts < today() - interval '7' day",
        options={"max-scan-ratio": "1.5", "min-age-seconds": "600"},
        workload=QueryFiles(
            ("queries/*.sql", "trino.csv.gz"), 1.5, "rows", "trino", ("trino", "duckdb"), timedelta(weeks=2)
        ),
        triggers=Triggers(
            scan_ratio=1.3,
            depth=4.0,
            commit_count=10,
            data_file_count=50,
            data_file_size=10**9,
            pos_delete_file_count=10,
            pos_delete_record_count=100_000,
            eq_delete_file_count=1,
            eq_delete_record_count=1_000,
            small_file_count=20,
            bytes_appended=10 * 10**9,
            interval=timedelta(days=1),
            cron="0 3 * * *",
        ),
        time_zone=ZoneInfo("Europe/Berlin"),
        allowed_hours=(HourRange(tuple(range(7)), 22 * 60, 6 * 60), HourRange((5,), 0, 24 * 60)),
        follow_ups=FollowUps(
            RewritePositionDeleteFiles(),
            RewriteManifests(),
            ExpireSnapshots(timedelta(days=5), 10),
            RemoveOrphanFiles(timedelta(days=3)),
        ),
        conflicts=Conflicts(True, timedelta(minutes=10), timedelta(hours=6)),
        disabled_because="it is not",
    )


def test_nothing_said_is_the_defaults() -> None:
    policy = policy_of(tables={"sales.orders": None})
    assert policy.budget == Budget()
    assert settings(policy) == TableSettings()


@pytest.mark.parametrize(
    ("sections", "name", "engine"),
    [
        ({"tables": {"sales.orders": {"engine": "spark"}}}, "sales.orders", "spark"),
        ({"tables": {"sales.orders": {"engine": "spark"}}}, "sales.orders2", None),
        ({"tables": {"sales.orders": {"engine": "spark"}}}, "Sales.orders", None),
        ({"tables": {"*": {"engine": "spark"}}}, "a.b.c", "spark"),
        ({"tables": {"logs.*_daily": {}}}, "logs.http_daily", "auto"),
        ({"tables": {"logs.*_daily": {}}}, "logs.http_hourly", None),
        ({"namespaces": {"raw": {}}}, "raw.events", "auto"),
        ({"namespaces": {"raw": {}}}, "raw.eu.events", None),
        ({"namespaces": {"raw.*": {}}}, "raw.eu.events", "auto"),
        ({"namespaces": {"raw.*": {}}}, "raw.eu.north.events", "auto"),
        ({"namespaces": {"raw.*": {}}}, "raw.events", None),
        ({"namespaces": {"raw.e[ux]": {}}}, "raw.ex.events", "auto"),
        # defaults match nothing by themselves, namespaces win over them, and tables over both
        ({"defaults": {"engine": "spark"}, "tables": {"a.b": {}}}, "sales.orders", None),
        ({"defaults": {"engine": "spark"}, "tables": {"a.b": {}}}, "a.b", "spark"),
        (
            {"tables": {"*": {"engine": "spark"}}, "namespaces": {"a": {"engine": "pyiceberg"}}},
            "a.b",
            "spark",
        ),
        ({"defaults": {"engine": "spark"}, "namespaces": {"a": {"engine": "pyiceberg"}}}, "a.b", "pyiceberg"),
        # within a section the later wins
        ({"tables": {"*": {"engine": "spark"}, "a.*": {"engine": "pyiceberg"}}}, "a.b", "pyiceberg"),
        ({"tables": {"a.*": {"engine": "pyiceberg"}, "*": {"engine": "spark"}}}, "a.b", "spark"),
        # rules of other catalogs do not match
        ({"tables": {"*": {"catalog": "pond", "engine": "spark"}}}, "a.b", None),
        ({"tables": {"*": {"catalog": ["pond", "lake"]}}}, "a.b", "auto"),
        ({"defaults": {"catalog": "pond"}, "tables": {"*": {}}}, "a.b", None),
        ({"defaults": {"catalog": "pond"}, "tables": {"*": {"catalog": "lake"}}}, "a.b", "auto"),
        ({"tables": {"*": {}, "a.b": {"catalog": "pond", "engine": "spark"}}}, "a.b", "auto"),
    ],
)
def test_rules_match_and_are_merged(sections: dict[str, Any], name: str, engine: str | None) -> None:
    *namespace, table = name.split(".")
    found = policy_of(**sections).settings("lake", namespace, table)
    assert (None if found is None else found.engine) == engine


def test_mappings_are_merged_key_by_key_and_lists_are_replaced() -> None:
    policy = policy_of(
        defaults={"by": ["a", "b"], "options": {"cuts": "even", "min-input-files": 3}, "triggers": {"depth": 4}},
        namespaces={
            "sales": {"options": {"min-input-files": 7}, "follow-ups": {"expire-snapshots": {"retain-last": 3}}}
        },
        tables={
            "sales.*": {"by": ["c"], "triggers": {"interval": "2 h"}},
            "*.orders": {"follow-ups": {"expire-snapshots": {"older-than": "2 days"}}},
        },
    )
    found = settings(policy)
    assert found.by == "zorder(`c`)"
    assert found.options == {"cuts": "even", "min-input-files": "7"}
    assert found.triggers == Triggers(depth=4, interval=timedelta(hours=2))
    assert found.follow_ups == FollowUps(expire_snapshots=ExpireSnapshots(timedelta(days=2), 3))


def test_false_takes_away_what_was_set_above() -> None:
    policy = policy_of(
        defaults={
            "by": "a, b",
            "where": "a = 1",
            "branch": "audit",
            "allowed-hours": "00:00-01:00",
            "triggers": {"depth": 4, "cron": "0 3 * * *"},
            "follow-ups": {"expire-snapshots": {"retain-last": 3}, "rewrite-manifests": {}},
        },
        tables={
            "*": {
                **dict.fromkeys(["by", "where", "branch", "allowed-hours"], False),
                "triggers": {"cron": False},
                "follow-ups": {"expire-snapshots": False},
            }
        },
    )
    assert settings(policy) == TableSettings(
        triggers=Triggers(depth=4), follow_ups=FollowUps(rewrite_manifests=RewriteManifests())
    )


def test_rules_that_contradict_each_other_only_together_are_told_with_the_table() -> None:
    policy = policy_of(
        namespaces={"sales": {"options": {"target-file-size-bytes": 1_000}}},
        tables={"*.orders": {"options": {"min-file-size-bytes": 2_000}}},
    )
    with pytest.raises(InvalidInputError) as error:
        policy.settings("lake", ["sales"], "orders")
    assert str(error.value) == (
        "Cannot use policy.yaml for lake.sales.orders, because options: 'target-file-size-bytes' (1000) must be > "
        "'min-file-size-bytes' (2000), all new files will be smaller than the min threshold"
    )


@pytest.mark.parametrize(
    ("properties", "enabled"),
    [
        ({}, True),
        ({"maintenance.disabled": "false"}, True),
        ({"maintenance.disabled": "true"}, False),
        ({"maintenance.disabled": " TRUE"}, False),
        ({"zorder.columns": "zorder(a)"}, True),
    ],
)
def test_owners_of_tables_opt_out(properties: dict[str, str], enabled: bool) -> None:
    found = settings(policy_of(tables={"*": {}})).with_properties(properties)
    assert found.enabled is enabled
    assert enabled or found.disabled_because == "the table property maintenance.disabled is true"


def test_rules_and_defaults_may_be_right_only_together() -> None:
    defaults = {"workload": {"days": 7}, "conflicts": {"back-off": "1 minute"}}
    rule = {"workload": {"from": "q.sql"}, "conflicts": {"max-back-off": "5 minutes"}}
    found = settings(policy_of(defaults=defaults, tables={"*": rule}))
    assert found.workload == QueryFiles(("q.sql",), 7.0)
    assert found.conflicts == Conflicts(back_off=timedelta(minutes=1), max_back_off=timedelta(minutes=5))
