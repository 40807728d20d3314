"""Keep tables that grow, by every system: ``make bench-upkeep``.

A table is clustered by the system's own rewrite of everything, and then grows twenty times, by 2% (or, for upserts, by
a merge of 1%), each time followed by what the system offers for upkeep. Counts and bytes are taken, no seconds: what is
rewritten, how many files there are, and what filters read, by the bounds in the metadata. A run that was interrupted,
or was given ``--seconds``, goes on where it was.
"""

from __future__ import annotations

import logging
import shutil
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from pyspark.sql import SparkSession

from benchmarks.run import session
from benchmarks.scale import PACKAGES, SHARED_CATALOG, catalog_properties
from benchmarks.upkeep.figures import DELTA, ICEBERG, OURS, OURS_PYICEBERG, Figures, History
from benchmarks.upkeep.histories import Lead
from benchmarks.upkeep.page import render
from benchmarks.upkeep.rows import GROWING, Growing
from benchmarks.upkeep.systems import DeltaLiquid, IcebergSort, Ours, OursPyIceberg, System
from benchmarks.without_jvm import machine
from iceberg_zorder.spark.catalogs import spark_catalog

DATA = Path("benchmark-data")
FIGURES = Path("docs/benchmarks/upkeep.json")
FILES = 64
SYSTEMS = {"ours": OURS, "iceberg": ICEBERG, "delta": DELTA}
ENGINES = {"spark": OURS, "pyiceberg": OURS_PYICEBERG}


def system(spark: SparkSession, name: str, of: Growing, target_bytes: int, home: Path) -> System:
    """Make a system by its name in figures."""
    if name == DELTA:
        return DeltaLiquid(spark, of, target_bytes, home / "delta")
    of_iceberg = {each.name: each for each in (Ours, OursPyIceberg, IcebergSort)}
    return of_iceberg[name](spark, of, target_bytes, catalog_properties(home))


def run(figures: Figures, home: Path, wanted: list[tuple[Growing, str]], seconds: float) -> bool:
    """Lead every table that is wanted through its history; tells whether all came to their ends."""
    until = time.monotonic() + seconds
    settings: dict[str, Any] = dict(spark_catalog(SHARED_CATALOG, catalog_properties(home)).settings)
    # By default 50 tasks look at a log of a few hundred files.
    settings["spark.databricks.delta.snapshotPartitions"] = "2"
    with (
        tempfile.TemporaryDirectory(prefix="iceberg-zorder-bench-") as directory,
        session(Path(directory), memory="6g", packages=PACKAGES[:1], **settings) as spark,
    ):
        figures.environment = f"{machine('pyspark')}, {spark.conf.get('spark.jars.packages')}"
        for of, name in wanted:
            history = figures.of(of.name, name)
            if history is None:
                history = History(of.name, name, figures.bytes // FILES)
                figures.histories.append(history)
            if len(history.steps) > figures.steps:
                continue
            parts = of.parts(figures.bytes, figures.steps, home / "rows")
            lead = Lead(system(spark, name, of, history.target_bytes, home), history, parts, figures.steps)
            if not lead.go(until, lambda: figures.write(home / "figures.json"), typer.echo):
                return False
    return True


def main(
    table_bytes: Annotated[int, typer.Option("--bytes", help="Of each table before it grows, about.")] = 2 << 30,
    appends: Annotated[int, typer.Option(help="How often each table grows.")] = 20,
    sets: Annotated[list[str] | None, typer.Option(help="Some of events, lineitem, calls, upserts.")] = None,
    systems: Annotated[list[str] | None, typer.Option(help="Some of ours, iceberg, delta.")] = None,
    engine: Annotated[str, typer.Option(help="Of ours: spark or pyiceberg.")] = "spark",
    seconds: Annotated[float, typer.Option(help="No step is begun after so long.")] = float("inf"),
    only_render: Annotated[bool, typer.Option("--render", help="Only write the page and the picture.")] = False,
    write_page: Annotated[bool, typer.Option("--page/--no-page", help="Whether to write under docs.")] = True,
) -> None:
    """Measure, and write the page."""
    for given, known in ((sets, [of.name for of in GROWING]), (systems, list(SYSTEMS)), ([engine], list(ENGINES))):
        if unknown := set(given or ()) - set(known):
            raise typer.BadParameter(f"unknown are {', '.join(sorted(unknown))}; known are {', '.join(known)}")
    home = (DATA / f"upkeep-{table_bytes}-{appends}").resolve()
    found = home / "figures.json"
    if not only_render:
        logging.getLogger("iceberg_zorder").setLevel(logging.ERROR)
        home.mkdir(parents=True, exist_ok=True)
        figures = Figures.read(found) if found.exists() else Figures(table_bytes, appends, "")
        names = {**SYSTEMS, "ours": ENGINES[engine]}
        wanted = [
            (of, names[name])
            for of in GROWING
            if sets is None or of.name in sets
            for name in systems or SYSTEMS
            # Merges are shown of what leaves position deletes.
            if not (of.merges and name == "delta")
        ]
        if not run(figures, home, wanted, seconds):
            typer.echo("There is more to do: run this again.")
    if found.exists() and write_page:
        shutil.copy(found, FIGURES)
    if only_render or write_page:
        typer.echo(render(Figures.read(FIGURES)))


if __name__ == "__main__":
    typer.run(main)
