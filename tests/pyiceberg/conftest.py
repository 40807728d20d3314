from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from tests.pyiceberg.polaris_lake import PolarisLake, behind_a_server_of_ours, lake_of_polaris
from tests.stack.polaris import SERVER, Polaris, polaris


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[SqlCatalog]:
    made = SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}")
    made.create_namespace("db")
    yield made
    made.close()


@pytest.fixture(scope="session")
def real_polaris(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Polaris]:
    if not SERVER:
        pytest.skip("there is no Polaris: set POLARIS_SERVER to its quarkus-run.jar")
    with polaris(tmp_path_factory.mktemp("polaris")) as running:
        yield running


@pytest.fixture(params=["ours", pytest.param("polaris", marks=pytest.mark.full)])
def polaris_lake(
    request: pytest.FixtureRequest, tmp_path: Path, duck: duckdb.DuckDBPyConnection
) -> Iterator[PolarisLake]:
    """A lake behind a server of ours that does as Polaris, and one behind a real Polaris."""
    if request.param == "ours":
        yield from behind_a_server_of_ours(tmp_path, duck)
    else:
        yield lake_of_polaris(tmp_path, duck, request.getfixturevalue("real_polaris"))
