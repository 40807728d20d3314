"""Commands in processes of their own, each in a home that names the catalog."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def run(home: Path, *arguments: str, command: str = "rewrite") -> subprocess.CompletedProcess[str]:
    """Run a command with Spark."""
    words = [sys.executable, "-c", "from iceberg_zorder.cli.app import main; main()", command, *arguments]
    environment = {
        **os.environ,
        "HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYICEBERG_CATALOG__OTHER__URI": "sqlite:////x",
    }
    # Spark's packages are kept in the real home.
    ivy = f"spark.jars.ivy={Path.home() / '.ivy2.5.2'}"
    return subprocess.run(
        [*words, "--conf", "spark.master=local[2]", "--conf", ivy],
        capture_output=True,
        text=True,
        env=environment,
        timeout=240,
        check=False,
    )


def run_without_spark(home: Path, *arguments: str, command: str = "rewrite") -> subprocess.CompletedProcess[str]:
    """Run a command where PySpark cannot be imported: the engine is then found by itself."""
    script = "import sys; sys.modules['pyspark'] = None; from iceberg_zorder.cli.app import main; main()"
    words = [sys.executable, "-c", script, command, *arguments, "--catalog", "files"]
    environment = {**os.environ, "HOME": str(home)}
    return subprocess.run(words, capture_output=True, text=True, env=environment, timeout=240, check=False)
