"""The hook of a dbt model, run by dbt on Spark's Thrift server."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import copytree

import pytest

from tests.recipes.places import ENVIRONMENT, RECIPES
from tests.stack.servers import ENVIRONMENT as OF_SPARK
from tests.stack.servers import SPARK_HOME, conf, thrift_server

pytestmark = pytest.mark.full


@pytest.fixture
def server(tmp_path: Path, jars: str) -> Iterator[str]:
    """A server with the catalog as its default one."""
    # Into it every connection says USE default.
    (tmp_path / "warehouse" / "default").mkdir(parents=True)
    settings = {
        "spark.driver.extraClassPath": jars.replace(",", ":"),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": f"file://{tmp_path}/spark-warehouse",
        "spark.sql.defaultCatalog": "lake",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": f"file://{tmp_path}/warehouse",
    }
    with thrift_server(tmp_path, "local[2]", conf(settings)) as url:
        yield url


@pytest.fixture
def sql(server: str) -> Callable[[str], list[list[str]]]:
    def run(text: str) -> list[list[str]]:
        beeline = [
            str(SPARK_HOME / "bin" / "beeline"),
            "-u",
            server,
            "--outputformat=tsv2",
            "--silent=true",
            "-e",
            text,
        ]
        done = subprocess.run(beeline, env=OF_SPARK, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        return [line.split("\t") for line in done.stdout.splitlines()[1:] if line.strip()]

    return run


def dbt_run(project: Path, server: str) -> None:
    port = server.rstrip("/").rpartition(":")[2]
    done = subprocess.run(
        [str(ENVIRONMENT / "dbt"), "run", "--profiles-dir", "."],
        cwd=project,
        env={**os.environ, "SPARK_PORT": port, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]


def test_the_hook_gathers_what_runs_have_added(
    server: str, sql: Callable[[str], list[list[str]]], tmp_path: Path
) -> None:
    project = tmp_path / "dbt"
    copytree(RECIPES / "dbt", project)
    rows = "SELECT hash(id) AS user_id, timestamp_seconds(id) AS ts, id AS payload FROM range({first}, {last}, 1, 6)"
    sql(f"CREATE TABLE raw.events USING iceberg AS {rows.format(first=0, last=20_000)}")
    operations: list[list[str]] = []
    runs = 0
    # A run adds two files or so, and from five on they are gathered.
    while not any("replace" in each for each in operations):
        assert runs < 6, operations
        if runs:
            sql(f"INSERT INTO raw.events {rows.format(first=20_000 * runs, last=20_000 * (runs + 1))}")
        dbt_run(project, server)
        runs += 1
        operations = sql("SELECT operation, summary['zorder.columns'] FROM db.events.snapshots ORDER BY committed_at")
    assert operations[-1] == ["replace", "user_id,ts"]
    assert sql("SELECT count(*), count(DISTINCT payload) FROM db.events") == [[str(20_000 * runs)] * 2]
