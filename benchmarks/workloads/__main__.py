"""Cuts from a workload beside other layouts, on queries that no layout has seen: ``make bench-workload``.

Layouts that learn do so from 100 queries, three times from others; all are measured on 400 other queries of the same
workload, and on a shifted one, of which half have nothing to do with it. The best set of columns, and its best weights,
are found by trying all of them on the very queries that they are measured on: better than anybody could know them.
"""

from __future__ import annotations

import itertools
import json
import os
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import typer

from benchmarks.run import session
from benchmarks.without_jvm import machine
from benchmarks.workloads.baselines import ByColumns, QdTree, filtered, k_d_tree, sampled, weightings
from benchmarks.workloads.measure import Files, bounds, matching, scan_fraction
from benchmarks.workloads.ours import from_workload
from benchmarks.workloads.page import page
from benchmarks.workloads.pairs import PAIRS
from benchmarks.workloads.peers import PEERS, written
from benchmarks.workloads.tables import Keys, Query, Table

PAGE, FIGURES = Path("docs/benchmarks/workload.md"), Path("docs/benchmarks/workload.json")
DATA = Path("benchmark-data")
SAMPLE = {64: 64_000, 512: 100_000}
TRAINING_SEEDS, HELD_OUT_SEED, SHIFTED_SEED = (1, 3, 5), 2, 4
TRAINING, HELD_OUT = 100, 400
MOST_COLUMNS = 4


class Scales:
    """What queries that no layout has seen read of a table that lies in files."""

    def __init__(self, keys: dict[str, Keys], held_out: Sequence[Query], new: Sequence[Query]) -> None:
        self._keys = keys
        self._queries = held_out, [*held_out[: len(held_out) // 2], *new]

    def matching(self) -> list[float]:
        """Find the share of rows that match: of the same workload, and of the shifted one."""
        return [matching(self._keys, queries) for queries in self._queries]

    def of(self, file: Files, files: int) -> list[float]:
        """Find the scan fractions of both."""
        found = bounds(self._keys, file, files)
        return [scan_fraction(found, queries) for queries in self._queries]


def drawn(name: str, rows: int) -> tuple[Table, Scales]:
    """Make a table, and the queries that everything is measured on."""
    table = next(pair for pair in PAIRS if pair.name == name).make(rows, DATA)
    held_out, new = table.queries(HELD_OUT, HELD_OUT_SEED), table.unforeseen(HELD_OUT // 2, SHIFTED_SEED)
    return table, Scales(table.keys, held_out, new)


def mean(learnt: Sequence[list[float]]) -> list[float]:
    """Average over training sets."""
    return [fmean(each) for each in zip(*learnt, strict=True)]


def best_set(
    measure: Callable[[Sequence[str], Sequence[float]], list[float]], columns: Sequence[str]
) -> dict[str, Any]:
    """Try all sets of at most 4 columns with equal weights, and all weights of the best two of them."""
    sets = [each for count in range(1, MOST_COLUMNS + 1) for each in itertools.combinations(columns, count)]
    equal = sorted(((measure(each, [1.0] * len(each)), each) for each in sets), key=lambda each: each[0][0])
    weighted = [(measure(each, weights), each, weights) for _, each in equal[:2] for weights in weightings(len(each))]
    found, of, weights = min([(*equal[0], (1.0,) * len(equal[0][1])), *weighted], key=lambda each: each[0][0])
    return {
        "set": {"scanned": equal[0][0], "columns": equal[0][1]},
        "weighted": {"scanned": found, "columns": of, "weights": weights},
    }


def measured(name: str, files: int, rows: int) -> dict[str, Any]:
    """Lay one table out in every way that needs no Spark, and measure."""
    table, scales = drawn(name, rows)
    keys = table.keys
    sample = sampled(keys, min(rows, SAMPLE[files]))
    training = [table.queries(TRAINING, seed) for seed in TRAINING_SEEDS]
    columns = sorted({column for queries in training for column in filtered(queries)})
    by_columns = ByColumns(keys, sample)
    ours = [from_workload(keys, sample, queries, files) for queries in training]
    qd_trees = [QdTree(sample, queries, files).file(keys) for queries in training]
    return {
        "pair": name,
        "files": files,
        "matching": scales.matching(),
        "ours": {
            "scanned": mean([scales.of(file, files) for file, _ in ours]),
            "columns": [chosen for _, chosen in ours],
        },
        "all": {"scanned": scales.of(by_columns.file(columns, [1.0] * len(columns), files), files), "columns": columns},
        "qd_tree": {
            "scanned": mean([scales.of(*each) for each in qd_trees]),
            "files": [leaves for _, leaves in qd_trees],
        },
        "k_d_tree": {"scanned": scales.of(k_d_tree(keys, columns, files), files)},
        **best_set(lambda each, weights: scales.of(by_columns.file(each, weights, files), files), columns),
    }


def _path(name: str, files: int, rows: int) -> Path:
    return DATA / f"workload-{name}-{files}-{rows}.json"


def _kept(name: str, files: int, rows: int) -> dict[str, Any]:
    """Measure, unless that was done before."""
    path = _path(name, files, rows)
    if not path.exists():
        DATA.mkdir(exist_ok=True)
        path.write_text(json.dumps(measured(name, files, rows)))
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def add_peers(cases: Sequence[dict[str, Any]], rows: int) -> None:
    """Have peers rewrite the tables by the best sets of columns, unless that was done before, and keep the figures."""
    lacking = [(case, peer) for case in cases for peer in PEERS if peer not in case]
    if not lacking:
        return
    # Delta reads its log in 50 tasks otherwise, however short it is.
    settings: dict[str, Any] = {"spark.databricks.delta.snapshotPartitions": "2"}
    with (
        tempfile.TemporaryDirectory(prefix="iceberg-zorder-bench-") as directory,
        session(Path(directory) / "spark", memory="2g", **settings) as spark,
    ):
        for case, peer in lacking:
            table, scales = drawn(case["pair"], rows)
            columns = case["set"]["columns"]
            file, count = written(spark, case["pair"], table, columns, peer, case["files"], DATA)
            case[peer] = {"scanned": scales.of(file, count), "files": count}
            typer.echo(f"{case['pair']}, {case['files']} files: {PEERS[peer]} {case[peer]}")
            _path(case["pair"], case["files"], rows).write_text(json.dumps(case))


def main(
    rows: Annotated[int, typer.Option(help="Rows of every table.")] = 400_000,
    processes: Annotated[int, typer.Option(help="How many tables at a time.")] = os.cpu_count() or 1,
    pairs: Annotated[str, typer.Option(help="Names of tables, between commas.")] = "",
) -> None:
    """Measure what is not measured yet, and write the page."""
    names = pairs.split(",") if pairs else [pair.name for pair in PAIRS]
    asked = [(name, files, rows) for files in SAMPLE for name in names]
    with ProcessPoolExecutor(processes) as pool:
        cases = list(pool.map(_kept, *zip(*asked, strict=True)))
    add_peers(cases, rows)
    figures = {"machine": machine(), "rows": rows, "cases": cases}
    if pairs:
        typer.echo(page(figures))
        return
    FIGURES.write_text(json.dumps(figures, indent=1) + "\n")
    PAGE.write_text(page(figures))
    typer.echo(PAGE.read_text())


if __name__ == "__main__":
    typer.run(main)
