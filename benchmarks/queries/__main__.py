"""The queries themselves, by bytes and by the clock, on the same tables in several layouts: ``make bench-queries``.

Every set on every engine at every scale is a run of its own, so that they can be measured one at a time. It takes the
place of an earlier one in the figures if it has all of its layouts. Exit codes: 0 done, 1 results differ between
layouts, 2 wrong usage.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.queries.engines import SparkEngine, duck_engine, spark_session
from benchmarks.queries.measure import measured, slowed_by_joins
from benchmarks.queries.page import page, replaces
from benchmarks.queries.sets import SETS
from benchmarks.queries.tables import TIMED_SEED, Tables, layouts
from benchmarks.without_jvm import machine

PAGE, FIGURES = Path("docs/benchmarks/queries.md"), Path("docs/benchmarks/queries.json")
DATA = Path("benchmark-data")
ENGINES = ("duckdb", "spark")
AGAIN = 3
"""Rounds of queries that joins made slower in a single round, which says little about one query."""
_PACKAGES = ("pyspark", "duckdb_extension_iceberg")
NAMES = [of.name for of in SETS]


def run(
    tables: Tables, engine: str, chosen: Sequence[str], rounds: int, threads: int, only: Sequence[str] = ()
) -> dict[str, Any]:
    """Measure a set on an engine; layouts that are missing are made before, by Spark.

    Parameters
    ----------
    tables : Tables
        The set.
    engine : str
        One of :data:`ENGINES`.
    chosen : sequence of str
        The layouts.
    rounds : int
        Rounds that are timed.
    threads : int
        Threads of the engine.
    only : sequence of str
        Names of the queries that are timed; all if none.
    """
    drawn = tables.of.queries(TIMED_SEED, tables.scale)
    timed = only or list(drawn)
    is_missing = any(layout not in tables.made for layout in chosen)
    with tempfile.TemporaryDirectory(prefix="iceberg-zorder-bench-") as scratch:
        starts_spark = engine == "spark" or is_missing
        with spark_session(tables, threads, Path(scratch)) if starts_spark else nullcontext() as spark:
            if spark is not None:
                tables.make(spark, chosen, typer.echo)
            typer.echo(f"{tables.of.title} on {engine}")
            if engine == "spark":
                assert spark is not None
                on_spark = SparkEngine(spark)
                variants = on_spark.variants(chosen)
                found = measured(on_spark, drawn, chosen, rounds, typer.echo, timed)
                slower = slowed_by_joins(found, variants[0]) if rounds == 1 else ()
                again = measured(on_spark, {name: drawn[name] for name in slower}, chosen, AGAIN, typer.echo)
        if engine == "duckdb":
            again = []
            with duck_engine(tables, threads) as duck:
                variants = duck.variants(chosen)
                found = measured(duck, drawn, chosen, rounds, typer.echo, timed)
    return {
        "set": tables.of.name,
        "engine": engine,
        "scale": tables.scale,
        "rounds": rounds,
        "threads": threads,
        # Others may work on the machine meanwhile, and a load above its cores tells of it.
        "machine": f"{machine(*_PACKAGES)}, Iceberg 1.12.0; load average over 15 minutes {os.getloadavg()[2]:.1f}",
        "layouts": chosen,
        "variants": variants,
        "by": {layout: tables.made[layout] for layout in chosen},
        "tables": {layout: tables.sizes(layout) for layout in chosen},
        "filtered": tables.filtered(drawn),
        "queries": [asdict(each) for each in found],
        "again": [asdict(each) for each in again],
    }


def main(
    scale: Annotated[float, typer.Option(min=0.01, help="Scale factor.")] = 5.0,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds that are timed.")] = 3,
    engines: Annotated[str, typer.Option(help="Engines, by commas.")] = ",".join(ENGINES),
    sets: Annotated[str, typer.Option(help="Sets, by commas.")] = ",".join(NAMES),
    chosen: Annotated[str, typer.Option("--layouts", help="Layouts, by commas; all of an engine if none.")] = "",
    files: Annotated[int, typer.Option(min=2, help="Files of the largest table; the others' are as large.")] = 64,
    threads: Annotated[int, typer.Option(min=1, help="Threads of the engine.")] = 2,
    timed: Annotated[str, typer.Option(help="Names of the queries to time, by commas; all if none.")] = "",
    show: Annotated[bool, typer.Option("--show", help="Write nothing under docs.")] = False,
    to: Annotated[Path | None, typer.Option(help="A file for the figures of these runs; nothing under docs.")] = None,
    only_advise: Annotated[
        bool, typer.Option("--advise", help="Only ask advise about the tables, and write the page.")
    ] = False,
    again: Annotated[bool, typer.Option("--page", help="Only write the page, from the figures there are.")] = False,
) -> None:
    """Measure, and write the page."""
    logging.getLogger("iceberg_zorder").setLevel(logging.ERROR)
    if again:
        PAGE.write_text(page(json.loads(FIGURES.read_text())))
        return
    DATA.mkdir(exist_ok=True)
    found = []
    for of in _named(sets, {each.name: each for each in SETS}):
        for engine in _named(engines, {engine: engine for engine in ENGINES}):
            tables = Tables(of, scale, DATA, files)
            if only_advise:
                _add_advice(tables, engine)
                continue
            among = {layout: layout for layout in layouts(engine)}
            wanted = _named(chosen or ",".join(among), among)
            found.append(run(tables, engine, wanted, rounds, threads, [name for name in timed.split(",") if name]))
            if to is not None:
                to.write_text(json.dumps({"runs": found}, indent=1) + "\n")
            elif not show:
                _add(found[-1])
    if show:
        typer.echo(page({"runs": found}))
    raise typer.Exit(int(not all(query["alike"] for each in found for query in each["queries"])))


def _add(found: dict[str, Any]) -> None:
    """Add a run to the figures, in the place of earlier ones that it makes needless, and write the page."""
    earlier = json.loads(FIGURES.read_text()) if FIGURES.exists() else {"runs": []}
    _write({**earlier, "runs": [*(each for each in earlier["runs"] if not replaces(found, each)), found]})


def _add_advice(tables: Tables, reader: str) -> None:
    """Put advice for an engine in the place of earlier advice, and write the page."""
    figures = json.loads(FIGURES.read_text())
    place = {"set": tables.of.name, "scale": tables.scale, "reader": reader}
    others = [each for each in figures.get("advised", ()) if not place.items() <= each.items()]
    _write({**figures, "advised": [*others, {**place, "tables": tables.advised(reader, typer.echo)}]})


def _write(figures: dict[str, Any]) -> None:
    FIGURES.write_text(json.dumps(figures, indent=1) + "\n")
    PAGE.write_text(page(figures))


def _named(names: str, among: dict[str, Any]) -> list[Any]:
    unknown = [name for name in names.split(",") if name not in among]
    if unknown:
        raise typer.BadParameter(f"unknown are {', '.join(unknown)}; known are {', '.join(among)}")
    return [among[name] for name in names.split(",")]


if __name__ == "__main__":
    typer.run(main)
