"""The asset, materialized by Dagster's own command in an environment of its own."""

import os
import subprocess
from pathlib import Path
from shutil import copyfile

import pytest

from tests.maintain.lake import Lake, rows_of
from tests.pyiceberg.committing import operations
from tests.recipes.places import ENVIRONMENT, RECIPES

pytestmark = pytest.mark.full


def materialize(lake: Lake) -> subprocess.CompletedProcess[str]:
    (lake.home / "dagster.yaml").write_text("telemetry: {enabled: false}\n", encoding="utf-8")
    copyfile(RECIPES / "dagster" / "zorder_maintenance.py", lake.home / "zorder_maintenance.py")
    command = ["asset", "materialize", "-f", "zorder_maintenance.py", "--select", "clustered_tables"]
    return subprocess.run(
        [str(ENVIRONMENT / "dagster"), *command],
        cwd=lake.home,
        env={**os.environ, "DAGSTER_HOME": str(lake.home), "LAKE_URI": lake.uri},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )


def test_the_asset_is_a_pass(lake: Lake) -> None:
    needy = lake.table("db.needy", 8)
    before = rows_of(needy)
    done = materialize(lake)
    assert done.returncode == 0, done.stdout
    assert "Materialized value clustered_tables" in done.stdout or "ASSET_MATERIALIZATION" in done.stdout
    assert operations(needy) == ["append"] * 8 + ["replace"]
    assert rows_of(needy) == before


def test_a_table_that_fails_fails_it(lake: Lake) -> None:
    lake.broken_table("db.broken")
    done = materialize(lake)
    assert done.returncode != 0
    assert "lake.db.broken: Cannot cluster by column 'b'" in done.stdout


def test_its_definitions_load(lake: Lake) -> None:
    copyfile(RECIPES / "dagster" / "zorder_maintenance.py", lake.home / "zorder_maintenance.py")
    program = (
        "from zorder_maintenance import defs; defs.validate_loadable(defs); "
        "print(*[(each.job_name, each.cron_schedule) for each in defs.schedules])"
    )
    done = subprocess.run(
        [str(ENVIRONMENT / "python"), "-c", program], cwd=Path(lake.home), capture_output=True, text=True, check=False
    )
    assert done.stdout == "('zorder_maintenance', '17 * * * *')\n", done.stderr
