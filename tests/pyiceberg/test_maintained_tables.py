"""Tables of a policy, while others work on them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.table import Table

from iceberg_zorder.maintain.decide import Circumstances, Decision, decide
from iceberg_zorder.maintain.maintenance_pass import HeldByAnotherError, MaintenancePass, Peace
from iceberg_zorder.maintain.observation import TableName
from iceberg_zorder.maintain.policy.policy import Policy
from iceberg_zorder.maintain.policy.read import parse_policy
from iceberg_zorder.maintain.policy.settings import TableSettings
from iceberg_zorder.pyiceberg import rewrite_data_files
from iceberg_zorder.pyiceberg.maintain.maintained_tables import PyIcebergTables

NOW = datetime(2026, 11, 23, tzinfo=timezone.utc)
NAME = TableName("lake", ("a", "b"), "t")
OPTIONS = {"min-age-seconds": "0", "target-file-size-bytes": "40000"}


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    text = f"""
        version: 1
        catalogs: {{lake: {{type: sql, uri: "sqlite:///{tmp_path}/catalog.db", warehouse: "{tmp_path}/warehouse"}}}}
        tables: {{"*": {{by: [x, y], options: {{min-age-seconds: 0, target-file-size-bytes: 40000}}}}}}
    """
    return parse_policy(text, "policy.yaml", {})


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    found = load_catalog("lake", type="sql", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"{tmp_path}/warehouse")
    for namespace in ("a", "a.b", "c"):
        found.create_namespace(namespace)
    return found


def table(catalog: Catalog, name: str) -> Table:
    made = catalog.create_table(name, pa.schema([("x", pa.int64()), ("y", pa.int64())]))
    append(made)
    return made


def append(made: Table) -> None:
    draw = np.random.default_rng(3)
    for _ in range(8):
        made.append(pa.table({name: draw.integers(0, 1 << 40, 2_000) for name in "xy"}))


def decided(tables: PyIcebergTables, policy: Policy) -> tuple[Decision, TableSettings]:
    assert NAME in list(tables.names("lake"))
    settings = tables.settings(NAME)
    assert settings is not None
    found = tables.observe(NAME, settings, NOW)
    (decision,) = decide([(found, settings)], Circumstances(NOW, policy.budget, {}))
    assert decision.action == "rewrite"
    return decision, settings


def test_tables_of_namespaces_inside_others_are_found(catalog: Catalog, policy: Policy) -> None:
    for name in ("a.b.t", "a.u", "c.v"):
        table(catalog, name)
    found = sorted(PyIcebergTables(policy).names("lake"))
    assert [str(each) for each in found] == ["lake.a.u", "lake.a.b.t", "lake.c.v"]


def test_what_another_pass_has_done_is_not_done_again(catalog: Catalog, policy: Policy) -> None:
    made = table(catalog, "a.b.t")
    tables = PyIcebergTables(policy)
    decision, settings = decided(tables, policy)
    rewrite_data_files(made, "x, y", options=OPTIONS)
    at = made.current_snapshot()
    with pytest.raises(HeldByAnotherError, match="^another maintainer has rewritten it since it was looked at$"):
        tables.rewrite(decision, settings)
    assert made.refresh().current_snapshot() == at


def test_what_has_come_since_is_planned_again_within_the_budget(catalog: Catalog, policy: Policy) -> None:
    made = table(catalog, "a.b.t")
    tables = PyIcebergTables(policy)
    decision, settings = decided(tables, policy)
    made.delete("x < 1000000000")
    append(made)
    rows = made.scan().count()
    done = tables.rewrite(decision, settings)
    assert done.rewritten_files == 0, "all of it is more than was decided on"
    done = tables.rewrite(replace(decision, groups=(replace(decision.groups[0], size=10**9),)), settings)
    assert done.rewritten_files > 0
    assert made.refresh().scan().count() == rows


def test_appends_since_do_not_matter(catalog: Catalog, policy: Policy) -> None:
    made = table(catalog, "a.b.t")
    tables = PyIcebergTables(policy)
    decision, settings = decided(tables, policy)
    append(made)
    assert tables.rewrite(decision, settings).rewritten_files == 8
    assert made.refresh().scan().count() == 32_000


def test_file_groups_that_fail_are_told(catalog: Catalog, policy: Policy) -> None:
    made = table(catalog, "a.b.t")
    path = Path(made.inspect.files()["file_path"][0].as_py().removeprefix("file://"))
    path.write_bytes(path.read_bytes()[:100])
    at = made.current_snapshot()
    report = MaintenancePass(policy, PyIcebergTables(policy), Peace(), lambda: NOW).run()
    (only,) = report.tables
    assert (report.has_failed, report.rewritten_bytes, made.refresh().current_snapshot()) == (True, 0, at)
    assert only.error is not None
    assert only.error.startswith("lake.a.b.t: ")
