"""The catalog's configuration is found as PyIceberg finds it."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg import catalog as pyiceberg_catalog
from pyiceberg.catalog import load_catalog
from pyiceberg.utils.config import Config

from iceberg_zorder.cli.table import named_table
from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.pyiceberg.catalog import catalog_properties
from tests.cli.processes import run_here

YAML = """
default-catalog: main
catalog:
  main:
    uri: sqlite:////home/c.db
    warehouse: /home/wh
  remote:
    type: REST
    uri: https://h
    s3.region: r
  odd:
    uri: mysql://u:secret@h/d
  bare:
    warehouse: /wh
  wrong:
    type: nosuch
  custom:
    py-catalog-impl: a.B
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home and current directory, and no variables of PyIceberg."""
    for name in ("home", "cwd"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("PYICEBERG_HOME", raising=False)
    monkeypatch.chdir(tmp_path / "cwd")
    return tmp_path / "home"


@pytest.fixture
def configured(home: Path) -> None:
    (home / ".pyiceberg.yaml").write_text(YAML)


@pytest.mark.usefixtures("configured")
def test_variables_win_over_the_file_and_arguments_over_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYICEBERG_CATALOG__MAIN__URI", "sqlite:////env/c.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__MAIN__WAREHOUSE", "/env/wh")
    monkeypatch.setenv("PYICEBERG_CATALOG__MAIN__S3__ACCESS_KEY_ID", "k")
    found = catalog_properties("main", warehouse="/arg/wh")
    assert found.properties == {
        "type": "sql",
        "uri": "sqlite:////env/c.db",
        "warehouse": "/arg/wh",
        "s3.access-key-id": "k",
    }


@pytest.mark.usefixtures("configured")
def test_the_same_as_load_catalog(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYICEBERG_CATALOG__MAIN__URI", "sqlite://")
    # load_catalog reads the configuration once, when it is imported.
    monkeypatch.setattr(pyiceberg_catalog, "_ENV_CONFIG", Config())
    loaded = pyiceberg_catalog.load_catalog(None, warehouse="/arg/wh")
    ours = catalog_properties(warehouse="/arg/wh")
    assert ours.name == loaded.name
    assert ours.properties == {"type": "sql", **loaded.properties}


@pytest.mark.usefixtures("configured")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nosuch", "Cannot find catalog 'nosuch', because neither .pyiceberg.yaml nor PYICEBERG_CATALOG__ variables"),
        ("odd", "Cannot find catalog 'odd', because its uri starts with 'mysql:', so its type is unknown: set 'type'"),
        ("bare", "Cannot find catalog 'bare', because it has no 'uri': pass --uri or set PYICEBERG_CATALOG__BARE__URI"),
        ("wrong", "Cannot find catalog 'wrong', because its type is 'nosuch': use rest, hive, glue, "),
    ],
)
def test_not_found(name: str, message: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        catalog_properties(name)
    assert str(raised.value).startswith(message)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("uri", "why"),
    [
        ("http://127.0.0.1:9/", "http://127.0.0.1:9/, because Connection refused"),
        ("sqlite:////no/such/c.db?timeout=1", "sqlite:////no/such/c.db, because unable to open database file"),
        ("http://me:secret@nosuch.invalid", "http://...@nosuch.invalid, because Name or service not known"),
    ],
)
def test_a_catalog_that_is_not_reached_is_told_in_a_line(tmp_path: Path, uri: str, why: str) -> None:
    asked = ("--catalog", "lake", "--uri", uri, "--warehouse", str(tmp_path), "--quiet")
    done = run_here(["history", "db.t", *asked], {})
    assert (done.returncode, done.stderr) == (1, f"Error: Cannot reach catalog lake at {why}\n")


def test_a_name_that_two_tables_have_is_refused(tmp_path: Path) -> None:
    where = {"uri": f"sqlite:///{tmp_path}/c.db", "warehouse": f"file://{tmp_path}/wh"}
    with load_catalog("lake", type="sql", **where) as catalog:
        for namespace in ("db", "lake.db"):
            catalog.create_namespace(namespace)
            catalog.create_table(f"{namespace}.events", pa.schema([("a", pa.int64())]))
        found = catalog_properties("lake", **where)
        for name in ("db.events", "lake.lake.db.events"):
            assert named_table(name, "change", found).identifier == tuple(name.removeprefix("lake.").split("."))
        with pytest.raises(InvalidInputError, match=r"and a table db.events: write lake.lake.db.events or db.eve"):
            named_table("lake.db.events", "change", found)
        catalog.drop_table("lake.db.events")
        assert named_table("lake.db.events", "change", found).identifier == ("db", "events")
