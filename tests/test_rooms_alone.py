"""Who changes a room without an engine tests it without Spark, PyIceberg's catalogs or DuckDB."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOMS = ("advice", "layout", "maintain/policy", "render", "report", "request", "rows", "sample", "upkeep")
COLLECT = """
import sys
import pytest
code = pytest.main(["--collect-only", "-q", *sys.argv[1:]])
heavy = sorted({"pyspark", "duckdb", "py4j"} & set(sys.modules))
sys.exit(f"exit code {code}, imported: {heavy}" if code or heavy else 0)
"""


def test_rooms_without_an_engine_import_neither_spark_nor_duckdb() -> None:
    rooms = [f"tests/{room}" for room in ROOMS]
    command = [sys.executable, "-c", COLLECT, *rooms]
    done = subprocess.run(command, cwd=Path(__file__).parent.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
