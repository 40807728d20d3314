"""A lake for examples, and what is left alone without Airflow.

Airflow is installed in an environment of its own, see `make test-airflow`.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import pytest

collect_ignore = [] if find_spec("airflow") else ["iceberg_zorder/airflow", "tests/airflow"]


@pytest.fixture(autouse=True)
def _lake_of_examples(doctest_namespace: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give examples a catalog ``lake``, whose table is made when it is loaded: of five files of 1,000 rows."""
    opened: list[Any] = []

    def load_table(name: str) -> Any:
        import pyarrow as pa
        from pyiceberg.catalog.sql import SqlCatalog

        home = tmp_path_factory.mktemp("lake")
        catalog = SqlCatalog("lake", uri=f"sqlite:///{home}/catalog.db", warehouse=str(home))
        opened.append(catalog)
        catalog.create_namespace("db")
        table = catalog.create_table(name, pa.schema([("user_id", pa.int64()), ("ts", pa.int64())]))
        for start in range(0, 5000, 1000):
            ids = pa.array(range(start, start + 1000))
            table.append(pa.table({"user_id": ids, "ts": ids}))
        return table

    doctest_namespace["lake"] = SimpleNamespace(load_table=load_table)
    yield
    for each in opened:
        each.close()
