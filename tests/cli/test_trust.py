"""Commands on a table whose properties name code to import: nothing of it is imported, and the reason is told."""

import sys
from pathlib import Path

import pytest
from pyiceberg.catalog import Catalog

from tests.cli.processes import run_here, run_without_spark

CODE = """
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.table.locations import SimpleLocationProvider
"""
POLICY = """
version: 1
catalogs: {{files: {{type: sql, uri: "sqlite:///{home}/catalog.db", warehouse: "{home}/warehouse"}}}}
tables: {{db.events: {{by: [ts], options: {{min-age-seconds: 0}}}}}}
"""
BY = ("--by", "ts")
COMMANDS = {
    "report": ("db.events", *BY),
    "check": ("db.events", *BY),
    "plan": ("db.events", *BY, "--sampled"),
    "rewrite": ("db.events", *BY),
    "execute": ("{home}/plan.json",),
    "history": ("db.events",),
    "undo": ("db.events",),
    "set": ("db.events", *BY),
    "workload": ("db.events", "--from", "{home}/queries.sql"),
    "advise": ("db.events", "--workload", "{home}/queries.sql"),
    "init": (),
    "maintain": ("{home}/policy.yaml",),
}


@pytest.fixture(scope="module")
def files(home: Path, catalog: Catalog) -> Path:
    """The files that commands take."""
    (home / "policy.yaml").write_text(POLICY.format(home=home))
    (home / "queries.sql").write_text("SELECT * FROM db.events WHERE ts = 3;\n")
    done = run_without_spark(home, "db.events", *BY, "--option", "rewrite-all=true", "--output", "json", command="plan")
    (home / "plan.json").write_text(done.stdout)
    return home


@pytest.mark.parametrize(
    ("name", "of"),
    [("py-io-impl", "PyArrowFileIO"), ("write.py-location-provider.impl", "SimpleLocationProvider")],
    ids=["py-io-impl", "location-provider"],
)
@pytest.mark.parametrize("command", COMMANDS)
def test_code_that_a_table_names_is_not_imported(
    files: Path, catalog: Catalog, monkeypatch: pytest.MonkeyPatch, command: str, name: str, of: str
) -> None:
    (files / "foreign_code.py").write_text(CODE)
    monkeypatch.syspath_prepend(files)
    table = catalog.load_table("db.events")
    table.transaction().set_properties({name: f"foreign_code.{of}"}).commit_transaction()
    sys.modules.pop("foreign_code", None)
    try:
        _check_refused(files, command, name)
    finally:
        table.transaction().remove_properties(name).commit_transaction()


def _check_refused(files: Path, command: str, name: str) -> None:
    words = [word.format(home=files) for word in COMMANDS[command]]
    if command == "maintain":
        done = run_here([command, *words, "--output", "json"], {"HOME": str(files)})
    else:
        done = run_without_spark(files, *words, command=command)
    assert "foreign_code" not in sys.modules
    assert f"because its property {name} would choose" in " ".join((done.stdout + done.stderr).split())
    assert (done.returncode == 0) == (command == "init")
