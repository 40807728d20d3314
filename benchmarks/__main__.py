"""Run the benchmarks: ``run``, ``pages``, ``costs`` and ``memory`` measure, ``render`` writes the page with pictures.

Exit codes: 0 done, 1 something failed (the rest is reported), 2 wrong usage.
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from pyspark.sql import SparkSession
from rich.console import Console
from rich.text import Text

from benchmarks import memory as memory_benchmark
from benchmarks.impala import page_filters
from benchmarks.layouts import (
    BIN_PACK,
    ICEBERG_SORT,
    ICEBERG_ZORDER,
    LAYOUTS,
    LIQUID,
    OURS,
    Layout,
)
from benchmarks.pictures import bars, boxes_picture
from benchmarks.report import console as render_console
from benchmarks.report import markdown
from benchmarks.results import Results
from benchmarks.run import Scale, costs, file_boxes, pruning, session
from benchmarks.sets import SETS, BenchmarkSet

app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__)
Named = TypeVar("Named", Layout, BenchmarkSet)

console = Console(soft_wrap=True, highlight=False)

DOCS = Path("docs/benchmarks")
RESULTS = DOCS / "peers.json"
DATA = Path("benchmark-data")
TIMED = ("lineitem", "lineitem3", "calls")
TIMED_LAYOUTS = (OURS, BIN_PACK, ICEBERG_SORT, ICEBERG_ZORDER, LIQUID)
PICTURED = ("customers",)

Output = Annotated[Path, typer.Option(help="The results, as JSON; every command adds its part.")]


def _say(text: str) -> None:
    console.print(Text(text))


@app.command()
def run(
    sets: Annotated[str, typer.Option(help="Names of sets, by commas.")] = ",".join(each.name for each in SETS),
    rows: Annotated[int, typer.Option(min=10_000, help="Rows of every set, at most.")] = 1_000_000,
    files: Annotated[int, typer.Option(min=2, help="Files of every layout.")] = 64,
    output: Output = RESULTS,
) -> None:
    """Measure the scan fractions of every layout on every set."""
    scale = Scale(rows, files, 0)
    with _spark() as spark:
        found = tuple(pruning(spark, _named(sets.split(","), SETS), LAYOUTS, scale, DATA, _say))
    _add(output, pruning=found, environment=_environment(scale))
    raise typer.Exit(int(any(each.error for each in found)))


@app.command()
def pages(
    rows: Annotated[int, typer.Option(min=10_000, help="Rows of every table, at most.")] = 2_880_404,
    output: Output = RESULTS,
) -> None:
    """Run the Impala article's test: pages skipped in tables of one file."""
    with _spark() as spark:
        _add(output, page_filters=tuple(page_filters(spark, rows, DATA, _say)))


@app.command(name="costs")
def measure_costs(
    sets: Annotated[str, typer.Option(help="Names of sets, by commas.")] = ",".join(TIMED),
    rows: Annotated[int, typer.Option(min=10_000, help="Rows of every set.")] = 4_000_000,
    files: Annotated[int, typer.Option(min=2, help="Files of every layout.")] = 16,
    repeats: Annotated[int, typer.Option(min=1, help="Timed rounds.")] = 3,
    output: Output = RESULTS,
) -> None:
    """Time some layouts on some sets; the machine should have nothing else to do."""
    timed, layouts = _named(sets.split(","), SETS), _named(TIMED_LAYOUTS, LAYOUTS)
    with _spark() as spark:
        _add(output, costs=tuple(costs(spark, timed, layouts, Scale(rows, files, repeats), DATA, _say)))


@app.command()
def memory(output: Output = RESULTS) -> None:
    """Rewrite a table ten times as large as the memory."""
    with tempfile.TemporaryDirectory(prefix="iceberg-zorder-bench-") as directory:
        found = memory_benchmark.memory(Path(directory) / "memory", _say)
    _add(output, memory=found)
    raise typer.Exit(int(not found.unchanged))


@app.command()
def show(output: Output = RESULTS) -> None:
    """Show averages and promises in the terminal."""
    render_console(Results.read(output), console)


@app.command()
def render(output: Output = RESULTS) -> None:
    """Write the page and its pictures from the results; the boxes are laid out anew."""
    found = Results.read(output)
    (DOCS / "peers.md").write_text(markdown(found), encoding="utf-8")
    bars(found, DOCS / "peers.png")
    with _spark() as spark:
        shown = _named((ICEBERG_ZORDER, LIQUID, OURS), LAYOUTS)
        boxes = file_boxes(spark, _named(PICTURED, SETS), shown, Scale(1_000_000, 64, 0), DATA)
        boxes_picture(list(boxes), DOCS / "boxes.png")
    render_console(found, console)


def _add(output: Path, **parts: Any) -> None:
    """Put what was found beside what the file has of other parts."""
    results = Results.read(output) if output.exists() else Results(_environment(None))
    output.parent.mkdir(parents=True, exist_ok=True)
    replace(results, **parts).write(output)


@contextmanager
def _spark() -> Iterator[SparkSession]:
    directory = tempfile.TemporaryDirectory(prefix="iceberg-zorder-bench-")
    with directory as name, session(Path(name) / "tables") as spark:
        yield spark


def _named(names: Iterable[str], among: Sequence[Named]) -> list[Named]:
    by_name = {each.name: each for each in among}
    unknown = [name for name in names if name not in by_name]
    if unknown:
        raise typer.BadParameter(f"unknown are {', '.join(unknown)}; known are {', '.join(by_name)}")
    return [by_name[name] for name in names]


def _environment(scale: Scale | None) -> dict[str, str]:
    cpu = next((line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")), "")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": f"{cpu.partition(': ')[2]}, {os.cpu_count()} cores",
        "memory": f"{memory / 2**30:.0f} GiB",
        "system": platform.system(),
        "Python": platform.python_version(),
        "iceberg-zorder": version("iceberg-zorder"),
        "Spark": f"{version('pyspark')}, local[2], 4 GiB",
        "Iceberg": "1.12.0",
        "Delta": "4.4.0",
        "scan fractions from": f"up to {scale.rows:,} rows in {scale.files} files" if scale else "",
    }


if __name__ == "__main__":
    sys.exit(app())
