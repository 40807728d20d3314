"""Run the quickstart.

The stages, in order:

    generate    TPC-H lineitem as Parquet files, in the order of l_orderkey
    load        into an Iceberg table of an embedded SQLite catalog, one data file for each
    measure     a dozen queries
    rewrite     by (l_shipdate, l_partkey, l_suppkey)
    measure     the same queries
    report      before and after, a page with pictures, and what to try next

Exit codes: 0 done, 1 failed or a result differs, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import math
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyspark.sql import SparkSession
from rich.console import Console

from iceberg_zorder.pyiceberg import report as clustering_report
from iceberg_zorder.render.pages import report_page
from iceberg_zorder.spark import rewrite_data_files
from iceberg_zorder.spark.call import failure_message
from iceberg_zorder.spark.local import local_session
from quickstart.data import FULL_NAME, TABLE, Warehouse, generate, load
from quickstart.measure import Comparison, Fingerprint, Measurement, fingerprint, measure
from quickstart.queries import CLUSTERING_COLUMNS, Query, dozen, one_order
from quickstart.report import WIDTH, Report, Step

_SPARK = {
    "spark.app.name": "iceberg-zorder quickstart",
    "spark.master": "local[2]",
    "spark.driver.memory": "2g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "4",
}


@dataclass(frozen=True)
class State:
    """What is measured of the table, before and after: each query, and all rows."""

    measurements: list[Measurement]
    fingerprint: Fingerprint


def main(arguments: list[str] | None = None) -> int:
    """Run the quickstart with the arguments of a command line; returns the exit code."""
    parsed = _parser().parse_args(arguments)
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    report = Report(console)
    warehouse = Warehouse(parsed.warehouse.resolve())
    try:
        warehouse.directory.mkdir(parents=True, exist_ok=True)
        identical = run(report, warehouse, scale_factor=parsed.scale_factor, files=parsed.files)
    except KeyboardInterrupt:
        report.failure("stopped; the next run starts anew")
        return 1
    except Exception as error:  # whatever the engines raise ends in a message and exit code 1
        report.failure(f"{failure_message(error)}\n(Spark's log is {warehouse.directory / 'spark.log'})")
        return 1
    return 0 if identical else 1


def run(report: Report, warehouse: Warehouse, *, scale_factor: float, files: int) -> bool:
    """Run all stages.

    Parameters
    ----------
    report : Report
        Where to tell of it.
    warehouse : Warehouse
        Where everything goes.
    scale_factor : float
        TPC-H's scale factor, above 0.
    files : int
        Data files of the table, at least 1.

    Returns
    -------
    bool
        Whether all rows and results are identical before and after.
    """
    report.title(scale_factor, files)
    source = warehouse.generated(scale_factor, files)
    with report.step("Generating TPC-H lineitem with tpchgen-cli") as step:
        is_new = generate(source, scale_factor=scale_factor, files=files)
        step.done = f"{'Generated' if is_new else 'Reusing'} {len(list(source.iterdir()))} Parquet files"
    with ExitStack() as stack:
        spark = _start(report, warehouse, stack)
        catalog = stack.enter_context(warehouse.for_pyiceberg())
        with report.step("Loading them into an Iceberg table, in ingestion order") as step:
            load(spark, source)
            table = catalog.load_table(TABLE)
            sizes = [task.file.file_size_in_bytes for task in table.scan().plan_files()]
            step.done = f"Loaded {FULL_NAME}: {len(sizes)} data files, {sum(sizes) / 1e6:,.1f} MB"
        queries, by_ingestion = _queries(spark)
        with report.step("Warming Spark up") as step:
            _measure(spark, table, [*queries, by_ingestion], step)
            step.done = "Warmed Spark up, so that only reading data is measured"
        before = _measured(report, spark, table, [*queries, by_ingestion], "before")

        options = {"rewrite-all": "true", "target-file-size-bytes": str(sum(sizes) // len(sizes))}
        report.call(options)
        with report.step("Rewriting") as step:
            result = rewrite_data_files(spark, FULL_NAME, CLUSTERING_COLUMNS, options=options)
            step.done = f"Rewrote {result.rewritten_data_files_count} data files into {result.added_data_files_count}"
        loaded = table.current_snapshot()
        table.refresh()
        after = _measured(report, spark, table, [*queries, by_ingestion], "after")
        page = warehouse.directory / "report.html"
        with report.step("Drawing the layout before and after") as step:
            _write_page(table, loaded, page)
            step.done = "Drew the layout before and after"

    compared = [
        Comparison(*measured)
        for measured in zip([*queries, by_ingestion], before.measurements, after.measurements, strict=True)
    ]
    report.comparisons(compared[:-1], compared[-1])
    report.verdict(compared[:-1], compared[-1], before.fingerprint, after.fingerprint)
    report.next_steps(warehouse, options, page)
    return before.fingerprint == after.fingerprint and all(comparison.identical for comparison in compared)


def _start(report: Report, warehouse: Warehouse, stack: ExitStack) -> SparkSession:
    catalog = warehouse.for_spark
    with report.step("Starting Spark (the first time it downloads Iceberg and a SQLite driver)") as step:
        spark = stack.enter_context(
            local_session(
                _SPARK,
                session_settings=catalog.settings,
                packages=catalog.packages,
                directory=warehouse.directory,
            )
        )
        step.done = f"Started Spark {spark.version}"
    return spark


def _queries(spark: SparkSession) -> tuple[list[Query], Query]:
    greatest = spark.sql(f"SELECT max(l_partkey), max(l_suppkey), max(l_orderkey) FROM {FULL_NAME}").collect()[0]
    return dozen(parts=greatest[0], suppliers=greatest[1]), one_order(orders=greatest[2])


def _measured(report: Report, spark: SparkSession, table: Table, queries: list[Query], when: str) -> State:
    with report.step(f"Measuring {len(queries)} queries {when} the rewrite") as step:
        measurements = _measure(spark, table, queries, step)
        step.now("all rows")
        everything = fingerprint(spark)
        step.done = f"Measured {len(queries)} queries {when} the rewrite, and hashed {everything.rows:,} rows"
    return State(measurements, everything)


def _measure(spark: SparkSession, table: Table, queries: list[Query], step: Step) -> list[Measurement]:
    measured = []
    for number, query in enumerate(queries, start=1):
        step.now(f"{number}/{len(queries)}, {query.title}")
        measured.append(measure(spark, table, query))
    return measured


def _write_page(table: Table, loaded: Snapshot | None, path: Path) -> None:
    """Write a page of the table's clustering in two snapshots: as it was loaded, and now."""
    loaded_id = None if loaded is None else loaded.snapshot_id
    reports = [clustering_report(table, CLUSTERING_COLUMNS, snapshot_id=each) for each in (loaded_id, None)]
    path.write_text(report_page([(each.to_dict(), each.boxes) for each in reports]), encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m quickstart", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--scale-factor", type=_scale_factor, default=1.0, metavar="SF", help="TPC-H's scale factor; default 1"
    )
    parser.add_argument("--files", type=_files, default=64, metavar="N", help="data files of the table; default 64")
    parser.add_argument(
        "--warehouse",
        type=Path,
        default=Path("quickstart-warehouse"),
        metavar="DIR",
        help="where everything goes; default quickstart-warehouse",
    )
    return parser


def _scale_factor(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(f"Cannot generate scale factor '{text}', because it must be a number above 0")
    return value


def _files(text: str) -> int:
    if not (text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"Cannot write '{text}' files, because it must be a whole number above 0")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
