"""The command ``maintain`` in a process of its own, on real tables of a SQLite catalog."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.table import Table

from tests.cli.processes import run_here
from tests.maintain.lake import append, rows_of
from tests.pyiceberg.committing import summary_of

POLICY = """
version: 1
catalogs:
  lake: {{type: sql, uri: "${{CATALOG_URI}}", warehouse: "{home}/warehouse"}}
interval: 1 second
defaults:
  options: {{min-age-seconds: 0, target-file-size-bytes: 40000}}
tables:
  "db.*": {{by: [a, b]}}
  "db.by_tim[e]": {{triggers: {{commit-count: 100}}}}
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def catalog(home: Path) -> Catalog:
    catalog = load_catalog("lake", type="sql", uri=f"sqlite:///{home}/catalog.db", warehouse=f"{home}/warehouse")
    catalog.create_namespace("db")
    catalog.create_namespace("other")
    return catalog


def table(catalog: Catalog, name: str, appends: int, *, owner_says_no: bool = False) -> Table:
    schema = pa.schema([("a", pa.int64()), ("b", pa.int64())])
    properties = {"maintenance.disabled": "true"} if owner_says_no else {}
    made = catalog.create_table(name, schema, properties=properties)
    append(made, appends)
    return made


def command(home: Path, *arguments: str) -> tuple[list[str], dict[str, str]]:
    script = "import sys; sys.modules['pyspark'] = None; from iceberg_zorder.cli.app import main; main()"
    words = [sys.executable, "-c", script, "maintain", str(home / "policy.yaml"), *arguments]
    return words, {**os.environ, "HOME": str(home), "CATALOG_URI": f"sqlite:///{home}/catalog.db"}


def maintain(home: Path, *arguments: str, code: int = 0) -> dict[str, Any]:
    words, environment = command(home, *arguments, "--output", "json", "--quiet")
    done = run_here(words[3:], environment)
    assert done.returncode == code, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def write_policy(home: Path) -> None:
    (home / "policy.yaml").write_text(POLICY.format(home=home))


def test_tables_of_the_policy_are_kept(home: Path, catalog: Catalog) -> None:
    write_policy(home)
    needy, by_time = table(catalog, "db.needy", 8), table(catalog, "db.by_time", 8)
    refused, other = table(catalog, "db.refused", 8, owner_says_no=True), table(catalog, "other.t", 8)
    before = {each.name(): (rows_of(each), each.metadata_location) for each in (needy, by_time, refused, other)}

    found = maintain(home, "--dry-run")
    assert {each["table"]: each["action"] for each in found["tables"]} == {
        "lake.db.needy": "rewrite", "lake.db.by_time": "leave", "lake.db.refused": "leave",
    }  # fmt: skip
    reasons = {each["table"]: each["reason"] for each in found["tables"]}
    assert reasons["lake.db.by_time"] == "no trigger is met: commit-count 8 of 100"
    assert reasons["lake.db.refused"] == "the table property maintenance.disabled is true"
    assert needy.refresh().metadata_location == before[needy.name()][1], "a dry run writes nothing"

    found = maintain(home)
    (done,) = [each for each in found["tables"] if each["done"]]
    assert (done["table"], done["done"]["rewritten_files"], found["errors"]) == ("lake.db.needy", 8, [])
    assert found["rewritten_bytes"] == done["done"]["rewritten_bytes"] == done["file_groups"][0]["size"]
    assert done["expected_saved_bytes"] > 0
    for each in (needy, by_time, refused, other):
        assert rows_of(each) == before[each.name()][0]
        if each is not needy:
            assert each.metadata_location == before[each.name()][1]
    summary = summary_of(needy)
    assert summary["zorder.reason"] == "scan-ratio 1.2: a rewrite pays"
    assert summary["lakekeeper.rollbackable"] == "true"
    assert summary["polaris.internal.conflict-resolution.by-operation-type.replace"] == "rollback"

    # It rests, until something comes.
    at = needy.metadata_location
    assert maintain(home)["rewritten_bytes"] == 0
    assert needy.refresh().metadata_location == at
    append(needy, 8)
    assert maintain(home)["rewritten_bytes"] > 0


def test_one_table_that_fails_stops_no_other(home: Path, catalog: Catalog) -> None:
    write_policy(home)
    table(catalog, "db.good", 8)
    broken = table(catalog, "db.broken", 8)
    broken.update_schema().rename_column("b", "c").commit()
    found = maintain(home, code=1)
    assert {each["table"]: bool(each["done"]) for each in found["tables"]} == {
        "lake.db.good": True, "lake.db.broken": False,
    }  # fmt: skip
    (error,) = [each["error"] for each in found["tables"] if each["error"]]
    assert error.startswith("lake.db.broken: Cannot cluster by column 'b', because lake.db.broken has no such column")


def test_a_rule_for_a_table_that_is_not_there_is_a_failure(home: Path, catalog: Catalog) -> None:
    table(catalog, "db.events", 8)
    (home / "policy.yaml").write_text(
        f"version: 1\ncatalogs: {{lake: {{type: sql, uri: 'sqlite:///{home}/catalog.db', warehouse: '{home}/warehouse'}}}}\n"
        "defaults: {by: [a, b], options: {min-age-seconds: 0, target-file-size-bytes: 40000}}\n"
        "namespaces: {db: {}, bd: {}}\n"
        "tables: {db.events: {}, db.evnts: {enabled: false}, 'db.evnt?': {}}\n"
    )
    found = maintain(home, code=1)
    assert [bool(each["done"]) for each in found["tables"]] == [True]
    said = f"of {home}/policy.yaml, because no catalog of the rule has"
    assert found["errors"] == [
        f"Cannot apply rule namespaces.bd {said} a table in this namespace",
        f"Cannot apply rule tables.db.evnts {said} such a table",
    ]


def test_a_wrong_policy_is_refused(home: Path, catalog: Catalog) -> None:
    table(catalog, "db.t", 1)
    (home / "policy.yaml").write_text("version: 1\ncatalogs: {lake: {}}\ntables: {db.t: {bye: [a]}}\n")
    found = maintain(home, code=2)
    assert found["error"]["class"] == "InvalidInputError"
    assert "line 3, tables.db.t.bye" in found["error"]["message"]


def test_text_fits_a_terminal_and_holds_no_secret(home: Path, catalog: Catalog) -> None:
    write_policy(home)
    table(catalog, "db.needy", 8)
    words, environment = command(home)
    done = run_here(words[3:], {**environment, "COLUMNS": "80"})
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "lake.db.needy" in done.stdout
    assert "Rewriting lake.db.needy: scan-ratio 1.2: a rewrite pays" in done.stderr
    assert "write: 100%, 16,000 rows, " in done.stderr
    assert environment["CATALOG_URI"] not in done.stdout + done.stderr
