"""MERGE, UPDATE and DELETE by keys of a small source, with and without join pruning. ``make bench-merges``.

The target is TPC-H lineitem, clustered by two columns; every pair of statements starts from the same snapshot and must
leave the same rows.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer
from py4j.java_gateway import JavaObject
from pyiceberg.catalog.sql import SqlCatalog
from pyspark.sql import SparkSession

from benchmarks.cost import measured
from benchmarks.pages import head, how, table
from benchmarks.run import session
from benchmarks.scale import PACKAGES, SHARED_CATALOG, catalog_properties
from benchmarks.without_jvm import machine
from iceberg_zorder.spark import rewrite_data_files
from iceberg_zorder.spark.catalogs import spark_catalog
from quickstart.data import generate
from tests.spark.joins.differential import leaves_of

PAGE, FIGURES = Path("docs/benchmarks/merges.md"), Path("docs/benchmarks/merges.json")
TARGET = f"{SHARED_CATALOG}.db.target"
SETTING = "spark.iceberg-zorder.join-pruning"
ORDER = "zorder(l_shipdate, l_partkey)"
OPTIONS = {"rewrite-all": "true", "target-file-size-bytes": str(64 << 20)}
MODES = ("merge-on-read", "copy-on-write")
_FILES = 16

_KEYS = ("l_orderkey", "l_linenumber", "l_shipdate", "l_partkey")
_ON = " AND ".join(f"t.{each} = s.{each}" for each in _KEYS)
_MERGE = f"MERGE INTO {TARGET} t USING {{source}} s ON {_ON}"
_UPDATE, _INSERT = "WHEN MATCHED THEN UPDATE SET l_tax = s.l_tax + 0.01", "WHEN NOT MATCHED THEN INSERT *"
_ROWS = "(l_shipdate, l_partkey) IN (SELECT l_shipdate, l_partkey FROM {source})"
STATEMENTS = {
    "MERGE, upsert": f"{_MERGE} {_UPDATE} {_INSERT}",
    "MERGE, update": f"{_MERGE} {_UPDATE}",
    "MERGE, delete and insert": f"{_MERGE} WHEN MATCHED AND s.l_tax > 0.04 THEN DELETE {_INSERT}",
    "MERGE, insert": f"{_MERGE} {_INSERT}",
    "UPDATE IN": f"UPDATE {TARGET} SET l_tax = l_tax + 0.01 WHERE {_ROWS}",
    "DELETE EXISTS": f"DELETE FROM {TARGET} t WHERE EXISTS (SELECT 1 FROM {{source}} s WHERE {_ON})",
}
SHARES = (0.001, 0.01)
KINDS = {"days": "l_shipdate", "parts": "l_partkey", "scattered": "hash(l_orderkey, l_linenumber)"}
"""What the rows of a source have in common: neighbouring values of a column, or nothing."""

_ABOUT = """\
Statements that change a few rows of a clustered table need a few of its files. This page shows how many they read with
and without this project's jar, for people who run MERGE, UPDATE or DELETE in Spark."""
_HOW = """\
[merges.json](merges.json) has every run. The target is TPC-H lineitem, clustered by l_shipdate and l_partkey, in files
of 64 MiB. A source has a share of the target's rows, as Parquet: of neighbouring days, of neighbouring parts, or
scattered; one row in five is new. Each statement runs with `spark.iceberg-zorder.join-pruning` off and auto in turn,
from the same snapshot, and leaves the same rows. *Files* are those of the scan that looks for rows of the target.
*Bytes* are all that the process reads, without shuffles. Figures are medians, after one run of each to warm up."""


@dataclass(frozen=True)
class Run:
    """One statement in one setting."""

    mode: str
    statement: str
    source: str
    setting: str
    files: int
    read_bytes: int
    cpu_seconds: float
    wall_seconds: float
    rows: str


def cases(shares: tuple[float, ...]) -> list[tuple[str, str]]:
    """Return statements with their sources: each statement by days, and an upsert and a delete by each source."""
    first = f"days {shares[0]:.1%}"
    others = [f"{kind} {share:.1%}" for share in shares for kind in KINDS if f"{kind} {share:.1%}" != first]
    pairs = [(statement, first) for statement in STATEMENTS]
    return pairs + [(statement, source) for source in others for statement in ("MERGE, upsert", "DELETE EXISTS")]


def make(spark: SparkSession, directory: Path, scale_factor: float, shares: tuple[float, ...]) -> int:
    """Make the target and the sources; returns the target's files."""
    generate(directory / "lineitem", scale_factor=scale_factor, files=_FILES)
    spark.read.parquet(str(directory / "lineitem")).createOrReplaceTempView("generated")
    properties = "'write.distribution-mode' = 'none'"
    spark.sql(f"CREATE TABLE {TARGET} USING iceberg TBLPROPERTIES ({properties}) AS SELECT * FROM generated")
    rewrite_data_files(spark, TARGET, ORDER, options=OPTIONS)
    rows = spark.table(TARGET).count()
    columns = ", ".join(each for each in spark.table(TARGET).columns if each != "l_linenumber")
    for kind, column in KINDS.items():
        for share in shares:
            condition = f"pmod({column}, {round(1 / share)}) = 0"
            if kind != "scattered":
                # In the middle of the column's values.
                start = spark.sql(f"SELECT percentile_approx({column}, 0.5, 10000) FROM {TARGET}").collect()[0][0]
                condition = f"{column} >= '{start}'" if kind == "days" else f"{column} >= {start}"
            place = f"row_number() OVER (ORDER BY {column}, l_orderkey, l_linenumber) AS place"
            chosen = f"SELECT *, {place} FROM {TARGET} WHERE {condition}"
            number = "IF(place % 5 = 0, -l_linenumber, l_linenumber) AS l_linenumber"
            found = spark.sql(f"SELECT {columns}, {number} FROM ({chosen}) WHERE place <= {int(rows * share)}")
            found.select(spark.table(TARGET).columns).write.parquet(str(directory / f"{kind} {share:.1%}"))
    return int(spark.sql(f"SELECT count(*) FROM {TARGET}.files").collect()[0][0])


def run(spark: SparkSession, directory: Path, mode: str, statement: str, source: str, setting: str, start: int) -> Run:
    """Run a statement from the first snapshot."""
    spark.sql(f"CALL {SHARED_CATALOG}.system.set_current_snapshot('db.target', {start})")
    modes = ", ".join(f"'write.{each}.mode' = '{mode}'" for each in ("merge", "update", "delete"))
    spark.sql(f"ALTER TABLE {TARGET} SET TBLPROPERTIES ({modes})")
    spark.read.parquet(str(directory / source)).createOrReplaceTempView("source")
    spark.conf.set(SETTING, setting)
    plans: list[JavaObject] = []

    def execute() -> None:
        done = spark.sql(STATEMENTS[statement].format(source="source"))
        plans.append(done._jdf.queryExecution().executedPlan())

    cost = measured(spark, execute)
    files = max(files_of(plans[0]))
    left = spark.sql(f"SELECT count(*), sum(cast(xxhash64(*) AS decimal(38))) FROM {TARGET}").collect()[0]
    return Run(mode, statement, source, setting, files, cost.read_bytes, cost.cpu_seconds, cost.wall_seconds, str(left))


def files_of(plan: JavaObject) -> Iterator[int]:
    """How many files the scans of a statement read that look for rows of the target."""
    for scan in leaves_of(plan):
        # The scan of the files that copy-on-write replaces looks for nothing: it has a search.
        replaces = scan.scan().getClass().getSimpleName() == "SparkCopyOnWriteScan"
        if str(scan.table().name()).endswith(".target") and not replaces:
            yield int(scan.metrics().get("resultDataFiles").get().value())


def page(figures: Mapping[str, Any]) -> str:
    """Write the page of the figures."""
    rows = []
    for mode, statement, source in dict.fromkeys(
        (each["mode"], each["statement"], each["source"]) for each in figures["runs"]
    ):
        of = {
            setting: [
                each
                for each in figures["runs"]
                if (each["mode"], each["statement"], each["source"], each["setting"])
                == (mode, statement, source, setting)
            ]
            for setting in ("off", "auto")
        }

        def middle(what: str, setting: str, of: dict[str, list[dict[str, Any]]] = of) -> float:
            return float(median(each[what] for each in of[setting]))

        ratios = [
            f"{middle(what, 'auto') / middle(what, 'off'):.2f}x"
            for what in ("read_bytes", "cpu_seconds", "wall_seconds")
        ]
        sizes = [f"{middle('read_bytes', setting) / 1e6:,.0f}" for setting in ("off", "auto")]
        files = [f"{middle('files', setting):.0f}" for setting in ("off", "auto")]
        rows.append([mode, statement, source, *files, *sizes, *ratios])
    header = ("mode", "statement", "source", "files off", "files auto", "MB off", "MB auto", "bytes", "CPU", "wall")
    lines = [
        *head("Statements that change few rows", _ABOUT),
        "",
        *table(header, rows, texts=3),
        *how("make bench-merges", figures["machine"], f"{_HOW} The target has {figures['files']} files."),
    ]
    return "\n".join([*lines, ""])


def main(
    scale_factor: Annotated[float, typer.Option(help="Of TPC-H; 13 gives about 2 GB.")] = 13,
    repeats: Annotated[int, typer.Option(help="Timed pairs of each statement.")] = 1,
    only: Annotated[str, typer.Option(help="Statements whose names contain this.")] = "",
    write: Annotated[bool, typer.Option(help="Write the page.")] = True,
) -> None:
    """Measure all, and write the page."""
    runs: list[Run] = []
    with tempfile.TemporaryDirectory(prefix="iceberg-zorder-merges-") as name:
        directory = Path(name)
        properties = catalog_properties(directory)
        SqlCatalog(SHARED_CATALOG, **properties).create_namespace("db")
        settings = spark_catalog(SHARED_CATALOG, properties).settings
        with session(directory / "spark", memory="6g", delta=False, packages=PACKAGES, **settings) as spark:
            files = make(spark, directory, scale_factor, SHARES)
            start = spark.sql(f"SELECT snapshot_id FROM {TARGET}.snapshots ORDER BY committed_at DESC").collect()[0][0]
            is_warm = False
            for mode in MODES:
                for statement, source in cases(SHARES):
                    if only not in statement:
                        continue
                    for turn in range(repeats + (not is_warm)):
                        pair = [run(spark, directory, mode, statement, source, each, start) for each in ("off", "auto")]
                        if pair[0].rows != pair[1].rows:
                            raise RuntimeError(
                                f"{mode}, {statement} by {source}: {pair[0].rows} rows became {pair[1].rows}"
                            )
                        if is_warm or turn:
                            runs += pair
                            typer.echo("\n".join(json.dumps(asdict(each)) for each in pair))
                    is_warm = True
    figures = {"machine": machine("pyspark"), "files": files, "runs": [asdict(each) for each in runs]}
    if write:
        FIGURES.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
        PAGE.write_text(page(figures), encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
