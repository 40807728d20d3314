"""The DAG of the recipes, with what it wants of Airflow."""

import json
from pathlib import Path
from shutil import copyfile

import pytest

from tests.airflow.dags import run_dag
from tests.maintain.lake import Lake
from tests.pyiceberg.committing import operations

RECIPE = Path(__file__).parents[2] / "recipes" / "airflow" / "zorder_maintenance.py"


def test_it_waits_and_rewrites(lake: Lake, dags: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needy = lake.table("db.needy", 8)
    monkeypatch.delenv("LAKE_URI")
    monkeypatch.setenv("AIRFLOW_VAR_LAKE_URI", lake.uri)
    connection = {"conn_type": "generic", "login": "me", "password": "secret"}
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps(connection))
    policy = lake.policy.read_text().replace("type: sql,", 'type: sql, credential: "${LAKE_CREDENTIAL}",')
    (dags / "policy.yaml").write_text(policy, encoding="utf-8")
    copyfile(RECIPE, dags / RECIPE.name)
    done = run_dag(dags / RECIPE.name)
    for name in ("policy.yaml", RECIPE.name):
        (dags / name).unlink()
    assert done.states == {"needs_rewrite": "success", "maintain": "success"}
    assert [each["table"] for each in done.returned["maintain"]["tables"]] == ["lake.db.needy"]
    assert operations(needy)[-1] == "replace"
