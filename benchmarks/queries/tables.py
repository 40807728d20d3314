"""The tables of a set in several layouts: namespaces of one Iceberg catalog, which share what is the same in all."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import sqlglot
from pyiceberg.catalog.sql import SqlCatalog
from pyspark.sql import SparkSession

from benchmarks.queries.sets import QuerySet
from iceberg_zorder.advice.advice import SETS, Advice
from iceberg_zorder.pyiceberg import advise
from iceberg_zorder.pyiceberg.listing.dimensions import CatalogDimensions
from iceberg_zorder.pyiceberg.listing.listing import scanned_table
from iceberg_zorder.workload.read import read_workload
from iceberg_zorder.workload.workload import Workload
from iceberg_zorder.workload.workload_json import to_json

CATALOG = "lake"
TIMED_SEED, TRAINING_SEEDS = 0, (1, 2, 3, 4, 5)
INGESTED, ICEBERG, OURS, WORKLOAD, WORKLOAD_DUCKDB = "ingested", "iceberg", "ours", "workload", "workload_duckdb"
TITLES = {
    INGESTED: "as ingested",
    ICEBERG: "Iceberg's z-order",
    OURS: "ours, usual columns",
    WORKLOAD: "ours, from the workload",
    WORKLOAD_DUCKDB: "ours, from the workload, for DuckDB",
}
READERS = {WORKLOAD: "spark", WORKLOAD_DUCKDB: "duckdb"}
"""The engine that a layout is for, because engines take keys of joins in different ways."""

Say = Callable[[str], None]


def layouts(engine: str) -> tuple[str, ...]:
    """List the layouts to measure with an engine.

    Examples
    --------
    >>> layouts("spark")
    ('ingested', 'iceberg', 'ours', 'workload')
    """
    return tuple(name for name in TITLES if READERS.get(name, engine) == engine)


@dataclass(frozen=True)
class Tables:
    """The tables of a set, in all layouts.

    Parameters
    ----------
    of : QuerySet
        The set.
    scale : float
        The scale factor.
    data : Path
        Where everything is kept from run to run.
    files : int
        Files of the largest table; the others get files of the same size.
    """

    of: QuerySet
    scale: float
    data: Path
    files: int

    @property
    def directory(self) -> Path:
        """Where these tables are."""
        return (self.data / f"queries-{self.of.name}-sf{self.scale:g}").resolve()

    @property
    def properties(self) -> dict[str, str]:
        """The catalog's properties, as PyIceberg is told of them."""
        return {
            "type": "sql",
            "uri": f"sqlite:///{self.directory}/catalog-{self.files}.db",
            "warehouse": f"file://{self.directory}/warehouse-{self.files}",
        }

    def catalog(self) -> SqlCatalog:
        """Open the catalog."""
        return SqlCatalog(CATALOG, **self.properties)

    @property
    def made(self) -> dict[str, dict[str, str]]:
        """Tell of each layout that is complete what each large table was clustered by."""
        found: dict[str, dict[str, str]] = json.loads(self._marks.read_text()) if self._marks.exists() else {}
        return found

    @property
    def _marks(self) -> Path:
        return self.directory / f"layouts-{self.files}.json"

    def make(self, spark: SparkSession, wanted: Sequence[str], say: Say) -> None:
        """Make the layouts that are missing; all others are made of the ingested one."""
        source = self.of.source(self.data, self.scale)
        for layout in dict.fromkeys((INGESTED, *wanted)):
            if layout not in self.made:
                self._empty(layout)
                made = self._ingest(spark, source) if layout == INGESTED else self._lay_out(spark, layout, say)
                self._marks.write_text(json.dumps({**self.made, layout: made}, indent=1))

    def _empty(self, layout: str) -> None:
        catalog = self.catalog()
        catalog.create_namespace_if_not_exists(layout)
        for name in catalog.list_tables(layout):
            catalog.drop_table(name)
        catalog.close()

    def _ingest(self, spark: SparkSession, source: Path) -> dict[str, str]:
        sources = sorted(source.glob("*.parquet"))
        split = max(each.stat().st_size for each in sources) // self.files + 1
        spark.conf.set("spark.sql.files.maxPartitionBytes", str(split))
        spark.conf.set("spark.sql.files.openCostInBytes", "0")
        spark.conf.set("spark.sql.files.minPartitionNum", "1")
        for each in sources:
            rows = spark.read.parquet(str(each))
            written = rows.writeTo(f"{CATALOG}.{INGESTED}.{each.stem}").using("iceberg")
            written.tableProperty("write.distribution-mode", "none").create()
        return dict.fromkeys(self.of.usual, "")

    def _lay_out(self, spark: SparkSession, layout: str, say: Say) -> dict[str, str]:
        catalog = self.catalog()
        made = {}
        for _, name in catalog.list_tables(INGESTED):
            # The files of before are shared, and a rewrite deletes none.
            catalog.register_table(f"{layout}.{name}", catalog.load_table(f"{INGESTED}.{name}").metadata_location)
        for name, usual in self.of.usual.items():
            by, options = ", ".join(usual), ""
            if layout in READERS:
                by, options = self._by_workload(catalog, name, READERS[layout])
            if by:
                strategy = "sort" if layout == ICEBERG else "zorder"
                spark.sql(
                    f"CALL {CATALOG}.system.rewrite_data_files(table => '{layout}.{name}', strategy => '{strategy}', "
                    f"sort_order => 'zorder({by})', options => map('rewrite-all', 'true', 'target-file-size-bytes', "
                    # A writer that rolls at the target doubles the files of Iceberg's own strategies.
                    f"'{self._target}', 'max-file-size-bytes', '999999999999'{options}))"
                ).collect()
            say(f"{self.of.title}: {TITLES[layout]}: {name} by {by or 'nothing'}")
            made[name] = by
        catalog.close()
        return made

    @cached_property
    def _training(self) -> list[str]:
        return [text for seed in TRAINING_SEEDS for text in self.of.queries(seed, self.scale).values()]

    @cached_property
    def _target(self) -> int:
        """Return the size of new files in bytes."""
        return max(self.sizes(INGESTED).values())[1] // self.files + 1

    def _by_workload(self, catalog: SqlCatalog, name: str, reader: str) -> tuple[str, str]:
        """Find the columns that training queries are best served by, and the option that names these queries."""
        advice = self._advice(catalog, name, reader)
        # A rewrite does not change partitions, so the best of the other layouts stands for a pick that would.
        best = None if advice is None or advice.pick is None else advice.best("workload", *SETS)
        return (", ".join(best.columns), f", 'workload', '{self._workload(reader, name)}'") if best else ("", "")

    def _advice(self, catalog: SqlCatalog, name: str, reader: str) -> Advice | None:
        """Advise on a table as ingested, and keep the workload; None if no query filters the table."""
        workload = self.workload(self._training, name, catalog, reader)
        if not any(query.filter != "TRUE" for query in workload.queries):
            return None
        self._workload(reader, name).write_text(to_json(workload))
        table = catalog.load_table(f"{INGESTED}.{name}")
        return advise(table, workload, options={"target-file-size-bytes": self._target})

    def _workload(self, reader: str, name: str) -> Path:
        return self.directory / f"workload-{reader}-{name}.json"

    def workload(self, queries: Sequence[str], name: str, catalog: SqlCatalog, reader: str) -> Workload:
        """Read the workload of a table from queries, as ``iceberg-zorder workload`` does."""
        path = self.directory / "queries.sql"
        # Those that do not name the table are not parsed: TPC-DS's are long.
        path.write_text("".join(f"{query};\n" for query in queries if name in query))
        table = catalog.load_table(f"{INGESTED}.{name}")
        return read_workload(
            [path],
            scanned_table(table, (INGESTED, name)),
            dialect="duckdb",
            kind="sql",
            dimensions=CatalogDimensions(catalog, (INGESTED,)),
            readers=(reader,),
        )

    def filtered(self, queries: Mapping[str, str]) -> dict[str, list[str]]:
        """List of each query the large tables that it filters by values that stand in its text."""
        catalog = self.catalog()
        found = {
            query: [
                name
                for name in self.of.usual
                if any(each.filter != "TRUE" for each in self.workload([text], name, catalog, "spark").queries)
            ]
            for query, text in queries.items()
        }
        catalog.close()
        return found

    def advised(self, reader: str, say: Say) -> dict[str, dict[str, Any]]:
        """Tell of each table that queries filter what ``advise`` finds, for an engine that reads it."""
        catalog, found = self.catalog(), {}
        for name in self.of.usual:
            advice = self._advice(catalog, name, reader)
            if advice is not None:
                best = advice.best("workload", *SETS)
                found[name] = {
                    "is_picked": advice.pick is not None,
                    "best": best.layout if best else "",
                    "cost_today": advice.today.cost_per_query,
                    "cost_then": best.cost_per_query if best else None,
                    "reason": advice.reason,
                }
                say(f"{self.of.title} for {reader}: {name}: {advice.reason}")
        catalog.close()
        return found

    def sizes(self, layout: str) -> dict[str, tuple[int, int]]:
        """Count the files and the bytes of each large table."""
        catalog, found = self.catalog(), {}
        for name in self.of.usual:
            files = catalog.load_table(f"{layout}.{name}").inspect.files()
            sizes = files["file_size_in_bytes"].to_pylist()
            found[name] = (len(sizes), sum(sizes))
        catalog.close()
        return found

    def locations(self, layout: str) -> dict[str, str]:
        """Find the metadata of all tables of a layout."""
        catalog = self.catalog()
        found = {
            name: catalog.load_table(f"{layout}.{name}").metadata_location.removeprefix("file://")
            for _, name in catalog.list_tables(layout)
        }
        catalog.close()
        return found


def without_limit(text: str) -> str:
    """Take LIMIT from the end of a query: which of equal rows come first depends on the layout.

    Examples
    --------
    >>> without_limit("SELECT a FROM (SELECT a FROM t LIMIT 3) ORDER BY a LIMIT 5")
    'SELECT a FROM (SELECT a FROM t LIMIT 3) ORDER BY a'
    """
    query = sqlglot.parse_one(text, dialect="duckdb")
    query.set("limit", None)
    return query.sql(dialect="duckdb")
