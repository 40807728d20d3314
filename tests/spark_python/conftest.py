"""The tables of the Spark session, as PyIceberg has them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyspark.sql import SparkSession

from tests.conftest import CATALOG


@pytest.fixture(scope="module")
def catalog(spark: SparkSession, lake_dir: Path) -> Iterator[Catalog]:
    catalog = load_catalog(
        CATALOG, type="sql", uri=f"sqlite:///{lake_dir}/catalog.db", warehouse=f"file://{lake_dir}/warehouse"
    )
    yield catalog
    catalog.close()
