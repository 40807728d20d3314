"""The units of systemd, as it checks them itself, and the command of the service."""

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.maintain.lake import Lake
from tests.pyiceberg.committing import operations
from tests.recipes.places import RECIPES, placed

UNITS = sorted((RECIPES / "systemd").iterdir())


def verify(units: list[Path]) -> tuple[int, str]:
    command = ["systemd-analyze", "verify", "--man=no", *map(str, units)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def units(lake: Lake) -> list[Path]:
    """The units with the paths of the test."""
    directory = lake.home / "units"
    directory.mkdir()
    for unit in UNITS:
        text = unit.read_text(encoding="utf-8")
        (directory / unit.name).write_text(placed(text, lake), encoding="utf-8")
    return sorted(directory.iterdir())


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_takes_them(units: list[Path]) -> None:
    assert [each.name for each in units] == ["iceberg-zorder.service", "iceberg-zorder.timer"]
    assert verify(units) == (0, "")
    service = units[0]
    service.write_text(service.read_text().replace("ExecStart=", "ExecStat="))
    code, said = verify(units)
    assert "ExecStat" in said, "what is wrong is found"
    assert code != 0


def test_the_service_runs_a_pass(lake: Lake, units: list[Path]) -> None:
    needy = lake.table("db.needy", 8)
    (command,) = (
        line.removeprefix("ExecStart=") for line in units[0].read_text().splitlines() if line.startswith("ExecStart=")
    )
    variables = (lake.home / "environment").read_text().splitlines()
    environment = dict(line.split("=", 1) for line in variables)
    done = subprocess.run(shlex.split(command), env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert operations(needy)[-1] == "replace"
    assert (lake.home / "passes.jsonl").exists()
