"""The jar on its own: ``spark-sql`` with nothing but two jars, and sessions in which it cannot work."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from iceberg_zorder.spark.session import EXTENSIONS, PLUGIN_JAR, jar_settings
from tests.spark.tables import SPARK
from tests.stack.servers import ENVIRONMENT, SPARK_HOME, conf

EXTENSION = "io.icebergzorder.spark.IcebergZOrderExtensions"


def spark_sql(
    directory: Path, sql: str, *arguments: str, catalog: str = "in-memory"
) -> subprocess.CompletedProcess[str]:
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.catalogImplementation": catalog,
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": f"file://{directory}/warehouse",
    }
    if SPARK < (4, 0):
        has_iceberg = "iceberg-spark-runtime" in " ".join(arguments)
        settings[EXTENSIONS] = jar_settings({})[EXTENSIONS] if has_iceberg else EXTENSION
    command = [str(SPARK_HOME / "bin" / "spark-sql"), "--master", "local[1]", *conf(settings), *arguments, "-e", sql]
    return subprocess.run(
        command, cwd=directory, env=ENVIRONMENT, capture_output=True, text=True, timeout=300, check=False
    )


# The shell's own catalog, Hive's by default.
@pytest.mark.way
@pytest.mark.parametrize("catalog", ["in-memory", "hive"])
def test_two_jars_are_all_the_setup(tmp_path: Path, jars: str, catalog: str) -> None:
    done = spark_sql(
        tmp_path,
        "CREATE TABLE lake.db.t USING iceberg AS SELECT id, id % 10 AS a, rand(1) AS b FROM range(0, 20000, 1, 6);"
        "CALL lake.system.rewrite_data_files(table => 'db.t', strategy => 'zorder', sort_order => 'zorder(a, b)',"
        " options => map('rewrite-all', 'true'));"
        "CALL lake.system.rewrite_data_files(table => 'db.t', strategy => 'zorder', sort_order => 'zorder(a, b)');"
        "SELECT operation, summary['zorder.columns'] FROM lake.db.t.snapshots ORDER BY committed_at;"
        "SELECT count(*), sum(id) FROM lake.db.t;",
        "--jars",
        jars,
        catalog=catalog,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    first = lines[0].split("\t")
    assert (first[0], first[1], first[3], first[4]) == ("6", "1", "0", "0")
    assert lines[1].split("\t") == ["0"] * 5
    assert lines[2:] == ["append\tNULL", "replace\ta,b", "20000\t199990000"]
    assert "Nothing to rewrite in lake.db.t: " in done.stderr, "the log says why the second call did nothing"


@pytest.mark.way
def test_a_mistyped_strategy_is_answered_with_ours_without_icebergs_extension(tmp_path: Path, jars: str) -> None:
    done = spark_sql(
        tmp_path,
        "CREATE TABLE lake.db.t USING iceberg AS SELECT id FROM range(10);"
        "CALL lake.system.rewrite_data_files(table => 'db.t', strategy => 'zordr', sort_order => 'zorder(id)');",
        "--jars",
        jars,
    )
    assert done.returncode != 0
    assert "there is no strategy 'zordr': there are 'zorder' (of iceberg-zorder)" in done.stderr


@pytest.mark.way
def test_without_iceberg_the_session_starts_and_one_line_says_what_is_missing(tmp_path: Path) -> None:
    done = spark_sql(tmp_path, "SELECT 6 * 7", "--jars", str(PLUGIN_JAR))
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "42"
    assert done.stderr.count("Cannot offer strategy 'zorder', because Iceberg's Spark runtime is not visible") == 1
