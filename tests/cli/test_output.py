"""What is written where."""

from __future__ import annotations

import io
import json
from dataclasses import asdict

import pytest
from rich.console import Console

from iceberg_zorder.cli.failure import Failure
from iceberg_zorder.cli.output import ConsoleOutput, JsonOutput, Output
from iceberg_zorder.request.plan_text import plan_text
from iceberg_zorder.request.result import RewriteResult

DONE = asdict(RewriteResult(1200, 12, 40_000_000, 0, 3))
NOTHING = asdict(RewriteResult(0, 0, 0, 0, 0, message="Nothing to rewrite: [rewrite-all] would force it " + "x" * 100))


def spoken(
    kind: type[Output], *, terminal: bool = False, quiet: bool = False
) -> tuple[Output, io.StringIO, io.StringIO]:
    stdout, stderr = io.StringIO(), io.StringIO()
    err = Console(file=stderr, width=80, force_terminal=terminal)
    return kind(quiet=quiet, stdout=Console(file=stdout, width=80), stderr=err), stdout, stderr


def test_text() -> None:
    output, stdout, stderr = spoken(ConsoleOutput)
    output.rewritten("lake.db.t", "a, b.`c d`", DONE)
    lines = stdout.getvalue().splitlines()
    assert lines[0] == "Rewrote lake.db.t by a, b.`c d`"
    assert [line.split("│")[1:3] for line in lines if "│" in line] == [
        [" rewritten data files ", "   1,200 "],
        [" added data files     ", "      12 "],
        [" rewritten bytes      ", " 40.0 MB "],
        [" failed data files    ", "       0 "],
        [" removed delete files ", "       3 "],
    ]
    assert stderr.getvalue() == ""


def test_text_of_nothing_to_do_is_the_reason_in_one_line() -> None:
    output, stdout, _ = spoken(ConsoleOutput)
    output.rewritten("lake.db.t", "a", NOTHING)
    assert stdout.getvalue() == f"{NOTHING['message']}\n"


@pytest.mark.parametrize("result", [DONE, NOTHING])
def test_json(result: dict[str, int | str | None]) -> None:
    output, stdout, _ = spoken(JsonOutput)
    output.rewritten("lake.db.t", "a,b", result)
    assert stdout.getvalue().count("\n") == 1
    said = json.loads(stdout.getvalue())
    assert said == {"table": "lake.db.t", "sort_order": "a,b", **result}
    assert list(said) == [
        "table",
        "sort_order",
        "rewritten_data_files_count",
        "added_data_files_count",
        "rewritten_bytes_count",
        "failed_data_files_count",
        "removed_delete_files_count",
        "message",
    ]


PLAN = {
    "version": 1,
    "table": "lake.db.t",
    "branch": "main",
    "snapshot_id": 2**62,
    "sort_order": "a",
    "where": "a = [1]",
    "options": {},
    "message": "Nothing to rewrite: " + "x" * 100,
    "file_groups": [],
    "left": [],
    "scan_fractions": {},
}


def test_plans() -> None:
    output, stdout, stderr = spoken(ConsoleOutput)
    output.planned(PLAN)
    assert stdout.getvalue() == f"{plan_text(PLAN)}\n"
    assert len(stdout.getvalue().splitlines()) == 2, "no line is wrapped"
    output, stdout, more = spoken(JsonOutput)
    output.planned(PLAN)
    assert stdout.getvalue().count("\n") == 1
    assert json.loads(stdout.getvalue()) == PLAN
    assert stderr.getvalue() == more.getvalue() == ""


@pytest.mark.parametrize("kind", [ConsoleOutput, JsonOutput])
def test_everything_else_goes_to_stderr(kind: type[Output]) -> None:
    output, stdout, stderr = spoken(kind)
    with output.progress() as say:
        say("Working on [it]")
    output.warning("careful with [this]")
    output.interrupted("it [ended]")
    output.failure(Failure("RuntimeError", "Cannot do [bold]it[/bold], because " + "y" * 100, 1))
    assert stdout.getvalue().count("\n") == (kind is JsonOutput), "but for the object of the failure"
    assert stderr.getvalue().splitlines() == [
        "Working on [it]",
        "Warning: careful with [this]",
        "Interrupted: it [ended]",
        "Error: Cannot do [bold]it[/bold], because " + "y" * 100,
    ]


def test_a_cancelled_command_is_an_object() -> None:
    output, stdout, stderr = spoken(JsonOutput)
    output.cancelled(Failure("Interrupted", "the rewrite was cancelled", 130))
    error = {"class": "Interrupted", "message": "the rewrite was cancelled", "exit_code": 130}
    assert json.loads(stdout.getvalue()) == {"error": error}
    assert stderr.getvalue() == "Interrupted: the rewrite was cancelled\n"


def test_quiet_leaves_out_progress_only() -> None:
    output, _, stderr = spoken(ConsoleOutput, quiet=True)
    with output.progress() as say:
        say("Working")
    output.failure(Failure("RuntimeError", "no", 1))
    assert stderr.getvalue() == "Error: no\n"


def test_spinner_on_a_terminal() -> None:
    output, _, stderr = spoken(ConsoleOutput, terminal=True)
    with output.progress() as say:
        say("Working")
    assert "Working" in stderr.getvalue()
    assert "0:00:00" in stderr.getvalue()
