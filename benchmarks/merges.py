"""Statements that change few rows, with and without join pruning, and Delta's MERGE: ``make bench-merges``.

The target is TPC-H lineitem, clustered by two columns; a statement starts from the same snapshot in every setting and
must leave the same rows.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
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
COLUMNS = "l_shipdate, l_partkey"
FILE_BYTES = 64 << 20
MODES = ("merge-on-read", "copy-on-write")
DELTA = "Delta"
_FILES = 16

_KEYS = ("l_orderkey", "l_linenumber", "l_shipdate", "l_partkey")
_ON = " AND ".join(f"t.{each} = s.{each}" for each in _KEYS)
_MERGE = f"MERGE INTO {{target}} t USING {{source}} s ON {_ON}"
_UPDATE, _INSERT = "WHEN MATCHED THEN UPDATE SET l_tax = s.l_tax + 0.01", "WHEN NOT MATCHED THEN INSERT *"
_ROWS = "(l_shipdate, l_partkey) IN (SELECT l_shipdate, l_partkey FROM {source})"
STATEMENTS = {
    "MERGE, upsert": f"{_MERGE} {_UPDATE} {_INSERT}",
    "MERGE, update": f"{_MERGE} {_UPDATE}",
    "MERGE, delete and insert": f"{_MERGE} WHEN MATCHED AND s.l_tax > 0.04 THEN DELETE {_INSERT}",
    "MERGE, insert": f"{_MERGE} {_INSERT}",
    "UPDATE IN": f"UPDATE {{target}} SET l_tax = l_tax + 0.01 WHERE {_ROWS}",
    "DELETE EXISTS": f"DELETE FROM {{target}} t WHERE EXISTS (SELECT 1 FROM {{source}} s WHERE {_ON})",
}
SHARES = (0.001, 0.01)
KINDS = {"days": "l_shipdate", "parts": "l_partkey", "scattered": "hash(l_orderkey, l_linenumber)"}
"""What the rows of a source have in common: neighbouring values of a column, or nothing."""

_ABOUT = """\
Statements that change a few rows of a clustered table need a few of its files. This page shows how many they read with
and without this project's jar, and what Delta's MERGE reads, for people who run MERGE, UPDATE or DELETE in Spark."""
_HOW = """\
[merges.json](merges.json) has every run. The target is TPC-H lineitem, clustered by l_shipdate and l_partkey, in files
of 64 MiB. A source has a share of the target's rows, as Parquet: of neighbouring days, of neighbouring parts, or
scattered; one row in five is new. Each statement runs with `spark.iceberg-zorder.join-pruning` off and auto in turn,
from the same snapshot, and leaves the same rows. *Files* are those of the scan that looks for rows of the target.
*Bytes* are all that the process reads, without shuffles. Figures are medians, after one run of each to warm up.
Delta's table has the same rows, in liquid clustering by the same columns and files of 64 MiB; *merge-on-read* is with
its deletion vectors, *copy-on-write* without. Delta's UPDATE and DELETE take no subqueries of two columns."""


@dataclass(frozen=True)
class Run:
    """One statement in one setting: of join pruning, or by Delta, whose files are not counted."""

    mode: str
    statement: str
    source: str
    setting: str
    files: int | None
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
    """Make the targets and the sources; returns the files of Iceberg's target."""
    generate(directory / "lineitem", scale_factor=scale_factor, files=_FILES)
    spark.read.parquet(str(directory / "lineitem")).createOrReplaceTempView("generated")
    properties = "'write.distribution-mode' = 'none'"
    spark.sql(f"CREATE TABLE {TARGET} USING iceberg TBLPROPERTIES ({properties}) AS SELECT * FROM generated")
    options = {"rewrite-all": "true", "target-file-size-bytes": str(FILE_BYTES)}
    rewrite_data_files(spark, TARGET, f"zorder({COLUMNS})", options=options)
    _make_sources(spark, directory, shares)
    target = delta_target(directory)
    spark.sql(f"CREATE TABLE {target} USING delta CLUSTER BY ({COLUMNS}) AS SELECT * FROM generated")
    # Without the property the table's protocol has no vectors, and no statement could switch them on.
    spark.sql(f"ALTER TABLE {target} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    spark.conf.set("spark.databricks.delta.optimize.maxFileSize", str(FILE_BYTES))
    spark.sql(f"OPTIMIZE {target} FULL").collect()
    return int(spark.sql(f"SELECT count(*) FROM {TARGET}.files").collect()[0][0])


def _make_sources(spark: SparkSession, directory: Path, shares: tuple[float, ...]) -> None:
    rows = spark.table(TARGET).count()
    columns = ", ".join(each for each in spark.table(TARGET).columns if each != "l_linenumber")
    for kind, column in KINDS.items():
        for share in shares:
            condition = f"pmod({column}, {round(1 / share)}) = 0"
            if kind != "scattered":
                # In the middle of the column's values.
                start = spark.sql(f"SELECT percentile_approx({column}, 0.5, 10000) FROM {TARGET}").collect()[0][0]
                condition = f"{column} >= '{start}'" if kind == "days" else f"{column} >= {start}"
            order = f"{column}, l_orderkey, l_linenumber"
            # The window has all rows in one task: only as many as the source takes.
            chosen = f"SELECT * FROM {TARGET} WHERE {condition} ORDER BY {order} LIMIT {int(rows * share)}"
            placed = f"SELECT *, row_number() OVER (ORDER BY {order}) AS place FROM ({chosen})"
            number = "IF(place % 5 = 0, -l_linenumber, l_linenumber) AS l_linenumber"
            found = spark.sql(f"SELECT {columns}, {number} FROM ({placed})")
            found.select(spark.table(TARGET).columns).write.parquet(str(directory / f"{kind} {share:.1%}"))


def delta_target(directory: Path) -> str:
    """Return the name of Delta's target in SQL."""
    return f"delta.`{directory}/delta target`"


def begin(spark: SparkSession, target: str, mode: str, start: int) -> None:
    """Go back to the target's first rows, and have statements write by a mode."""
    if target == TARGET:
        spark.sql(f"CALL {SHARED_CATALOG}.system.set_current_snapshot('db.target', {start})")
        properties = ", ".join(f"'write.{each}.mode' = '{mode}'" for each in ("merge", "update", "delete"))
    else:
        spark.sql(f"RESTORE TABLE {target} TO VERSION AS OF {start}").collect()
        properties = f"'delta.enableDeletionVectors' = '{str(mode == MODES[0]).lower()}'"
    spark.sql(f"ALTER TABLE {target} SET TBLPROPERTIES ({properties})")


def run(spark: SparkSession, directory: Path, mode: str, statement: str, source: str, setting: str, start: int) -> Run:
    """Run a statement from the first rows."""
    target = delta_target(directory) if setting == DELTA else TARGET
    begin(spark, target, mode, start)
    spark.read.parquet(str(directory / source)).createOrReplaceTempView("source")
    spark.conf.set(SETTING, "off" if setting == DELTA else setting)
    plans: list[JavaObject] = []

    def execute() -> None:
        done = spark.sql(STATEMENTS[statement].format(target=target, source="source"))
        plans.append(done._jdf.queryExecution().executedPlan())

    cost = measured(spark, execute)
    files = max(files_of(plans[0])) if target == TARGET else None
    left = spark.sql(f"SELECT count(*), bit_xor(xxhash64(*)) FROM {target}").collect()[0]
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
    runs: dict[tuple[str, ...], dict[str, list[dict[str, Any]]]] = {}
    for each in figures["runs"]:
        of = runs.setdefault((each["mode"], each["statement"], each["source"]), {})
        of.setdefault(each["setting"], []).append(each)
    lines = [
        *head("Statements that change few rows", _ABOUT),
        "",
        *table(
            ("mode", "statement", "source", "files off", "auto", "MB off", "auto", "bytes", "CPU", "wall"),
            [[*case, *_beside(of["off"], of["auto"])] for case, of in runs.items()],
            texts=3,
        ),
        "",
        "## Beside Delta",
        "",
        *table(
            ("mode", "statement", "source", "MB ours", "Delta", "CPU s ours", "Delta", "wall s ours", "Delta"),
            [[*case, *_beside_delta(of["auto"], of[DELTA])] for case, of in runs.items() if DELTA in of],
            texts=3,
        ),
        *how("make bench-merges", figures["machine"], f"{_HOW} The target has {figures['files']} files."),
    ]
    return "\n".join([*lines, ""])


def _middle(runs: Sequence[Mapping[str, Any]], what: str) -> float:
    return float(median(each[what] for each in runs))


def _beside(off: Sequence[Mapping[str, Any]], auto: Sequence[Mapping[str, Any]]) -> list[str]:
    files = [f"{_middle(each, 'files'):.0f}" for each in (off, auto)]
    sizes = [f"{_middle(each, 'read_bytes') / 1e6:,.0f}" for each in (off, auto)]
    costs = ("read_bytes", "cpu_seconds", "wall_seconds")
    return [*files, *sizes, *(f"{_middle(auto, what) / _middle(off, what):.2f}x" for what in costs)]


def _beside_delta(ours: Sequence[Mapping[str, Any]], delta: Sequence[Mapping[str, Any]]) -> list[str]:
    sizes = [f"{_middle(each, 'read_bytes') / 1e6:,.0f}" for each in (ours, delta)]
    return sizes + [f"{_middle(each, what):.1f}" for what in ("cpu_seconds", "wall_seconds") for each in (ours, delta)]


def main(
    scale_factor: Annotated[float, typer.Option(help="Of TPC-H; 13 gives about 2 GB.")] = 13,
    repeats: Annotated[int, typer.Option(help="Timed runs of each statement in each setting.")] = 1,
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
        with session(directory / "spark", memory="6g", delta=True, packages=PACKAGES, **settings) as spark:
            files = make(spark, directory, scale_factor, SHARES)
            newest = spark.sql(f"SELECT snapshot_id FROM {TARGET}.snapshots ORDER BY committed_at DESC").collect()[0][0]
            version = spark.sql(f"DESCRIBE HISTORY {delta_target(directory)} LIMIT 1").collect()[0]["version"]
            chosen = [(mode, *case) for mode in MODES for case in cases(SHARES) if only in case[0]]
            for turn, (mode, statement, source) in enumerate([chosen[0], *chosen * repeats]):
                both = {"off": newest, "auto": newest} | ({DELTA: version} if statement.startswith("MERGE") else {})
                done = [run(spark, directory, mode, statement, source, *each) for each in both.items()]
                if len({each.rows for each in done}) > 1:
                    raise RuntimeError(f"{mode}, {statement} by {source} leaves different rows: {done}")
                if turn:  # The first is to warm up.
                    runs += done
                    typer.echo("\n".join(json.dumps(asdict(each)) for each in done))
    figures = {"machine": machine("pyspark"), "files": files, "runs": [asdict(each) for each in runs]}
    if write:
        FIGURES.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
        PAGE.write_text(page(figures), encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
