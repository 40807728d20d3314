"""The operator in DAGs that a real Airflow runs, on real tables of a SQLite catalog."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from iceberg_zorder.pyiceberg import run
from iceberg_zorder.pyiceberg.commit.snapshot import LEASE
from iceberg_zorder.pyiceberg.plan import scan_measure
from iceberg_zorder.rewrite.result import ColumnScan
from tests.airflow.dags import run_tasks
from tests.maintain.lake import POLICY, Lake, rows_of
from tests.pyiceberg.committing import operations, summary_of


def maintain(policy: object, **arguments: object) -> str:
    told = "".join(f", {key}={value!r}" for key, value in arguments.items())
    return f"MaintainOperator(task_id='maintain', policy={policy!r}{told})"


def test_a_pass_rewrites_what_needs_it_and_nothing_else(lake: Lake) -> None:
    needy, tidy = lake.table("db.needy", 8), lake.table("db.tidy", 1)
    before, at = rows_of(needy), tidy.metadata_location
    task = maintain(str(lake.policy))

    dry = run_tasks(maintain(str(lake.policy), dry_run=True)).returned["maintain"]
    assert ([each["action"] for each in dry["tables"]], dry["dry_run"]) == (["rewrite", "leave"], True)
    assert operations(needy) == ["append"] * 8

    done = run_tasks(task)
    assert done.states == {"maintain": "success"}
    report = done.returned["maintain"]
    assert {each["table"]: each["action"] for each in report["tables"]} == {
        "lake.db.needy": "rewrite", "lake.db.tidy": "leave",
    }  # fmt: skip
    assert report["rewritten_bytes"] == report["tables"][0]["done"]["rewritten_bytes"] > 0
    assert (report["errors"], report["dry_run"]) == ([], False)
    assert json.loads(json.dumps(report)) == report
    assert operations(needy) == ["append"] * 8 + ["replace"]
    assert rows_of(needy) == before
    assert tidy.refresh().metadata_location == at

    again = run_tasks(task)
    assert again.states == {"maintain": "success"}
    assert again.returned["maintain"]["rewritten_bytes"] == 0
    assert operations(needy) == ["append"] * 8 + ["replace"]


def given_as_text(lake: Lake) -> object:
    return lake.policy.read_text(encoding="utf-8")


def given_as_mapping(lake: Lake) -> object:
    return {
        "version": 1,
        "catalogs": {"lake": {"type": "sql", "uri": "${LAKE_URI}", "warehouse": f"{lake.home}/warehouse"}},
        "tables": {"db.*": {"by": ["a", "b"], "options": {"min-age-seconds": 0, "target-file-size-bytes": 40_000}}},
    }


def given_as_file_beside_the_dag(lake: Lake) -> object:
    return f"{{{{ dag.folder }}}}/{lake.home.name}.yaml"


@pytest.mark.parametrize("given", [given_as_text, given_as_mapping, given_as_file_beside_the_dag])
def test_policy_and_environment_are_templates(
    lake: Lake, dags: Path, monkeypatch: pytest.MonkeyPatch, given: Callable[[Lake], object]
) -> None:
    needy = lake.table("db.needy", 8)
    beside = dags / f"{lake.home.name}.yaml"
    beside.write_text(str(given_as_text(lake)), encoding="utf-8")
    # A variable and a connection of Airflow's own.
    monkeypatch.setenv("AIRFLOW_VAR_CATALOG", "catalog.db")
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps({"conn_type": "generic", "schema": str(lake.home)}))
    monkeypatch.setenv("LAKE_URI", "sqlite:////what/the/worker/has/does/not/count")
    environment = {"LAKE_URI": "sqlite:///{{ conn.lake.schema }}/{{ var.value.catalog }}"}
    done = run_tasks(maintain(given(lake), environment=environment))
    beside.unlink()
    assert done.states == {"maintain": "success"}, done.failed
    assert operations(needy)[-1] == "replace"


WRONG = "version: 1\ncatalogs: {lake: {}}\ntables: {db.t: {bye: [a]}}\n"


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (WRONG, "Cannot use the policy of task maintain, because line 3, tables.db.t.bye: is unknown (did you mean 'by'?)"),
        ("/no/policy.yaml", "Cannot use /no/policy.yaml, because it cannot be read: No such file or directory"),
        ({"tables": {"*": {"by": {"a"}}}}, "Cannot use the policy of task maintain, because "),
        (
            {"version": 1, "catalogs": {"lake": {"uri": "${NOBODY_HAS_SET_THIS}"}}, "tables": {"*": {}}},
            "Cannot use the policy of task maintain, because line 4, catalogs.lake.uri: ",
        ),
    ],
)  # fmt: skip
def test_a_refused_policy_is_not_tried_again(lake: Lake, policy: object, message: str) -> None:
    done = run_tasks(maintain(policy, retries=3, retry_delay=0))
    assert (done.states, done.tries) == ({"maintain": "failed"}, {"maintain": 1})
    assert type(done.failure).__name__ == "AirflowFailException"
    assert str(done.failure).startswith(message)


def test_a_table_that_fails_fails_the_task_and_stops_no_other(lake: Lake) -> None:
    good = lake.table("db.good", 8)
    lake.broken_table("db.broken")
    done = run_tasks(maintain(str(lake.policy), retries=1, retry_delay=0))
    assert (done.states, done.tries) == ({"maintain": "failed"}, {"maintain": 2})
    assert type(done.failure).__name__ == "AirflowException"
    assert str(done.failure).startswith(
        "Cannot complete the pass, because lake.db.broken: Cannot cluster by column 'b', because "
    )
    actions = {each["table"]: each["action"] for each in done.returned["maintain"]["tables"]}
    assert actions["lake.db.broken"] == "failed"
    assert operations(good) == ["append"] * 8 + ["replace"]


def test_a_report_that_nobody_wants_is_not_kept(lake: Lake) -> None:
    lake.broken_table("db.broken")
    assert run_tasks(maintain(str(lake.policy), do_xcom_push=False)).returned == {}


@pytest.mark.parametrize(("number", "kind"), [(signal.SIGTERM, "_KilledError"), (signal.SIGALRM, "AirflowTaskTimeout")])
def test_a_task_that_is_killed_leaves_nothing_behind(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, kind: str
) -> None:
    """The signals are those by which Airflow kills a task, and ends one whose time is up."""
    tables = [lake.table(f"db.t{each}", 8) for each in range(2)]
    known, before = lake.files(), [rows_of(each) for each in tables]
    written: list[int] = []

    measured = scan_measure.column_scans

    def killed(*arguments: Any) -> tuple[ColumnScan, ...]:
        # All files of the first table are written by now, and none is committed.
        written.append(len(lake.files() - known))
        signal.raise_signal(number)
        return measured(*arguments)

    monkeypatch.setattr(run, "column_scans", killed)
    done = run_tasks(maintain(str(lake.policy)).replace(")", ", execution_timeout=timedelta(hours=1))"))
    assert done.states == {"maintain": "failed"}
    assert type(done.failure).__name__ == kind
    assert len(written) == 1, "the pass went on with the other table"
    assert written[0] > 0
    assert lake.files() == known
    assert [operations(each) for each in tables] == [["append"] * 8] * 2
    assert [rows_of(each) for each in tables] == before
    assert not any(LEASE in each.properties for each in tables)


def test_spark_is_started_with_the_settings_of_the_task(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    needy = lake.table("db.needy", 8)
    before = rows_of(needy)
    policy = POLICY.format(home=lake.home).replace("defaults: {", "defaults: {engine: spark, ")
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    conf = {"spark.master": "local[1]", "spark.app.name": "of-{{ task.task_id }}"}
    done = run_tasks(maintain(policy, conf=conf))
    assert done.states == {"maintain": "success"}, done.failed
    assert done.returned["maintain"]["tables"][0]["done"]["rewritten_files"] == 8
    summary = summary_of(needy.refresh())
    assert summary["engine-name"] == "spark"
    assert str(summary["app-id"]).startswith("local-")
    assert rows_of(needy) == before


@pytest.mark.parametrize(
    ("modules", "strangers"),
    [
        (("cli.app", "cli.commands.maintain", "passes", "spark.maintenance"), ("airflow",)),
        # The scheduler imports it with every DAG, and does none of its work.
        (("airflow",), ("pyiceberg", "pyspark", "pyarrow", "sqlglot")),
    ],
)
def test_nothing_is_imported_that_is_not_needed(modules: tuple[str, ...], strangers: tuple[str, ...]) -> None:
    imports = "".join(f"import iceberg_zorder.{each}; " for each in modules)
    program = f"import sys; {imports}print([each for each in {strangers} if each in sys.modules])"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
