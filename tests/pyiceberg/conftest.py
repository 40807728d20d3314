from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from tests.pyiceberg.committing import BY_BYTES


class OfSmallFiles(SqlCatalog):
    """A catalog whose tables have no open cost, unless their properties say so."""

    def create_table(self, *of: Any, **more: Any) -> Table:
        more["properties"] = {**BY_BYTES, **more.get("properties", {})}
        return super().create_table(*of, **more)


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[SqlCatalog]:
    made = OfSmallFiles("lake", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}")
    made.create_namespace("db")
    yield made
    made.close()
