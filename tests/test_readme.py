"""Every snippet of the README and of docs works, and the table of options is complete."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.utils.config import Config
from pyspark.errors import IllegalArgumentException
from pyspark.sql import SparkSession

from iceberg_zorder.rewrite.options import PYICEBERG_ONLY
from iceberg_zorder.workload.readers.files import FORMATS
from tests.cli.processes import run_here
from tests.json_schemas import check_json
from tests.pages import PAGES, REPOSITORY, blocks, blocks_with_output, commands, masked, named, rows, snippets
from tests.spark.tables import Fingerprint, Table, rolled_back

LAKE = "/tmp/lake"
"""Where the pages have their catalog, which the tests have elsewhere."""


@pytest.fixture(scope="module")
def made(spark: SparkSession) -> tuple[Table, Fingerprint]:
    table = Table(spark, "db.events")
    spark.sql(f"DROP TABLE IF EXISTS {table.full_name}")
    spark.sql(
        f"CREATE TABLE {table.full_name} USING iceberg AS SELECT cast(rand(1) * 1e6 AS bigint) AS user_id, "
        "timestamp_seconds(cast(1.7e9 + rand(2) * 1e8 AS bigint)) AS ts, "
        "named_struct('os version', cast(rand(3) * 20 AS int)) AS device, id AS payload FROM range(0, 60000, 1, 6)"
    )
    return table, table.fingerprint()


@pytest.fixture
def events(made: tuple[Table, Fingerprint]) -> Iterator[Table]:
    """A table of six files. A snippet may rewrite it and change no row; the next one has the six files again."""
    table, rows = made
    head = table.metadata()["current-snapshot-id"]
    with rolled_back(table):
        yield table
        if table.metadata()["current-snapshot-id"] != head:
            table.spark.sql(f"REFRESH TABLE {table.full_name}")
            assert table.fingerprint() == rows


def program(name: str) -> str:
    return str(Path(sys.executable).with_name(name))


def command(name: str, lake_dir: Path) -> list[str]:
    """The arguments of the only command that begins so, for the tests' catalog."""
    (found,) = (line for line in commands() if line.startswith(f"{name} "))
    assert LAKE in found
    return shlex.split(found.replace(LAKE, str(lake_dir)))[1:]


def test_there_are_snippets_of_every_way_in() -> None:
    assert {line.split()[0] for line in commands()} == {"make", "source", "mkdir", "pip", "spark-sql", "iceberg-zorder"}
    assert len(snippets("sql")) >= 5
    assert len(snippets("python")) >= 3


@pytest.mark.parametrize("sql", [each for each in snippets("sql") if not each.startswith(("SELECT", "MERGE"))])
def test_sql(spark: SparkSession, events: Table, sql: str) -> None:
    before = events.operations()
    result = spark.sql(sql).collect()[0]
    rewritten = ["replace"] if "rewrite_data_files" in sql else []
    assert events.operations() == [*before, *rewritten]
    if rewritten:
        assert result.rewritten_data_files_count == 6
    elif "zorder_report" in sql:
        assert (result.total_file_count, result.scan_fractions.keys()) == (6, {"user_id", "ts"})
    else:
        assert (result.selected_data_files_count, result.reason) == (6, None)


def test_a_merge(spark: SparkSession, events: Table) -> None:
    # Spark 4.1 plans no MERGE whose source is a view of its target.
    changed = spark.table(events.full_name).limit(1)
    spark.createDataFrame(changed.collect(), changed.schema).createOrReplaceTempView("changes")
    (merge,) = (each for each in snippets("sql") if each.startswith("MERGE"))
    before = events.operations()
    with rolled_back(events):
        spark.sql(merge.replace("INTO events", f"INTO {events.full_name}")).collect()
        assert events.operations() == [*before, "overwrite"]


def test_queries_of_a_star_schema(spark: SparkSession) -> None:
    queries = {each for each in snippets("sql") if each.startswith("SELECT")}
    assert queries
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW sales AS SELECT 1 AS day_key, 2 AS price")
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW date_dim AS SELECT 1 AS day_key, 2001 AS year, 11 AS month")
    for query in queries:
        assert [tuple(row) for row in spark.sql(query).collect()] == [(2,)]


@pytest.mark.way
def test_spark_sql_with_the_catalog_of_its_command(events: Table, lake_dir: Path, tmp_path: Path) -> None:
    before = events.operations()
    jar = "iceberg_zorder/jars/iceberg-zorder-spark.jar"
    arguments = [str(REPOSITORY / jar) if each == jar else each for each in command("spark-sql", lake_dir)]
    assert str(REPOSITORY / jar) in arguments
    here = ("spark.driver.host=127.0.0.1", "spark.driver.bindAddress=127.0.0.1", "spark.ui.enabled=false")
    done = subprocess.run(
        [
            *(program("spark-sql"), "--master", "local[1]"),
            *(word for setting in here for word in ("--conf", setting)),
            *(*arguments, "-e", snippets("sql")[0]),
        ],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    names, counts = done.stdout.splitlines()[-2:]
    rewritten, added = (int(count) for count in counts.split("\t")[:2])
    assert (names.startswith("rewritten_data_files_count\t"), rewritten, added > 1) == (True, 6, True)
    assert events.operations() == [*before, "replace"]


@pytest.mark.parametrize("python", snippets("python"))
def test_python(
    events: Table, lake_dir: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, python: str
) -> None:
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__URI", f"sqlite:///{lake_dir}/catalog.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__WAREHOUSE", f"file://{lake_dir}/warehouse")
    # It reads its configuration when it is imported.
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())
    with rolled_back(events) if "append(" in python else nullcontext():
        exec(compile(python.replace(LAKE, str(lake_dir)), "snippet", "exec"), {})
    printed = capsys.readouterr().out.strip()
    if "advise(" in python:
        assert printed.startswith("lake.db.events JudgedLayout(kind='sort', layout='zorder(user_id)'")
    elif "append(" in python:
        assert printed.startswith("Appended ")
    else:
        text = r"\Alake\.db\.events \(branch main, " if "report(" in python else r"^6 -> \d+( |$)"
        assert re.search(text, printed, re.MULTILINE)


@pytest.mark.way
def test_command_line(events: Table, lake_dir: Path) -> None:
    arguments = command("iceberg-zorder rewrite", lake_dir)
    whole = [program("iceberg-zorder"), *arguments, "--output", "json"]
    done = subprocess.run(whole, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["engine"], found["rewritten_data_files_count"]) == ("pyiceberg", 6)


def test_report_of_the_command_line(events: Table, lake_dir: Path) -> None:
    done = run_here([*command("iceberg-zorder report", lake_dir), "--output", "json"], {})
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["total_file_count"], [column["name"] for column in found["columns"]]) == (6, ["user_id", "ts"])
    assert found["predicates"][0]["predicate"] == "user_id = 4711 AND ts >= TIMESTAMP '2024-01-01'"
    codes = {row[0].strip("`") for row in rows("docs/do/read-a-report.md", "| code |")[1:]}
    source = (REPOSITORY / "iceberg_zorder/metrics/findings.py").read_text(encoding="utf-8")
    assert codes == set(re.findall(r'Finding\(\s*"([\w-]+)"', source))


def test_workload_of_the_command_line(
    events: Table, lake_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (queries,) = (text for text in snippets("text") if text.startswith("SELECT"))
    (written,) = (text for text in snippets("json") if "columns-only" in text)
    (tmp_path / "queries.sql").write_text(queries, encoding="utf-8")
    done = run_here([*command("iceberg-zorder workload", lake_dir), "--output", "json"], {})
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "workload.json").read_text(encoding="utf-8") == written
    formats = [row[0].strip("`") for row in rows("docs/do/workload.md", "| format |")[1:]]
    assert sorted(formats) == sorted(FORMATS)
    check_json(json.loads(written), "workload")


def test_advice_of_the_command_line(
    events: Table, lake_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (queries,) = (text for text in snippets("text") if text.startswith("SELECT"))
    (tmp_path / "queries.sql").write_text(queries, encoding="utf-8")
    arguments = [*command("iceberg-zorder advise", lake_dir), "--output", "json"]
    done = run_here([*arguments, "--option", "target-file-size-bytes=100000"], {})
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["candidates"]
    assert found["cost"]
    kinds = {row[0].strip("`") for row in rows("docs/do/choose-columns.md", "| warning |")[1:]}
    source = (REPOSITORY / "iceberg_zorder/advice/cautions.py").read_text(encoding="utf-8")
    assert kinds == set(re.findall(r'Caution\(\s*"([\w-]+)"', source))


def test_catalog_configuration(events: Table, lake_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (yaml,) = (text for text in snippets("yaml") if text.startswith("catalog:"))
    (tmp_path / ".pyiceberg.yaml").write_text(yaml.replace(LAKE, str(lake_dir)), encoding="utf-8")
    monkeypatch.setenv("PYICEBERG_HOME", str(tmp_path))
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())
    catalog = load_catalog("lake")
    assert catalog.load_table("db.events").scan().count() == 60_000
    catalog.close()


def test_two_commands_stand_alone_with_the_times_that_make_says() -> None:
    alone = r"^```sh\nmake ([a-z-]+)\n```\n\n(?:.+\n)*?.*\b(about \d+ minutes)\b"
    times = re.findall(alone, PAGES["README.md"], flags=re.MULTILINE)
    assert [name for name, _ in times] == ["quickstart", "test"]
    help_of_make = subprocess.run(["make", "help"], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    for name, time in times:
        assert re.search(rf"^  {name} .*\b{time}\b", help_of_make, flags=re.MULTILINE), help_of_make
    assert f"`make test` checks it in {times[1][1]}" in PAGES["docs/design/developing.md"]


def test_the_options_table_is_complete(events: Table) -> None:
    with pytest.raises(IllegalArgumentException, match="no-such-option") as refused:
        events.call("user_id", options={"no-such-option": "1"})
    known = set(re.search(r"known are \[(.*?)]", str(refused.value))[1].split(", "))  # type: ignore[index]
    page = "docs/reference/options.md"
    assert set(named(page, "| option |")) == known
    assert set(named(page, "| option of the PyIceberg engine |")) == set(PYICEBERG_ONLY)


def test_the_start_on_spark(spark: SparkSession, lake_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The last test here, because the page makes a table of the same name."""
    spark.sql("DROP TABLE IF EXISTS lake.db.events")
    page = PAGES["docs/start/spark.md"]
    assert [block for block in blocks(page, "sh") if "spark-sql" in block] == [
        block for block in blocks(PAGES["README.md"], "sh") if "spark-sql" in block
    ]
    names: dict[str, object] = {}
    results = []
    for language, block, shown in blocks_with_output(page):
        if language == "sql":
            results += [row for statement in block.split(";\n")[:-1] for row in spark.sql(statement).collect()]
        elif language == "python":
            exec(compile(block.replace(LAKE, str(lake_dir)), "start", "exec"), names)
            assert masked(shown) in masked(capsys.readouterr().out)
    plan, rewrite, found = results
    assert (plan.selected_data_files_count, plan.reason) == (16, None)
    assert masked(plan.plan) == masked(blocks(page, "text")[0])
    assert rewrite.rewritten_data_files_count == 16
    assert max(found.scan_fractions.values()) < 0.2
