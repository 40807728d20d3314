"""The command ``workload`` in a process of its own, on a real table."""

import json
import os
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog import Catalog

from iceberg_zorder.workload.workload_json import from_json
from tests.cli.processes import refusal, run_without_spark
from tests.json_schemas import check_output

QUERIES = """
SELECT * FROM db.events WHERE `user id` = 5;
SELECT * FROM events WHERE `user id` = 5;
SELECT * FROM events WHERE ts > 10 AND abs(ts) < 20;
SELECT FROM events WHERE;
SELECT * FROM elsewhere;
"""


def test_text_json_and_the_file(home: Path, catalog: Catalog, tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text(QUERIES)
    (tmp_path / "c.csv").write_text('filter,count\n"`user id` IN (1, 2)",7\n')
    files = ["--from", str(tmp_path / "q.sql"), "--from", str(tmp_path / "c.csv"), "--dialect", "spark"]
    written = tmp_path / "w.json"
    done = run_without_spark(home, "db.events", *files, "--to", str(written), "--quiet", command="workload")
    assert (done.returncode, done.stderr) == (0, "")
    assert "10 scans of files.db.events, with 3 different filters" in done.stdout
    assert "understood: 90.0%, in part: 10.0%" in done.stdout
    assert "Not understood, and not counted: 1 statement\n" in done.stdout
    assert "= 2, IN 7" in done.stdout
    assert "ABS(ts) < 20" in done.stdout
    assert f"Wrote {written}" in done.stdout.replace("\n", "")
    assert max(map(len, done.stdout.splitlines()[:-1])) <= 80
    found = from_json(written.read_text(), "w.json")
    assert {each.filter: each.weight for each in found.queries} == {
        "`user id` IN (1, 2)": 7.0,
        "`user id` = 5": 2.0,
        "ts > 10": 1.0,
    }
    done = run_without_spark(home, "db.events", "--from", str(written), "--output", "json", command="workload")
    assert done.returncode == 0
    told = json.loads(done.stdout)
    assert (told["table"], told["written"], told["scans"], told["queries"]) == ("files.db.events", None, 10.0, 3)
    assert told["columns"][0] == {"name": "`user id`", "weight": 9.0, "how": {"=": 2.0, "in": 7.0}}
    assert [each["kind"] for each in told["not_understood"]] == ["part", "statement"]


def test_queries_from_another_command(home: Path, catalog: Catalog) -> None:
    script = "SELECT * FROM events WHERE `user id` = 5;\n" * 3
    for command, flag in (("workload", "--from"), ("advise", "--workload")):
        read, write = os.pipe()
        os.write(write, script.encode())
        os.close(write)
        # As a shell gives it: --from <(command).
        words = ("db.events", flag, f"/dev/fd/{read}", "--dialect", "spark", "--output", "json")
        done = run_without_spark(home, *words, command=command)
        os.close(read)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["scans"] == 3.0


def test_joins_are_told_with_their_dimension(home: Path, catalog: Catalog, tmp_path: Path) -> None:
    days = pa.table({"day": pa.array(range(100, 465), pa.int64()), "year": pa.array([2001] * 365, pa.int32())})
    catalog.create_table("db.days", days.schema).append(days)
    (tmp_path / "q.sql").write_text("SELECT * FROM events e JOIN days d ON e.ts = d.day WHERE d.year = 2001")
    words = ("db.events", "--from", str(tmp_path / "q.sql"))
    done = run_without_spark(home, *words, "--to", str(tmp_path / "w.json"), command="workload")
    assert done.returncode == 0
    assert "│ db.days.day │ year = 2001 │  365 │     1 │" in done.stdout
    (query,) = from_json((tmp_path / "w.json").read_text(), "w.json").queries
    assert query.filter == "ts >= 100 AND ts <= 464"
    done = run_without_spark(home, *words, "--readers", "duckdb,other", "--output", "json", command="workload")
    told = json.loads(done.stdout)
    assert (told["queries"], told["full_scans"], told["joins"][0]["keys"]) == (2, 0.5, 365)
    check_output("workload", told)
    done = run_without_spark(home, *words, "--readers", "presto", command="workload")
    assert done.returncode == 2
    assert "Cannot use the reader 'presto'" in done.stderr


def test_a_file_without_queries_of_the_table(home: Path, catalog: Catalog, tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text("SELECT 1")
    done = run_without_spark(home, "db.events", "--from", str(tmp_path), command="workload")
    assert done.returncode == 0
    assert done.stdout == ("0 scans of files.db.events, with 0 different filters\nNot reading the table: 1 statement\n")


def test_what_cannot_be_read_is_refused_and_nothing_is_written(home: Path, catalog: Catalog, tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text("SELECT * FROM events WHERE ts = current_date")
    good, written = ["--from", str(tmp_path / "q.sql")], tmp_path / "w.json"
    wrong = (
        (["--from", str(tmp_path / "no.sql")], "Cannot read", "because the file does not exist"),
        ([*good, "--dialect", "klingon"], "Cannot read the dialect 'klingon', because it must be one of athena", ""),
        ([*good, "--as-of", "soon"], "Cannot use --as-of soon, because it is not a date or timestamp", ""),
        ([*good, "--format", "event-log"], "because it has no events of Spark", ""),
        ([*good, "--to", str(tmp_path / "no" / "w.json")], "Cannot write --to", "no does not exist"),
        ([*good, "--format", "poems"], "Invalid value for '--format'", ""),
    )
    for arguments, *messages in wrong:
        to = [] if "--to" in arguments else ["--to", str(written)]
        done = run_without_spark(home, "db.events", *arguments, *to, "--output", "json", command="workload")
        assert done.returncode == 2, arguments
        assert all(each in json.loads(done.stdout)["error"]["message"] for each in messages), done.stdout
    assert "has no such table" in refusal(home, "db.no_such_table", *good, command="workload")
    done = run_without_spark(home, "events", *good, command="workload")
    assert done.returncode == 2
    assert not written.exists()
