"""Who changes a room without an engine tests it without Spark, PyIceberg's catalogs or DuckDB."""

import subprocess
import sys
from pathlib import Path

ROOMS = ("advice", "layout", "maintain/policy", "metrics", "render", "rewrite", "sample", "select", "sort")
IMPORT = """
import importlib, pathlib, sys
import tests.conftest
for path in sorted(path for room in sys.argv[1:] for path in pathlib.Path("tests", room).rglob("*.py")):
    importlib.import_module(".".join(path.with_suffix("").parts).removesuffix(".__init__"))
heavy = sorted({"pyspark", "duckdb", "py4j"} & set(sys.modules))
sys.exit(f"imported: {heavy}" if heavy else 0)
"""


def test_rooms_without_an_engine_import_neither_spark_nor_duckdb() -> None:
    command = [sys.executable, "-c", IMPORT, *ROOMS]
    done = subprocess.run(command, cwd=Path(__file__).parent.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
