"""What several modules of Spark tests start from."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from iceberg_zorder.spark.session import PLUGIN_JAR
from tests.spark.tables import local_path


@pytest.fixture(scope="session")
def jars(spark: SparkSession) -> str:
    """The plugin and the Iceberg runtime that the test session has resolved, as ``--jars`` takes them."""
    resolved = str(spark.conf.get("spark.repl.local.jars")).split(",")
    return f"{PLUGIN_JAR},{local_path(next(jar for jar in resolved if 'iceberg-spark-runtime' in jar))}"
