"""What several modules of Spark tests start from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyspark.sql import SparkSession

from tests.stack.rest import RestServer, rest_server


@pytest.fixture
def server(spark: SparkSession, lake_dir: Path) -> Iterator[RestServer]:
    """A REST server in front of the catalog of the other tests; Spark has it as a catalog named ``rest_`` and its port."""
    behind = SqlCatalog("lake", uri=f"sqlite:///{lake_dir}/catalog.db", warehouse=f"file://{lake_dir}/warehouse")
    with rest_server(behind) as server:
        name = f"rest_{server.server_port}"
        spark.conf.set(f"spark.sql.catalog.{name}", "org.apache.iceberg.spark.SparkCatalog")
        spark.conf.set(f"spark.sql.catalog.{name}.type", "rest")
        spark.conf.set(f"spark.sql.catalog.{name}.uri", server.uri)
        yield server
    behind.close()
