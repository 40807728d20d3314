"""The command ``init``: a policy that maintain takes as it stands, for tables of any name."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
import yaml
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.transforms import BucketTransform, IdentityTransform

from iceberg_zorder.maintain.policy.read import parse_policy
from iceberg_zorder.pyiceberg import rewrite_data_files
from tests.cli.processes import run_here, run_without_spark

ROWS = pa.table({"a": pa.array(range(100), pa.int64()), "b": pa.array(range(100), pa.int64()), "ok": [[1]] * 100})


@pytest.fixture(scope="module")
def tables(catalog: Catalog) -> Catalog:
    """Tables of which columns are known in each way, or not."""
    catalog.create_namespace("odd [x]: #")
    for name in ("odd [x]: #.yes", "odd [x]: #.na'me\n*", "db.set", "db.dropped", "db.rewritten", "db.parted"):
        catalog.create_table(name, ROWS.schema).append(ROWS)
    for name, columns in (("odd [x]: #.yes", "hilbert(b, a)"), ("db.set", "a"), ("db.dropped", "gone")):
        catalog.load_table(name).transaction().set_properties({"zorder.columns": columns}).commit_transaction()
    rewrite_data_files(catalog.load_table("db.rewritten"), "b, a", options={"rewrite-all": True})
    with catalog.load_table("db.parted").update_spec() as update:
        update.add_field("a", BucketTransform(4))
        update.add_field("b", IdentityTransform())
    with catalog.create_table("db.sorted", ROWS.schema).update_sort_order() as order:
        order.asc("b", IdentityTransform()).asc("a", IdentityTransform())
    return catalog


def test_maintain_takes_the_policy(home: Path, tables: Catalog) -> None:
    policy = home / "new policy.yaml"
    done = run_without_spark(home, "--to", str(policy), command="init")
    assert done.returncode == 0, done.stderr
    assert f"iceberg-zorder maintain '{policy}' --dry-run" in done.stderr
    found = yaml.safe_load(policy.read_text())
    assert found["catalogs"] == {"files": {}}
    assert found["tables"].pop("db.dropped") == {"enabled": False}, "a pass would fail"
    assert "enabled: false  # Cannot cluster by column 'gone'" in policy.read_text()
    rules = {name: rule["by"] for name, rule in found["tables"].items()}
    assert rules == {
        "odd [[]x]: #.yes": "hilbert(b, a)",
        "db.set": "a",
        "db.rewritten": "zorder(b, a)",
        "db.parted": "zorder(a)",
        "db.sorted": "zorder(b, a)",
    }
    assert "  # db.events:\n  #   by: [...]  # columns are unknown: iceberg-zorder advise" in policy.read_text()
    read = parse_policy(policy.read_text(), "p", {})
    for namespace, name in (("odd [x]: #", "yes"), ("odd [x]: #", "na'me\n*"), ("db", "events")):
        assert read.settings("files", (namespace,), name) is not None
    done = run_here(["maintain", str(policy), "--dry-run", "--output", "json"], {"HOME": str(home)})
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(json.loads(done.stdout)["tables"]) == len(rules) + 3

    again = run_without_spark(home, "--to", str(policy), command="init")
    assert again.returncode == 2
    assert "because the file exists" in again.stderr
    told = run_without_spark(home, "--output", "json", "--quiet", command="init")
    assert json.loads(told.stdout)["policy"].splitlines()[3:] == policy.read_text().splitlines()[3:]


def test_a_catalog_of_flags_is_written_without_its_secrets(home: Path, tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/${{x}}.db"
    catalog = load_catalog("doc", type="sql", uri=address, warehouse=str(tmp_path))
    flags = ["--catalog", "doc", "--uri", address, "--warehouse", str(tmp_path)]
    done = run_here(["init", *flags], {"HOME": str(home)})
    assert done.returncode == 2
    assert "because catalog doc has no table" in done.stderr
    catalog.create_namespace("db")
    catalog.create_table("db.t", ROWS.schema)
    environment = {"HOME": str(home), "PYICEBERG_CATALOG__DOC__S3__SECRET_ACCESS_KEY": "secret"}
    done = run_here(["init", *flags], environment)
    assert done.returncode == 0, done.stderr
    assert "secret\n" not in done.stdout
    assert '"${DOC_S3_SECRET_ACCESS_KEY}"' in done.stdout
    catalog.close()
    (tmp_path / "p.yaml").write_text(done.stdout)
    environment = {"HOME": str(home), "DOC_S3_SECRET_ACCESS_KEY": "secret"}
    done = run_here(["maintain", str(tmp_path / "p.yaml"), "--dry-run"], environment)
    assert done.returncode == 0, done.stderr
    assert "doc.db.t" in done.stdout
