"""What reports and the choice of files take on tables of many files, by both engines. ``make bench-reports``.

Only metadata is looked at, so that the tables have nothing else: manifests of 100,000 files, in one partition and in
1,000, of 64 KB boxes beside each other, and every twentieth one across its partition.
"""

from __future__ import annotations

import json
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import LongType, NestedField
from pyspark.sql import SparkSession

from benchmarks.cost import measured
from benchmarks.pages import head, how, table
from benchmarks.run import session
from benchmarks.scale import PACKAGES, SHARED_CATALOG, catalog_properties
from benchmarks.without_jvm import machine, measure
from iceberg_zorder.pyiceberg import plan_rewrite, report
from iceberg_zorder.spark import report as report_with_spark
from iceberg_zorder.spark.catalogs import spark_catalog
from iceberg_zorder.spark.rewrite import describe_plan

PAGE, FIGURES = Path("docs/benchmarks/reports.md"), Path("docs/benchmarks/reports.json")
FILES = 100_000
SCHEMA = Schema(*(NestedField(number, name, LongType()) for number, name in enumerate("pab", 1)))
SPEC = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "p"))
PREDICATES = ["a = 1000000", "a < 2000000 AND b > 5000000"]
OPTIONS = {"max-scan-ratio": "1.2", "target-file-size-bytes": "65536"}
_SIDE, _SIZE, _ROWS = 1 << 16, 65_536, 1_000
_FILES_OF_A_COMMIT = 25_000
_ABOUT = f"""\
Reports and plans of rewrites read metadata only. This page shows how long both take on a table of {FILES:,} files, for
owners of large tables."""
_HOW = f"""\
[reports.json](reports.json) has every figure. The report is on two columns, with {len(PREDICATES)} predicates. The
choice is the choice of files: the plan of a rewrite with `max-scan-ratio`. PyIceberg runs in a process of its own, and
its figures include the start of Python. Spark's figures are of the first report or choice in a new session, with a
driver of 2 GiB, and include those of PySpark's process. The peak is the largest resident set, of Spark's JVM."""


@dataclass(frozen=True)
class Run:
    """What one engine took for one thing."""

    partitions: int
    engine: str
    what: str
    cpu_seconds: float
    wall_seconds: float
    peak_bytes: int


def make_table(directory: Path, partitions: int) -> None:
    """Make a table of so many partitions."""
    directory.mkdir()
    catalog = SqlCatalog(SHARED_CATALOG, **catalog_properties(directory))
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA, partition_spec=SPEC)
    for start in range(0, FILES, _FILES_OF_A_COMMIT):
        with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
            for number in range(start, start + _FILES_OF_A_COMMIT):
                append.append_data_file(_file(table.location(), number, partitions))


def _file(location: str, number: int, partitions: int) -> DataFile:
    place, of_partition = divmod(number, partitions)
    boxes = int((FILES / partitions) ** 0.5)
    row, column = divmod(place, boxes)
    low = {1: of_partition, 2: column * _SIDE, 3: row * _SIDE}
    high = {1: of_partition, 2: (column + 1) * _SIDE - 1, 3: (row + 1) * _SIDE - 1}
    if place % 20 == 0:
        low, high = {**low, 2: 0, 3: 0}, {**high, 2: boxes * _SIDE - 1, 3: boxes * _SIDE - 1}
    file = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=f"{location}/data/p={of_partition}/{number:06d}.parquet",
        file_format=FileFormat.PARQUET,
        partition=Record(of_partition),
        record_count=_ROWS,
        file_size_in_bytes=_SIZE,
        value_counts=dict.fromkeys(low, _ROWS),
        null_value_counts=dict.fromkeys(low, 0),
        lower_bounds={field: struct.pack("<q", value) for field, value in low.items()},
        upper_bounds={field: struct.pack("<q", value) for field, value in high.items()},
    )
    file.spec_id = 0
    return file


def with_pyiceberg(directory: Path, what: str) -> None:
    """Do one thing in this process."""
    table = SqlCatalog(SHARED_CATALOG, **catalog_properties(directory)).load_table("db.t")
    if what == "report":
        typer.echo(report(table, ["a", "b"], predicates=PREDICATES).total_file_count)
    else:
        typer.echo(len(plan_rewrite(table, ["a", "b"], options=dict(OPTIONS)).groups))


def with_spark(spark: SparkSession, partitions: int, what: str) -> Run:
    """Do one thing with Spark."""
    name = f"{SHARED_CATALOG}.db.t"
    works: dict[str, Callable[[], Any]] = {
        "report": lambda: report_with_spark(spark, name, ["a", "b"], predicates=PREDICATES),
        "choice": lambda: describe_plan(spark, name, ["a", "b"], options=OPTIONS),
    }
    before = time.process_time()
    cost = measured(spark, works[what])
    # Spark hands the metadata to this process, which makes the report.
    cpu = cost.cpu_seconds + time.process_time() - before
    return Run(partitions, "spark", what, cpu, cost.wall_seconds, cost.peak_rss_bytes)


def page(figures: dict[str, Any]) -> str:
    """Write the page of the figures."""
    rows = [
        [
            *(f"{run['partitions']:,}", run["engine"], run["what"], f"{run['cpu_seconds']:.1f}"),
            *(f"{run['wall_seconds']:.1f}", f"{run['peak_bytes'] / 1e6:,.0f}"),
        ]
        for run in figures["runs"]
    ]
    lines = [
        *head(f"Reports and plans of {FILES:,} files", _ABOUT, figures.get("note", "")),
        "",
        *table(("partitions", "engine", "what", "CPU s", "wall s", "peak MB"), rows, texts=3),
        *how("make bench-reports", figures["machine"], _HOW),
    ]
    return "\n".join([*lines, ""])


def runs_on(home: Path, partitions: int) -> list[Run]:
    """Measure both engines on one table."""
    directory = home / str(partitions)
    start = time.perf_counter()
    make_table(directory, partitions)
    typer.echo(f"{partitions} partitions: made in {time.perf_counter() - start:.0f} s")
    found = []
    for what in ("report", "choice"):
        command = [sys.executable, "-m", "benchmarks.reports", "--child", str(directory), "--what", what]
        run = measure(what, None, command, directory, None)
        if run.failure is not None:
            raise RuntimeError(run.failure)
        found.append(Run(partitions, "pyiceberg", what, run.cpu_seconds, run.wall_seconds, run.peak_bytes))
        settings = spark_catalog(SHARED_CATALOG, catalog_properties(directory)).settings
        with session(home / "spark", memory="2g", delta=False, packages=PACKAGES[:1]) as spark:
            for key, value in settings.items():
                spark.conf.set(key, value)
            spark.sql(f"SHOW NAMESPACES IN {SHARED_CATALOG}").collect()
            found.append(with_spark(spark, partitions, what))
    return found


def main(
    child: Annotated[Path | None, typer.Option(hidden=True)] = None,
    what: Annotated[str, typer.Option(hidden=True)] = "report",
    partitions: Annotated[list[int] | None, typer.Option(help="Of the tables.")] = None,
) -> None:
    """Measure, and write the page."""
    if child is not None:
        with_pyiceberg(child, what)
        return
    runs: list[Run] = []
    with tempfile.TemporaryDirectory(prefix="iceberg-zorder-bench-") as temporary:
        for count in partitions or [1, 1_000]:
            found = runs_on(Path(temporary).resolve(), count)
            for run in found:
                typer.echo(str(run))
            runs += found
    figures = {"machine": machine(), "runs": [asdict(run) for run in runs]}
    FIGURES.write_text(json.dumps(figures, indent=1) + "\n")
    PAGE.write_text(page(figures))
    typer.echo(PAGE.read_text())


if __name__ == "__main__":
    typer.run(main)
