"""The engines: each runs queries on a layout, and counts the data files that it opened for them."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import duckdb
import sqlglot
from pyspark.sql import SparkSession

from benchmarks.queries.duck import connection
from benchmarks.queries.tables import CATALOG, INGESTED, WORKLOAD, Tables
from benchmarks.run import session
from iceberg_zorder.spark.catalogs import spark_catalog

Rows = list[tuple[Any, ...]]

JOIN_PRUNING = "spark.iceberg-zorder.join-pruning"
JOINS = "+joins"
"""Ends the name of a variant whose joins skip files; a layout's own name is the variant whose joins do not."""
JOINED = {INGESTED: (INGESTED, INGESTED + JOINS), WORKLOAD: (WORKLOAD + JOINS,)}
"""The variants of the layouts that Spark measures with joins that skip files. Who has the jar has both."""


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


@dataclass(frozen=True)
class Ran:
    """One run of a query.

    Parameters
    ----------
    rows : list of tuple
        The result.
    seconds : float
        Wall time.
    cpu : float or None
        CPU seconds of the engine's process, of all its threads, where the engine counts them.
    looked : Looked or None
        What the query read, where the engine counts it in every run.
    """

    rows: Rows
    seconds: float
    cpu: float | None = None
    looked: Looked | None = None


class Engine(Protocol):
    """What runs queries; they are in DuckDB's dialect."""

    counts_every_run: bool
    """Whether every run counts what it reads, for nothing."""

    def variants(self, layouts: Sequence[str]) -> tuple[str, ...]:
        """List the variants to measure: a layout, and whether joins skip files."""

    def use(self, variant: str) -> None:
        """Have the next queries read the tables of a variant."""

    def run(self, query: str) -> Ran:
        """Run a query."""

    def look(self, query: str) -> Looked:
        """Run a query, and count what it reads."""


class DuckEngine:
    """DuckDB with its Iceberg reader, which prunes files by Iceberg's bounds.

    Which files a query opens stands in DuckDB's log. A file that a query scans twice is counted once.
    """

    counts_every_run = False

    def __init__(self, duck: duckdb.DuckDBPyConnection, locations: Mapping[str, Mapping[str, str]]) -> None:
        self._duck = duck
        for layout, tables in locations.items():
            duck.execute(f"CREATE SCHEMA {layout}")
            for name, location in tables.items():
                duck.execute(f"CREATE VIEW {layout}.{name} AS SELECT * FROM iceberg_scan('{location}')")

    def variants(self, layouts: Sequence[str]) -> tuple[str, ...]:
        """List the layouts: joins are DuckDB's own in all of them."""
        return tuple(layouts)

    def use(self, variant: str) -> None:
        """Have the next queries read the tables of a layout."""
        self._duck.execute(f"USE {variant}")

    def run(self, query: str) -> Ran:
        """Run a query."""
        start = time.perf_counter()
        rows = self._duck.execute(query).fetchall()
        return Ran(rows, time.perf_counter() - start)

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
    """Spark with Iceberg.

    Which files a query reads is known after it has run, because joins skip files meanwhile. Each scan reports the files
    that it planned to Spark's SQL status store when it starts. The store keeps the metrics of scans that adaptive
    execution has replaced after they started, and has none of scans that never started. Each scan has metrics of its
    own, so one that several parts of a plan reuse counts once, and a table that is scanned twice counts twice.
    """

    counts_every_run = True

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._store = spark._jsparkSession.sharedState().statusStore()
        self._bus = spark._jsc.sc().listenerBus()
        assert spark._jvm is not None
        self._java = int(spark._jvm.java.lang.ProcessHandle.current().pid())
        self._last = -1

    def variants(self, layouts: Sequence[str]) -> tuple[str, ...]:
        """List the variants of each layout."""
        return tuple(variant for layout in layouts for variant in JOINED.get(layout, (layout,)))

    def use(self, variant: str) -> None:
        """Have the next queries read the tables of a variant."""
        self._spark.sql(f"USE {CATALOG}.{variant.removesuffix(JOINS)}")
        self._spark.conf.set(JOIN_PRUNING, "auto" if variant.endswith(JOINS) else "off")

    def run(self, query: str) -> Ran:
        """Run a query."""
        text = for_spark(query)
        self._counted()  # Later runs are the query's own.
        start, cpu = time.perf_counter(), cpu_seconds(self._java)
        rows = [tuple(row) for row in self._spark.sql(text).collect()]
        seconds, cpu = time.perf_counter() - start, cpu_seconds(self._java) - cpu
        return Ran(rows, seconds, cpu, self._counted())

    def look(self, query: str) -> Looked:
        """Run a query, and count what it reads."""
        looked = self.run(query).looked
        assert looked is not None
        return looked

    def _counted(self) -> Looked:
        """Count what was read since the last call."""
        self._bus.waitUntilEmpty()
        executions = self._store.executionsList()
        files, size, newest = 0, 0, self._last
        for place in reversed(range(executions.size())):
            execution = executions.apply(place)
            number = int(execution.executionId())
            if number <= self._last:
                break
            newest = max(newest, number)
            values = self._store.executionMetrics(number).mkString("\n")
            read = scanned(execution.metrics().mkString("\n"), values)
            files, size = files + read.files, size + read.bytes
        self._last = newest
        return Looked(files, size, None)


def scanned(metrics: str, values: str) -> Looked:
    r"""Sum what the scans of an execution report.

    Parameters
    ----------
    metrics : str
        A line of each ``SQLPlanMetric``: name, accumulator and type. One that is reused is listed again.
    values : str
        A line of each pair of accumulator and value; scans that never started have none.

    Examples
    --------
    >>> kind = "v2Custom_org.apache.iceberg.spark.source.metrics"
    >>> size = f"SQLPlanMetric(total data file size (bytes),7,{kind}.TotalDataFileSize)"
    >>> files = f"SQLPlanMetric(number of result data files,8,{kind}.ResultDataFiles)"
    >>> scanned(f"{size}\n{size}\n{files}", "7 -> 90\n8 -> 2")
    Looked(files=2, bytes=90, read=None)
    """
    counted = dict(re.findall(r"^(\d+) -> (.*)$", values, re.MULTILINE))

    def total(kind: str) -> int:
        accumulators = set(re.findall(rf",(\d+),v2Custom_\S+\.{kind}\)$", metrics, re.MULTILINE))
        return sum(int(counted.get(each, 0)) for each in accumulators)

    return Looked(total("ResultDataFiles"), total("TotalDataFileSize"), None)


def cpu_seconds(process: int) -> float:
    """Get the CPU seconds that a process has taken, of all its threads.

    Examples
    --------
    >>> cpu_seconds(os.getpid()) > 0
    True
    """
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def for_spark(query: str) -> str:
    """Translate a query.

    Examples
    --------
    >>> for_spark("SELECT CAST(a AS DATE) + INTERVAL '1' DAY FROM t")
    "SELECT CAST(a AS DATE) + INTERVAL '1' DAY FROM t"
    """
    return sqlglot.transpile(query, read="duckdb", write="spark")[0]


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
