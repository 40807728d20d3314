"""Grow trees of 2,000 files for 500 queries on samples of 200,000 rows, in numpy and in Java, and write the page.

Both are given the same positions and boxes, of the columns that the queries choose, and have to grow the same tree. CPU
seconds are of one thread: in Java of the last times of many, once what runs often is compiled, as it soon is on a
driver; the first time is told, too.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Annotated

import numpy as np
import numpy.typing as npt
import typer

from benchmarks.pages import head, how, table
from benchmarks.without_jvm import machine
from benchmarks.workloads.ours import Grown, to_grow
from benchmarks.workloads.pairs import PAIRS
from iceberg_zorder.layout.box_tree import BoxTree, Split
from iceberg_zorder.layout.fit import WORKLOAD_SHARE, WORKLOAD_TOLERANCE

DATA, PAGE = Path("benchmark-data"), Path("docs/benchmarks/growing.md")
ROWS, QUERIES, SEED, FILES = 200_000, 500, 2, 2_000
SOURCE = Path(__file__).with_name("Growing.java")
JAR = Path("iceberg_zorder/jars/iceberg-zorder-spark.jar")
_ABOUT = """\
With option `workload` both engines grow a tree that cuts a table into files for its queries. This page shows how many
CPU seconds a tree takes in Python and in Java, for readers with many files and many queries."""
_HOW = f"""\
Figures are CPU seconds of one thread. Tables are those of [the workload benchmark](workload.md). Each tree has
{{files:,}} files, each sample {{rows:,}} rows, each workload {QUERIES} queries. Both languages must grow the same tree,
node by node. Java's first time includes compilation; *warm* is the median of the second half of many runs."""


@dataclass(frozen=True)
class Times:
    """CPU seconds of a table.

    Parameters
    ----------
    name : str
        The table.
    columns : int
        How many columns it is cut by.
    numpy, first, warm : float
        In numpy, and in Java the first time and the median of the last times.
    """

    name: str
    columns: int
    numpy: float
    first: float
    warm: float


def compile_into(directory: Path) -> None:
    """Compile what grows trees in Java."""
    subprocess.run(["javac", "-cp", str(JAR), "-d", str(directory), str(SOURCE)], check=True)


def measured(name: str, rows: int, files: int, times: int, directory: Path) -> Times:
    """Grow the tree of a table in both languages; raises ValueError if these are not the same."""
    table = next(each for each in PAIRS if each.name == name).make(rows, DATA)
    of = to_grow(table.keys, table.queries(QUERIES, SEED), files)
    start = time.process_time()
    tree = of.tree(files)
    took = time.process_time() - start
    path = directory / f"{name}.bin"
    path.write_bytes(_bytes(of, files))
    command = ["java", "-cp", f"{JAR}:{directory}", "io.icebergzorder.core.Growing", str(path), str(times)]
    *nanoseconds, nodes = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    if nodes != _text(tree):
        raise ValueError(f"Cannot compare the times of {name}, because Java has grown another tree")
    seconds = [int(each) / 1e9 for each in nanoseconds]
    return Times(name, len(of.positions), took, seconds[0], median(seconds[times // 2 :]))


def _bytes(of: Grown, files: int) -> bytes:
    """Write what is grown as Java reads it."""
    head = np.array([of.bits, files], ">i4").tobytes()
    shares = np.array([WORKLOAD_TOLERANCE, WORKLOAD_SHARE], ">f8").tobytes()
    boxes = of.workload
    tables = [np.stack(of.positions), boxes.lower, boxes.upper, boxes.query[np.newaxis]]
    weights = np.array([len(boxes.weights)], ">i4").tobytes() + boxes.weights.astype(">f8").tobytes()
    return head + shares + b"".join(map(_table, tables)) + weights


def _table(table: npt.NDArray[np.int64]) -> bytes:
    return np.array(table.shape, ">i4").tobytes() + table.astype(">i4").tobytes()


def _text(tree: BoxTree) -> str:
    return " ".join(
        f"{node.column}:{node.start}" if isinstance(node, Split) else str(node.files) for node in tree.nodes
    )


def page(found: list[Times], rows: int, files: int, where: str) -> str:
    """Return the page."""
    times = [[t.name, str(t.columns), f"{t.numpy:.2f}", f"{t.first:.2f}", f"{t.warm:.2f}"] for t in found]
    lines = [
        *head("Time to grow trees for a workload", _ABOUT),
        "",
        *table(("table", "columns", "numpy", "Java, first time", "Java, warm"), times),
        *how("make bench-growing", where, _HOW.format(rows=rows, files=files)),
    ]
    return "\n".join(lines) + "\n"


def main(
    rows: Annotated[int, typer.Option(help="Rows of each sample.")] = ROWS,
    files: Annotated[int, typer.Option(help="Files of each tree.")] = FILES,
    times: Annotated[int, typer.Option(min=2, help="How often Java grows each.")] = 20,
    pairs: Annotated[str, typer.Option(help="Names of tables, between commas; only shows them.")] = "",
) -> None:
    """Measure, and write the page."""
    DATA.mkdir(exist_ok=True)
    names = pairs.split(",") if pairs else [pair.name for pair in PAIRS]
    with tempfile.TemporaryDirectory(prefix="iceberg-zorder-bench-") as directory:
        compile_into(Path(directory))
        found = [measured(name, rows, files, times, Path(directory)) for name in names]
    java = subprocess.run(["java", "-version"], check=True, capture_output=True, text=True).stderr.splitlines()[0]
    text = page(found, rows, files, f"{machine()}; {java}")
    typer.echo(text)
    if not pairs:
        PAGE.write_text(text)


if __name__ == "__main__":
    typer.run(main)
