"""Many partitions, many files: what a rewrite costs where the tables are like that. ``make bench-scale``.

    400 partitions, 2,000 partitions    two small files each: what a file group costs
    10,000 output files                 one partition, files of 28 KB: what an output file costs
    10,000 output files in S3           the same in SeaweedFS: Hadoop's local file system starts chmod for each file
    one file each                       eight partitions of one output file: what a row costs where nothing is cut
    one file each, lineitem             the same with the rows of TPC-H, in seven partitions
    100,000 files                       in 2,000 partitions: plan, sample, rewrite, commit with a driver of 4 GiB

All but the last are put to Iceberg's own strategies, too, each run on the table as it was made, in one session of
Spark, the last to the PyIceberg engine's plan.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import typer
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import (
    compute_statistics_plan,
    data_file_statistics_from_parquet_metadata,
    parquet_path_to_id_mapping,
    schema_to_pyarrow,
)
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import DoubleType, IntegerType, LongType, NestedField, StringType
from pyspark.sql import SparkSession

from benchmarks.cost import Cost, measured, stages_so_far
from benchmarks.layouts import BIN_PACK, ICEBERG_CATALOG, ICEBERG_ZORDER, LAYOUTS, OURS, Iceberg
from benchmarks.pages import head, how, table
from benchmarks.run import fingerprint, session
from benchmarks.without_jvm import Run as ProcessRun
from benchmarks.without_jvm import machine, measure
from iceberg_zorder.pyiceberg import plan_rewrite
from iceberg_zorder.spark.catalogs import AWS_BUNDLE, SparkCatalog, spark_catalog
from quickstart.data import generate
from tests.stack.servers import seaweedfs

DATA = Path("benchmark-data")
PAGE, FIGURES = Path("docs/benchmarks/scale.md"), Path("docs/benchmarks/scale.json")
COLUMNS = ("a", "b")
SHARED_CATALOG = "shared"
PACKAGES = ("org.xerial:sqlite-jdbc:3.50.3.0", AWS_BUNDLE)
"""Of all tables, for packages are added when the first session starts the JVM."""
LINKS_OF_A_FILE = 50
SCHEMA = Schema(
    NestedField(1, "p", IntegerType(), required=False),
    NestedField(2, "a", LongType(), required=False),
    NestedField(3, "b", LongType(), required=False),
    NestedField(4, "x", DoubleType(), required=False),
    NestedField(5, "s", StringType(), required=False),
)


@dataclass(frozen=True)
class Shape:
    """A table, and what is to be made of it.

    Parameters
    ----------
    name : str
        Its name on the page.
    partitions : int
        How many; with one the table has no partition.
    files : int
        Data files of each.
    rows : int
        Rows of each data file.
    output_files : int
        Data files that are to come of each partition.
    layouts : tuple of str
        What rewrites it.
    rounds : int
        Runs that count, of each; one more warms up.
    of_lineitem : bool
        Whether it has the rows of TPC-H's lineitem at scale 1, by ship mode, and not made-up ones.
    in_s3 : bool
        Whether it is in S3, and not in a directory.
    """

    name: str
    partitions: int
    files: int
    rows: int
    output_files: int
    layouts: tuple[str, ...] = (OURS, BIN_PACK, ICEBERG_ZORDER)
    rounds: int = 1
    of_lineitem: bool = False
    in_s3: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """What it is clustered by."""
        return ("l_shipdate", "l_partkey") if self.of_lineitem else COLUMNS

    @property
    def table(self) -> str:
        """The name of its table."""
        return "t_" + "".join(each if each.isalnum() else "_" for each in self.name.lower())


SHAPES = (
    Shape("400 partitions", 400, 2, 2_000, 1, rounds=3),
    Shape("2,000 partitions", 2_000, 2, 2_000, 1),
    Shape("10,000 output files", 1, 40, 250_000, 10_000),
    Shape("10,000 output files in S3", 1, 40, 250_000, 10_000, in_s3=True),
    Shape("one file each", 8, 2, 500_000, 1, rounds=3),
    Shape("one file each, lineitem", 7, 2, 428_000, 1, rounds=3, of_lineitem=True),
)
MANY_FILES = "100,000 files"
_ABOUT = """\
Rewrites of tables with many partitions or many files need many tasks, a large event log and much memory. This page
compares our rewrites of such tables with Iceberg's own, for people who size a cluster."""
_HOW = """\
[scale.json](scale.json) has every run. Spark has two threads and a driver of 4 GiB. Figures are medians of the runs
after one warm-up run. *CPU of bin-pack*, *wall of bin-pack* and *wall of z-order* are seconds divided by the seconds of
Iceberg's bin-pack or z-order. The event log is the uncompressed log that Spark writes for its history server."""
_STEPS = (
    "*400 partitions* and *2,000 partitions*: each partition has two small files.",
    "*10,000 output files*: the new files have 28 KB.",
    "*one file each*: eight partitions (lineitem: seven), each rewritten into one file.",
    "*100,000 files*: 2,000 partitions.",
)


@dataclass(frozen=True)
class Run:
    """What one run cost.

    Parameters
    ----------
    shape, layout : str
        Their names.
    files : int
        Data files that came out.
    tasks : int
        Tasks that Spark ran.
    event_log_bytes : int
        How much Spark's event log grew.
    cost : Cost
        The rest.
    plan_seconds : float or None
        What planning alone took before, where that was measured.
    """

    shape: str
    layout: str
    files: int
    tasks: int
    event_log_bytes: int
    cost: Cost
    plan_seconds: float | None = None


def make_table(spark: SparkSession, shape: Shape) -> None:
    """Make the table of a shape: each insert gives every partition one file, a table without partitions all of them."""
    table = f"{ICEBERG_CATALOG}.db.{shape.table}"
    created = (
        "USING iceberg{partitioned} TBLPROPERTIES ('write.distribution-mode' = 'none', "
        "'write.spark.fanout.enabled' = 'false', 'write.metadata.metrics.default' = 'full')"
    )
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {ICEBERG_CATALOG}.db")
    if shape.of_lineitem:
        _insert_lineitem(spark, shape, table, created.format(partitioned=" PARTITIONED BY (l_shipmode)"))
        return
    partitioned = " PARTITIONED BY (p)" if shape.partitions > 1 else ""
    columns = "p int, a bigint, b bigint, x double, s string"
    spark.sql(f"CREATE TABLE {table} ({columns}) {created.format(partitioned=partitioned)}")
    keys = ", ".join(f"cast(rand({number}) * 1e9 AS bigint) AS {name}" for number, name in enumerate(COLUMNS))
    values = f"{keys}, rand(3) AS x, concat('s', id % 1000) AS s"
    if shape.partitions == 1:
        source = f"SELECT 0 AS p, {values} FROM range(0, {shape.files * shape.rows}, 1, {shape.files})"
        spark.sql(f"INSERT INTO {table} {source}")
        return
    for number in range(shape.files):
        rows = shape.partitions * shape.rows
        ids = f"range({number * rows}, {(number + 1) * rows}, 1, 2)"
        source = f"SELECT cast(id % {shape.partitions} AS int) AS p, {values} FROM {ids}"
        spark.sql(f"SELECT * FROM ({source}) DISTRIBUTE BY p SORT BY p").writeTo(table).append()


def _insert_lineitem(spark: SparkSession, shape: Shape, table: str, created: str) -> None:
    lineitem = DATA / "lineitem-scale-1"
    if not lineitem.exists():
        generate(lineitem, scale_factor=1, files=1)
    rows = spark.read.parquet(str(lineitem))
    rows.createOrReplaceTempView("lineitem")
    spark.sql(f"CREATE TABLE {table} {created} AS SELECT * FROM lineitem LIMIT 0")
    for number in range(shape.files):
        part = rows.where(f"l_orderkey % {shape.files} = {number}")
        part.repartition(2, "l_shipmode").sortWithinPartitions("l_shipmode").writeTo(table).append()


def compare(spark: SparkSession, shape: Shape, event_log: Path) -> Iterator[Run]:
    """Rewrite the table of a shape by each layout in turn; every run finds it as it was made."""
    make_table(spark, shape)
    of = Iceberg(spark)
    table = of.full_name(shape.table)
    rows = fingerprint(spark, table)
    made = spark.sql(f"SELECT snapshot_id FROM {table}.snapshots ORDER BY committed_at DESC LIMIT 1").collect()[0][0]
    target = of.bytes(shape.table) // (shape.partitions * shape.output_files) + 1
    by_name = {layout.name: layout for layout in LAYOUTS}
    for number in range(shape.rounds + 1):
        for name in shape.layouts:
            rewrite = partial(by_name[name].run, spark, table, shape.columns, target)
            run = counted(spark, shape.name, name, rewrite, event_log)
            files = len(of.files(shape.table))
            if fingerprint(spark, table) != rows:
                raise AssertionError(f"{name} changed the rows of {shape.name}")
            spark.sql(f"CALL {ICEBERG_CATALOG}.system.set_current_snapshot('db.{shape.table}', {made})")
            if number > 0:
                yield replace(run, files=files)
    of.drop(shape.table)


def counted(spark: SparkSession, shape: str, layout: str, rewrite: Callable[[], object], event_log: Path) -> Run:
    """Run something, and count what it cost."""
    before = tasks_so_far(spark), bytes_of(event_log)
    cost = measured(spark, rewrite)
    return Run(shape, layout, 0, tasks_so_far(spark) - before[0], bytes_of(event_log) - before[1], cost)


def tasks_so_far(spark: SparkSession) -> int:
    """Count the tasks that Spark has run."""
    return sum(stage.numCompleteTasks() for stage in stages_so_far(spark))


def bytes_of(directory: Path) -> int:
    """Add up the files in a directory."""
    return sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())


def catalog_properties(directory: Path) -> dict[str, str]:
    """Describe the catalog, in PyIceberg's words, that both engines look at."""
    return {"type": "sql", "uri": f"sqlite:///{directory}/c.db", "warehouse": f"file://{directory}/warehouse"}


def many_files(directory: Path, partitions: int) -> dict[str, str]:
    """Make a table of many small files: of each partition one is written, and linked so many times."""
    directory.mkdir()
    properties = catalog_properties(directory)
    catalog = SqlCatalog(SHARED_CATALOG, **properties)
    catalog.create_namespace("db")
    spec = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "p"))
    table = catalog.create_table("db.t", SCHEMA, partition_spec=spec)
    schema = schema_to_pyarrow(SCHEMA)
    for start in range(0, partitions, 100):
        with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
            for partition in range(start, min(start + 100, partitions)):
                for file in _linked_files(table, schema, partition):
                    append.append_data_file(file)
    return properties


def _linked_files(table: Table, schema: pa.Schema, partition: int) -> Iterator[DataFile]:
    rows = 100
    number = pa.array(range(rows))
    scattered = [(partition * 7919 + row * 104729) % 1_000_003 for row in range(rows)]
    columns = [
        [partition] * rows,
        scattered,
        scattered[::-1],
        [row / rows for row in range(rows)],
        number.cast(pa.string()),
    ]
    home = Path(table.location().removeprefix("file://")) / "data" / f"p={partition}"
    home.mkdir(parents=True)
    first = home / "0.parquet"
    pq.write_table(
        pa.table([pa.array(each, field.type) for each, field in zip(columns, schema, strict=True)], schema=schema),
        first,
    )
    metadata = pq.read_metadata(first)
    statistics = data_file_statistics_from_parquet_metadata(
        metadata, compute_statistics_plan(SCHEMA, {}), parquet_path_to_id_mapping(SCHEMA)
    ).to_serialized_dict()
    for link in range(LINKS_OF_A_FILE):
        path = home / f"{link}.parquet"
        if link:
            os.link(first, path)
        yield DataFile.from_args(
            content=DataFileContent.DATA,
            file_path=f"file://{path}",
            file_format=FileFormat.PARQUET,
            partition=Record(partition),
            file_size_in_bytes=first.stat().st_size,
            sort_order_id=None,
            spec_id=table.spec().spec_id,
            equality_ids=None,
            key_metadata=None,
            **statistics,
        )


def rewrite_with_spark(spark: SparkSession, properties: dict[str, str], event_log: Path) -> Run:
    """Plan and rewrite that table with Spark."""
    for key, value in spark_catalog(SHARED_CATALOG, properties).settings.items():
        spark.conf.set(key, value)
    name = f"{SHARED_CATALOG}.db.t"
    before = fingerprint(spark, name)
    arguments = "table => 'db.t', sort_order => 'zorder(a, b)', options => map('rewrite-all', 'true')"
    start = time.perf_counter()
    spark.sql(f"CALL {SHARED_CATALOG}.system.zorder_plan({arguments})").collect()
    plan_seconds = time.perf_counter() - start
    call = f"CALL {SHARED_CATALOG}.system.rewrite_data_files({arguments}, strategy => 'zorder')"
    run = counted(spark, MANY_FILES, OURS, lambda: spark.sql(call).collect(), event_log)
    if fingerprint(spark, name) != before:
        raise AssertionError(f"the rows of {MANY_FILES} have changed")
    files = spark.sql(f"SELECT count(*) FROM {name}.files").collect()[0][0]
    return replace(run, files=files, plan_seconds=plan_seconds)


def plan_with_pyiceberg(directory: Path) -> None:
    """Plan the rewrite of that table, by the PyIceberg engine."""
    table = SqlCatalog(SHARED_CATALOG, **catalog_properties(directory)).load_table("db.t")
    start = time.perf_counter()
    plan = plan_rewrite(table, list(COLUMNS), options={"rewrite-all": True})
    files = sum(len(group.tasks) for group in plan.groups)
    typer.echo(json.dumps({"seconds": time.perf_counter() - start, "groups": len(plan.groups), "files": files}))


def thousands(spark: SparkSession, directory: Path, event_log: Path, partitions: int) -> tuple[Run, ProcessRun]:
    """Do both with the same table, the plan of the PyIceberg engine in a process of its own."""
    properties = many_files(directory, partitions)
    command = [sys.executable, "-m", "benchmarks.scale", "--child", str(directory)]
    plan = measure("PyIceberg engine, plan", None, command, directory, None)
    return rewrite_with_spark(spark, properties, event_log), plan


def page(figures: dict[str, Any]) -> str:
    """Write the figures as a page."""
    header = ("table", "layout", "files", "tasks", "CPU s", "CPU of bin-pack", "wall s", "wall of bin-pack")
    runs = dict.fromkeys((run["shape"], run["layout"]) for run in figures["runs"])
    lines = [
        *head("Many partitions, many files", _ABOUT, figures.get("note", "")),
        "",
        *table(
            (*header, "wall of z-order", "event log MB", "log KB a task", "peak MB"),
            [_row(figures["runs"], shape, layout) for shape, layout in runs],
            texts=2,
        ),
    ]
    planned = [run for run in figures["runs"] if run["plan_seconds"] is not None]
    plans = [("Spark", f"{run['plan_seconds']:.1f}", "") for run in planned]
    plan = figures["plan"]
    if plan is not None:
        plans.append(
            (
                "PyIceberg, the start of Python included",
                f"{plan['wall_seconds']:.1f}",
                f"{plan['peak_bytes'] / 1e6:,.0f}",
            )
        )
    lines += ["", f"## Plans of {MANY_FILES}", "", *table(("engine", "wall s", "peak MB"), plans)]
    lines += how("make bench-scale", figures["machine"], _HOW, *_STEPS)
    return "\n".join([*lines, ""])


def _row(runs: list[dict[str, Any]], shape: str, layout: str) -> list[str]:
    def middle(of: str, what: str) -> float | None:
        found = [run["cost"].get(what, run.get(what)) for run in runs if (run["shape"], run["layout"]) == (shape, of)]
        return median(found) if found else None

    def ratio(what: str, peer: str) -> str:
        own, other = middle(layout, what), middle(peer, what)
        return "" if own is None or not other or layout == peer else f"{own / other:.2f}x"

    tasks, log = middle(layout, "tasks") or 1, middle(layout, "event_log_bytes") or 0
    return [
        shape,
        layout,
        f"{middle(layout, 'files'):,.0f}",
        f"{tasks:,.0f}",
        f"{middle(layout, 'cpu_seconds'):.1f}",
        ratio("cpu_seconds", BIN_PACK),
        f"{middle(layout, 'wall_seconds'):.1f}",
        ratio("wall_seconds", BIN_PACK),
        ratio("wall_seconds", ICEBERG_ZORDER),
        f"{log / 1e6:.1f}",
        f"{log / tasks / 1e3:.1f}",
        f"{(middle(layout, 'peak_rss_bytes') or 0) / 1e6:,.0f}",
    ]


def main() -> None:
    """Run the benchmark, or one contender as a child of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = [shape.name for shape in SHAPES] + [MANY_FILES]
    parser.add_argument("--only", nargs="+", default=names, help="names of tables")
    parser.add_argument("--partitions", type=int, default=2_000, help=f"of the table of {MANY_FILES}")
    parser.add_argument("--show", action="store_true", help="write nothing under docs")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        plan_with_pyiceberg(arguments.child)
        return
    with tempfile.TemporaryDirectory(prefix="iceberg-zorder-bench-") as temporary:
        home = Path(temporary).resolve()
        for name in arguments.only:
            run_one(name, home, arguments.partitions, writes=not arguments.show)


@contextmanager
def _catalog(shape: Shape | None, home: Path) -> Iterator[SparkCatalog | None]:
    """Start the catalog of a shape, if that is another than the one in a directory."""
    if shape is None or not shape.in_s3:
        yield None
        return
    servers = home / "servers"
    servers.mkdir()
    with seaweedfs(servers) as properties:
        yield spark_catalog(ICEBERG_CATALOG, properties)


def run_one(name: str, home: Path, partitions: int, *, writes: bool) -> None:
    """Run what a table is rewritten by, in a session of its own, and add it to the page."""
    events = home / "events"
    events.mkdir(exist_ok=True)
    logged = {
        "spark__eventLog__enabled": "true",
        "spark__eventLog__dir": str(events),
        "spark__eventLog__compress": "false",
    }
    figures = json.loads(FIGURES.read_text()) if FIGURES.exists() else {"runs": [], "plan": None}
    runs: list[Run] = []
    shape = next((shape for shape in SHAPES if shape.name == name), None)
    with _catalog(shape, home) as catalog:
        logged.update(catalog.settings if catalog else {})
        with session(home / "tables", delta=False, packages=PACKAGES, **logged) as spark:
            if shape is None:
                run, plan = thousands(spark, home / "shared", events, partitions)
                typer.echo(f"{run}\n{plan}")
                runs.append(run)
                figures["plan"] = asdict(plan)
            else:
                for run in compare(spark, shape, events):
                    typer.echo(run)
                    runs.append(run)
    figures["machine"] = machine("pyspark")
    kept = [run for run in figures["runs"] if run["shape"] != name]
    names = [*(shape.name for shape in SHAPES), MANY_FILES]
    figures["runs"] = sorted(kept + [asdict(run) for run in runs], key=lambda run: names.index(run["shape"]))
    if writes:
        FIGURES.write_text(json.dumps(figures, indent=1) + "\n")
        PAGE.write_text(page(figures))
    typer.echo(page(figures))


if __name__ == "__main__":
    main()
