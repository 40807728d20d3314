"""The Spark session of the tests: real Spark, real Iceberg, an embedded SQLite catalog named ``lake``.

``ICEBERG_RUNTIME`` names another Iceberg than the newest, as Maven coordinates: ``make test-lines`` sets it.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from iceberg_zorder.spark import configure_spark
from iceberg_zorder.spark.catalogs import SQLITE_DRIVER
from iceberg_zorder.spark.session import PACKAGES, PLUGIN_JAR
from tests.spark.tables import CATALOG, local_path


@contextmanager
def spark_session(lake_dir: Path) -> Iterator[SparkSession]:
    """Start Spark with the plugin and a catalog below a directory; stop it at the end."""
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
        # No test needs commits that outlive a loss of power.
        .config(f"spark.sql.catalog.{CATALOG}.jdbc.synchronous", "OFF")
        .config(f"spark.sql.catalog.{CATALOG}.warehouse", f"file://{lake_dir}/warehouse")
    )
    if runtime := os.environ.get("ICEBERG_RUNTIME"):
        builder = builder.config(PACKAGES, runtime)
    session = configure_spark(builder, extra_packages=[SQLITE_DRIVER]).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    session.sql(f"CREATE NAMESPACE IF NOT EXISTS {CATALOG}.db")
    yield session
    session.stop()


def resolved_jars(spark: SparkSession) -> str:
    """Name the plugin and the Iceberg runtime that a session has resolved, as ``--jars`` takes them."""
    resolved = str(spark.conf.get("spark.repl.local.jars")).split(",")
    return f"{PLUGIN_JAR},{local_path(next(jar for jar in resolved if 'iceberg-spark-runtime' in jar))}"
