"""Iceberg's own z-order of each table on a timer, until killed: the other side of ``python -m tests.soak.maintenance``."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from iceberg_zorder.spark import configure_spark
from iceberg_zorder.spark.catalogs import spark_catalog
from iceberg_zorder.spark.failures import failure_message
from tests.soak.streams import TABLES

INTERVAL = 30


def main() -> None:
    """Rewrite each table as Iceberg does by size, and say of each whether it was done; a line of JSON for each round."""
    path, target = Path(sys.argv[1]), sys.argv[2]
    catalog = spark_catalog("lake", json.loads(path.read_text(encoding="utf-8")))
    builder = SparkSession.builder.master("local[2]").config("spark.driver.host", "127.0.0.1")
    builder = builder.config("spark.ui.enabled", "false").config("spark.local.dir", str(path.parent / "spark"))
    for key, value in catalog.settings.items():
        builder = builder.config(key, value)
    spark = configure_spark(builder, extra_packages=catalog.packages).getOrCreate()
    while True:
        began = time.monotonic()
        tables = []
        for name in TABLES:
            options = f"map('target-file-size-bytes', '{target}', 'delete-file-threshold', '5')"
            call = f"CALL lake.system.rewrite_data_files(table => '{name}', strategy => 'sort', sort_order => 'zorder(a, b)', "
            try:
                done = spark.sql(f"{call}options => {options})").collect()[0]
            except (PySparkException, Py4JError) as error:
                tables.append({"table": name, "action": "failed", "error": failure_message(error)})
            else:
                tables.append({"table": name, "action": "rewrite" if done[0] else "leave"})
        print(json.dumps({"tables": tables}), flush=True)
        time.sleep(max(0.0, began + INTERVAL - time.monotonic()))


if __name__ == "__main__":
    main()
