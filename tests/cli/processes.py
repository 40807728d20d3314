"""Commands in this process or in one of their own, each in a home that names the catalog."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from pyiceberg.utils.config import Config

from iceberg_zorder.cli.app import app
from tests.json_schemas import check_output


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
    """Run a command with the catalog of the home's configuration; the engine is found by itself."""
    return run_here([command, *arguments, "--catalog", "files"], {"HOME": str(home)})


def refusal(home: Path, *arguments: str, command: str = "rewrite") -> str:
    """What is said by a command that is refused."""
    done = run_without_spark(home, *arguments, "--output", "json", command=command)
    assert done.returncode == 2, done.stdout
    return str(json.loads(done.stdout)["error"]["message"])


def run_here(words: Sequence[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command in this process, as if PySpark could not be imported; JSON that it writes must fit its schema."""
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with ExitStack() as stack:
        stack.enter_context(patch.dict(os.environ, environment))
        # PyIceberg reads its configuration when it is imported.
        stack.enter_context(patch("pyiceberg.catalog._ENV_CONFIG", Config()))
        # Only this key is put back: modules that the command imports stay imported.
        stack.enter_context(_without("pyspark"))
        stack.enter_context(redirect_stdout(out))
        stack.enter_context(redirect_stderr(err))
        try:
            app(list(words), prog_name="iceberg-zorder")
        except SystemExit as ended:
            code = ended.code
    exit_code = code if isinstance(code, int) else 1
    text = out.getvalue()
    if text.startswith('{"version": 1, '):
        check_output(words[0], json.loads(text))
    return subprocess.CompletedProcess(list(words), exit_code, text, err.getvalue())


@contextmanager
def _without(module: str) -> Iterator[None]:
    there = sys.modules.get(module)
    sys.modules[module] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[module]
        if there is not None:
            sys.modules[module] = there
