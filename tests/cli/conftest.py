"""A catalog for commands, in SQLite and a directory."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog, load_catalog


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose .pyiceberg.yaml names the catalog ``files``."""
    home = tmp_path_factory.mktemp("home")
    (home / ".pyiceberg.yaml").write_text(
        f"catalog:\n  files:\n    uri: sqlite:///{home}/catalog.db\n    warehouse: {home}/warehouse\n"
    )
    return home


@pytest.fixture(scope="module")
def catalog(home: Path) -> Catalog:
    catalog = load_catalog("files", type="sql", uri=f"sqlite:///{home}/catalog.db", warehouse=f"{home}/warehouse")
    catalog.create_namespace("db")
    rows = pa.table({"user id": [i * 37 % 100 for i in range(100)], "ts": list(range(100))})
    table = catalog.create_table("db.events", rows.schema)
    for start in range(0, 100, 20):
        table.append(rows.slice(start, 20))
    return catalog
