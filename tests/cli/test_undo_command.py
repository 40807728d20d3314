"""The commands ``undo`` and ``check`` in this process, on the snapshots of a real table."""

import json
from pathlib import Path

import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from iceberg_zorder.pyiceberg import plan_rewrite, report, rewrite_data_files
from tests.cli.processes import refusal, run_without_spark
from tests.cli.test_history_command import appended


@pytest.fixture
def table(catalog: Catalog) -> Table:
    """A table of six appends, rewritten since."""
    appended(catalog, "db.undone")
    made = catalog.load_table("db.undone")
    made.transaction().set_properties({"read.split.open-file-cost": "1"}).commit_transaction()
    rewrite_data_files(made, "a, b", options={"target-file-size-bytes": 20_000, "rewrite-all": True})
    return made


def test_undo_and_check(home: Path, catalog: Catalog, table: Table) -> None:
    def planned() -> int:
        plan = plan_rewrite(table, "a, b", options={"target-file-size-bytes": 20_000})
        return sum(len(group.tasks) for group in plan.groups)

    snapshots = [each.snapshot_id for each in table.snapshots()]
    assert planned() == 0
    ratio = report(table).cost_ratio
    done = run_without_spark(home, "db.undone", "--quiet", command="check")
    assert ratio is not None
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        f"ok: files.db.undone: filters cost {ratio:.2f} times as much as after a full rewrite (limit 1.5)\n"
    )
    done = run_without_spark(home, "db.undone", "--dry-run", command="undo")
    assert (done.returncode, table.refresh().metadata.current_snapshot_id) == (0, snapshots[-1])
    assert done.stdout.startswith("Would undo 1 snapshot of files.db.undone: branch main would be at snapshot")
    done = run_without_spark(
        home, "db.undone", "--snapshot", str(snapshots[-1]), "--output", "json", "--quiet", command="undo"
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert (found["table"], found["branch"], found["dry_run"]) == ("files.db.undone", "main", False)
    assert (found["snapshot_id"], found["undone"], found["files"]) == (snapshots[-2], [snapshots[-1]], 6)
    assert found["scan_fractions"]["a"] > found["undone_scan_fractions"]["a"]
    assert table.refresh().metadata.current_snapshot_id == snapshots[-2]
    assert planned() == 6, "as the message says, the next call does the same again"

    assert "because branch main has no snapshot of a rewrite by iceberg-zorder" in refusal(
        home, "db.undone", command="undo"
    )
    option = ("--by", "a, b", "--max-ratio", "1.01", "--output", "json", "--quiet")
    table.transaction().set_properties({"write.target-file-size-bytes": "20000"}).commit_transaction()
    done = run_without_spark(home, "db.undone", *option, command="check")
    found = json.loads(done.stdout)
    assert (done.returncode, found["ok"], found["max_ratio"]) == (1, False, 1.01)
    assert found["ratio"] == report(table, "a, b").cost_ratio
    assert "--by" in found["remedy"]


def test_a_check_of_nothing_is_well_and_of_no_columns_refused(home: Path, catalog: Catalog) -> None:
    appended(catalog, "db.empty", appends=0)
    done = run_without_spark(home, "db.empty", "--by", "a", "--quiet", command="check")
    assert (done.returncode, done.stdout) == (0, "ok: files.db.empty: has nothing to measure\n")
    for arguments in (("db.empty",), ("db.empty", "--by", "a", "--max-ratio", "0.9"), ("db.empty", "--by", "x")):
        assert run_without_spark(home, *arguments, command="check").returncode == 2


def test_a_check_fails_above_its_limit_and_says_what_helps_if_a_rewrite_does_nothing(
    home: Path, catalog: Catalog
) -> None:
    appended(catalog, "db.small", appends=3)
    done = run_without_spark(home, "db.small", "--by", "a, b", "--max-ratio", "1.01", "--quiet", command="check")
    assert done.returncode == 1
    assert done.stdout.startswith("not ok: files.db.small: filters cost ")
    assert "; what helps: option rewrite-all, because a default rewrite does nothing: " in done.stdout
