"""Whoever writes statements into a log stops nobody who reads it: too large ones are listed, the others are read."""

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

import pytest
import sqlglot
from sqlglot import exp

from iceberg_zorder.rewrite.predicate import parse_predicate
from iceberg_zorder.workload.nodes import balanced
from iceberg_zorder.workload.readers.statements import StatementReader, dialect_of, split
from iceberg_zorder.workload.scanned_table import ScannedTable
from iceberg_zorder.workload.workload_json import from_json, to_json

READ = r"""
import re, sys
from pathlib import Path
from iceberg_zorder.workload.read import read_workload
from iceberg_zorder.workload.scanned_table import ScannedTable
from iceberg_zorder.workload.workload_json import to_json
found = read_workload([Path(sys.argv[1])], ScannedTable(("db", "t"), {("a",): "long", ("b",): "string"}))
Path(sys.argv[2]).write_text(to_json(found))
# The peak of this program alone: getrusage has that of the process that started it, if it was higher.
print(int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1]) // 1024)
"""
GOOD = "SELECT * FROM t WHERE a = 1;\n"
MIB = 1 << 20
SCAN = "Iceberg(table=, schemaId=" * 50 + "filters=" * 50 + ", runtimeFilters=" * 50 + ", groupedBy=" * 50 + ")" * 50
SCANNED = {
    "Event": "SparkListenerSQLExecutionStart",
    "sparkPlanInfo": {"nodeName": "BatchScan parquet", "simpleString": f"BatchScan parquet {SCAN} RuntimeFilters"},
}


def ored(count: int) -> str:
    return " OR ".join(f"a = {number} AND b = 'x{number}'" for number in range(count))


def log_of_one_line(size: int) -> list[bytes]:
    begin = b'{"Event":"SparkListenerLogStart"}\n{"Event":"SparkListenerSQLExecutionStart","x":"'
    return [begin, *([b"x" * MIB] * size), b'"}\n']


# What is in a file beside the good one, and why it is not understood; None if it is.
FILES: dict[str, tuple[str, Callable[[], list[bytes]], str | None]] = {
    "comments before a statement that is not known": (
        "q.txt",
        lambda: [b"/* x */ " * 5_000 + b"(SELECT * FROM t WHERE a = 2)"],
        None,
    ),
    "comments and blanks, and no statement": (
        "q.csv",
        lambda: [b"query,count\n" + b"/* x */ \n -- y\n" * 5_000 + b",1\n"],
        None,
    ),
    "a chain of OR": ("q.sql", lambda: [f"SELECT * FROM t WHERE {ored(1_500)}".encode()], None),
    "a longer chain of OR": (
        "q.sql",
        lambda: [f"SELECT * FROM t WHERE {ored(20_000)}".encode()],
        "its parser would make more than 50,000 nodes",
    ),
    "a list of IN": (
        "q.sql",
        lambda: [f"SELECT * FROM t WHERE a IN ({', '.join(map(str, range(100_000)))})".encode()],
        "its parser would make more than 50,000 nodes",
    ),
    "a longer list of IN": (
        "q.sql",
        lambda: [f"SELECT * FROM t WHERE a IN ({', '.join(map(str, range(300_000)))})".encode()],
        "it is longer than 1,048,576 characters",
    ),
    "joins without conditions, of which sqlglot tries all readings": (
        "q.sql",
        lambda: [b"SELECT * FROM t " + b"JOIN t " * 40],
        "its parser would make more than 50,000 nodes",
    ),
    "a sum of many columns": (
        "q.sql",
        lambda: [b"SELECT * FROM t WHERE a" + b" + a" * 8_000 + b" = 1"],
        "it is nested too deeply",
    ),
    "a deep condition": ("q.txt", lambda: [b"(" * 5_000 + b"a = 2" + b")" * 5_000], "it is nested too deeply"),
    "a large file in a small one": (
        "q.sql.gz",
        lambda: [b"SELECT * FROM t", *([b"\0" * MIB] * 300)],
        "it is too large: divide it into several files",
    ),
    "a file of one statement": (
        "q.sql.gz",
        lambda: [b"SELECT * FROM t WHERE a = 1", *([b" AND 1 " * (MIB // 7)] * 40)],
        "it is longer than 1,048,576 characters",
    ),
    "a scan of another source in an event log": (
        "q.json",
        lambda: [b'{"Event":"SparkListenerLogStart"}\n', json.dumps(SCANNED).encode()],
        None,
    ),
    "a line of an event log": ("q.json.gz", lambda: log_of_one_line(40), "it is not valid JSON, or is too long"),
}


@pytest.mark.parametrize("name", FILES)
def test_one_hostile_file_stops_nothing(name: str, tmp_path: Path) -> None:
    file, content, reason = FILES[name]
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "a.sql").write_text(GOOD)
    bytes_of_file = b"".join(content())
    (logs / file).write_bytes(gzip.compress(bytes_of_file, 1) if file.endswith(".gz") else bytes_of_file)
    done = subprocess.run(
        [sys.executable, "-c", READ, logs, tmp_path / "found.json"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    found = from_json((tmp_path / "found.json").read_text(), "found")
    assert "a = 1" in [each.filter for each in found.queries]
    assert {each.reason for each in found.not_understood} == ({reason} if reason else set())
    assert int(done.stdout) < 700


def test_every_depth_of_a_row_is_read_or_left_out(tmp_path: Path) -> None:
    deep = [
        "\n".join(
            [
                '{"x": ' * depth + json.dumps({"query": GOOD.replace("1", "2")}) + "}" * depth,
                f'{{"query": "{GOOD.strip()}"}}',
            ]
        )
        for depth in range(900, 1_010)
    ]
    logs = tmp_path / "logs"
    logs.mkdir()
    for number, text in enumerate(deep):
        (logs / f"{number}.json").write_text(text)
    done = subprocess.run(
        [sys.executable, "-c", READ, logs, tmp_path / "found.json"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-300:]
    found = {each.filter: each.weight for each in from_json((tmp_path / "found.json").read_text(), "found").queries}
    assert found["a = 1"] == len(deep)


def test_chains_are_balanced_and_mean_the_same() -> None:
    text = " OR ".join(f"a = {number}" for number in range(1_000)) + " OR (b = 1 AND c = 2 AND d = 3 AND NOT e = 4)"
    found = balanced(sqlglot.parse_one(text))
    deepest = max(each.depth for each in found.find_all(exp.Column))
    assert deepest <= 16
    assert found.sql() == sqlglot.parse_one(text).sql()
    assert [each.sql() for each in found.flatten()] == [each.sql() for each in sqlglot.parse_one(text).flatten()]


def test_a_long_text_is_read_statement_by_statement() -> None:
    good = [f"SELECT '; ' FROM t WHERE a = {number}" for number in range(40_000)]
    parts = [*good, "SELECT " + "1, " * MIB + "2 FROM t", *good]
    text = ";\n".join(parts)
    found = [each for _, each in split(text, dialect_of(None))]
    assert [each.rstrip(";\n") for each in found] == parts


def test_a_filter_that_was_read_can_be_used() -> None:
    """Filters as we write them have more nodes than the statements, and are parsed again by plans."""
    reader = StatementReader(ScannedTable(("db", "t"), {("s",): "timestamp"}), now=datetime.now(timezone.utc))
    moments = ", ".join(f"'2024-01-01 {at // 3600:02}:{at // 60 % 60:02}:{at % 60:02}'" for at in range(17_000))
    reader.add_script(f"SELECT * FROM t WHERE s IN ({moments})")
    (query,) = from_json(to_json(reader.workload()), "found").queries
    assert len(parse_predicate(query.filter).values) == 17_000  # type: ignore[union-attr]
