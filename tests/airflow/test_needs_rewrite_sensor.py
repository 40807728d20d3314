"""The sensor in DAGs that a real Airflow runs, in its worker and deferred, on real tables of a SQLite catalog."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import pytest

from tests.airflow.dags import run_tasks
from tests.maintain.lake import Lake, append

BOTH = pytest.mark.parametrize("deferrable", [False, True], ids=["in the worker", "deferred"])


def wait(policy: object, *, deferrable: bool, **arguments: object) -> str:
    told = "".join(f", {key}={value!r}" for key, value in arguments.items())
    return (
        f"TableNeedsRewriteSensor(task_id='wait', policy={policy!r}, deferrable={deferrable}, poke_interval=0.1, "
        f"timeout=600{told})"
    )


@contextmanager
def after_each_look(monkeypatch: pytest.MonkeyPatch, do: Callable[[int], None]) -> Iterator[list[threading.Thread]]:
    """Have something done after each look at the tables, of which the first is 1; yields the threads that have looked."""
    threads: list[threading.Thread] = []
    modules = [import_module(f"iceberg_zorder.airflow.needs_rewrite_{each}") for each in ("sensor", "trigger")]
    look = modules[0].look

    def looked(*arguments: Any) -> Any:
        threads.append(threading.current_thread())
        try:
            return look(*arguments)
        finally:
            do(len(threads))

    with monkeypatch.context() as patched:
        for module in modules:
            patched.setattr(module, "look", looked)
        yield threads


@BOTH
def test_it_waits_until_a_table_needs_a_rewrite(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, *, deferrable: bool
) -> None:
    grows, tidy = lake.table("db.grows", 1), lake.table("db.tidy", 1)
    at = tidy.metadata_location

    def grow(looks: int) -> None:
        if looks == 2:
            append(grows, 8)

    with after_each_look(monkeypatch, grow) as threads:
        done = run_tasks(wait(str(lake.policy), deferrable=deferrable))
    assert done.states == {"wait": "success"}
    report = done.returned["wait"]
    assert {each["table"]: each["action"] for each in report["tables"]} == {
        "lake.db.grows": "rewrite", "lake.db.tidy": "leave",
    }  # fmt: skip
    assert report["dry_run"]
    assert tidy.refresh().metadata_location == at
    assert len(grows.refresh().snapshots()) == 9
    # Deferred it never looks in a worker, but in threads of the triggerer, whose event loop others need.
    assert len(threads) == 3
    assert [each is threading.main_thread() for each in threads] == [not deferrable] * 3


def test_a_pass_follows_with_what_it_has_found(lake: Lake) -> None:
    needy = lake.table("db.needy", 8)
    maintain = f"MaintainOperator(task_id='maintain', policy={str(lake.policy)!r})"
    done = run_tasks(wait(str(lake.policy), deferrable=True), maintain)
    assert done.states == {"wait": "success", "maintain": "success"}
    (found,), (kept,) = (done.returned[each]["tables"] for each in ("wait", "maintain"))
    assert (found["action"], found["reason"], found["done"]) == (kept["action"], kept["reason"], None)
    assert kept["done"]["rewritten_files"] == len(needy.inspect.files())


@BOTH
@pytest.mark.parametrize(("soft_fail", "state"), [(False, "failed"), (True, "skipped")])
def test_a_refused_policy_is_not_tried_again(lake: Lake, *, deferrable: bool, soft_fail: bool, state: str) -> None:
    wrong = lake.policy.read_text().replace("by:", "bye:")
    done = run_tasks(wait(wrong, deferrable=deferrable, retries=3, retry_delay=0, soft_fail=soft_fail))
    assert (done.states, done.tries) == ({"wait": state}, {"wait": 1})
    if not soft_fail:
        assert type(done.failure).__name__ == "AirflowFailException"
        assert str(done.failure).startswith("Cannot use the policy of task wait, because line 6, tables.db.*.bye: ")


@BOTH
def test_a_policy_that_cannot_be_read_is_told(lake: Lake, *, deferrable: bool) -> None:
    done = run_tasks(wait("/no/policy.yaml", deferrable=deferrable))
    assert done.states == {"wait": "failed"}
    assert str(done.failure).startswith("Cannot use /no/policy.yaml, because it cannot be read")


@BOTH
def test_a_table_that_fails_is_not_waited_for(lake: Lake, *, deferrable: bool) -> None:
    lake.broken_table("db.broken")
    done = run_tasks(wait(str(lake.policy), deferrable=deferrable))
    assert done.states == {"wait": "failed"}
    assert type(done.failure).__name__ == "AirflowException"
    assert str(done.failure).startswith(
        "Cannot tell whether a table needs a rewrite, because lake.db.broken: Cannot cluster by column 'b', because "
    )


@BOTH
def test_a_table_that_fails_hides_no_other(lake: Lake, *, deferrable: bool) -> None:
    lake.broken_table("db.broken")
    lake.table("db.needy", 8)
    done = run_tasks(wait(str(lake.policy), deferrable=deferrable))
    assert done.states == {"wait": "success"}
    actions = {each["table"]: each["action"] for each in done.returned["wait"]["tables"]}
    assert actions == {"lake.db.broken": "failed", "lake.db.needy": "rewrite"}


@BOTH
def test_it_waits_on_where_it_is_to_fail_silently(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, *, deferrable: bool
) -> None:
    broken = lake.broken_table("db.broken")

    def repair(looks: int) -> None:
        if looks == 2:
            with broken.update_schema() as update:
                update.rename_column("c", "b")

    with after_each_look(monkeypatch, repair) as threads:
        done = run_tasks(wait(str(lake.policy), deferrable=deferrable, silent_fail=True))
    assert (done.states, len(threads)) == ({"wait": "success"}, 3)


def test_a_trigger_is_made_again_from_what_it_tells(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    from iceberg_zorder.airflow.needs_rewrite_trigger import TableNeedsRewriteTrigger

    monkeypatch.delenv("LAKE_URI")
    lake.table("db.needy", 8)
    told: dict[str, Any] = {
        "text": lake.policy.read_text(),
        "name": "policy.yaml",
        "environment": {"LAKE_URI": lake.uri},
        "poke_interval": 60.0,
        "silent_fail": False,
    }
    path, arguments = TableNeedsRewriteTrigger(**told).serialize()
    assert arguments == told
    module, _, name = path.rpartition(".")
    again = getattr(import_module(module), name)(**json.loads(json.dumps(arguments)))
    assert again.serialize() == (path, told)

    async def first() -> Any:
        return await anext(again.run())

    event = asyncio.run(first())
    assert event.payload["report"]["tables"][0]["action"] == "rewrite"


def test_a_trigger_does_not_hold_up_others(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    from iceberg_zorder.airflow.needs_rewrite_trigger import TableNeedsRewriteTrigger

    lake.table("db.needy", 8)
    others_ran = threading.Event()
    waited = []

    async def beside(trigger: Any) -> Any:
        mine = asyncio.ensure_future(anext(trigger.run()))
        # Goes on while the trigger looks, which does not end before.
        await asyncio.sleep(0.05)
        others_ran.set()
        return await mine

    trigger = TableNeedsRewriteTrigger(
        text=lake.policy.read_text(), name="policy.yaml", environment={}, poke_interval=60, silent_fail=False
    )
    with after_each_look(monkeypatch, lambda _: waited.append(others_ran.wait(timeout=120))):
        event = asyncio.run(beside(trigger))
    assert waited == [True]
    assert event.payload["report"]["tables"][0]["action"] == "rewrite"
