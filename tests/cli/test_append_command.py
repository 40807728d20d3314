"""``iceberg-zorder append``: rows of Parquet and CSV files, and of standard input."""

import csv
import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.schema import Schema
from pyiceberg.types import DateType, DecimalType, LongType, NestedField, StringType, TimestamptzType

from tests.cli.processes import run_without_spark

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "day", DateType()),
    NestedField(3, "price", DecimalType(9, 2)),
    NestedField(4, "name", StringType()),
    NestedField(5, "at", TimestamptzType()),
)
CSV = """\
name,id,price,day,at
one,1,2.50,2026-01-01,2026-01-01 10:00:00Z
,2,,,
"""


def rows_of(catalog: Catalog, name: str) -> list[tuple[Any, ...]]:
    found = catalog.load_table(f"db.{name}").scan().to_arrow().sort_by("id")
    return [tuple(row.values()) for row in found.select(["id", "name"]).to_pylist()]


def run(home: Path, name: str, *arguments: str, stdin: bytes = b"") -> Any:
    with patch("sys.stdin", SimpleNamespace(buffer=io.BytesIO(stdin))):
        return run_without_spark(home, f"db.{name}", *arguments, "--by", "id,day", "--quiet", command="append")


def test_csv_and_parquet(home: Path, catalog: Catalog, tmp_path: Path) -> None:
    table = catalog.create_table("db.appended", SCHEMA)
    (tmp_path / "a.csv").write_text(CSV)
    done = run(home, "appended", str(tmp_path / "a.csv"), "--output", "json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert (found["table"], found["added_records_count"], found["added_data_files_count"]) == (
        "files.db.appended",
        2,
        1,
    )
    done = run(home, "appended", "-", stdin=CSV.replace("one,1,", "three,3,").replace(",2,,,", ",4,,,").encode())
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Appended 2 rows in 1 data file of ")
    assert rows_of(catalog, "appended") == [(1, "one"), (2, None), (3, "three"), (4, None)]
    written = table.refresh().scan().to_arrow()
    pq.write_table(written, tmp_path / "b.parquet")
    pq.write_table(written, tmp_path / "c.parquet")
    done = run(home, "appended", str(tmp_path / "b.parquet"), str(tmp_path / "c.parquet"))
    assert (done.returncode, len(table.refresh().snapshots())) == (0, 3)
    assert len(rows_of(catalog, "appended")) == 12
    done = run(home, "appended", "-", "--format", "parquet", stdin=(tmp_path / "b.parquet").read_bytes())
    assert (done.returncode, len(rows_of(catalog, "appended"))) == (0, 16)
    one = table.refresh().scan(row_filter="id = 1").to_arrow().slice(0, 1)
    assert (str(one["price"][0]), str(one["day"][0])) == ("2.50", "2026-01-01")


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (CSV.replace("one,1,", "one,x,"), "CSV conversion error to int64"),
        (CSV.replace("one,1,", "one,,"), "NULL in the required column id"),
        (CSV.replace("name", "title"), "more columns: title"),
        ("name\none\n", "id: required long"),
        ("", "Empty CSV file"),
    ],
)
def test_rows_that_do_not_fit_are_refused(home: Path, catalog: Catalog, tmp_path: Path, rows: str, why: str) -> None:
    table = catalog.create_table_if_not_exists("db.refusing", SCHEMA)
    (tmp_path / "a.csv").write_text(rows)
    done = run(home, "refusing", str(tmp_path / "a.csv"))
    assert done.returncode == 2
    assert why in done.stderr
    assert not table.refresh().snapshots()
    assert not [*Path(table.location()).rglob("*.parquet")]


def test_files_that_cannot_be_read(home: Path, catalog: Catalog, tmp_path: Path) -> None:
    catalog.create_table_if_not_exists("db.refusing", SCHEMA)
    (tmp_path / "a.parquet").write_text("no Parquet")
    (tmp_path / "a.csv").write_text(CSV)
    (tmp_path / "b.csv").write_text("id\n7\n")
    for files, why in (
        (["nowhere.csv"], "Cannot read nowhere.csv as csv"),
        (["a.parquet"], "as parquet, because"),
        (["a.csv", "b.csv"], "because they have different columns"),
    ):
        done = run(home, "refusing", *(str(tmp_path / each) if (tmp_path / each).exists() else each for each in files))
        assert done.returncode == 2
        assert why in done.stderr


def test_csv_keeps_every_text(home: Path, catalog: Catalog) -> None:
    catalog.create_table("db.texts", Schema(NestedField(1, "id", LongType()), NestedField(4, "name", StringType())))
    texts = ["NA", "null", "nan", "N/A", 'two\nlines, "quoted"', "", *(f"Dear {i}\nyours" for i in range(60_000))]
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_NONNUMERIC).writerows([("id", "name"), *enumerate(texts)])
    with patch("sys.stdin", SimpleNamespace(buffer=io.BytesIO(out.getvalue().encode()))):
        done = run_without_spark(home, "db.texts", "-", "--by", "id,name", "--quiet", command="append")
    assert (done.returncode, done.stderr) == (0, "")
    assert rows_of(catalog, "texts") == list(enumerate(texts))
