"""The quickstart, run as a user runs it, on little data."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pyiceberg.expressions.parser import parse
from rich.console import Console

from iceberg_zorder.spark.rewrite import checked_call, rewrite_statement
from quickstart.data import TABLE, Warehouse
from quickstart.measure import Comparison, Fingerprint, Measurement
from quickstart.queries import CLUSTERING_COLUMNS, Query, dozen, one_order
from quickstart.report import Report, call_sql

REPOSITORY = Path(__file__).parents[2]
TOTAL = re.compile(
    r"^all twelve +([\d,]+) → +([\d,]+) +([\d,.]+) → +([\d,.]+) +(\S+) → +(\S+) +identical$", re.MULTILINE
)


@dataclass(frozen=True)
class Run:
    warehouse: Path
    exit_code: int
    output: str


def quickstart(*arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "quickstart", *arguments],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    warehouse = tmp_path_factory.mktemp("quickstart") / "a warehouse"
    exit_code, output = quickstart("--scale-factor", "0.05", "--files", "8", "--warehouse", str(warehouse))
    return Run(warehouse, exit_code, output)


@pytest.mark.way
def test_page_shows_the_layout_before_and_after(run: Run) -> None:
    path = run.warehouse / "report.html"
    assert f"is in {path}." in run.output
    page = path.read_text(encoding="utf-8")
    # The boxes, the depths and the sizes have both sides.
    assert page.count("<h3>Before</h3>") == page.count("<h3>Now</h3>") == 3
    assert page.count("<svg") == 2


def number(text: str) -> float:
    return float(text.replace(",", ""))


@pytest.mark.way
def test_queries_plan_and_read_less_with_identical_results(run: Run) -> None:
    assert run.exit_code == 0, run.output
    total = TOTAL.search(run.output)
    assert total, run.output
    files_before, files_after, planned_before, planned_after, read_before, read_after = total.groups()
    assert number(files_before) == 12 * 8
    assert number(files_after) < 0.7 * number(files_before)
    assert number(planned_after) < 0.7 * number(planned_before)
    if read_before != "-":  # only Linux counts it
        assert number(read_after) < 0.8 * number(read_before)
    assert run.output.count("identical\n") == 12 + 1 + 1
    assert "DIFFERS" not in run.output


@pytest.mark.way
def test_output_is_readable(run: Run) -> None:
    before_commands = run.output.partition("What to try next")[0].splitlines()
    assert max(len(line) for line in before_commands) <= 100
    assert "WARN" not in run.output
    assert "\x1b" not in run.output


@pytest.mark.way
def test_table_stays_with_one_append_and_one_replace(run: Run) -> None:
    with Warehouse(run.warehouse).for_pyiceberg() as catalog:
        table = catalog.load_table(TABLE)
        operations = [
            snapshot.summary.operation.value for snapshot in table.metadata.snapshots if snapshot.summary is not None
        ]
        assert operations == ["append", "replace"]
        order = table.scan(row_filter="l_orderkey = 1", selected_fields=("l_linenumber",)).to_arrow()
        assert sorted(order["l_linenumber"].to_pylist()) == [1, 2, 3, 4, 5, 6]


@pytest.mark.way
def test_printed_spark_sql_command_answers(run: Run) -> None:
    command = re.search(r"^SPARK_HOME=.*spark-sql \\\n(?:    .*\\\n)+    -e .*$", run.output, re.MULTILINE)
    assert command, run.output
    # As from a shell in which this environment was never activated.
    environment = {key: value for key, value in os.environ.items() if key in ("HOME", "JAVA_HOME", "TMPDIR")}
    environment["PATH"] = os.pathsep.join(
        folder for folder in os.environ["PATH"].split(os.pathsep) if folder != str(Path(sys.executable).parent)
    )
    done = subprocess.run(
        ["bash", "-c", command.group()], cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    with Warehouse(run.warehouse).for_pyiceberg() as catalog:
        expected = catalog.load_table(TABLE).scan(row_filter="l_partkey = 42").count()
    assert int(done.stdout.split()[0]) == expected > 0


@pytest.mark.way
def test_second_run_starts_anew_on_the_generated_data(run: Run) -> None:
    exit_code, output = quickstart("--scale-factor", "0.05", "--files", "8", "--warehouse", str(run.warehouse))
    assert exit_code == 0, output
    assert "Reusing 8 Parquet files" in output
    # Files have other names now, so other rows are sampled: the layout is nearly the same, not quite.
    total = TOTAL.search(output)
    assert total, output
    assert number(total.group(2)) < 0.7 * number(total.group(1)) == 0.7 * 12 * 8


@pytest.mark.parametrize(
    ("arguments", "because"),
    [
        (["--files", "0"], "Cannot write '0' files, because it must be a whole number above 0"),
        (["--scale-factor", "one"], "Cannot generate scale factor 'one', because it must be a number above 0"),
    ],
)
def test_wrong_usage(arguments: list[str], because: str) -> None:
    exit_code, output = quickstart(*arguments)
    assert exit_code == 2
    assert because in output


@pytest.mark.parametrize("scale", [1, 200, 200_000])
def test_both_engines_understand_the_filters(scale: int) -> None:
    queries = [*dozen(parts=scale, suppliers=max(scale // 20, 1)), one_order(orders=30 * scale)]
    assert len(queries) == 13
    assert len({query.title for query in queries}) == 13
    for query in queries:
        parse(query.where)


def test_shown_call_is_the_call_that_is_sent() -> None:
    options = {"rewrite-all": "true", "target-file-size-bytes": "1000"}
    sent = rewrite_statement(checked_call(TABLE, CLUSTERING_COLUMNS, options=options), "quickstart")
    # PySpark calls what tells more; on the screen stands what people know.
    as_people_call_it = sent.replace("`", "").replace(
        "zorder_rewrite(table => 'tpch.lineitem', ",
        "rewrite_data_files(table => 'tpch.lineitem', strategy => 'zorder', ",
    )
    assert " ".join(call_sql(options).split()).replace("( ", "(") == as_people_call_it


def test_difference_is_shown() -> None:
    measured = Measurement(files_planned=2, bytes_planned=20, bytes_read=None, rows=((1,),))
    query = Query("one part", "count(*)", "l_partkey = 7")
    same = Comparison(query, measured, measured)
    different = Comparison(query, measured, replace(measured, rows=((2,),)))
    console = Console(width=100)
    report = Report(console)
    assert not different.identical

    with console.capture() as capture:
        report.comparisons([different], same)
        report.verdict([different], same, Fingerprint(1, 1), Fingerprint(1, 2))
    shown = capture.get()
    assert "DIFFERS" in shown
    assert "Results differ after the rewrite: one part" in shown
    assert "The table's rows differ after the rewrite" in shown
    assert "identical, and so are" not in shown
