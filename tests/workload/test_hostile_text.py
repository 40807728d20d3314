"""Whoever writes statements into a log stops nobody who reads it: too large ones are listed, the others are read."""

import gzip
import json
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

import pytest
import sqlglot
from sqlglot import exp

from iceberg_zorder.errors import InvalidInputError
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
QUOTES = "'x" * 100_000
UNCLOSED = "it cannot be parsed: Error tokenizing '(b = ''"
WORK = "its parts times its tables and SELECTs are more than 2,000,000"
SCANNED = {
    "Event": "SparkListenerSQLExecutionStart",
    "sparkPlanInfo": {"nodeName": "BatchScan parquet", "simpleString": f"BatchScan parquet {SCAN} RuntimeFilters"},
}


def ored(count: int) -> str:
    return " OR ".join(f"a = {number} AND b = 'x{number}'" for number in range(count))


def log_of_one_line(size: int) -> list[bytes]:
    begin = b'{"Event":"SparkListenerLogStart"}\n{"Event":"SparkListenerSQLExecutionStart","x":"'
    return [begin, *([b"x" * MIB] * size), b'"}\n']


def started(filters: str, number: int = 1) -> bytes:
    text = f"BatchScan db.t[a#1] IcebergScan(table=db.t, schemaId=0, filters={filters}, groupedBy=) RuntimeFilters: []"
    plan = {"nodeName": "BatchScan db.t", "simpleString": text}
    event = {"Event": "SparkListenerSQLExecutionStart", "executionId": number, "sparkPlanInfo": plan}
    return json.dumps(event).encode() + b"\n"


def joins(count: int) -> bytes:
    joined = "".join(f" JOIN t t{number} ON t{number}.a = t{number - 1}.a" for number in range(1, count))
    return f"SELECT * FROM t t0{joined} WHERE t0.a = 2".encode()


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
        "it is larger than 64 MiB: divide it into several files",
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
    "a line of an event log": ("q.json.gz", lambda: log_of_one_line(40), "it is not an event of Spark, or is too long"),
    "executions that never end": (
        "q.json.gz",
        lambda: [started(f"{number}{'x' * 7 * MIB}", number) for number in range(100)],
        "it is too long",
    ),
    "quotes in a filter of an event log": ("q.json", lambda: [started(f"b = '{QUOTES}y")], UNCLOSED),
    "events that are none": (
        "q.json",
        lambda: [
            b'{"Event":"SparkListenerLogStart"}\n',
            b'[{"Event":"SparkListenerSQLExecutionStart"}]\n',
            b'{"Event":"SparkListenerSQLExecutionStart","executionId":[1],"sparkPlanInfo":7}\n',
            b'{"Event":"SparkListenerSQLExecutionStart","executionId":2,"sparkPlanInfo":{"children":7}}\n',
            b'{"Event":"SparkListenerSQLExecutionStart","executionId":2,"sparkPlanInfo":{"children":[7]}}\n',
            started("a = 2"),
        ],
        "it is not an event of Spark, or is too long",
    ),
    "a list of empty objects": (
        "q.json.gz",
        lambda: [b'[{"query":"SELECT * FROM t WHERE a = 2"}', *([b",{}" * MIB] * 20), b"]"],
        "its JSON is larger than 8 MiB: write an object a line, or CSV",
    ),
    "a line of empty lists": (
        "q.json.gz",
        lambda: [
            b'{"query":"SELECT * FROM t WHERE a = 2"}\n{"query":"SELECT * FROM t","x":[',
            *([b"[]," * MIB] * 20),
            b'0]}\n{"query":"SELECT * FROM t WHERE a = 3"}\n',
        ],
        "it is longer than 1,048,576 characters",
    ),
    "a workload of empty lists": (
        "q.json.gz",
        lambda: [b'{"version": 1, "queries": [], "x": [', *([b"[]," * MIB] * 20), b"0]}"],
        "it is larger than 8 MiB: divide it into several files",
    ),
    "a moment that is too far away": (
        "q.json",
        lambda: [f'{{"query": "SELECT * FROM t", "timestamp": {"9" * 400}}}\n{{"query": "SELECT 1"}}'.encode()],
        "its row cannot be read: int too large to convert to float",
    ),
    "too many executions": (
        "q.json",
        lambda: [f'{{"query": "SELECT * FROM t", "count": {"9" * 400}}}\n{{"query": "SELECT 1"}}'.encode()],
        "its row cannot be read: int too large to convert to float",
    ),
    "many joins": ("q.sql", lambda: [joins(1_500)], WORK),
    "fewer joins": ("q.sql", lambda: [joins(300)], "it asks for a column of another table"),
    "outer joins and many conditions": (
        "q.sql",
        lambda: [
            joins(50).replace(b"JOIN", b"LEFT JOIN"),
            b"".join(b" AND (t0.a = 1 OR t1.a = 2)" for _ in range(1_000)),
        ],
        "it asks for a column of another table",
    ),
    "a union of many": ("q.sql", lambda: [b" UNION ALL ".join([b"SELECT * FROM t WHERE a = 2"] * 400)], WORK),
    "many queries inside": (
        "q.sql",
        lambda: [b"SELECT * FROM t WHERE " + b" AND ".join([b"EXISTS (SELECT 1 FROM t x WHERE x.a = t.a)"] * 1_500)],
        WORK,
    ),
    "copies of copies of a CTE": (
        "q.sql",
        lambda: [
            b"WITH c0 AS (SELECT a FROM t), ",
            b", ".join(b"c%d AS (SELECT x.a FROM c%d x, c%d y)" % (each, each - 1, each - 1) for each in range(1, 30)),
            b" SELECT * FROM c29",
        ],
        "its CTEs and views in place have more than 500,000 parts",
    ),
    "copies of a long view": (
        "q.sql",
        lambda: [
            b"CREATE VIEW v AS SELECT * FROM t WHERE " + b" AND ".join([b"(a = 1 OR a = 2)"] * 3_000),
            b";\nSELECT * FROM v" + b"".join(b" JOIN v v%d ON v%d.a = v.a" % (at, at) for at in range(500)),
        ],
        "its CTEs and views in place have more than 500,000 parts",
    ),
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


def test_a_key_that_appears_twice_at_the_end_of_a_long_object_is_found_at_once() -> None:
    keys = ", ".join(f'"{number}": 1' for number in [*range(200_000), 199_999])
    began = time.process_time()
    with pytest.raises(InvalidInputError, match="key 199999 appears twice in an object"):
        from_json(f'{{"version": 1, "queries": [], "x": {{{keys}}}}}', "found")
    assert time.process_time() - began < 20


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
