"""Build the plugin jar with Maven and put it where the wheel takes it from: a build hook, and ``make jar``.

Without a JDK, the hook leaves the jar out, because only Spark needs it. A JDK whose build fails is an error: the reason
may pass, such as no network, and nobody should be left with half a package then.
"""

from __future__ import annotations

import os
import re
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
OLDEST_JDK = 17


class JarBuildHook(BuildHookInterface):  # type: ignore[misc]
    """Has the jar ready before hatchling collects the wheel's files, editable installs included."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Build the jar, unless it is newer than its sources."""
        build_if_possible()


def build_if_possible() -> None:
    """Build the jar if a source is newer; without a JDK, remove an older one, and say so on standard error."""
    if _is_current() or (found := jdk_version()) >= OLDEST_JDK:
        build()
        return
    PACKAGED.unlink(missing_ok=True)
    place = "JAVA_HOME" if os.environ.get("JAVA_HOME") else "PATH"
    sys.stderr.write(
        f"Building without {PACKAGED.name}, which only Spark needs, because its build takes JDK {OLDEST_JDK} or newer: "
        f"found {f'javac {found}' if found else 'no javac'} in {place}\n"
    )


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
    if not _is_current():
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
            raise SystemExit(
                f"Cannot build {PACKAGED.name}, because Maven failed: {' '.join(command)}. To install without it, for "
                "PyIceberg alone, set JAVA_HOME=none"
            )
        PACKAGED.parent.mkdir(exist_ok=True)
        shutil.copyfile(BUILT, PACKAGED)
    return PACKAGED


def maven() -> str:
    """Name the Maven to run: the one on the PATH, else the wrapper, which downloads one."""
    return shutil.which("mvn") or str(ROOT / "mvnw")


def jdk_version() -> int:
    """Return the version of the JDK that Maven would run, of ``JAVA_HOME`` or else on the PATH; 0 without one."""
    home = os.environ.get("JAVA_HOME")
    javac = str(Path(home, "bin", "javac")) if home else "javac"
    try:
        finished = subprocess.run([javac, "-version"], capture_output=True, text=True, check=False)  # noqa: S603
    except OSError:
        return 0
    # Java 8 writes to standard error, and so do notes on JAVA_TOOL_OPTIONS.
    version = re.search(r"^javac (\d+)", finished.stdout + finished.stderr, re.MULTILINE)
    return int(version[1]) if version else 0


def _is_current() -> bool:
    sources = [path for path in MAVEN_PROJECT.rglob("*") if path.is_file() and "target" not in path.parts]
    return PACKAGED.exists() and PACKAGED.stat().st_mtime >= max(path.stat().st_mtime for path in sources)


if __name__ == "__main__":
    sys.stdout.write(f"{build()}\n")
