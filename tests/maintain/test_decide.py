"""Decisions, as a table of cases: what was found and what a policy says in, decisions with their reasons out."""

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from iceberg_zorder.maintain.decide import Decision, decide
from iceberg_zorder.maintain.notes import Conflicts
from iceberg_zorder.maintain.observation import Arrivals, FileGroupNeed, Observation, TableName, WorkloadNeed
from iceberg_zorder.maintain.policy.schedule import HourRange
from iceberg_zorder.maintain.policy.settings import Budget, TableSettings, Triggers

ANY = TableSettings(triggers=Triggers(commit_count=1))
NOW = datetime(2026, 11, 23, 12, tzinfo=timezone.utc)
COME = Arrivals(
    commits=7, data_files=30, data_bytes=5_000, position_delete_files=3, position_deletes=70, equality_delete_files=2,
    equality_deletes=9,
)  # fmt: skip
NEED = FileGroupNeed(1, 10, 1_000, 0.4, False, "they overlap")


def table(name: str = "t", *groups: FileGroupNeed, **found: Any) -> Observation:
    given = {"last_rewrite_ms": int((NOW - timedelta(hours=5)).timestamp() * 1000), "arrivals": COME, **found}
    return Observation(TableName("lake", ("db",), name), 1, groups=groups, **given)


def decided(found: Observation, settings: TableSettings) -> Decision:
    (decision,) = decide([(found, settings)], NOW, Budget())
    return decision


@pytest.mark.parametrize(
    ("triggers", "action", "reason"),
    [
        ({"scan_ratio": 1.3}, "rewrite", "scan-ratio 1.3: a rewrite pays"),
        ({}, "rewrite", "scan-ratio 1.2: a rewrite pays"),
        ({"depth": 3.0}, "rewrite", "depth 3.5 of 3"),
        ({"depth": 4.0}, "leave", "no trigger is met: depth 3.5 of 4"),
        ({"commit_count": 7}, "rewrite", "commit-count 7 of 7"),
        ({"commit_count": 8}, "leave", "no trigger is met: commit-count 7 of 8"),
        ({"data_file_count": 31}, "leave", "no trigger is met: data-file-count 30 of 31"),
        ({"data_file_size": 5_000}, "rewrite", "data-file-size 5,000 of 5,000"),
        ({"bytes_appended": 5_001}, "leave", "no trigger is met: bytes-appended 5,000 of 5,001"),
        ({"pos_delete_file_count": 3}, "rewrite", "pos-delete-file-count 3 of 3"),
        ({"pos_delete_record_count": 71}, "leave", "no trigger is met: pos-delete-record-count 70 of 71"),
        ({"eq_delete_file_count": 1}, "rewrite", "eq-delete-file-count 2 of 1"),
        ({"eq_delete_record_count": 10}, "leave", "no trigger is met: eq-delete-record-count 9 of 10"),
        ({"small_file_count": 4}, "rewrite", "small-file-count 4 of 4"),
        (
            {"interval": timedelta(hours=6)},
            "leave",
            "no trigger is met: interval 6:00:00: last rewrite 2026-11-23 07:00:00Z",
        ),
        ({"interval": timedelta(hours=5)}, "rewrite", "interval 5:00:00: last rewrite 2026-11-23 07:00:00Z"),
        ({"cron": "0 9 * * *"}, "rewrite", "cron 0 9 * * *: due since the last rewrite"),
        ({"cron": "0 3 * * *"}, "leave", "no trigger is met: cron 0 3 * * *: not due since the last rewrite"),
        # Any is enough, and those that are met are told.
        ({"commit_count": 100, "data_file_count": 10}, "rewrite", "data-file-count 30 of 10"),
        (
            {"commit_count": 100, "cron": "0 3 * * *"},
            "leave",
            "no trigger is met: commit-count 7 of 100; cron 0 3 * * *: not due since the last rewrite",
        ),
    ],
)
def test_triggers(triggers: dict[str, Any], action: str, reason: str) -> None:
    found = table("t", NEED, pays=True, depth=3.5, small_files=4)
    decision = decided(found, TableSettings(triggers=Triggers(**triggers)))
    assert (decision.action, decision.reason) == (action, reason)
    assert decision.groups == ((NEED,) if action == "rewrite" else ())


def test_what_pays_by_the_options_may_not_by_the_trigger() -> None:
    settings = TableSettings(triggers=Triggers(scan_ratio=2.0, commit_count=7))
    assert decided(table("t", NEED), settings).reason == "commit-count 7 of 7"
    decision = decided(table("t", NEED), replace(settings, triggers=Triggers(scan_ratio=2.0)))
    assert (decision.action, decision.reason) == ("leave", "no trigger is met: scan-ratio 2: no rewrite pays")


@pytest.mark.parametrize(
    ("settings", "not_before", "reason"),
    [
        (TableSettings(enabled=False, disabled_because="its owner says so"), None, "its owner says so"),
        (
            TableSettings(allowed_hours=(HourRange.parse("22:00-06:00"),)),
            None,
            "outside allowed-hours",
        ),
        (ANY, timedelta(minutes=1), "backing off until 2026-11-23 12:01:00Z after a conflict"),
        (TableSettings(triggers=Triggers(commit_count=8)), None, "no trigger is met: commit-count 7 of 8"),
    ],
)
def test_what_is_left_whatever_it_needs(settings: TableSettings, not_before: timedelta | None, reason: str) -> None:
    found = table("t", NEED, conflicts=None if not_before is None else Conflicts(1, NOW + not_before))
    assert decided(found, settings) == Decision(found.table, "leave", reason)
    # And once it is over, it is rewritten.
    assert decided(replace(found, conflicts=Conflicts(1, NOW)), ANY).action == "rewrite"


def test_nothing_to_rewrite_says_what_the_plan_says() -> None:
    decision = decided(table("t", message="Nothing."), TableSettings(triggers=Triggers(commit_count=1)))
    assert (decision.action, decision.reason) == ("leave", "Nothing.")


def group(index: int, size: int, saved: float, *, must_rewrite: bool = False) -> FileGroupNeed:
    return FileGroupNeed(index, 2, size, saved / size, must_rewrite, "")


@pytest.mark.parametrize(
    ("budget", "taken"),
    [
        (Budget(), {"c": [2, 1], "b": [1], "a": [2, 1]}),
        (Budget(bytes=100), {"c": [2]}),
        (Budget(bytes=150), {"c": [2], "b": [1]}),
        # What does not fit leaves its room to others that are worth less.
        (Budget(bytes=450), {"c": [2], "b": [1], "a": [1]}),
        (Budget(bytes=1), {}),
        (Budget(tables=1), {"c": [2, 1]}),
        (Budget(tables=2), {"c": [2, 1], "b": [1]}),
        (Budget(bytes=150, tables=1), {"c": [2]}),
    ],
)
def test_the_budget_goes_to_what_is_worth_most(budget: Budget, taken: dict[str, list[int]]) -> None:
    tables = [
        table("a", group(1, 300, 30.0), group(2, 1_000, 200.0)),
        table("b", group(1, 50, 20.0)),
        table("c", group(1, 1_000, -5.0), group(2, 100, 90.0)),
    ]
    pairs = [(each, ANY) for each in tables]
    found = decide(pairs, NOW, budget)
    chosen = {each.table.name: [group.index for group in each.groups] for each in found if each.action == "rewrite"}
    assert chosen == taken
    assert list(chosen) == list(taken), "in the order of what a byte is worth"
    assert sum(each.size for each in found) <= (budget.bytes if budget.bytes is not None else 10_000)
    for each, observed in ((decision, next(t for t in tables if t.table == decision.table)) for decision in found):
        assert sorted([*each.groups, *each.deferred], key=lambda of: of.index) == list(observed.groups)
        if not each.groups:
            assert each.reason.startswith("over the budget of this pass: ")
    # The order of tables decides nothing.
    assert decide(pairs[::-1], NOW, budget)[: len(taken)] == found[: len(taken)]


def test_what_is_due_comes_before_what_gains() -> None:
    tables = [table("a", group(1, 100, 99.0)), table("b", group(1, 100, 0.0, must_rewrite=True))]
    pairs = [(each, ANY) for each in tables]
    found = decide(pairs, NOW, Budget(bytes=100))
    assert [(each.table.name, each.action) for each in found] == [("b", "rewrite"), ("a", "leave")]
    assert found[1].reason == "over the budget of this pass: needs 100 bytes, 0 are left"
    assert replace(found[1], deferred=()).size == 0


@pytest.mark.parametrize(
    ("need", "action", "reason"),
    [
        # Nothing to tell: advise was asked within a day.
        ({}, "leave", "no trigger is met: depth 3.5 of 4"),
        (
            {"message": "advise recommends zorder(b)", "groups": (NEED,)},
            "rewrite",
            "the queries of the workload read 31.0% of the bytes; advise recommends zorder(b)",
        ),
        (
            {"message": "advise recommends no change: queries read no less of zorder(b)"},
            "leave",
            "no trigger is met: depth 3.5 of 4; the queries of the workload read 31.0% of the bytes; advise recommends "
            "no change: queries read no less of zorder(b)",
        ),
    ],
)
def test_a_new_layout_is_made_where_advise_says_so(need: dict[str, Any], action: str, reason: str) -> None:
    found = table("t", group(9, 10, 9.0), depth=3.5, workload=WorkloadNeed(8, 10.0, read=0.31, **need))
    settings = TableSettings(triggers=Triggers(depth=4.0))
    decision = decided(found, settings)
    assert (decision.action, decision.reason) == (action, reason)
    assert decision.groups == need.get("groups", ())
    assert decision.is_new_layout == (action == "rewrite")
    # What others have called for is told besides, and the new layout is all of it.
    both = decided(found, ANY)
    assert both.action == "rewrite"
    assert both.groups == (need["groups"] if decision.is_new_layout else found.groups)
    assert both.reason == (
        reason if decision.is_new_layout else reason.replace("no trigger is met: depth 3.5 of 4", "commit-count 7 of 1")
    )
    # Hours are kept, and a disabled table is left.
    assert decided(found, TableSettings(enabled=False, disabled_because="so")).reason == "so"
