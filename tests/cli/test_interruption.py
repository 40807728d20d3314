"""Ctrl-C and SIGTERM: a real process in a group or a terminal of its own, stopped at several moments."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table
from typer.testing import CliRunner

from iceberg_zorder.cli import app as module
from iceberg_zorder.cli.app import app
from iceberg_zorder.cli.interruption import interruptible
from iceberg_zorder.cli.output import Output
from tests.pyiceberg.committing import BY_BYTES
from tests.spark.tables import local_path

ROWS = 360_000
FILES = 72
PROGRAM = "from iceberg_zorder.cli.app import main; main()"


@dataclass(frozen=True)
class Lake:
    """A catalog with one table, and the command that rewrites it."""

    directory: Path

    def table(self) -> Table:
        return self.catalog().load_table("db.events")

    def catalog(self) -> SqlCatalog:
        return SqlCatalog("files", uri=f"sqlite:///{self.directory}/catalog.db", warehouse=f"file://{self.directory}")

    def command(self, program: str, engine: str) -> list[str]:
        size = sum(self.table().inspect.files()["file_size_in_bytes"].to_pylist())
        return [
            *(sys.executable, "-c", program, "rewrite", "db.events", "--by", "user,ts", "--engine", engine),
            *("--catalog", "files", "--uri", f"sqlite:///{self.directory}/catalog.db"),
            *("--warehouse", f"file://{self.directory}", "--option", "rewrite-all=true"),
            *("--option", f"target-file-size-bytes={size // FILES}"),
            *(
                ("--conf", "spark.master=local[2]")
                if engine != "pyiceberg"
                else ("--option", "memory-limit-bytes=16777216")
            ),
        ]

    def data_files(self) -> set[str]:
        return {str(path) for path in self.directory.rglob("data/*.parquet")}

    def new_data_file(self) -> Callable[[], bool]:
        """Tell when the first file of the rewrite is there, not the one that it tries to write before."""
        known = self.data_files()
        return lambda: any("tried" not in path for path in self.data_files() - known)

    def new_manifest(self) -> Callable[[], bool]:
        known = set(self.directory.rglob("metadata/*.avro"))
        return lambda: bool(set(self.directory.rglob("metadata/*.avro")) - known)

    def check(self) -> list[str]:
        """Look for every row and for files that no snapshot knows; returns the snapshots' operations."""
        table = self.table()
        rows = table.scan().to_arrow().sort_by("ts")
        assert rows["ts"].to_pylist() == list(range(ROWS))
        assert rows["payload"].to_pylist() == [f"row {i}" for i in range(ROWS)]
        known = {local_path(path) for path in table.inspect.all_files()["file_path"].to_pylist()}
        assert self.data_files() == known
        return [snapshot.summary.operation.value for snapshot in table.snapshots() if snapshot.summary]


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    lake = Lake(tmp_path)
    catalog = lake.catalog()
    catalog.create_namespace("db")
    rng = np.random.default_rng(0)
    users = rng.integers(0, 1 << 40, ROWS)
    rows = pa.table({"user": users, "ts": np.arange(ROWS), "payload": [f"row {i}" for i in range(ROWS)]})
    table = catalog.create_table("db.events", rows.schema, properties=BY_BYTES)
    for start in range(0, ROWS, ROWS // 4):
        table.append(rows.slice(start, ROWS // 4))
    yield lake
    catalog.close()


@contextmanager
def command(lake: Lake, engine: str) -> Iterator[subprocess.Popen[bytes]]:
    """The command in a process group of its own, with what it says in files."""
    out, err = lake.directory / "out", lake.directory / "err"
    environment = {**os.environ, "HOME": str(lake.directory), "SPARK_LOCAL_IP": "127.0.0.1"}
    ivy = ["--conf", f"spark.jars.ivy={Path.home() / '.ivy2.5.2'}"] if engine != "pyiceberg" else []
    arguments = [*lake.command(PROGRAM, engine), *ivy]
    with out.open("wb") as stdout, err.open("wb") as stderr:
        process = subprocess.Popen(arguments, stdout=stdout, stderr=stderr, env=environment, start_new_session=True)
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait(process: subprocess.Popen[bytes], until: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 240
    while not until():
        assert process.poll() is None, "the command ended before it could be stopped"
        assert time.monotonic() < deadline
        time.sleep(0.005)


def says(lake: Lake, text: str) -> Callable[[], bool]:
    return lambda: text in (lake.directory / "err").read_text()


MOMENTS: dict[str, Callable[[Lake], Callable[[], bool]]] = {
    "starting": lambda lake: says(lake, "Starting Spark"),
    "sampling": lambda lake: says(lake, "Rewriting files.db.events"),
    "writing": lambda lake: lake.new_data_file(),
    "committing": lambda lake: lake.new_manifest(),
}


def check_stopped(lake: Lake, process: subprocess.Popen[bytes], code: int) -> None:
    assert process.wait(240) == code
    said = (lake.directory / "err").read_text().splitlines()
    assert said[-1].startswith("Interrupted: "), said
    progress = re.compile(r"Starting Spark|Rewriting files|Cancelling|Planned |read: |write: |sample: ")
    assert [line for line in said[:-1] if not progress.match(line)] == []
    is_complete = "had already completed" in said[-1]
    assert lake.check() == ["append"] * 4 + ["replace"] * is_complete
    assert bool((lake.directory / "out").read_text()) == is_complete


@pytest.mark.full
@pytest.mark.parametrize(
    ("moment", "number"), [*((each, signal.SIGINT) for each in MOMENTS), ("writing", signal.SIGTERM)]
)
def test_spark(lake: Lake, moment: str, number: signal.Signals) -> None:
    due = MOMENTS[moment](lake)
    with command(lake, "spark") as process:
        wait(process, due)
        os.killpg(process.pid, number)
        check_stopped(lake, process, 128 + number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_pyiceberg(lake: Lake, number: signal.Signals) -> None:
    due = lake.new_data_file()
    with command(lake, "pyiceberg") as process:
        wait(process, due)
        os.killpg(process.pid, number)
        check_stopped(lake, process, 128 + number)


def test_a_signal_that_is_ignored_stays_so() -> None:
    """As for a command that a shell has put into the background."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interruptible() as signals:
            signal.raise_signal(signal.SIGINT)
        assert signals.received == []
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


class Rewritten(Output):
    """Is told to end at a place between the work's end and that of the command."""

    def __init__(self, place: str) -> None:
        super().__init__("json", quiet=True)
        self._place = place

    def _end(self, place: str) -> None:
        if place == self._place:
            signal.raise_signal(signal.SIGTERM)

    @contextmanager
    def work(self) -> Iterator[Callable[[str, int, int], None]]:
        with super().work() as work:
            yield work
            self._end("progress")

    def show(self, *arguments: Any) -> None:
        self._end("before printing")
        super().show(*arguments)
        self._end("after printing")


@pytest.mark.parametrize("place", ["progress", "before printing", "after printing"])
def test_a_rewrite_that_is_done_is_not_called_cancelled(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    monkeypatch.setattr(module, "Output", lambda kind, quiet: Rewritten(place))
    outcome = CliRunner().invoke(app, [*lake.command("", "pyiceberg")[3:], "--output", "json"])
    assert outcome.exit_code == 143
    assert json.loads(outcome.stdout)["rewritten_data_files_count"] == 4
    assert outcome.stderr == "Interrupted: the rewrite of db.events had already completed\n"
    assert lake.check() == ["append"] * 4 + ["replace"]
