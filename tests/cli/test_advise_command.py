"""The command ``advise`` in a process of its own, on a real table."""

import json
import re
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog

from tests.cli.processes import refusal, run_without_spark


@pytest.fixture(scope="module")
def queries(catalog: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table whose files are narrow in neither of two columns, and queries that filter by both."""
    rows = pa.table(
        {"odd name": [i * 37 % 1_000 for i in range(10_000)], "at": [i * 991 % 1_000 for i in range(10_000)]}
    )
    table = catalog.create_table("db.clicks", rows.schema, properties={"read.split.open-file-cost": "1"})
    for start in range(0, 10_000, 2_000):
        table.append(rows.slice(start, 2_000))
    path = tmp_path_factory.mktemp("queries") / "q.sql"
    path.write_text(
        "".join(
            f"SELECT * FROM clicks WHERE `{name}` = {n};\n" for name in ("odd name", "at") for n in range(0, 900, 30)
        )
        + "SELECT * FROM clicks;\nSELECT FROM clicks WHERE;\n"
    )
    return path


def test_text_json_and_the_page(home: Path, queries: Path, tmp_path: Path) -> None:
    asked = ["--workload", str(queries), "--dialect", "spark", "--option", "target-file-size-bytes=5000"]
    page = tmp_path / "advice.html"
    done = run_without_spark(home, "db.clicks", *asked, "--days", "2", "--html", str(page), "--quiet", command="advise")
    assert (done.returncode, done.stderr) == (0, "")
    text, _, pasted = done.stdout.partition("To paste into Spark SQL:")
    assert "* zorder(`odd name`, at)" in text
    assert "60 scans with filters, and 1 without" in text
    assert "60 different filters judge" in text
    assert "has paid after" in text
    assert re.search(
        r"A day of queries saves \S+ kB, [0-9]+ opened files and about 0 CPU seconds", " ".join(text.split())
    )
    assert max(len(line) for line in text.splitlines() if not line.startswith("ALTER TABLE")) <= 80
    assert "sort_order => 'zorder(`odd name`, at)'" in pasted
    assert "iceberg-zorder rewrite db.clicks --by 'zorder(`odd name`, at)' --option rewrite-all=true" in pasted
    html = page.read_text()
    assert '<div class="bar ' in html
    assert html.count("zorder(`odd name`, at)") >= 3
    done = run_without_spark(home, "db.clicks", *asked, "--output", "json", command="advise")
    assert done.returncode == 0
    assert "Planned 10,000 rows in " in done.stderr
    assert re.search(r"simulate: 100%, 10,000 rows, ", done.stderr)
    told = json.loads(done.stdout)
    assert (told["table"], told["pick"]["columns"]) == ("files.db.clicks", ["`odd name`", "at"])
    assert told["statement"] in pasted
    assert (told["queries_per_day"], told["filters"]) == (None, 60)


def test_doing_nothing_is_advice_and_exits_with_0(home: Path, queries: Path) -> None:
    asked = ["--workload", str(queries), "--dialect", "spark", "--least-saving", "0.9"]
    done = run_without_spark(home, "db.clicks", *asked, "--quiet", command="advise")
    assert done.returncode == 0
    assert "A rewrite must surely save 90.0%" in " ".join(done.stdout.split())
    assert "To paste" not in done.stdout


def test_wrong_usage_is_refused(home: Path, queries: Path, tmp_path: Path) -> None:
    good = ["--workload", str(queries)]
    wrong: tuple[tuple[list[str], str], ...] = (
        (["--workload", "no.sql"], "because the file does not exist"),
        ([*good, "--days", "0"], "Cannot use --days 0, because it must be more than 0"),
        ([*good, "--least-saving", "2"], "Cannot use --least-saving 2, because it must be in [0, 1]"),
        ([*good, "--html", str(tmp_path / "no" / "a.html")], "no does not exist"),
        ([*good, "--option", "no-such=1"], "no-such"),
        ([], "Missing option '--workload'"),
    )
    for arguments, message in wrong:
        assert message in refusal(home, "db.clicks", *arguments, command="advise")
    assert "has no such table" in refusal(home, "db.no_such_table", *good, command="advise")
