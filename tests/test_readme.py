"""The README's snippets work, and its options table is complete."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from pyiceberg.utils.config import Config
from pyspark.errors import IllegalArgumentException
from pyspark.sql import SparkSession

from iceberg_zorder.rewrite_options import PYICEBERG_ONLY
from tests.spark.tables import Table

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def snippets(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.DOTALL | re.MULTILINE)


@pytest.fixture
def events(spark: SparkSession) -> Table:
    table = Table(spark, "db.events")
    spark.sql(f"DROP TABLE IF EXISTS {table.full_name} PURGE")
    spark.sql(
        f"CREATE TABLE {table.full_name} USING iceberg AS SELECT cast(rand(1) * 1e6 AS bigint) AS user_id, "
        "timestamp_seconds(cast(1.7e9 + rand(2) * 1e8 AS bigint)) AS ts, "
        "named_struct('os version', cast(rand(3) * 20 AS int)) AS device, id AS payload FROM range(0, 60000, 1, 6)"
    )
    return table


@pytest.mark.parametrize("sql", snippets("sql"))
def test_sql(spark: SparkSession, events: Table, sql: str) -> None:
    rows = events.fingerprint()
    result = spark.sql(sql).collect()[0]
    if "rewrite_data_files" in sql:
        assert result.rewritten_data_files_count == 6
        assert events.operations() == ["append", "replace"]
    else:
        assert (result.selected_data_files_count, result.reason) == (6, None)
    assert events.fingerprint() == rows


@pytest.mark.parametrize("python", snippets("python"))
def test_python(
    events: Table, lake_dir: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, python: str
) -> None:
    rows = events.fingerprint()
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__URI", f"sqlite:///{lake_dir}/catalog.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__WAREHOUSE", f"file://{lake_dir}/warehouse")
    # It reads its configuration when it is imported.
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())
    exec(compile(python, "README.md", "exec"), {})
    assert capsys.readouterr().out.strip() == "6 -> 1"
    events.spark.sql(f"REFRESH TABLE {events.full_name}")
    assert events.fingerprint() == rows


def test_command_line(events: Table, lake_dir: Path) -> None:
    (command,) = (line for block in snippets("sh") for line in block.splitlines() if line.startswith("iceberg-zorder"))
    arguments = [
        "--catalog",
        "lake",
        "--uri",
        f"sqlite:///{lake_dir}/catalog.db",
        "--warehouse",
        f"file://{lake_dir}/warehouse",
    ]
    program = str(Path(sys.executable).with_name("iceberg-zorder"))
    done = subprocess.run([program, *shlex.split(command)[1:], *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rewritten_data_files_count"] == 6


def test_make_targets() -> None:
    makefile = (Path(__file__).parent.parent / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^make ([a-z-]+)$", README, flags=re.MULTILINE)
    assert targets == ["quickstart", "test"]
    assert all(re.search(rf"^{target}:", makefile, flags=re.MULTILINE) for target in targets)


def test_the_options_table_is_complete(events: Table) -> None:
    with pytest.raises(IllegalArgumentException, match="no-such-option") as refused:
        events.call("user_id", options={"no-such-option": "1"})
    known = set(re.search(r"known are \[(.*?)]", str(refused.value))[1].split(", "))  # type: ignore[index]
    assert set(re.findall(r"^\| `([a-z.-]+)` \|", README, flags=re.MULTILINE)) == known | set(PYICEBERG_ONLY)
