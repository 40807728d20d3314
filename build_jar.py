"""Build the plugin jar with Maven and put it where the wheel takes it from: a build hook, and ``make jar``."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ModuleNotFoundError:  # run by hand, where only a build needs hatchling
    BuildHookInterface = object

ROOT = Path(__file__).resolve().parent
MAVEN_PROJECT = ROOT / "spark_jars"
BUILT = MAVEN_PROJECT / "plugin" / "target" / "iceberg-zorder-spark.jar"
PACKAGED = ROOT / "iceberg_zorder" / "jars" / "iceberg-zorder-spark.jar"


class JarBuildHook(BuildHookInterface):  # type: ignore[misc]
    """Has the jar ready before hatchling collects the wheel's files, editable installs included."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Build the jar, unless it is newer than its sources."""
        build()


def build() -> Path:
    """Build the jar if a source is newer, and copy it into the package.

    Returns
    -------
    Path
        The jar in the package.

    Raises
    ------
    SystemExit
        When Maven fails.
    """
    if not PACKAGED.exists() or PACKAGED.stat().st_mtime < _newest_source():
        command = [
            maven(),
            "--batch-mode",
            "--quiet",
            "-f",
            str(MAVEN_PROJECT / "pom.xml"),
            "-Dmaven.test.skip=true",
            "package",
        ]
        finished = subprocess.run(command, check=False)  # noqa: S603
        if finished.returncode != 0:
            raise SystemExit(f"Cannot build {PACKAGED.name}, because Maven failed: {' '.join(command)}")
        PACKAGED.parent.mkdir(exist_ok=True)
        shutil.copyfile(BUILT, PACKAGED)
    return PACKAGED


def maven() -> str:
    """Name the Maven to run: the one on the PATH, else the wrapper, which downloads one."""
    return shutil.which("mvn") or str(ROOT / "mvnw")


def _newest_source() -> float:
    sources = [path for path in MAVEN_PROJECT.rglob("*") if path.is_file() and "target" not in path.parts]
    return max(path.stat().st_mtime for path in sources)


if __name__ == "__main__":
    sys.stdout.write(f"{build()}\n")
