"""An Airflow of its own: its SQLite database and its folder of DAGs are in a temporary directory.

Airflow reads where its home is when it is imported, which is later than this.
"""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.maintain.lake import Lake, lake_in

_HOME = tempfile.TemporaryDirectory(prefix="iceberg-zorder-airflow-")
os.environ |= {
    "AIRFLOW_HOME": _HOME.name,
    "AIRFLOW__CORE__LOAD_EXAMPLES": "false",
    "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "false",
}


@pytest.fixture(scope="session")
def dags() -> Path:
    """Airflow's folder of DAGs; its database is ready."""
    folder = Path(_HOME.name, "dags")
    folder.mkdir()
    subprocess.run([sys.executable, "-m", "airflow", "db", "migrate"], check=True, capture_output=True)
    return folder


@pytest.fixture
def lake(dags: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lake]:
    before = signal.getsignal(signal.SIGTERM)
    with lake_in(tmp_path) as lake:
        monkeypatch.setenv("LAKE_URI", lake.uri)
        yield lake
    # Each task has set its own.
    signal.signal(signal.SIGTERM, before)
