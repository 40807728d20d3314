"""What Spark's settings of shuffles do to a rewrite: ``python -m benchmarks.shuffle``, about 15 minutes.

Such settings belong to the cluster, so each is tried in a SparkContext of its own, in one JVM, one after the other, in
several rounds: what a machine does meanwhile then meets all of them. ``spark.shuffle.spill.compress`` is the control:
these rewrites spill nothing, so what it changes is what chance does. Written to docs/benchmarks/shuffle.json, beside
what an earlier run has measured with other numbers of files.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

import typer

from benchmarks.cost import Cost, measured
from benchmarks.layouts import LAYOUTS, OURS
from benchmarks.run import Bench, Scale, session
from benchmarks.sets import SETS
from benchmarks.without_jvm import machine

DATA = Path("benchmark-data")
FIGURES = Path("docs/benchmarks/shuffle.json")
DEFAULTS = "Spark's defaults"
SETTINGS: dict[str, dict[str, str]] = {
    DEFAULTS: {},
    "spark.shuffle.sort.bypassMergeThreshold = 1": {"spark__shuffle__sort__bypassMergeThreshold": "1"},
    "spark.shuffle.sort.bypassMergeThreshold = 1000": {"spark__shuffle__sort__bypassMergeThreshold": "1000"},
    "spark.shuffle.file.buffer = 1m": {"spark__shuffle__file__buffer": "1m"},
    "spark.shuffle.compress = false": {"spark__shuffle__compress": "false"},
    "spark.io.compression.codec = zstd": {"spark__io__compression__codec": "zstd"},
    "spark.io.compression.lz4.blockSize = 256k": {"spark__io__compression__lz4__blockSize": "256k"},
    "spark.shuffle.spill.compress = false": {"spark__shuffle__spill__compress": "false"},
}


def run_with(settings: dict[str, str], scale: Scale, files: int, name: str) -> Cost:
    """Rewrite a set once to warm up and then as often as wanted; the median."""
    of = next(each for each in SETS if each.name == name)
    layout = next(each for each in LAYOUTS if each.name == OURS)
    with (
        tempfile.TemporaryDirectory(prefix="iceberg-zorder-bench-") as directory,
        session(Path(directory) / "tables", delta=False, **settings) as spark,
    ):
        bench = Bench(spark, of, of.source(scale.rows, DATA), Scale(scale.rows, files, scale.repeats))
        found = []
        for number in range(scale.repeats + 1):
            bench.format(layout.format)
            cost = measured(spark, lambda: bench.lay_out(layout))
            bench.restore(layout)
            if number > 0:
                found.append(cost)
        return min(found, key=lambda cost: cost.cpu_seconds)


def earlier(files: list[int]) -> list[dict[str, Any]]:
    """Read the runs of other numbers of files, as the figures have them."""
    if not FIGURES.exists():
        return []
    runs: list[dict[str, Any]] = json.loads(FIGURES.read_text())["runs"]
    return [run for run in runs if run["files"] not in files]


def table(figures: dict[str, Any]) -> str:
    """Write the figures as a table, each beside the defaults."""
    lines = ["| | files | CPU s | | wall s | | shuffled MB |", "|---|---|---|---|---|---|---|"]
    for files in dict.fromkeys(run["files"] for run in figures["runs"]):

        def middle(setting: str, what: str, files: int = files) -> float:
            runs = [run for run in figures["runs"] if (run["setting"], run["files"]) == (setting, files)]
            return float(median(run["cost"][what] for run in runs))

        measured_settings = {run["setting"] for run in figures["runs"] if run["files"] == files}
        for setting in filter(measured_settings.__contains__, SETTINGS):
            cpu, wall = middle(setting, "cpu_seconds"), middle(setting, "wall_seconds")
            lines.append(
                f"| {setting} | {files} | {cpu:.1f} | {cpu / middle(DEFAULTS, 'cpu_seconds'):.2f}x | {wall:.1f} "
                f"| {wall / middle(DEFAULTS, 'wall_seconds'):.2f}x | {middle(setting, 'shuffle_bytes') / 1e6:.0f} |"
            )
    return "\n".join(lines)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", default="lineitem", choices=[each.name for each in SETS])
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--files", type=int, nargs="+", default=[16, 400])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--settings", nargs="+", default=list(SETTINGS), choices=list(SETTINGS))
    arguments = parser.parse_args()
    runs = earlier(arguments.files)
    figures: dict[str, Any] = {
        "machine": machine("pyspark"),
        "set": arguments.set,
        "rows": arguments.rows,
        "runs": runs,
    }
    # The first runs of a JVM are slower, whatever their settings.
    run_with(SETTINGS[DEFAULTS], Scale(arguments.rows, arguments.files[0], 2), arguments.files[0], arguments.set)
    for _ in range(arguments.rounds):
        for files in arguments.files:
            for setting in arguments.settings:
                cost = run_with(SETTINGS[setting], Scale(arguments.rows, files, 2), files, arguments.set)
                typer.echo(f"{setting}, {files} files: {cost}")
                figures["runs"].append({"setting": setting, "files": files, "cost": asdict(cost)})
    FIGURES.write_text(json.dumps(figures, indent=1) + "\n")
    typer.echo(table(figures))


if __name__ == "__main__":
    main()
