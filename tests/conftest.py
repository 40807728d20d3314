"""One Spark session for all tests: real Spark, real Iceberg, an embedded SQLite catalog named ``lake``.

``ICEBERG_RUNTIME`` names another Iceberg than the newest, as Maven coordinates: ``make test-lines`` sets it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, settings
from pyspark.sql import SparkSession

from iceberg_zorder.spark import configure_spark
from iceberg_zorder.spark.catalogs import SQLITE_DRIVER
from iceberg_zorder.spark.session import PACKAGES, PLUGIN_JAR
from tests.spark.tables import local_path

CATALOG = "lake"

# A test ends before what Java's second compiler makes of its code has paid for itself; processes of tests inherit this.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1")

# Neither how long an example takes decides a test nor which examples a run happens to draw: they depend on the test alone.
settings.register_profile("tests", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tests")


@pytest.fixture(scope="session")
def lake_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory that holds the SQLite catalog and the warehouse."""
    return tmp_path_factory.mktemp("lake")


@pytest.fixture(scope="session")
def spark(lake_dir: Path) -> Iterator[SparkSession]:
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("iceberg-zorder tests")
        .config("spark.driver.memory", "3g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
        .config("spark.sql.warehouse.dir", str(lake_dir / "spark-warehouse"))
        .config(f"spark.sql.catalog.{CATALOG}", "org.apache.iceberg.spark.SparkCatalog")
        .config(f"spark.sql.catalog.{CATALOG}.type", "jdbc")
        .config(f"spark.sql.catalog.{CATALOG}.uri", f"jdbc:sqlite:{lake_dir}/catalog.db")
        .config(f"spark.sql.catalog.{CATALOG}.jdbc.schema-version", "V1")
        .config(f"spark.sql.catalog.{CATALOG}.warehouse", f"file://{lake_dir}/warehouse")
    )
    if runtime := os.environ.get("ICEBERG_RUNTIME"):
        builder = builder.config(PACKAGES, runtime)
    session = configure_spark(builder, extra_packages=[SQLITE_DRIVER]).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    session.sql(f"CREATE NAMESPACE IF NOT EXISTS {CATALOG}.db")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def jars(spark: SparkSession) -> str:
    """The plugin and the Iceberg runtime that the test session has resolved, as ``--jars`` takes them."""
    resolved = str(spark.conf.get("spark.repl.local.jars")).split(",")
    return f"{PLUGIN_JAR},{local_path(next(jar for jar in resolved if 'iceberg-spark-runtime' in jar))}"


@pytest.fixture
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    """DuckDB with its Iceberg reader, which shares no code with us, from packages of PyPI."""
    connection = duckdb.connect()
    for name in ("avro", "iceberg"):
        package = import_module(f"duckdb_extension_{name}")
        extension = next(Path(str(package.__file__)).parent.rglob(f"{name}.duckdb_extension"))
        connection.execute(f"LOAD '{extension}'")
    yield connection
    connection.close()
