"""The command ``report`` in a process of its own."""

import json
import shlex
from pathlib import Path

from pyiceberg.catalog import Catalog

from tests.cli.processes import run_here, run_without_spark

BY = ("db.events", "--by", "`user id`,ts")


def test_text_and_json_say_how_well_the_table_is_clustered(home: Path, catalog: Catalog) -> None:
    table = catalog.load_table("db.events")
    queries = '{"version": 1, "queries": [{"filter": "TRUE", "weight": 1}]}'
    asked = ("--predicate", "ts >= 40", "--predicate", "ts < 20", "--predicate", "`user id` = 3", "--workload", queries)

    done = run_without_spark(home, *BY, *asked, command="report")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"files.db.events (branch main, snapshot {table.metadata.current_snapshot_id} of ")
    assert all(each in done.stdout for each in ("ts >= 40", "ts < 20", "`user id` = 3", "attainable", "depth up to"))
    files = len(list(table.scan().plan_files()))
    assert f"in {files} of {files} files on average (100.0%)" in done.stdout, "the workload"
    assert "\nFilters on `user id` or ts read " in done.stdout
    assert "Reading the metadata of files.db.events" in done.stderr

    done = run_without_spark(home, *BY, *asked, "--output", "json", "--quiet", command="report")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert [each["predicate"] for each in found["predicates"]] == ["ts >= 40", "ts < 20", "`user id` = 3"]
    assert found["total_file_count"] == len(list(table.scan().plan_files()))
    assert [each["total_file_count"] for each in found["predicates"]] == [
        len(list(table.scan(row_filter=each).plan_files())) for each in ("ts >= 40", "ts < 20", '"user id" = 3')
    ]
    assert catalog.load_table("db.events").metadata == table.metadata, "nothing is written"


def test_what_cannot_be_reported_on_is_refused(home: Path, catalog: Catalog) -> None:
    assert catalog.list_tables("db")
    for arguments, why in (
        (("db.events", "--by", "nope"), "Cannot cluster by column 'nope'"),
        (("db.events",), "because no columns are named and its snapshots have no rewrite"),
        (("events", "--by", "ts"), "because the namespace is missing: write db.events"),
        ((*BY, "--predicate", "nope = 1"), "nope"),
        ((*BY, "--where", "ts <"), "ts <"),
        ((*BY, "--branch", "nope"), "has no such branch"),
    ):
        done = run_without_spark(home, *arguments, "--output", "json", command="report")
        assert done.returncode == 2, done.stderr
        error = json.loads(done.stdout)["error"]
        assert (error["class"], error["exit_code"]) == ("InvalidInputError", 2)
        assert why in error["message"]


def test_commands_are_whole_with_all_that_finds_the_catalog(home: Path, catalog: Catalog) -> None:
    where = " AND ".join(f"ts < {number}" for number in range(1000, 1020))
    found = ("--catalog", "files", "--uri", f"sqlite:///{home}/catalog.db", "--warehouse", f"{home}/ware house")
    asked = ("report", *BY, "--where", where, *found, "--quiet")
    done = run_here(asked, {"HOME": str(home), "COLUMNS": "80"})
    assert done.returncode == 0, done.stderr
    commands = [line.strip() for line in done.stdout.splitlines() if "iceberg-zorder rewrite" in line]
    words = ["--by", "`user id`,ts", "--where", where, *found]
    assert [shlex.split(each) for each in commands] == [["iceberg-zorder", "rewrite", "db.events", *words]]
    assert max(len(line) for line in done.stdout.splitlines() if line.strip() not in commands) <= 80
    findings = json.loads(run_here((*asked, "--output", "json"), {"HOME": str(home)}).stdout)["findings"]
    assert commands == [each["command"] for each in findings if each["command"]]
