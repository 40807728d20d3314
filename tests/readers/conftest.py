"""Readers are in an environment of their own, and strace tells what files they open."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.readers.measure import ENVIRONMENT, Tables
from tests.pages import REPOSITORY

collect_ignore = (
    [] if (REPOSITORY / ENVIRONMENT / ".installed").exists() and shutil.which("strace") else ["test_readers.py"]
)


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """Made by a process of its own, since a process has one Spark."""
    directory = Path(tmp_path_factory.mktemp("readers")).resolve()
    command = [sys.executable, "-m", "benchmarks.readers.tables", str(directory)]
    subprocess.run(command, cwd=REPOSITORY, check=True)
    return Tables(directory)
