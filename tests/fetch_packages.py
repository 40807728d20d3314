"""Have Spark fetch the packages of the tests once: two processes that fetch the same at a time spoil each other's files."""

import os

from pyspark.sql import SparkSession

from iceberg_zorder.spark import configure_spark
from iceberg_zorder.spark.catalogs import SQLITE_DRIVER
from iceberg_zorder.spark.session import PACKAGES


def main() -> None:
    """Start Spark, and stop it."""
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    for setting in ("spark.driver.host", "spark.driver.bindAddress"):
        builder = builder.config(setting, "127.0.0.1")
    if runtime := os.environ.get("ICEBERG_RUNTIME"):
        builder = builder.config(PACKAGES, runtime)
    configure_spark(builder, extra_packages=[SQLITE_DRIVER]).getOrCreate().stop()


if __name__ == "__main__":
    main()
