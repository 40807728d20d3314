"""What is written where."""

import io
import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Literal

import pytest
from rich.console import Console

from iceberg_zorder.cli.commands.tables import show_plan, show_result
from iceberg_zorder.cli.failure import Failure
from iceberg_zorder.cli.output import Output
from iceberg_zorder.render.plan_text import plan_text
from iceberg_zorder.rewrite.result import ColumnScan, PredicateScan, RewriteResult, WorkloadScan

DONE = RewriteResult(1200, 12, 40_000_000, 0, 3)
DRY_RUN = RewriteResult(
    1200,
    12,
    40_000_000,
    0,
    0,
    message="Dry run: nothing was written. Column b gets worse.",
    scan_fractions=(ColumnScan("[a]", 0.5, 0.125, None), ColumnScan("b", 0.1, 0.2, 0.3)),
    dry_run=True,
    expected_seconds=1234.56,
    predicates=(PredicateScan("[a] > 5", 0.25, None),),
    workload=WorkloadScan(1200, 0.75, 0.5, None),
)
NOTHING = RewriteResult(0, 0, 0, 0, 0, message="Nothing to rewrite: [rewrite-all] would force it " + "x" * 100)


def spoken(kind: Literal["text", "json"]) -> tuple[Output, io.StringIO, io.StringIO]:
    stdout, stderr = io.StringIO(), io.StringIO()
    output = Output(kind, stdout=Console(file=stdout, width=80), stderr=Console(file=stderr, width=80))
    return output, stdout, stderr


def test_text() -> None:
    output, stdout, stderr = spoken("text")
    show_result("lake.db.t", {"columns": "a, b.`c d`"}, DONE, output, "pyiceberg")
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


def test_text_of_a_dry_run_says_once_what_was_warned_of() -> None:
    output, stdout, stderr = spoken("text")
    output.warning("Column b gets worse.")
    show_result("lake.db.t", {"columns": "a"}, DRY_RUN, output, "pyiceberg")
    lines = stdout.getvalue().splitlines()
    assert lines[0] == "Would rewrite lake.db.t by a"
    assert [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines if "│" in line][5:] == [
        ["the 1,200 queries of the workload", "75.0%", "50.0%", ""],
        ["[a]", "50.0%", "12.5%", ""],
        ["b", "10.0%", "20.0%", "30.0%"],
        ["[a] > 5", "25.0%", ""],
    ]
    assert lines[-2:] == [
        "Expected to take 1,234.6 seconds, judging by earlier rewrites",
        "Dry run: nothing was written.",
    ]
    assert stderr.getvalue() == "Warning: Column b gets worse.\n"


@pytest.mark.parametrize("result", [DONE, NOTHING, DRY_RUN])
def test_json(result: RewriteResult) -> None:
    output, stdout, _ = spoken("json")
    show_result("lake.db.t", {"columns": "a,b"}, result, output, "pyiceberg")
    assert stdout.getvalue().count("\n") == 1
    said = json.loads(stdout.getvalue())
    is_dry_run = result is DRY_RUN
    assert said == {
        "version": 1,
        "table": "lake.db.t",
        "sort_order": "a,b",
        "engine": "pyiceberg",
        **json.loads(json.dumps(asdict(result))),
        # As in plans.
        "scan_fractions": {"[a]": 0.125, "b": 0.2} if is_dry_run else {},
        "scan_fractions_before": {"[a]": 0.5, "b": 0.1} if is_dry_run else {},
        "scan_fractions_actual": {"b": 0.3} if is_dry_run else {},
    }


@pytest.mark.parametrize(
    "say",
    [
        lambda output: output.show({"table": "lake.db.t"}, print),
        lambda output: output.show({"version": 1}, print),
        lambda output: output.failure(Failure("RuntimeError", "no", 1)),
        lambda output: output.usage(Failure("UsageError", "no", 2)),
    ],
)
def test_all_json_begins_with_one_version(say: Callable[[Output], None]) -> None:
    output, stdout, _ = spoken("json")
    say(output)
    assert next(iter(json.loads(stdout.getvalue()).items())) == ("version", 1)


PLAN = {
    "version": 1,
    "table": "lake.db.t",
    "branch": "main",
    "snapshot_id": 2**62,
    "sort_order": "a",
    "where": "a = [1]",
    "options": {},
    "target_file_size_bytes": 16777216,
    "target_file_size_from": "data",
    "message": "Nothing to rewrite: " + "x" * 100,
    "file_groups": [],
    "left": [],
    "before": None,
    "after": None,
    "scans": [],
    "expected_seconds": None,
    "predicates": [],
}


def test_plans() -> None:
    output, stdout, stderr = spoken("text")
    show_plan(PLAN, output)
    assert stdout.getvalue() == f"{plan_text(PLAN)}\n"
    assert len(stdout.getvalue().splitlines()) == 3, "no line is wrapped"
    output, stdout, _ = spoken("text")
    counts = {"data_files_count": 1, "bytes": 10**9, "rows": 9, "expected_data_files_count": 1}
    group = {"partition": "", "reason": "small", "layout": None, **counts}
    show_plan({**PLAN, "file_groups": [group]}, output)
    assert stdout.getvalue().splitlines()[-1] == (
        "  A rewrite reads 1.0 GB, writes about 1.0 GB and takes about 69 CPU seconds with PyIceberg, 202 on Spark"
    )
    output, stdout, more = spoken("json")
    show_plan(PLAN, output)
    assert stdout.getvalue().count("\n") == 1
    assert json.loads(stdout.getvalue()) == PLAN
    assert stderr.getvalue() == more.getvalue() == ""


@pytest.mark.parametrize("kind", ["text", "json"])
def test_everything_else_goes_to_stderr(kind: Literal["text", "json"]) -> None:
    output, stdout, stderr = spoken(kind)
    with output.progress() as say:
        say("Working on [it]")
    output.warning("careful with [this]")
    output.interrupted("it [ended]")
    output.failure(Failure("RuntimeError", "Cannot do [bold]it[/bold], because " + "y" * 100, 1))
    assert stdout.getvalue().count("\n") == (kind == "json"), "but for the object of the failure"
    assert stderr.getvalue().splitlines() == [
        "Working on [it]",
        "Warning: careful with [this]",
        "Interrupted: it [ended]",
        "Error: Cannot do [bold]it[/bold], because " + "y" * 100,
    ]
