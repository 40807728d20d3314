"""What several modules of Spark tests start from."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table.metadata import TableMetadataV3
from pyiceberg.typedef import IcebergBaseModel
from pyspark.sql import SparkSession

from tests.spark.tables import CATALOG
from tests.stack.rest import RestServer, rest_server


@pytest.fixture(scope="module")
def catalog(spark: SparkSession, lake_dir: Path) -> Iterator[SqlCatalog]:
    """The tables of the Spark session, as PyIceberg has them."""
    catalog = SqlCatalog(CATALOG, uri=f"sqlite:///{lake_dir}/catalog.db", warehouse=f"file://{lake_dir}/warehouse")
    yield catalog
    catalog.close()


@pytest.fixture
def server(spark: SparkSession, catalog: SqlCatalog) -> Iterator[RestServer]:
    """A REST server in front of the catalog of the other tests; Spark has it as a catalog named ``rest_`` and its port."""
    with rest_server(catalog) as server:
        name = f"rest_{server.server_port}"
        spark.conf.set(f"spark.sql.catalog.{name}", "org.apache.iceberg.spark.SparkCatalog")
        spark.conf.set(f"spark.sql.catalog.{name}.type", "rest")
        spark.conf.set(f"spark.sql.catalog.{name}.uri", server.uri)
        yield server


@pytest.fixture
def version_3(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server writes tables of version 3: PyIceberg knows all of their fields, and refuses to."""
    monkeypatch.setattr(TableMetadataV3, "model_dump_json", IcebergBaseModel.model_dump_json)


@pytest.fixture
def own_tables(spark: SparkSession) -> Iterator[None]:
    """The tables that a test makes in the namespace ``db`` go with it."""

    def names() -> set[str]:
        return {row["tableName"] for row in spark.sql(f"SHOW TABLES IN {CATALOG}.db").collect()}

    before = names()
    yield
    for name in names() - before:
        spark.sql(f"DROP TABLE {CATALOG}.db.{name} PURGE")
