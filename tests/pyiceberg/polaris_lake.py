"""A catalog that does what Polaris does, and maintenance of its tables: a server of ours, or a real Polaris."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import yaml
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from iceberg_zorder.maintain.maintenance_pass import MaintenancePass
from iceberg_zorder.maintain.pass_report import PassReport, TableReport
from iceberg_zorder.maintain.policy.read import parse_policy
from iceberg_zorder.pyiceberg.maintain.maintained_tables import PyIcebergTables
from tests.stack.like_polaris import like_polaris
from tests.stack.polaris import Polaris

NOW = datetime.now(timezone.utc).replace(microsecond=0)
DEFAULTS = {"by": ["x", "y"], "options": {"min-age-seconds": 0, "target-file-size-bytes": 40000}}


@dataclass
class PolarisLake:
    """A catalog behind a server, with a table ``db.t``, and what is behind the server to make others in."""

    properties: Mapping[str, str]
    behind: Catalog
    warehouse: Path
    duck: duckdb.DuckDBPyConnection

    def __post_init__(self) -> None:
        self.catalog = load_catalog("lake", **self.properties)
        self.behind.create_namespace("db")
        self.create("t")

    def create(self, name: str) -> None:
        """Make a table of eight files in the namespace ``db``."""
        self.behind.create_table(f"db.{name}", pa.schema([("x", pa.int64()), ("y", pa.int64())]))
        table = self.table(name)
        draw = np.random.default_rng(3)
        for _ in range(8):
            table.append(pa.table({name: draw.integers(0, 1 << 40, 2_000) for name in "xy"}))

    def run(
        self,
        sections: Mapping[str, Any],
        at: timedelta = timedelta(),
        *,
        dry_run: bool = False,
    ) -> PassReport:
        """Run a pass by a policy of some sections."""
        now = NOW + at
        said = {"version": 1, "catalogs": {"lake": dict(self.properties)}, "defaults": DEFAULTS, **sections}
        policy = parse_policy(yaml.safe_dump(said), "policy.yaml", {})
        tables = PyIcebergTables(policy, lambda: now)
        return MaintenancePass(policy, tables, lambda: now).run(dry_run=dry_run)

    def maintain(self, at: timedelta = timedelta(), **settings: Any) -> TableReport:
        """Run a pass over the only table."""
        (report,) = self.run({"tables": {"*": settings}}, at).tables
        return report

    def table(self, name: str = "t") -> Table:
        return self.catalog.load_table(f"db.{name}")

    def rows(self) -> Counter[tuple[int, int]]:
        """The rows as DuckDB reads them, which shares no code with us."""
        location = self.table().metadata_location.replace("file:///", "/").replace("file:/", "/")
        found = self.duck.sql(f"SELECT x, y FROM iceberg_scan('{location}')").fetchall()
        return Counter((x, y) for x, y in found)

    def files(self, write_id: str) -> set[str]:
        found = (path for path in self.warehouse.rglob("*") if f"-{write_id}-" in path.name)
        return {path.name for path in found if path.suffix != ".crc"}


def behind_a_server_of_ours(home: Path, duck: duckdb.DuckDBPyConnection) -> Iterator[PolarisLake]:
    warehouse = home / "warehouse"
    warehouse.mkdir()
    behind = SqlCatalog("lake", uri=f"sqlite:///{home}/catalog.db", warehouse=f"file://{warehouse}")
    with like_polaris(behind) as server:
        yield PolarisLake({"type": "rest", "uri": server.uri}, behind, warehouse, duck)
    behind.close()


def lake_of_polaris(home: Path, duck: duckdb.DuckDBPyConnection, server: Polaris) -> PolarisLake:
    warehouse = home / "warehouse"
    warehouse.mkdir()
    properties = server.catalog(f"lake_{abs(hash(home))}", warehouse)
    return PolarisLake(properties, load_catalog("behind", **properties), warehouse, duck)
