"""What a reader answers, and which data files it opens for that: system calls that open files, by strace."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import duckdb
from pyiceberg.expressions import BooleanExpression
from pyiceberg.table import ALWAYS_TRUE, StaticTable

from benchmarks.readers.queries import Query
from benchmarks.readers.tables import LIST
from iceberg_zorder.spark.session import iceberg_runtime

ENVIRONMENT = Path(".venv-readers")
TRINO = Path(".trino") / "trino-server-476"
READERS = {
    "trino": "Trino",
    "spark": "Spark",
    "duckdb": "DuckDB",
    "clickhouse": "ClickHouse (chdb)",
    "sail": "Sail",
    "pyiceberg": "PyIceberg",
    "polars": "Polars",
    "daft": "Daft",
    "daft_cast": "Daft, `CAST`",
    "datafusion": "DataFusion",
}
"""Names of the readers in ``ask.py``, and on the page."""
_SLOW_TO_START = ("spark", "trino")
_OPENED = re.compile(r'open(?:at2?)?\((?:\w+, )?"([^"]+)"')
_SECONDS = 900


@dataclass(frozen=True)
class Answer:
    """What a reader made of a query.

    Parameters
    ----------
    rows : int or None
        How many rows it found. None if it failed, or cannot say the query.
    hash : str
        A hash of the rows.
    error : str
        Why it failed; empty if it did not.
    files : int
        Data files of the filtered table that it opened.
    """

    rows: int | None
    hash: str = ""
    error: str = ""
    files: int = 0


class Tables:
    """The tables of :mod:`benchmarks.readers.tables`."""

    def __init__(self, directory: Path) -> None:
        self.home = str(directory)
        self.metadata: Mapping[str, str] = json.loads((directory / LIST).read_text(encoding="utf-8"))

    def right(self, query: Query) -> Answer:
        """Have DuckDB answer a query from plain Parquet files, and PyIceberg plan the files."""
        sql = query.sql
        for name in query.tables:
            sql = re.sub(rf"\b(FROM|JOIN) {name}\b", rf"\1 '{self.home}/plain/{name}.parquet'", sql)
        rows = sorted(duckdb.sql(sql).fetchall())
        hashed = hashlib.sha256(repr(rows).encode()).hexdigest()[:16]
        return Answer(len(rows), hashed, files=len(self.data_files(query.tables[0], query.needed)))

    def data_files(self, name: str, condition: str | BooleanExpression = ALWAYS_TRUE) -> set[str]:
        """Plan the files for a condition, as paths; without deletes, because PyIceberg plans no equality deletes."""
        table = StaticTable.from_metadata(self.metadata[name])
        now = table.current_snapshot()
        assert now is not None
        snapshot = now.parent_snapshot_id if "delet" in name else now.snapshot_id
        scan = table.scan(condition, snapshot_id=snapshot)
        return {re.sub("^file:(//)?", "", task.file.file_path) for task in scan.plan_files()}


def ask(reader: str, tables: Tables, queries: Sequence[Query]) -> tuple[str, list[Answer]]:
    """Have a reader answer queries; returns its version and the answers.

    No query finds what another one has left in a cache, but those of servers, which start once.
    """
    release, answers = "", list[Answer]()
    while len(answers) < len(queries):
        more = queries[len(answers) :]
        release, answered = _ask(reader, tables, more if reader in _SLOW_TO_START else more[:1])
        answers += answered
    return release, answers


def _ask(reader: str, tables: Tables, queries: Sequence[Query]) -> tuple[str, list[Answer]]:
    """Ask in a process of its own. If it ends early, that is the answer to the query that it was at."""
    named = {name for query in queries for name in query.tables}
    asked = {
        "reader": reader,
        "tables": {name: tables.metadata[name] for name in sorted(named)},
        "queries": [[query.sql, query.filter, query.tables] for query in queries],
    }
    python = Path(sys.executable) if reader == "spark" else ENVIRONMENT.absolute() / "bin" / "python"
    environment = {
        **os.environ,
        "ICEBERG_RUNTIME": iceberg_runtime(version("pyspark"), "2.13"),
        "TRINO_HOME": str(TRINO.resolve()),
        "PYTHONWARNINGS": "ignore",
    }
    with tempfile.TemporaryDirectory() as directory:
        marks, trace = Path(directory).resolve(), Path(directory, "trace").resolve()
        command = ["strace", "-f", "--seccomp-bpf", "-e", "trace=open,openat,openat2", "-o", str(trace), str(python)]
        done = subprocess.run(
            [*command, str(Path(__file__).absolute().with_name("ask.py"))],
            input=json.dumps({**asked, "marks": str(marks)}),
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
            env=environment,
            cwd="/",  # ClickHouse reads files below the working directory only
        )
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        if not lines:
            raise RuntimeError(f"Cannot start the reader {reader}: {done.stderr.strip()[-2000:]}")
        opened = _opened(trace, marks)
    answers = lines[1:]
    if len(answers) < len(queries):
        answers.append({"error": f"the process ended with {done.returncode}", "rows": None})
    return lines[0]["version"], [
        Answer(
            answer.get("rows"),
            answer.get("hash", ""),
            # Neither where the tables lie, nor where the reader's authors discuss it.
            answer.get("error", "").replace(tables.home, "").partition(" http")[0][:200],
            len(opened.get(number, set()) & tables.data_files(queries[number].tables[0])),
        )
        for number, answer in enumerate(answers)
    ]


def _opened(trace: Path, marks: Path) -> dict[int, set[str]]:
    """Return the paths that were opened, by the number of the query."""
    opened: dict[int, set[str]] = {}
    number = -1
    for line in trace.read_text(encoding="utf-8", errors="replace").splitlines():
        if found := _OPENED.search(line):
            path = Path(found[1])
            if path.parent == marks and path.name.isdigit():
                number = int(path.name)
            opened.setdefault(number, set()).add(str(path))
    return opened
