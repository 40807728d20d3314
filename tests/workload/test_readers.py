"""Files of every kind: what is in them is found out, and what cannot be used is told."""

import gzip
import json
import os
import random
import threading
from datetime import datetime, timezone
from pathlib import Path

import pyarrow as pa
import pytest

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.workload.read import read_workload
from iceberg_zorder.workload.readers.files import Format, sources
from iceberg_zorder.workload.readers.rows import Row, json_rows
from iceberg_zorder.workload.scanned_table import ScannedTable
from iceberg_zorder.workload.workload import Workload

LOGS = Path(__file__).parent / "logs"
TABLE = ScannedTable(
    ("db", "t"),
    {
        ("a",): "int",
        ("d",): "date",
        ("id",): "long",
        ("i",): "int",
        ("s",): "string",
        ("day",): "date",
        ("at",): "timestamptz",
        ("st",): "struct<1: y z: optional string>",
        ("st", "y z"): "string",
    },
)


ONE, TWO = "SELECT * FROM t WHERE a = 1", "SELECT * FROM t WHERE a = 2"


def read(path: Path, text: str | bytes | None = None, **how: object) -> Workload:
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_workload([path], TABLE, **how)  # type: ignore[arg-type]


def filters(found: Workload) -> dict[str, float]:
    return {each.filter: each.weight for each in found.queries}


def test_a_broken_statement_does_not_take_the_others_with_it(tmp_path: Path) -> None:
    script = """-- queries of a day; the first one twice
SELECT * FROM t WHERE a = 1; select  *  from t where a = 1 /* again; */;
SELECT FROM WHERE t;
SELECT * FROM t WHERE a = 'it''s; open;
SELECT * FROM t WHERE a = 2;
"""
    found = read(tmp_path / "q.sql", script)
    assert filters(found) == {"a = 1": 2.0, "a = 2": 1.0}
    assert [(each.kind, each.text[:22]) for each in found.not_understood] == [
        ("statement", "SELECT * FROM t WHERE "),
        ("statement", "SELECT FROM WHERE t"),
    ]


def test_an_error_of_the_parser_does_not_take_the_others_with_it(tmp_path: Path) -> None:
    broken = "FROM t |> WHERE a = 1 |> LIMIT @n"
    (tmp_path / "q.sql").write_text(f"{broken};\nCREATE VIEW v AS {broken};\nUSE {broken};\n{ONE};\n")
    (tmp_path / "c.txt").write_text(f"a IN ({broken})\n{'(' * 3_000}a = 1{')' * 3_000}\na = 1\n")
    found = read_workload([tmp_path / "q.sql", tmp_path / "c.txt"], TABLE)
    assert filters(found) == {"a = 1": 2.0}
    assert {each.text[:14]: each.reason for each in found.not_understood} == {
        "FROM t |> WHER": (reason := "it cannot be parsed: ValueError: @n cannot be converted to a Python object"),
        "CREATE VIEW v ": reason,
        "a IN (FROM t |": reason,
        "((((((((((((((": "it is nested too deeply",
    }


def test_views_are_seen_through_in_all_files_as_they_were_defined_last(tmp_path: Path) -> None:
    (tmp_path / "views.sql").write_text(
        "CREATE VIEW db.recent (x, y) AS SELECT a, d FROM t WHERE d >= DATE '2024-01-01'"
    )
    script = """
SELECT * FROM recent WHERE x = 1;
SELECT * FROM again WHERE x = 9;
CREATE TEMP VIEW mine AS SELECT a FROM t WHERE a > 1;
SELECT * FROM mine WHERE a < 7;
CREATE OR REPLACE TEMP VIEW mine AS SELECT a FROM t WHERE a > 2;
SELECT count(*) FROM mine;
CREATE VIEW again AS SELECT * FROM recent WHERE y < DATE '2025-01-01';
CREATE VIEW itself AS SELECT * FROM itself;
SELECT * FROM itself;
"""
    (tmp_path / "q.sql").write_text(script)
    found = read_workload([tmp_path / "q.sql", tmp_path / "views.sql"], TABLE, dialect="duckdb")
    assert filters(found) == {
        "a = 1 AND d >= DATE '2024-01-01'": 1.0,
        "a = 9 AND d >= DATE '2024-01-01' AND d < DATE '2025-01-01'": 1.0,
        "a > 1 AND a < 7": 1.0,
        "a > 2": 1.0,
    }
    assert found.elsewhere == 6.0  # the views, and the one that reads itself only


def test_use_says_whose_table_is_meant(tmp_path: Path) -> None:
    script = "USE other; SELECT * FROM t WHERE a = 1; USE db; SELECT * FROM t WHERE a = 2; SELECT * FROM other.t"
    found = read(tmp_path / "q.sql", script, dialect="spark")
    assert (filters(found), found.elsewhere) == ({"a = 2": 1.0}, 2.0)


LOGGED = {
    "log.csv": f'query_text,executions\n"{ONE.replace(" WHERE", chr(10) + "WHERE")}",3\n{TWO},0.5\n',
    "log.tsv": f"Count\tSQL\n3\t{ONE}\n0.5\t{TWO}\n",
    "log.txt": f"calls;query\n3;{ONE}\n0.5;{TWO}\n",
    "log.jsonl": f'{{"sql": "{ONE}", "weight": 3}}\n{{"sql": "{TWO}", "weight": 0.5}}\n',
    "log": f'[{{"statement": "{ONE}", "count": "3"}}, {{"statement": "{TWO}", "count": 0.5}}]',
    "conditions.csv": "filter,count\na = 1,3\na=2,0.5\n",
    "conditions.json": '{"condition": "a = 1", "count": 3}\n{"condition": "2 = a", "count": 0.5}',
}


@pytest.mark.parametrize("name", LOGGED)
def test_weights_come_from_a_column(tmp_path: Path, name: str) -> None:
    assert filters(read(tmp_path / name, LOGGED[name])) == {"a = 1": 3.0, "a = 2": 0.5}


def test_trinos_events_are_counted_once_and_where_they_ran() -> None:
    created = {"metadata": {"queryId": "q1", "query": "SELECT 1"}, "context": {"catalog": "lake", "schema": "db"}}
    events = [{**created, "createTime": "2024-05-17T10:00:00.123456789Z"}, {**created, "endTime": 1715940000000}]
    events.append({"metadata": {"queryId": "q2", "query": "SELECT 2"}, "createTime": 1715940000.5})
    at = datetime(2024, 5, 17, 10, 0, 0, 123456, timezone.utc)
    assert list(json_rows(json.dumps(events))) == [
        Row("SELECT 1", 1.0, ("db",), at),
        Row("SELECT 2", 1.0, (), datetime(2024, 5, 17, 10, 0, 0, 500000, timezone.utc)),
    ]


FAILED = {
    "trino.csv": f"query_id,state,query,error_code\n1,FINISHED,{ONE},\n2,FAILED,{TWO},TABLE_NOT_FOUND\n3,RUNNING,{ONE},\n",
    "trino.json": [
        {"metadata": {"queryId": "1", "query": ONE}, "createTime": 1715940000.5},
        {"metadata": {"queryId": "2", "query": TWO}, "createTime": 1715940000.5},
        {"metadata": {"queryId": "1", "query": ONE, "queryState": "FINISHED"}, "failureInfo": None},
        {"metadata": {"queryId": "2", "query": TWO, "queryState": "FAILED"}, "failureInfo": {"failureType": "x"}},
        {"metadata": {"queryId": "3", "query": ONE}},
    ],
    "snowflake.csv": f"QUERY_TEXT,EXECUTION_STATUS\n{ONE},SUCCESS\n{TWO},FAILED_WITH_ERROR\n{ONE},SUCCESS\n",
    "databricks.json": [
        {"statement_text": ONE, "execution_status": "FINISHED"},
        {"statement_text": TWO, "execution_status": "CANCELED"},
        {"statement_text": ONE, "execution_status": "FINISHED"},
    ],
    "redshift.csv": f"query_text,status,error_message\n{ONE},success   ,\n{TWO},failed    ,Division by zero\n{ONE},success,\n",
    "bigquery.json": [
        {"query": ONE, "state": "DONE", "error_result": None},
        {"query": TWO, "state": "DONE", "error_result": {"reason": "invalidQuery", "message": "no"}},
        {"query": ONE, "state": "DONE"},
    ],
    "clickhouse.csv": f"type,query_id,query\nQueryStart,1,{ONE}\nQueryFinish,1,{ONE}\nQueryStart,2,{TWO}\n"
    f"ExceptionWhileProcessing,2,{TWO}\nQueryStart,3,{ONE}\n",
}


@pytest.mark.parametrize("name", FAILED)
def test_statements_that_failed_are_not_counted(tmp_path: Path, name: str) -> None:
    content = FAILED[name]
    found = read(tmp_path / name, content if isinstance(content, str) else json.dumps(content))
    assert filters(found) == {"a = 1": 2.0}
    assert [(each.kind, each.text, each.reason, each.weight) for each in found.not_understood] == [
        ("statement", TWO, "its log says that it failed", 1.0)
    ]


def test_failed_statements_of_other_tables_are_elsewhere(tmp_path: Path) -> None:
    found = read(tmp_path / "q.csv", f"state,query,count\nFAILED,SELECT * FROM other,3\nFAILED,{ONE},5\n")
    assert (found.queries, found.elsewhere) == ((), 3.0)
    assert [each.weight for each in found.not_understood] == [5.0]


def test_current_date_is_that_of_the_log_or_the_one_given(tmp_path: Path) -> None:
    rows = (
        'query_id,query,created,state\n20240517_1,"SELECT * FROM t WHERE d = current_date",2024-05-17 10:00:00.000 UTC,FINISHED\n'
        '20240518_1,"SELECT * FROM t WHERE d = current_date",2024-05-18 23:59:59.999 UTC,FINISHED\n'
    )
    path = tmp_path / "runtime.csv"
    assert filters(read(path, rows, dialect="trino")) == {"d = DATE '2024-05-17'": 1.0, "d = DATE '2024-05-18'": 1.0}
    as_of = datetime(2030, 1, 1, tzinfo=timezone.utc)
    assert filters(read(path, dialect="trino", as_of=as_of)) == {"d = DATE '2030-01-01'": 2.0}
    lines = "day > current_date - 1\nday > current_date - 1\n"
    assert filters(read(tmp_path / "c.txt", lines, as_of=as_of)) == {"day > DATE '2029-12-31'": 2.0}
    today = datetime.now(timezone.utc).date()
    (without,) = read(tmp_path / "q.sql", "SELECT * FROM t WHERE d = current_date").queries
    assert without.filter in (f"d = DATE '{today}'", f"d = DATE '{datetime.now(timezone.utc).date()}'")


@pytest.mark.parametrize("name", ["duckdb-logs.csv", "duckdb-logs.json"])
def test_logs_of_duckdb(name: str) -> None:
    """As DuckDB 1.5 writes them: ``COPY (FROM duckdb_logs) TO ...``."""
    found = read_workload([LOGS / name], TABLE, dialect="duckdb")
    assert filters(found) == {"a = 5": 2.0, "TRUE": 1.0}
    assert [each.reason for each in found.not_understood] == ["there is no column b in db.t"]
    (only,) = found.columns_only
    assert (only.columns, only.filter) == ((("a", "="),), "d > DATE '2026-11-17'")


@pytest.mark.parametrize("text", ['{"report-type":"scan-report","filter":true}', "INFO ScanReport{tableName=x, snap"])
def test_scan_reports_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidInputError, match="because Iceberg's scan reports hide the values of filters"):
        read(tmp_path / "reports.json", text)


@pytest.mark.parametrize("codec", ["gzip", "zstd", "lz4", "bz2"])
def test_compressed_files(tmp_path: Path, codec: str) -> None:
    text = b"SELECT * FROM t WHERE a = 1;\n" * 1_000
    suffixes = {"gzip": "gz", "zstd": "zstd", "lz4": "lz4", "bz2": "bz2"}
    path = tmp_path / f"q.sql.{suffixes[codec]}"
    if codec == "gzip":
        path.write_bytes(gzip.compress(text))
    else:
        with pa.CompressedOutputStream(str(path), codec) as stream:
            stream.write(text)
    assert filters(read(path)) == {"a = 1": 1_000.0}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (f"{ONE};", None),
        (f"{ONE};", "sql"),
        (f"query,count\n{ONE},1\n", None),
        ("a = 1\n", None),
        ('{"version": 1, "queries": [{"filter": "a = 1", "weight": 1}]}', None),
        ((LOGS / "spark-4.1-failed.jsonl").read_text().replace("id", "a"), None),
    ],
)
def test_a_pipe_is_read_once(tmp_path: Path, text: str, kind: Format | None) -> None:
    os.mkfifo(pipe := tmp_path / "pipe")
    writer = threading.Thread(target=pipe.write_text, args=(text,), daemon=True)
    writer.start()
    found = read_workload([pipe], TABLE, kind=kind)
    writer.join()
    assert filters(found).get("a = 1") == 1.0


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("q.SQL.txt", "-- one\n/* two */ (SELECT 1)", "sql"),
        ("q.txt", "\ufeffWITH x AS (SELECT 1) SELECT 1", "sql"),
        ("c.txt", "a = 1\nselected = 2", "conditions"),
        ("c.txt", "a = 1, 2", "conditions"),
        ("r.csv", "a,query\n1,2", "rows"),
        ("r.txt", "query\nSELECT 1", "rows"),
        ("r.json", '  [{"query": "SELECT 1"}]', "rows"),
        ("w", '{"version": 1,\n "queries": []}', "workload"),
        ("e", '{"Event":"SparkListenerLogStart","Spark Version":"4.1.4"}\n', "event-log"),
    ],
)
def test_the_kind_of_a_file_is_found_out(tmp_path: Path, name: str, text: str, kind: Format) -> None:
    (tmp_path / name).write_text(text)
    assert [each.kind for each in sources(tmp_path / name, None)] == [kind]
    assert [each.kind for each in sources(tmp_path / name, "rows")] == ["rows"]


def test_directories_are_searched(tmp_path: Path) -> None:
    log = tmp_path / "eventlog_v2_app-1"
    log.mkdir()
    for name in ("events_1_app-1", "appstatus_app-1.inprogress", ".events_1.crc"):
        (log / name).write_text('{"Event":"SparkListenerLogStart"}\n')
    (tmp_path / "q.sql").write_text("SELECT 1")
    assert [(each.path.name, each.kind) for each in sources(tmp_path, None)] == [
        ("events_1_app-1", "event-log"),
        ("q.sql", "sql"),
    ]


@pytest.mark.parametrize(
    ("name", "text", "how", "why"),
    [
        ("no.sql", None, {}, "because the file does not exist"),
        ("x.csv", "a,b\n1,2\n", {}, "because its first line names no column of queries: a,b"),
        ("x.csv", "a,b\n1,2\n", {"kind": "rows"}, "because a,b has no column named query, "),
        ("x.json", "[{]", {}, "because it is not valid JSON"),
        ("x.json", '{"a": 1}', {}, "because it has no column named query, "),
        ("x.gz", b"\x1f\x8bno", {}, "because "),
        ("x.log", "nothing\n", {"kind": "event-log"}, "because it has no events of Spark"),
        ("x", random.Random(1).randbytes(3_000), {}, "because it is not UTF-8 text"),
        ("x.sql", random.Random(2).randbytes(3_000), {}, "because it is not UTF-8 text"),
        ("x", "SELECT * FROM t".encode("utf-16"), {"kind": "sql"}, "because it is not UTF-8 text"),
        (
            "x.txt",
            "Dear all\nnope = 1\n",
            {},
            "because it looks like conditions, but none is on columns of db.t: ",
        ),
        ("x.csv", "filter,count\nnope = 1,3\n", {}, "there is no column nope in db.t"),
        (
            "x.sql",
            "SELECT 1",
            {"dialect": "klingon"},
            "Cannot read the dialect 'klingon', because it must be one of athena, ",
        ),
    ],
)
def test_what_cannot_be_read_is_refused(
    tmp_path: Path, name: str, text: str | bytes | None, how: dict[str, str], why: str
) -> None:
    with pytest.raises(InvalidInputError) as refused:
        read(tmp_path / name, text, **how)
    assert why in str(refused.value)
    assert str(refused.value).startswith("Cannot read ")


@pytest.mark.parametrize("kind", ["queries", "columns-only"])
def test_a_filter_of_a_workload_on_a_column_that_is_not_there_is_refused(tmp_path: Path, kind: str) -> None:
    found: dict[str, object] = {"version": 1, "queries": [], "columns-only": []}
    found[kind] = [{"filter": "nope = 1", "weight": 3, **({"columns": {"a": "="}} if kind != "queries" else {})}]
    with pytest.raises(
        InvalidInputError, match="^Cannot use the filter 'nope = 1' on db.t, because there is no column"
    ):
        read(tmp_path / "w.json", json.dumps(found))
