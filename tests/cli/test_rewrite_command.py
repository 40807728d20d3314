"""The command ``rewrite`` in a process of its own, with a real Spark and a real SQLite catalog."""

import json
from pathlib import Path

import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from tests.cli.processes import run, run_without_spark
from tests.pyiceberg.committing import summary_of

FORCED = ("--option", "rewrite-all=true")


@pytest.mark.way
def test_rewrites_says_so_and_then_has_nothing_to_do(home: Path, catalog: Catalog) -> None:
    before = catalog.load_table("db.events").scan().to_arrow().sort_by("ts")

    done = run(home, "db.events", "--by", "`user id`,ts", "--catalog", "files", "--output", "json", *FORCED)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["table"] == "files.db.events"
    assert said["sort_order"] == "`user id`,ts"
    assert said["rewritten_data_files_count"] == 5
    # Filters on both columns cost less, because one file is opened.
    assert said["message"] is None
    assert "Rewriting files.db.events by `user id`,ts" in done.stderr

    table = catalog.load_table("db.events")
    assert table.scan().to_arrow().sort_by("ts") == before
    assert summary_of(table)["operation"] == "replace"

    nothing = run(home, "db.events", "--by", "`user id`,ts", "--catalog", "files")
    assert nothing.returncode == 0, nothing.stderr
    assert nothing.stdout.startswith("Nothing to rewrite in files.db.events: ")
    assert "rewrite-all" not in nothing.stdout
    assert nothing.stdout.strip() not in nothing.stderr


class TestWithoutSpark:
    @pytest.fixture
    def table(self, home: Path, catalog: Catalog) -> Table:
        rows = catalog.load_table("db.events").scan().to_arrow()
        table = catalog.create_table_if_not_exists("db.more", rows.schema)
        for start in range(0, 100, 20):
            table.append(rows.slice(start, 20))
        return table

    def test_rewrites_and_says_how_far_it_is(self, home: Path, table: Table) -> None:
        before = table.scan().to_arrow().sort_by("ts")
        done = run_without_spark(home, "db.more", "--by", "`user id`,ts", "--output", "json", *FORCED)
        assert done.returncode == 0, done.stderr
        said = json.loads(done.stdout)
        assert said["table"] == "files.db.more"
        assert said["rewritten_data_files_count"] == len(table.inspect.files())
        assert said["added_data_files_count"] == 1
        assert table.refresh().scan().to_arrow().sort_by("ts") == before
        for stage in ("sample", "read", "write"):
            assert f"{stage}: 100%, {len(before):,} rows" in done.stderr

    def test_a_dry_run_tells_what_filters_would_read(self, home: Path, table: Table) -> None:
        metadata = table.refresh().metadata
        asked = ("db.more", "--by", "`user id`,ts", *FORCED, "--dry-run", "--predicate", "ts < 20")
        done = run_without_spark(home, *asked, "--output", "json")
        assert done.returncode == 0, done.stderr
        said = json.loads(done.stdout)
        assert said["message"].startswith("Dry run: nothing was written.")
        assert said["dry_run"]
        assert said["rewritten_data_files_count"] == len(table.inspect.files())
        assert list(said["scan_fractions"]) == list(said["scan_fractions_before"]) == ["`user id`", "ts"]
        assert said["scan_fractions_actual"] == {}
        (predicate,) = said["predicates"]
        assert predicate["predicate"] == "ts < 20"
        assert 0 < predicate["before"] <= predicate["predicted"] == 1
        assert table.refresh().metadata == metadata
