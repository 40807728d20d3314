"""Arguments and exit codes, without Spark."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from iceberg_zorder import __version__
from iceberg_zorder.cli.app import app
from iceberg_zorder.cli.pyiceberg_engine import PyIcebergEngine
from iceberg_zorder.cli.spark_engine import SparkEngine
from iceberg_zorder.errors import InvalidInputError, RewriteConflictError, RewriteFailedError, UnknownOutcomeError
from iceberg_zorder.rewrite.result import RewriteResult

CATALOG = ["--catalog", "lake", "--uri", "sqlite:////c.db", "--warehouse", "/wh"]


@pytest.fixture(autouse=True)
def no_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


Request = tuple[Any, dict[str, Any], list[str]]
"""An engine, what is asked of it, and predicates."""


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """Requests that would be carried out; each ends well."""
    seen: list[Request] = []

    def record(self: object, asked: dict[str, Any], predicates: list[str], *_: object) -> RewriteResult:
        seen.append((self, asked, predicates))
        return RewriteResult(4, 2, 1000, 0, 0)

    monkeypatch.setattr(SparkEngine, "rewrite", record)
    monkeypatch.setattr(PyIcebergEngine, "rewrite", record)
    return seen


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def test_version() -> None:
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"iceberg-zorder {__version__}\n")


@pytest.mark.parametrize("command", ["rewrite", "plan"])
def test_help_imports_neither_engine(command: str) -> None:
    script = (
        "import sys\n"
        "from iceberg_zorder.cli.app import app\n"
        f"app(['{command}', '--help'], standalone_mode=False)\n"
        "assert not {'pyspark', 'pyiceberg', 'pyarrow'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "--by" in done.stdout


def test_request(requests: list[Request]) -> None:
    result = run(
        *("rewrite", "db.my-events", "--by", "a,`b,c`.d", "--where", "x = 1", "--branch", "audit"),
        *("--option", "rewrite-all=true", "--option", "cuts=even", "--conf", "spark.driver.memory=1g", *CATALOG),
    )
    assert result.exit_code == 0, result.output
    ((engine, asked, predicates),) = requests
    options = {"rewrite-all": "true", "cuts": "even"}
    assert asked == {"columns": "a,`b,c`.d", "where": "x = 1", "branch": "audit", "options": options}
    assert predicates == []
    assert isinstance(engine, SparkEngine)
    assert (engine.table, engine.conf) == ("lake.db.`my-events`", {"spark.driver.memory": "1g"})
    assert engine.catalog.settings["spark.sql.catalog.lake.uri"] == "jdbc:sqlite:/c.db"


@pytest.mark.parametrize(("engine", "kind"), [("spark", SparkEngine), ("pyiceberg", PyIcebergEngine)])
def test_a_dry_run_of_either_engine_takes_conditions(requests: list[Request], engine: str, kind: type) -> None:
    asked = ("--dry-run", "--predicate", "a = 1", "--predicate", "b > 2", "--engine", engine)
    assert run("rewrite", "db.t", "--by", "a", *asked, *CATALOG).exit_code == 0
    ((chosen, asked_for, predicates),) = requests
    assert isinstance(chosen, kind)
    assert predicates == ["a = 1", "b > 2"]
    assert asked_for["options"] == {"dry-run": "true"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["db.t", "--by", "a", "--option", "rewrite-all", *CATALOG], "Cannot read --option 'rewrite-all', because"),
        (["db.t", "--by", "a", "--option", "=x", *CATALOG], "Cannot read --option '=x', because"),
        (["db.t", "--by", "a", "--option", "a=1", "--option", "a=2", *CATALOG], "Cannot set a twice, because"),
        (["db.t", "--by", "a", "--conf", "x", *CATALOG], "Cannot read --conf 'x', because"),
        (["db.t", "--by", "a", "--conf", "x=1", *CATALOG], "Cannot set --conf x, because"),
        (
            ["db.t", "--by", "a", "--engine", "pyiceberg", "--conf", "spark.x=1", *CATALOG],
            "Cannot set --conf spark.x, because it needs the engine spark",
        ),
        (["db.t", "--by", "a", "--engine", "duckdb", *CATALOG], "'duckdb' is not one of"),
        (["db.t", "--by", "", *CATALOG], "Cannot parse sort_order '', because"),
        (["db.t", "--by", "a,", *CATALOG], "Cannot parse sort_order 'a,', because"),
        (["db.t", "--by", "peano(a)", *CATALOG], "'peano' is not a curve"),
        (["t", "--by", "a", *CATALOG], "Cannot rewrite t, because the namespace is missing: write db.t"),
        (["db.", "--by", "a", *CATALOG], "Cannot read the name 'db.', because"),
        (["db.t", "--by", "a", "--catalog", "nosuch"], "Cannot find catalog 'nosuch', because"),
        (["db.t", "--by", "a", "--uri", "mysql://h"], "Cannot find catalog 'default', because its uri starts with"),
        (
            ["db.t", "--by", "a", "--uri", "sqlite:////c.db"],
            "Cannot give catalog 'default' to Spark, because it has no",
        ),
        (["db.t", "--by", "a", "--output", "xml", *CATALOG], "'xml' is not one of"),
        (
            ["db.t", "--by", "a", "--predicate", "a = 1", *CATALOG],
            "Cannot use --predicate, because it needs --dry-run",
        ),
        (["--by", "a", *CATALOG], "Missing argument"),
        (["db.t", "--by", "a", "--nosuch", *CATALOG], "No such option"),
    ],
)
def test_wrong_usage_is_2(requests: list[Request], arguments: list[str], said: str) -> None:
    result = run("rewrite", *arguments)
    assert result.exit_code == 2, result.output
    assert said in " ".join(result.stderr.split())
    assert result.stdout == ""
    assert requests == []


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (RewriteFailedError, 1),
        (RuntimeError, 1),
        (InvalidInputError, 2),
        (RewriteConflictError, 3),
        (UnknownOutcomeError, 4),
    ],
)
@pytest.mark.parametrize("engine", [SparkEngine, PyIcebergEngine])
@pytest.mark.parametrize("command", ["rewrite", "plan"])
def test_kinds_of_failures_are_told_apart(
    monkeypatch: pytest.MonkeyPatch, command: str, engine: type, kind: type[Exception], code: int
) -> None:
    message = "Cannot rewrite lake.db.t, because a [rewrite] beside it won"

    def fail(*arguments: object, **more: object) -> RewriteResult:
        raise kind(message)

    monkeypatch.setattr(engine, command, fail)
    name = "spark" if engine is SparkEngine else "pyiceberg"
    arguments = (command, "db.t", "--by", "a", "--engine", name, *CATALOG)
    text = run(*arguments)
    assert (text.exit_code, text.stdout, text.stderr) == (code, "", f"Error: {message}\n")
    object_ = run(*arguments, "--output", "json")
    assert (object_.exit_code, object_.stderr) == (code, text.stderr)
    assert json.loads(object_.stdout) == {
        "version": 1,
        "error": {"class": kind.__name__, "message": message, "exit_code": code},
    }


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C as in a terminal: a shell that starts the tests in the background has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("command", ["rewrite", "plan"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_command_says_so(monkeypatch: pytest.MonkeyPatch, command: str, number: signal.Signals) -> None:
    def interrupt(*arguments: object, **more: object) -> None:
        signal.raise_signal(number)

    monkeypatch.setattr(PyIcebergEngine, command, interrupt)
    result = run(command, "db.t", "--by", "a", "--engine", "pyiceberg", "--output", "json", *CATALOG)
    message = f"the {command} of db.t was cancelled"
    assert (result.exit_code, result.stderr) == (128 + number, f"Interrupted: {message}\n")
    error = {"class": "Interrupted", "message": message, "exit_code": 128 + number}
    assert json.loads(result.stdout) == {"version": 1, "error": error}


@pytest.mark.parametrize(
    ("arguments", "kind", "named"),
    [
        (["db.t", "--by", "a,", *CATALOG, "--output", "json"], "InvalidInputError", "Cannot parse sort_order 'a,'"),
        (["db.t", "--by", "a", "--nosuch", "--output=json"], "UsageError", "--nosuch"),
        (["--by", "a", "--output", "json"], "UsageError", "Missing argument"),
    ],
)
@pytest.mark.parametrize("command", ["rewrite", "plan"])
def test_wrong_usage_is_json_too(command: str, arguments: list[str], kind: str, named: str) -> None:
    result = run(command, *arguments)
    assert result.exit_code == 2
    error = json.loads(result.stdout)["error"]
    assert (error["class"], error["exit_code"]) == (kind, 2)
    assert named in error["message"]
    assert named in result.stderr


def test_failed_data_files_are_1_with_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    partial = RewriteResult(4, 2, 1000, 3, 0)
    monkeypatch.setattr(SparkEngine, "rewrite", lambda *arguments: partial)
    result = run("rewrite", "db.t", "--by", "a", "--output", "json", *CATALOG)
    assert result.exit_code == 1
    said = json.loads(result.stdout)
    assert said["failed_data_files_count"] == 3
    message = "3 data files of lake.db.t could not be rewritten"
    assert said["error"] == {"class": "RewriteFailedError", "message": message, "exit_code": 1}
    assert message in result.stderr
    text = run("rewrite", "db.t", "--by", "a", *CATALOG)
    assert text.exit_code == 1
    assert "failed data files" in text.stdout
    assert message in text.stderr


def test_a_missing_extra_is_told_with_how_to_install_it(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("version: 1\ncatalogs: {lake: {}}\ntables: {'*': {}}\n")
    script = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from iceberg_zorder.cli.app import app\n"
        "for module in ('cronsim', 'prometheus_client'):\n"
        "    sys.modules[module] = None\n"
        f"    result = CliRunner().invoke(app, ['maintain', {str(policy)!r}, '--metrics-textfile', 'x.prom'])\n"
        "    print(result.exit_code, result.stderr, end='')\n"
        "    del sys.modules[module]\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == (
        f"2 Error: Cannot use {policy}, because cronsim is not installed: pip install '.[maintain]' in a clone\n"
        "2 Error: Cannot write metrics, because prometheus-client is not installed: pip install '.[maintain]' in a clone\n",
        "",
    )


@pytest.mark.parametrize("name", ["lake.db.t", "db.t"])
def test_a_table_may_be_named_as_output_prints_it(requests: list[Request], name: str) -> None:
    assert run("rewrite", name, "--by", "a", *CATALOG).exit_code == 0
    assert requests[0][0].table == "lake.db.t"
