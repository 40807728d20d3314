"""Run the layouts over the sets: pruning first, then costs in interleaved repeats."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from benchmarks.boxes import Ranks, TableBoxes, comparable, table_boxes
from benchmarks.cost import Cost, measured
from benchmarks.kdtree import kd_tree_files
from benchmarks.layouts import (
    ICEBERG_CATALOG,
    INPUT_FILES,
    KD_TREE,
    ROW_GROUPS_PER_FILE,
    Format,
    Layout,
    Shape,
    formats,
)
from benchmarks.metrics import Boxes, Predicates, scan_fractions
from benchmarks.results import CostResult, PruningResult
from benchmarks.sets import BenchmarkSet
from iceberg_zorder.spark import configure_spark

_DELTA_PACKAGE = "io.delta:delta-spark_4.1_2.13:4.4.0"
_EXTENSIONS = (
    "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions,io.delta.sql.DeltaSparkSessionExtension"
)


@dataclass(frozen=True)
class Scale:
    """How large a benchmark is.

    Parameters
    ----------
    rows : int
        Rows of every set, at most.
    files : int
        Files of every layout.
    repeats : int
        Timed runs of every layout on every set that is timed.
    """

    rows: int
    files: int
    repeats: int


Say = Callable[[str], None]

WARM_UP = 2
"""Rounds before the first that is timed: the JVM still compiles much during the second."""


@contextmanager
def session(
    directory: Path, *, memory: str = "4g", delta: bool = True, packages: Sequence[str] = (), **settings: str
) -> Iterator[SparkSession]:
    """Start Spark on two threads with Iceberg, iceberg-zorder and Delta, its tables under a directory."""
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("iceberg-zorder benchmark")
        .config("spark.driver.memory", memory)
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.ui.enabled", "false")
        # What is counted must be there: by default Spark forgets stages after a thousand.
        .config("spark.ui.retainedStages", "1000000")
        .config("spark.sql.shuffle.partitions", "8")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.log.level", "ERROR")
        .config("spark.local.dir", str(directory / "spark-local"))
        .config("spark.sql.warehouse.dir", str(directory / "delta"))
        .config("spark.sql.parquet.compression.codec", "zstd")
        .config("spark.sql.extensions", _EXTENSIONS if delta else _EXTENSIONS.split(",")[0])
        .config(f"spark.sql.catalog.{ICEBERG_CATALOG}", "org.apache.iceberg.spark.SparkCatalog")
        .config(f"spark.sql.catalog.{ICEBERG_CATALOG}.type", "hadoop")
        .config(f"spark.sql.catalog.{ICEBERG_CATALOG}.warehouse", str(directory / "iceberg"))
        .config(f"spark.sql.catalog.{ICEBERG_CATALOG}.cache-enabled", "false")
    )
    if delta:
        builder = builder.config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
        builder = builder.config("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    for key, value in settings.items():
        builder = builder.config(key.replace("__", "."), value)
    spark = configure_spark(builder, extra_packages=[*packages, *([_DELTA_PACKAGE] if delta else [])]).getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()
        shutil.rmtree(directory, ignore_errors=True)


def fingerprint(spark: SparkSession, table: str) -> tuple[int, int]:
    """Count and hash all rows of a table."""
    row = spark.sql(f"SELECT count(*), sum(cast(xxhash64(*) AS decimal(38, 0))) FROM {table}").collect()[0]
    return int(row[0]), int(row[1])


class Bench:
    """One set, ingested in every format."""

    def __init__(
        self, spark: SparkSession, of: BenchmarkSet, source: Path, scale: Scale, shape: Shape | None = None
    ) -> None:
        self.set = of
        self._spark = spark
        self._scale = scale
        self._source = source
        self._formats: dict[str, Format] = {}
        size = source.stat().st_size
        # Writers count a row group before it is encoded and compressed, at about two and a half times its final size.
        row_group = max(1 << 16, int(2.5 * size / scale.files / ROW_GROUPS_PER_FILE))
        self.shape = shape or Shape(scale.files, row_group)

    def format(self, name: str) -> Format:
        """Get a format, with the set ingested."""
        if name not in self._formats:
            of = formats(self._spark)[name]
            # Delta writes with Spark's Parquet writer, which takes these from Hadoop's configuration.
            hadoop = self._spark.sparkContext._jsc.hadoopConfiguration()
            hadoop.set("parquet.block.size", str(self.shape.row_group_bytes))
            hadoop.set("parquet.page.row.count.limit", str(self.shape.page_rows))
            split = math.ceil(self._source.stat().st_size / INPUT_FILES)
            self._spark.conf.set("spark.sql.files.maxPartitionBytes", str(split))
            self._spark.conf.set("spark.sql.files.openCostInBytes", "0")
            self._spark.read.parquet(str(self._source)).createOrReplaceTempView("source")
            of.ingest(self.set.name, "source", self.set.columns, self.shape)
            self._formats[name] = of
        return self._formats[name]

    def lay_out(self, layout: Layout) -> list[Path]:
        """Run a layout on the ingested table, without restoring it; returns its files."""
        of = self.format(layout.format)
        layout.run(self._spark, of.full_name(self.set.name), self.set.columns, self.target(of))
        return of.files(self.set.name)

    def target(self, of: Format) -> int:
        """Work out the file size that gives the wanted number of files."""
        return of.bytes(self.set.name) // self._scale.files + 1

    def restore(self, layout: Layout) -> None:
        """Go back to the ingested table."""
        self.format(layout.format).restore(self.set.name)

    def fingerprint(self, layout: Layout) -> tuple[int, int]:
        """Count and hash all rows."""
        return fingerprint(self._spark, self.format(layout.format).full_name(self.set.name))

    def drop(self) -> None:
        """Remove all tables."""
        for of in self._formats.values():
            of.drop(self.set.name)


def pruning(
    spark: SparkSession, sets: Sequence[BenchmarkSet], layouts: Sequence[Layout], scale: Scale, data: Path, say: Say
) -> Iterator[PruningResult]:
    """Measure the scan fractions of every layout on every set; a failure is a result too."""
    for of in sets:
        say(f"{of.name}: {of.about}")
        bench = Bench(spark, of, of.source(scale.rows, data), scale)
        table = pq.read_table(of.source(scale.rows, data), columns=list(of.columns))
        ranks = [Ranks.of(table[column]) for column in of.columns]
        places = [rank.places(comparable(table[column])) for rank, column in zip(ranks, of.columns, strict=True)]
        predicates = Predicates.drawn(places)
        yield _result(of, KD_TREE, _kd_tree_boxes(table, ranks, scale.files), predicates)
        rows = None
        for layout in layouts:
            try:
                files = bench.lay_out(layout)
                rows = rows or bench.fingerprint(layout)
                if bench.fingerprint(layout) != rows:
                    raise AssertionError(f"{layout.name} changed the rows")
                result = _result(of, layout.name, table_boxes(files, of.columns, ranks), predicates)
                say(f"  {layout.name:26} {result.line()}")
            except Exception as error:  # one tool's failure must not lose what the others did
                result = PruningResult(of.name, layout.name, error=f"{type(error).__name__}: {str(error)[:300]}")
                say(f"  {layout.name:26} failed: {result.error}")
            bench.restore(layout)
            yield result
        bench.drop()


def _result(of: BenchmarkSet, layout: str, boxes: TableBoxes | Boxes, predicates: Predicates) -> PruningResult:
    if isinstance(boxes, Boxes):
        return PruningResult(of.name, layout, files=boxes.lower.shape[1], by_files=scan_fractions(boxes, predicates))
    # Pages of different columns do not line up.
    single = Predicates(predicates.equality, predicates.ranges, ())
    return PruningResult(
        of.name,
        layout,
        files=boxes.files.lower.shape[1],
        rows=(min(boxes.rows), max(boxes.rows)),
        row_groups=boxes.row_groups.lower.shape[1],
        pages=boxes.pages.lower.shape[1],
        by_files=scan_fractions(boxes.files, predicates),
        by_row_groups=scan_fractions(boxes.row_groups, predicates),
        by_pages=scan_fractions(boxes.pages, single),
    )


def _kd_tree_boxes(table: pa.Table, ranks: Sequence[Ranks], files: int) -> Boxes:
    keys = []
    for name, rank in zip(table.column_names, ranks, strict=True):
        column = table[name].combine_chunks()
        valid = np.asarray(pc.invert(column.is_null(nan_is_null=True)))
        place = np.full(len(column), len(rank.values), np.int64)
        place[valid] = rank.places(comparable(column))
        keys.append(place)
    file = kd_tree_files(keys, files)
    order = np.argsort(file, kind="stable")
    starts = np.searchsorted(file[order], np.arange(files))
    sizes = np.diff(np.append(starts, len(order)))
    lower, upper = [], []
    for place, rank in zip(keys, ranks, strict=True):
        ordered = place[order]
        lower.append(np.minimum.reduceat(ordered, starts))
        # Rows without a value are in no file's bounds.
        upper.append(np.maximum.reduceat(np.where(ordered == len(rank.values), -1, ordered), starts))
    return Boxes(np.stack(lower), np.stack(upper), np.tile(sizes, (len(keys), 1)))


def costs(
    spark: SparkSession, sets: Sequence[BenchmarkSet], layouts: Sequence[Layout], scale: Scale, data: Path, say: Say
) -> Iterator[CostResult]:
    """Time every layout on some sets, one after the other in every round, after rounds to warm up."""
    for of in sets:
        bench = Bench(spark, of, of.source(scale.rows, data), scale)
        rows = pq.read_metadata(of.source(scale.rows, data)).num_rows
        files = dict.fromkeys((layout.name for layout in layouts), 0)
        found: dict[str, list[Cost]] = {layout.name: [] for layout in layouts}
        for repeat in range(1 - WARM_UP, scale.repeats + 1):
            say(f"{of.name}: round {repeat} of {scale.repeats}" + (" (warm-up)" if repeat < 1 else ""))
            for layout in layouts:
                bench.format(layout.format)
                cost = measured(spark, partial(bench.lay_out, layout))
                files[layout.name] = len(bench.format(layout.format).files(of.name))
                bench.restore(layout)
                if repeat > 0:
                    found[layout.name].append(cost)
        for layout in layouts:
            table_bytes = bench.format(layout.format).bytes(of.name)
            cost = _median(found[layout.name])
            result = CostResult(of.name, layout.name, rows, table_bytes, files[layout.name], cost)
            say(f"  {layout.name:26} {result.line()}")
            yield result
        bench.drop()


def file_boxes(
    spark: SparkSession, sets: Sequence[BenchmarkSet], layouts: Sequence[Layout], scale: Scale, data: Path
) -> Iterator[tuple[str, Boxes, tuple[int, ...]]]:
    """Lay out sets to look at: a title, the boxes of the files, and how many distinct values each column has."""
    for of in sets:
        source = of.source(scale.rows, data)
        bench = Bench(spark, of, source, scale)
        table = pq.read_table(source, columns=list(of.columns))
        ranks = [Ranks.of(table[column]) for column in of.columns]
        for layout in layouts:
            boxes = table_boxes(bench.lay_out(layout), of.columns, ranks).files
            bench.restore(layout)
            yield f"{of.name}: {layout.name}", boxes, tuple(len(rank.values) for rank in ranks)
        bench.drop()


def _median(runs: Sequence[Cost]) -> Cost:
    return Cost(
        cpu_seconds=median(run.cpu_seconds for run in runs),
        wall_seconds=median(run.wall_seconds for run in runs),
        read_bytes=int(median(run.read_bytes for run in runs)),
        shuffle_bytes=int(median(run.shuffle_bytes for run in runs)),
        spilled_bytes=int(median(run.spilled_bytes for run in runs)),
        peak_rss_bytes=int(median(run.peak_rss_bytes for run in runs)),
    )
