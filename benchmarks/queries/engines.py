"""The engines: each runs queries on a layout, and tells what data files it opened for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import duckdb
import sqlglot
from pyspark.sql import SparkSession

from benchmarks.queries.duck import connection
from benchmarks.queries.tables import CATALOG, Tables
from benchmarks.run import session
from iceberg_zorder.spark.catalogs import spark_catalog

Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Looked:
    """What a query reads.

    Parameters
    ----------
    files : int
        Data files that were left to be read.
    bytes : int
        The sum of their sizes.
    read : int or None
        Bytes that were read of them, where the engine tells.
    """

    files: int
    bytes: int
    read: int | None


class Engine(Protocol):
    """What runs queries; they are in DuckDB's dialect."""

    def use(self, layout: str) -> None:
        """Have the next queries read the tables of a layout."""

    def run(self, query: str) -> Rows:
        """Run a query."""

    def look(self, query: str) -> Looked:
        """Find what a query reads; an engine that plans while it runs has to run it for that."""


class DuckEngine:
    """DuckDB with its Iceberg reader, which prunes files by Iceberg's bounds.

    Which files a query opens stands in DuckDB's log. A file that a query scans twice is counted once.
    """

    def __init__(self, duck: duckdb.DuckDBPyConnection, locations: Mapping[str, Mapping[str, str]]) -> None:
        self._duck = duck
        for layout, tables in locations.items():
            duck.execute(f"CREATE SCHEMA {layout}")
            for name, location in tables.items():
                duck.execute(f"CREATE VIEW {layout}.{name} AS SELECT * FROM iceberg_scan('{location}')")

    def use(self, layout: str) -> None:
        """Have the next queries read the tables of a layout."""
        self._duck.execute(f"USE {layout}")

    def run(self, query: str) -> Rows:
        """Run a query."""
        return self._duck.execute(query).fetchall()

    def look(self, query: str) -> Looked:
        """Run a query, and find what it reads."""
        self._duck.execute("CALL truncate_duckdb_logs()")
        self._duck.execute("CALL enable_logging('FileSystem')")
        self.run(query)
        self._duck.execute("CALL disable_logging()")
        found = self._duck.execute(
            "SELECT path, sum(CASE WHEN op = 'READ' THEN bytes END) FROM duckdb_logs_parsed('FileSystem') "
            "WHERE path LIKE '%.parquet' GROUP BY path"
        ).fetchall()
        sizes = [Path(path.removeprefix("file://")).stat().st_size for path, _ in found]
        return Looked(len(sizes), sum(sizes), sum(read or 0 for _, read in found))


class SparkEngine:
    """Spark with Iceberg, whose scans tell what their plans left; a file that is scanned twice counts twice."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def use(self, layout: str) -> None:
        """Have the next queries read the tables of a layout."""
        self._spark.sql(f"USE {CATALOG}.{layout}")

    def run(self, query: str) -> Rows:
        """Run a query."""
        return [tuple(row) for row in self._spark.sql(for_spark(query)).collect()]

    def look(self, query: str) -> Looked:
        """Plan a query and its scans, and find what they read."""
        # Adaptive execution drops scans from the plan once they can no longer matter, whether they have run or not.
        self._spark.conf.set("spark.sql.adaptive.enabled", "false")
        scans = list(_scans(self._spark.sql(for_spark(query))._jdf.queryExecution().executedPlan()))
        self._spark.conf.set("spark.sql.adaptive.enabled", "true")
        return Looked(sum(files for files, _ in scans), sum(size for _, size in scans), None)


def for_spark(query: str) -> str:
    """Translate a query.

    Examples
    --------
    >>> for_spark("SELECT CAST(a AS DATE) + INTERVAL '1' DAY FROM t")
    "SELECT CAST(a AS DATE) + INTERVAL '1' DAY FROM t"
    """
    return sqlglot.transpile(query, read="duckdb", write="spark")[0]


def _scans(plan: Any) -> Iterator[tuple[int, int]]:
    """Have each scan of a plan list its files, and count them and their bytes; what is used again is scanned once."""
    kind = plan.getClass().getSimpleName()
    if kind in ("ReusedExchangeExec", "ReusedSubqueryExec"):
        return
    if kind == "BatchScanExec":
        plan.inputRDD()  # Lists them, and sets the metrics.
        metrics = plan.metrics()
        yield int(metrics.apply("resultDataFiles").value()), int(metrics.apply("totalDataFileSize").value())
    for below in (plan.children(), plan.subqueries()):
        for place in range(below.size()):
            yield from _scans(below.apply(place))


@contextmanager
def duck_engine(tables: Tables, threads: int) -> Iterator[Engine]:
    """Start DuckDB on the layouts of a set."""
    with connection("avro", "iceberg") as duck:
        duck.execute(f"SET threads = {threads}")
        # Else only the first query on a file reads it.
        duck.execute("SET enable_external_file_cache = false")
        yield DuckEngine(duck, {layout: tables.locations(layout) for layout in tables.made})


@contextmanager
def spark_session(tables: Tables, threads: int, scratch: Path) -> Iterator[SparkSession]:
    """Start Spark with the catalog of a set."""
    catalog = spark_catalog(CATALOG, tables.properties)
    settings = {"spark.master": f"local[{threads}]", **catalog.settings}
    with session(scratch / "spark", delta=False, packages=catalog.packages, **settings) as spark:
        yield spark
