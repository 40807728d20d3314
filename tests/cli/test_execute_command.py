"""The command ``execute``: a plan that was looked at is carried out, from a file or from standard input."""

import io
import json
from pathlib import Path

import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from tests.cli.processes import refusal, run, run_here, run_without_spark

PLANNED = ("--by", "`user id`,ts", "--option", "rewrite-all=true", "--output", "json")


@pytest.fixture
def table(catalog: Catalog, request: pytest.FixtureRequest) -> Table:
    rows = catalog.load_table("db.events").scan().to_arrow()
    table = catalog.create_table(f"db.{request.node.name.partition('[')[0]}", rows.schema)
    for start in range(0, 100, 50):
        table.append(rows.slice(start, 50))
    return table


def planned(home: Path, table: Table) -> str:
    done = run_without_spark(home, ".".join(table.name()), *PLANNED, command="plan")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_plan_is_executed_and_is_stale_then(
    home: Path, table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, path = planned(home, table), tmp_path / "plan.json"
    path.write_text(text, encoding="utf-8")
    # The name of its table tells the catalog.
    done = run_here(["execute", str(path)], {"HOME": str(home)})
    assert done.returncode == 0, done.stderr
    name = ".".join(table.name())
    assert done.stdout.startswith(f"Rewrote files.{name} by `user id`,ts\n")
    assert f"Rewriting files.{name} by a plan" in done.stderr
    assert len(table.refresh().inspect.files()) == 1
    assert table.scan().count() == 100

    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert "Cannot execute the plan of files.db." in refusal(home, "-", command="execute")
    monkeypatch.setattr("sys.stdin", io.StringIO(planned(home, table)))
    done = run_without_spark(home, "-", "--output", "json", command="execute")
    assert json.loads(done.stdout)["rewritten_data_files_count"] == 1


def test_what_is_no_plan_is_refused(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Cannot read the plan " in refusal(home, str(tmp_path / "nope.json"), command="execute")
    monkeypatch.setattr("sys.stdin", io.StringIO("{}"))
    done = run_without_spark(home, "-", command="execute")
    assert (done.returncode, "because version: Field required" in done.stderr) == (2, True)


@pytest.mark.full
def test_spark_executes_a_plan_that_was_made_without_it(home: Path, table: Table, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(planned(home, table), encoding="utf-8")
    done = run(home, str(path), "--engine", "spark", "--output", "json", command="execute")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rewritten_data_files_count"] == 2
    assert len(table.refresh().inspect.files()) == 1
    assert table.scan().count() == 100
