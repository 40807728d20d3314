"""Apply patches that plant faults, one by one, and report which test notices each.

A patch is a unified diff with three lines before it::

    Fault: what a user would suffer
    Room: pyiceberg/commit
    Tests: tests/pyiceberg/commit/test_commit.py tests/fuzz

``python -m tests.faults FOLDER`` applies each ``*.patch`` of the folder to a clone of the committed tree and runs the named tests, but for
those that ``make test`` does not run. A Java patch runs JUnit first, and then the named tests with a jar built from the patched code.
The exit code is 1 if no test notices a fault, or a patched tree does not build; and 2 if a patch does not apply.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from build_jar import maven

ROOT = Path(__file__).resolve().parent.parent
TIMEOUT_SECONDS = 900  # a test that runs longer has noticed the fault


@dataclass(frozen=True)
class Fault:
    """A patch, and where it is expected to be noticed."""

    patch: Path
    summary: str
    room: str
    tests: tuple[str, ...]

    @property
    def is_java(self) -> bool:
        """Whether the plugin's jar has to be built again."""
        return "+++ b/spark_jars/" in self.patch.read_text(encoding="utf-8")


def read(patch: Path) -> Fault:
    """Read the lines before the diff."""
    head = patch.read_text(encoding="utf-8").partition("\ndiff ")[0]
    found = dict(re.findall(r"^(Fault|Room|Tests): *(.*)$", head, re.MULTILINE))
    tests = tuple(each for each in found.get("Tests", "").split() if not each.startswith("junit:"))
    return Fault(patch, found.get("Fault", patch.stem), found.get("Room", "?"), tests)


def first_failing_test(fault: Fault, tree: Path) -> str | None:
    """Run the tests on a tree that has the fault.

    Returns
    -------
    str or None
        The first test that fails; None if all pass.
    """
    project = ["-f", str(tree / "spark_jars" / "pom.xml")]
    if fault.is_java:
        compiled = run([maven(), "--batch-mode", "-q", *project, "test-compile"], tree)
        if compiled.returncode != 0:
            raise SystemExit(f"Cannot compile {fault.patch.name}:\n{compiled.stdout[-2000:]}")
        output = run([maven(), "--batch-mode", "-Dstyle.color=never", *project, "test"], tree)
        if output.returncode != 0:
            failed = re.search(r"^\[ERROR\] +(?:Failures: *)?(\w+Test\.[\w$]+)", output.stdout, re.MULTILINE)
            return failed.group(1) if failed else "JUnit"
        jar_of(tree).unlink()
        built = run([sys.executable, "build_jar.py"], tree)
        if built.returncode != 0:
            raise SystemExit(f"Cannot build the jar of {fault.patch.name}:\n{built.stdout[-2000:]}")
    tests = [each for each in fault.tests if (tree / each.partition("::")[0]).exists()]
    if not tests:
        return None
    output = run([sys.executable, "-m", "pytest", "-q", "-x", "-m", "not full and not way", *tests], tree)
    if output.returncode in (0, 5):
        return None
    if output.returncode == 4:
        raise SystemExit(f"Cannot run the tests of {fault.patch.name}:\n{output.stdout[-2000:]}")
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", output.stdout, re.MULTILINE)
    return failed.group(1) if failed else f"pytest, exit code {output.returncode}"


def jar_of(tree: Path) -> Path:
    """Name the jar that the tests of a tree take."""
    return tree / "iceberg_zorder" / "jars" / "iceberg-zorder-spark.jar"


def run(command: Sequence[str], tree: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a tree; its package shadows the installed one."""
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    try:
        return subprocess.run(
            command,
            cwd=tree,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "FAILED timeout")


def main() -> int:
    """Print one line per patch, then the total."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="patches, also in folders below")
    parser.add_argument("--only", default="", help="a part of the names of the patches to apply")
    arguments = parser.parse_args()
    faults = [read(patch) for patch in sorted(arguments.folder.rglob("*.patch")) if arguments.only in patch.name]
    if not faults:
        parser.error(f"no patch in {arguments.folder} has a name with {arguments.only!r}")
    unnoticed = 0
    with tempfile.TemporaryDirectory() as directory:
        tree = Path(directory) / "tree"
        subprocess.run(["git", "clone", "--quiet", "--shared", ROOT, tree], check=True)
        if not run([sys.executable, "build_jar.py"], tree).stdout:
            raise SystemExit("Cannot build the jar")
        original_jar = jar_of(tree).read_bytes()
        for fault in faults:
            applied = subprocess.run(["git", "apply", fault.patch.resolve()], cwd=tree, check=False)
            if applied.returncode != 0:
                return 2
            start = time.monotonic()
            test = first_failing_test(fault, tree)
            unnoticed += test is None
            print(
                f"{fault.patch.stem:40} {fault.room:22} {time.monotonic() - start:5.0f} s  {test or 'NOT NOTICED'}",
                flush=True,
            )
            subprocess.run(["git", "checkout", "--quiet", "."], cwd=tree, check=True)
            if fault.is_java:
                jar_of(tree).write_bytes(original_jar)
    print(f"{len(faults) - unnoticed} of {len(faults)} faults were noticed")
    return 1 if unnoticed else 0


if __name__ == "__main__":
    sys.exit(main())
