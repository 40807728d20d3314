"""Executors that are killed or stopped while a rewrite runs, on a standalone cluster of real processes.

The rule: whatever befalls executors, the rewrite ends well with the same rows in the same files as if nothing had. What lost attempts
have written is for ``remove_orphan_files``.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyiceberg.table import StaticTable

from tests.spark.tables import local_path
from tests.spark.test_ways_in import settings
from tests.stack.disturbed_driver import FILES, ROWS
from tests.stack.servers import (
    ENVIRONMENT,
    children_of,
    command_of,
    conf,
    spark_master,
    spark_worker,
)

pytestmark = pytest.mark.full


@dataclass(frozen=True)
class Answer:
    """What the driver has seen of a rewrite."""

    disturbed: bool
    attempts: int


@dataclass(frozen=True)
class Driver:
    """A running driver, see tests.stack.disturbed_driver."""

    process: subprocess.Popen[str]
    directory: Path

    def rewrite(self, **request: object) -> Answer:
        assert self.process.stdin is not None
        print(json.dumps(request), file=self.process.stdin, flush=True)
        return Answer(**self.answer())

    def answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, (self.directory / "driver.log").read_text()[-3000:]
        return dict(json.loads(line))

    @property
    def table(self) -> Path:
        return self.directory / "warehouse" / "db" / "t"

    def check(self) -> set[frozenset[int]]:
        """Have PyIceberg look for every row; returns the rows of each file."""
        newest = max(
            (self.table / "metadata").glob("v*.metadata.json"), key=lambda path: int(path.name[1:].split(".")[0])
        )
        table = StaticTable.from_metadata(str(newest))
        snapshot = table.current_snapshot()
        assert snapshot is not None
        assert snapshot.summary is not None
        assert snapshot.summary.operation.value == "replace"
        rows = table.scan().to_arrow().sort_by("id")
        assert rows["id"].to_pylist() == list(range(ROWS))
        assert rows["payload"].to_pylist() == [f"row {number}" for number in range(ROWS)]
        files = table.inspect.files()["file_path"].to_pylist()
        return {frozenset(pq.read_table(local_path(path), columns=["id"])["id"].to_pylist()) for path in files}


@contextmanager
def driver(directory: Path, jars: str, master: str, extra: dict[str, str]) -> Iterator[Driver]:
    pairs = {
        "spark.executor.cores": "1",
        # What a dead executor has shuffled is gone, as it would be with its machine, and that is told soon.
        "spark.shuffle.readHostLocalDisk": "false",
        "spark.shuffle.io.maxRetries": "1",
        "spark.shuffle.io.retryWait": "100ms",
        **extra,
    }
    arguments = [
        "--master",
        master,
        "--executor-memory",
        "600m",
        *settings(directory, jars),
        *conf(pairs),
        "pyspark-shell",
    ]
    with (directory / "driver.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.stack.disturbed_driver"],
            env={**ENVIRONMENT, "PYSPARK_SUBMIT_ARGS": shlex.join(arguments)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
        )
        try:
            driver = Driver(process, directory)
            driver.answer()
            yield driver
        finally:
            assert process.stdin is not None
            assert process.stdout is not None
            with suppress(BrokenPipeError):
                process.stdin.close()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            process.stdout.close()


def executors(worker: Path) -> Sequence[int]:
    """The executors that a worker has started, as soon as there are any."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        works = [pid for pid in children_of(os.getpid()) if f"--work-dir {worker}" in command_of(pid)]
        found = [
            child for pid in works for child in children_of(pid) if "CoarseGrainedExecutorBackend" in command_of(child)
        ]
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(f"{worker} has started no executor")


def test_executors_and_a_machine_die(tmp_path: Path, jars: str) -> None:
    with (
        spark_master(tmp_path) as master,
        spark_worker(tmp_path, master, "lives"),
        spark_worker(tmp_path, master, "dies") as mortal,
        driver(tmp_path, jars, master, {}) as spark,
    ):
        spark.rewrite()
        undisturbed = spark.check()
        assert len(undisturbed) == FILES
        # The worker starts another executor each time, until it dies with it.
        for moment, what in (("sample", "kill"), ("map", "kill"), ("write", "kill-machine")):
            said = spark.rewrite(moment=moment, executor=executors(mortal)[0], what=what)
            assert said.disturbed
            assert spark.check() == undisturbed
        # What the machine had shuffled was lost with it, and had to be made again.
        assert said.attempts >= 1
