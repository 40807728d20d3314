"""A catalog in SQLite and a directory, with tables to maintain and a policy for them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.table import Table

from iceberg_zorder.maintain.policy.policy import Policy
from iceberg_zorder.maintain.policy.read import parse_policy
from tests.pyiceberg.committing import BY_BYTES
from tests.pyiceberg.lake import one_commit

POLICY = """
version: 1
catalogs:
  lake: {{type: sql, uri: "${{LAKE_URI}}", warehouse: "{home}/warehouse"}}
defaults: {{options: {{min-age-seconds: 0, target-file-size-bytes: 40000}}}}
tables: {{"db.*": {{by: [a, b]}}}}
"""


@dataclass(frozen=True)
class Lake:
    """A catalog, and the directory that holds it."""

    home: Path
    catalog: Catalog

    @property
    def uri(self) -> str:
        """What the policy calls ``${LAKE_URI}``."""
        return f"sqlite:///{self.home}/catalog.db"

    @property
    def policy(self) -> Path:
        return self.home / "policy.yaml"

    def table(self, name: str, appends: int) -> Table:
        made = self.catalog.create_table(name, pa.schema([("a", pa.int64()), ("b", pa.int64())]), properties=BY_BYTES)
        append(made, appends)
        return made

    def broken_table(self, name: str) -> Table:
        """A table without one of the columns of the policy."""
        made = self.table(name, 8)
        made.update_schema().rename_column("b", "c").commit()
        return made

    def files(self) -> set[Path]:
        return set(self.home.rglob("data/*.parquet"))


@contextmanager
def lake_in(home: Path) -> Iterator[Lake]:
    """A catalog with a namespace and a policy, and no table yet."""
    catalog = load_catalog("lake", type="sql", uri=f"sqlite:///{home}/catalog.db", warehouse=f"{home}/warehouse")
    catalog.create_namespace("db")
    lake = Lake(home, catalog)
    lake.policy.write_text(POLICY.format(home=home), encoding="utf-8")
    yield lake
    catalog.close()


def append(made: Table, times: int) -> None:
    draw = np.random.default_rng(len(made.metadata.snapshots))
    for _ in range(times):
        made.append(pa.table({field.name: draw.integers(0, 1 << 40, 2_000) for field in made.schema().fields}))


def append_at_once(made: Table) -> None:
    """Eight files of one commit, which overlap."""
    draw = np.random.default_rng(3)
    with one_commit(made) as commit:
        for _ in range(8):
            commit.append(pa.table({field.name: draw.integers(0, 1 << 40, 2_000) for field in made.schema().fields}))


def policy_of(
    home: Path,
    settings: str = "",
    *,
    by: str = "by: [x, y], ",
    options: str = "min-age-seconds: 0, target-file-size-bytes: 40000",
    database: str = "catalog.db",
) -> Policy:
    """All tables of the catalog, by x and y."""
    text = f"""
        version: 1
        catalogs: {{lake: {{type: sql, uri: "sqlite:///{home}/{database}", warehouse: "file://{home}/warehouse"}}}}
        tables: {{"*": {{{by}options: {{{options}}} {settings}}}}}
    """
    return parse_policy(text, "policy.yaml", {})


def rows_of(made: Table) -> list[tuple[int, ...]]:
    return sorted(tuple(row.values()) for row in made.refresh().scan().to_arrow().to_pylist())
