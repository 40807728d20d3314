"""What it costs that others delete rows during a rewrite: seconds and bytes of translations. ``make bench-deletes``.

Each rewrite is of a new table of TPC-H lineitem, whole, in files of 64 MiB. While it writes, Spark deletes a share of
the rows by merge-on-read.
"""

from __future__ import annotations

import json
import re
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from pyiceberg.catalog.sql import SqlCatalog
from pyspark.sql import SparkSession

from benchmarks.pages import head, how, paragraph, table
from benchmarks.run import session
from benchmarks.scale import PACKAGES, SHARED_CATALOG, catalog_properties
from benchmarks.without_jvm import machine
from iceberg_zorder.pyiceberg import rewrite_data_files as rewrite_with_pyiceberg
from iceberg_zorder.spark import rewrite_data_files
from iceberg_zorder.spark.catalogs import spark_catalog
from quickstart.data import generate
from quickstart.measure import bytes_read_so_far

PAGE, FIGURES = Path("docs/benchmarks/deletes.md"), Path("docs/benchmarks/deletes.json")
ENGINES = (("spark", 3), ("spark", 2), ("pyiceberg", 2))
SHARES = (0.0, 0.0001, 0.001, 0.01)
ORDER = "zorder(l_shipdate, l_partkey)"
OPTIONS = {"rewrite-all": "true", "target-file-size-bytes": str(64 << 20)}
_FILES = 16
_EVERY = 0.1
_ABOUT = """\
A rewrite deletes from its new files what others delete from the old ones meanwhile. This page shows what that costs,
for owners of tables that are never at rest."""
_HOW = """\
[deletes.json](deletes.json) has every figure. The table is TPC-H lineitem, rewritten whole, in files of 64 MiB. A
statement of Spark deletes random rows by merge-on-read while the rewrite writes. *Rewrite* is the time without what
the translation takes. *Bytes* are what the process reads during the translation, as a share of the table's."""


_RACES = """\
A process deletes 20 random rows every 5 seconds, while another rewrites the whole table again and again. `make
test-races` runs these races beside a catalog in PostgreSQL, and compares the rows of every snapshot with what the
writer remembers: all were right. Other work ran on the machine meanwhile, so that rewrites took longer."""
_RACE_HEADER = ("rewrites by", "rows", "committed", "each took s", "rows translated", "deletes", "tried again")


@dataclass(frozen=True)
class Run:
    """A rewrite beside a statement that deletes a share of the rows."""

    engine: str
    version: int
    share: float
    table_bytes: int
    rows: int
    translated: int
    seconds: float
    translation_seconds: float
    translation_bytes: int


class _Reads:
    """What this process and Spark's have read, over time."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._seen: list[tuple[float, int]] = []
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _watch(self) -> None:
        while not self._is_over.wait(_EVERY):
            here = re.search("rchar: ([0-9]+)", Path("/proc/self/io").read_text(encoding="ascii"))
            self._seen.append((time.monotonic(), int(here[1] if here else 0) + (bytes_read_so_far(self._spark) or 0)))

    def in_last(self, seconds: float) -> int:
        """Stop, and return what was read in the last seconds."""
        self._is_over.set()
        self._thread.join()
        start = self._seen[-1][0] - seconds
        return self._seen[-1][1] - next(read for at, read in self._seen if at >= start)


def run(spark: SparkSession, directory: Path, source: Path, engine: str, version: int, share: float) -> Run:
    """Make a table, rewrite it beside a statement that deletes, and drop it."""
    name = f"{SHARED_CATALOG}.db.t"
    modes = ", ".join(f"'write.{kind}.mode' = 'merge-on-read'" for kind in ("delete", "update", "merge"))
    properties = f"'format-version' = '{version}', 'write.distribution-mode' = 'none', {modes}"
    spark.read.parquet(str(source)).createOrReplaceTempView("generated")
    spark.sql(f"CREATE TABLE {name} USING iceberg TBLPROPERTIES ({properties}) AS SELECT * FROM generated")
    size, rows = spark.sql(f"SELECT sum(file_size_in_bytes), sum(record_count) FROM {name}.files").collect()[0]
    begun = time.monotonic()
    deletes = threading.Thread(target=_delete, args=(spark, name, share, begun))
    deletes.start()
    reads = _Reads(spark)
    if engine == "spark":
        result = rewrite_data_files(spark, name, ORDER, options=OPTIONS)
    else:
        table = SqlCatalog(SHARED_CATALOG, **catalog_properties(directory)).load_table("db.t")
        result = rewrite_with_pyiceberg(table, ORDER, options=OPTIONS)
    seconds = time.monotonic() - begun
    took = re.search(r"which took ([0-9.]+) seconds", result.message or "")
    translation = float(took[1]) if took else 0.0
    # A translation is the last thing that a rewrite does before it commits.
    read = reads.in_last(translation)
    deletes.join()
    if bool(share) != bool(result.translated_deletes):
        raise RuntimeError(f"the rewrite was not disturbed as it should have been: {result.message}")
    spark.sql(f"DROP TABLE {name} PURGE")
    return Run(
        engine, version, share, size, rows, result.translated_deletes, seconds, translation, read if translation else 0
    )


def _delete(spark: SparkSession, name: str, share: float, begun: float) -> None:
    """Delete random rows once the rewrite has read its starting snapshot, beside its own jobs."""
    if share:
        time.sleep(max(0.0, begun + 5 - time.monotonic()))
        spark.sparkContext.setLocalProperty("spark.scheduler.pool", "writer")
        spark.sql(f"DELETE FROM {name} WHERE abs(xxhash64(l_orderkey, l_linenumber)) % 1000000 < {share * 1e6}")


def _race(race: dict[str, Any]) -> list[str]:
    return [
        f"{race['engine']}, version {race['version']}",
        f"{race['rows'] / 1e6:.0f} M",
        f"{race['committed']} of {race['rewrites']}",
        f"{race['least_seconds']} to {race['most_seconds']}",
        f"{race['translated']:,}",
        str(race["deletes"]),
        str(race["retries"]),
    ]


def page(figures: dict[str, Any]) -> str:
    """Write the page of the figures."""
    rows = []
    for each in figures["runs"]:
        rewrite = each["seconds"] - each["translation_seconds"]
        rows.append(
            [
                f"{each['engine']}, version {each['version']}",
                f"{each['share']:.2%}",
                f"{each['translated']:,}",
                f"{rewrite:.1f}",
                f"{each['translation_seconds']:.1f}",
                f"{each['translation_seconds'] / rewrite:.1%}",
                f"{each['translation_bytes'] / each['table_bytes']:.1%}",
            ]
        )
    header = ("engine", "rows deleted", "translated", "rewrite s", "translation s", "of the rewrite", "bytes")
    size = figures["runs"][0]["table_bytes"] / 1e6
    lines = [
        *head("Deletes during a rewrite", _ABOUT),
        "",
        *table(header, rows),
        "",
        "## Beside a writer that never stops",
        "",
        *paragraph(_RACES),
        "",
        *table(_RACE_HEADER, [_race(each) for each in figures["races"]], texts=1),
        *how("make bench-deletes", figures["machine"], f"{_HOW} The table has {size:,.0f} MB."),
    ]
    return "\n".join([*lines, ""])


def main(
    scale_factor: Annotated[float, typer.Option(help="Of TPC-H; 6 gives about 1 GB.")] = 6,
    only: Annotated[str, typer.Option(help="Engines with versions: spark-3,spark-2,pyiceberg-2")] = "",
    shares: Annotated[str, typer.Option(help="Shares of the rows that are deleted.")] = ",".join(map(str, SHARES)),
    write: Annotated[bool, typer.Option(help="Write the page.")] = True,
) -> None:
    """Measure all, and write the page."""
    wanted = [tuple(each.split("-")) for each in only.split(",") if each] or [(each, str(v)) for each, v in ENGINES]
    runs: list[Run] = []
    with tempfile.TemporaryDirectory(prefix="iceberg-zorder-deletes-") as name:
        directory = Path(name)
        source = directory / "lineitem"
        generate(source, scale_factor=scale_factor, files=_FILES)
        settings = spark_catalog(SHARED_CATALOG, catalog_properties(directory)).settings
        SqlCatalog(SHARED_CATALOG, **catalog_properties(directory)).create_namespace("db")
        fair = {"spark.scheduler.mode": "FAIR", f"spark.sql.catalog.{SHARED_CATALOG}.cache-enabled": "false"}
        given = {key.replace(".", "__"): value for key, value in {**settings, **fair}.items()}
        with session(directory / "spark", memory="6g", delta=False, packages=PACKAGES, **given) as spark:
            for engine, version in wanted:
                for share in map(float, shares.split(",")):
                    runs.append(run(spark, directory, source, engine, int(version), share))
                    typer.echo(json.dumps(asdict(runs[-1])))
    races = json.loads(FIGURES.read_text(encoding="utf-8"))["races"]
    figures = {"machine": machine(), "runs": [asdict(each) for each in runs], "races": races}
    if write:
        FIGURES.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
        PAGE.write_text(page(figures), encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
