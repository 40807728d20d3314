"""The sensor in DAGs that a real Airflow runs, on real tables of a SQLite catalog."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import pytest

from tests.airflow.dags import run_tasks
from tests.maintain.lake import Lake, append


def wait(policy: object, **arguments: object) -> str:
    told = "".join(f", {key}={value!r}" for key, value in arguments.items())
    return f"TableNeedsRewriteSensor(task_id='wait', policy={policy!r}, poke_interval=0.1, timeout=600{told})"


@contextmanager
def after_each_look(monkeypatch: pytest.MonkeyPatch, do: Callable[[int], None]) -> Iterator[list[int]]:
    """Have something done after each look at the tables, of which the first is 1; yields the looks."""
    module = import_module("iceberg_zorder.airflow.needs_rewrite_sensor")
    looks: list[int] = []
    look = module.pass_of_task

    def looked(*arguments: Any, **options: Any) -> Any:
        looks.append(len(looks) + 1)
        try:
            return look(*arguments, **options)
        finally:
            do(len(looks))

    with monkeypatch.context() as patched:
        patched.setattr(module, "pass_of_task", looked)
        yield looks


def test_it_waits_until_a_table_needs_a_rewrite(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    grows, tidy = lake.table("db.grows", 1), lake.table("db.tidy", 1)
    at = tidy.metadata_location

    def grow(looks: int) -> None:
        if looks == 2:
            append(grows, 8)

    with after_each_look(monkeypatch, grow) as looks:
        done = run_tasks(wait(str(lake.policy)))
    assert done.states == {"wait": "success"}
    report = done.returned["wait"]
    assert {each["table"]: each["action"] for each in report["tables"]} == {
        "lake.db.grows": "rewrite", "lake.db.tidy": "leave",
    }  # fmt: skip
    assert report["dry_run"]
    assert tidy.refresh().metadata_location == at
    assert len(grows.refresh().snapshots()) == 9
    assert len(looks) == 3


def test_a_pass_follows_with_what_it_has_found(lake: Lake) -> None:
    needy = lake.table("db.needy", 8)
    maintain = f"MaintainOperator(task_id='maintain', policy={str(lake.policy)!r})"
    done = run_tasks(wait(str(lake.policy)), maintain)
    assert done.states == {"wait": "success", "maintain": "success"}
    (found,), (kept,) = (done.returned[each]["tables"] for each in ("wait", "maintain"))
    assert (found["action"], found["reason"], found["done"]) == (kept["action"], kept["reason"], None)
    assert kept["done"]["rewritten_files"] == len(needy.inspect.files())


@pytest.mark.parametrize(("soft_fail", "state"), [(False, "failed"), (True, "skipped")])
def test_a_refused_policy_is_not_tried_again(lake: Lake, *, soft_fail: bool, state: str) -> None:
    wrong = lake.policy.read_text().replace("by:", "bye:")
    done = run_tasks(wait(wrong, retries=3, retry_delay=0, soft_fail=soft_fail))
    assert (done.states, done.tries) == ({"wait": state}, {"wait": 1})
    if not soft_fail:
        assert type(done.failure).__name__ == "AirflowFailException"
        assert str(done.failure).startswith("Cannot use the policy of task wait, because line 6, tables.db.*.bye: ")


def test_a_table_that_fails_is_not_waited_for(lake: Lake) -> None:
    lake.broken_table("db.broken")
    done = run_tasks(wait(str(lake.policy)))
    assert done.states == {"wait": "failed"}
    assert type(done.failure).__name__ == "AirflowException"
    assert str(done.failure).startswith(
        "Cannot tell whether a table needs a rewrite, because lake.db.broken: Cannot cluster by column 'b', because "
    )


def test_a_table_that_fails_hides_no_other(lake: Lake) -> None:
    lake.broken_table("db.broken")
    lake.table("db.needy", 8)
    done = run_tasks(wait(str(lake.policy)))
    assert done.states == {"wait": "success"}
    actions = {each["table"]: each["action"] for each in done.returned["wait"]["tables"]}
    assert actions == {"lake.db.broken": "failed", "lake.db.needy": "rewrite"}


def test_it_waits_on_where_it_is_to_fail_silently(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = lake.broken_table("db.broken")

    def repair(looks: int) -> None:
        if looks == 2:
            broken.update_schema().rename_column("c", "b").commit()

    with after_each_look(monkeypatch, repair) as looks:
        done = run_tasks(wait(str(lake.policy), silent_fail=True))
    assert (done.states, len(looks)) == ({"wait": "success"}, 3)
