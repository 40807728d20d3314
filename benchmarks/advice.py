"""What queries are predicted to read of layouts, beside what they read once these are written: ``make bench-advice``.

The tables and workloads are those of ``make bench-workload``, and two more; they arrive in commits. Advice is made, and
then the sets of columns that it has best, all sorts, and cuts from the workload are really written by the PyIceberg
engine: what queries read of them, by the bounds in the manifests, is held against what was said, and the layout that is
advised against the best that there was. Those queries are others of the same kinds: the advice has not seen them.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import numpy as np
import typer
from pyiceberg.table import Table

from benchmarks.pages import head, how, paragraph, table
from benchmarks.without_jvm import catalog_in, machine
from benchmarks.workloads.as_sql import arrow_table, condition
from benchmarks.workloads.made_up import basket, blocks
from benchmarks.workloads.pairs import PAIRS
from benchmarks.workloads.tables import Pair as Made
from iceberg_zorder.advice.advice import Advice, JudgedLayout
from iceberg_zorder.advice.advise import best_of
from iceberg_zorder.pyiceberg import advise, rewrite_data_files
from iceberg_zorder.pyiceberg.files import size_of
from iceberg_zorder.pyiceberg.listing.listing import FileFilter, list_files
from iceberg_zorder.pyiceberg.reporting.advice import queries_today
from iceberg_zorder.workload.workload import Query, Workload
from iceberg_zorder.workload.workload_json import to_json

DATA = Path("benchmark-data")
PAGE, FIGURES = Path("docs/benchmarks/advice.md"), Path("docs/benchmarks/advice.json")
COMMITS = 16
FILES = 64
QUERIES, SEED, UNSEEN = 400, 2, 3
TABLES = (
    *PAIRS,
    Made("basket", "a product in a month; a customer; a purchase; days; a shop in days", basket),
    Made("blocks", "a device, also in six hours; a day; high readings", blocks),
)
# Tables are small here: at Iceberg's default cost of opening a file, one file would be best.
CHEAP = {"read.split.open-file-cost": "1"}
MOST_SETS = 8
"""So many of the sets of columns are written, beside sorts."""
_ABOUT = """\
[`iceberg-zorder advise`](../do/choose-columns.md) predicts how much of a table queries would read in each layout.
This page compares these predictions with tables that were rewritten to these layouts. It is for readers who ask how far
to trust the advice."""
_HOW = f"""\
[advice.json](advice.json) has every layout. Tables and workloads are those of [the workload benchmark](workload.md),
and two more. Rows of a purchase lie together in *basket*, rows of an upload in *blocks*. Each table has {{rows:,}} rows
in {COMMITS} commits, each workload {QUERIES} queries. Layouts have about {FILES} files. The queries that are counted
here are {QUERIES} others, drawn like those of the workload."""
_STEPS = (
    "Actual reads are computed from the bounds in the manifests.",
    f"The benchmark writes the {MOST_SETS} best predicted sets of columns, all sorts, and cuts made for the workload.",
)


@dataclass(frozen=True)
class Outcome:
    """A layout: the share of the table that a query reads, as predicted and really, and the same in bytes."""

    table: str
    kind: str
    layout: str
    files: int
    predicted: float
    actual: float
    predicted_bytes: float
    actual_bytes: float
    is_pick: bool
    predicted_size: int
    size: int

    @property
    def error(self) -> float:
        """How far the predicted share is off, relative to what is read."""
        return abs(self.predicted - self.actual) / self.actual if self.actual else 0.0

    @property
    def error_of_bytes(self) -> float:
        """How far the predicted bytes are off, relative to what is read."""
        return abs(self.predicted_bytes - self.actual_bytes) / self.actual_bytes if self.actual_bytes else 0.0

    @property
    def error_of_size(self) -> float:
        """How far the predicted bytes of all files are off."""
        return abs(self.predicted_size - self.size) / self.size


@dataclass(frozen=True)
class Pair:
    """What came of a table and its workload: the layouts that were written, and how long the advice took."""

    name: str
    filters: int
    cpu_seconds: float
    advised: str
    outcomes: tuple[Outcome, ...]

    @property
    def regret(self) -> float:
        """How much more the pick reads than the best of the layouts that were written."""
        written = [each for each in self.outcomes if each.kind != "today"]
        pick = next(each for each in written if each.is_pick)
        return pick.actual_bytes / min(each.actual_bytes for each in written) - 1


def measured(name: str, rows: int, files: int = FILES, most_sets: int = MOST_SETS) -> Pair:
    """Advise on a table, and write layouts of it."""
    made = next(each for each in TABLES if each.name == name).make(rows, DATA)
    source = arrow_table(made.keys)
    workload, unseen = (
        Workload.of([Query(condition(each), 1.0) for each in made.queries(QUERIES, seed)]) for seed in (SEED, UNSEEN)
    )
    with tempfile.TemporaryDirectory() as directory:
        catalog = catalog_in(Path(directory))
        catalog.create_namespace("db")
        table = catalog.create_table("db.t", source.schema, properties=CHEAP)
        step = source.num_rows // COMMITS + 1
        for start in range(0, source.num_rows, step):
            table.append(source.slice(start, step))
        tasks = [task.file for task in table.scan().plan_files()]
        size = sum(each.file_size_in_bytes for each in tasks)
        options = {"target-file-size-bytes": size // files}
        start_time = time.process_time()
        advice = advise(table, workload, options=options)
        took = time.process_time() - start_time
        cut = {"workload": to_json(workload)}
        pick, layouts = written_layouts(advice, most_sets)
        found = [_outcome(name, table, unseen, advice.today, is_pick=False)]
        for place, each in enumerate(layouts):
            # The same files, as they are when the advice is followed: which rows are sampled depends on their names.
            written = catalog.create_table(f"db.t{place}", source.schema, properties=CHEAP)
            written.add_files([file.file_path for file in tasks])
            sort_order, more = f"zorder({', '.join(each.columns)})", cut if each.kind == "workload" else {}
            rewrite_data_files(written, sort_order, options={**options, "rewrite-all": True, **more})
            found.append(_outcome(name, written, unseen, each, is_pick=each is pick))
            catalog.drop_table(f"db.t{place}")
        catalog.close()
    advised = "nothing" if advice.pick is None else advice.pick.layout
    return Pair(name, len(workload.queries), took, advised, tuple(found))


def written_layouts(advice: Advice, most_sets: int) -> tuple[JudgedLayout, list[JudgedLayout]]:
    """Choose what is written, and find what is picked among it: partitions are not written, nor counted."""
    candidates = [each for each in advice.candidates if each.kind != "partition"]
    pick = best_of(candidates)
    assert pick is not None
    best = [each for each in candidates if each.is_set][:most_sets]
    wanted = (each for each in candidates if each in best or each == pick or each.kind in ("sort", "workload"))
    return pick, list(wanted)


def _outcome(name: str, table: Table, queries: Workload, layout: JudgedLayout, *, is_pick: bool) -> Outcome:
    """Judge a written table by queries."""
    snapshot = table.current_snapshot()
    assert snapshot is not None
    files = list_files(table, snapshot, FileFilter.from_where(table))
    today = queries_today(table, queries, files)
    actual = float(np.average(today.bytes, weights=[each.weight for each in today.queries]))
    return Outcome(
        name,
        layout.kind,
        layout.layout or "today",
        len(files),
        layout.bytes_per_query / layout.bytes,
        actual / size_of(files),
        layout.bytes_per_query,
        actual,
        is_pick,
        layout.bytes,
        size_of(files),
    )


def page(figures: dict[str, Any]) -> str:
    """Write the page of the figures."""
    found = [_of_dict(each) for each in figures["pairs"]]
    rewritten = [each for pair in found for each in pair.outcomes if each.kind != "today"]
    errors = [each.error for each in rewritten]
    of_bytes, of_sizes = [each.error_of_bytes for each in rewritten], [each.error_of_size for each in rewritten]
    lines = [
        *head("Advice and its results", _ABOUT, figures.get("note", "")),
        "",
        *paragraph(
            "The *share* is the part of the table that a query reads. Predicted shares are off by "
            f"{fmean(errors):.1%} on average and by {max(errors):.1%} at most. Predicted bytes are off by "
            f"{fmean(of_bytes):.1%} on average and by {max(of_bytes):.1%} at most. Of {len(errors)} written layouts, "
            f"{_within(errors)} have a share that is off by at most 10%. {_within(of_bytes)} have bytes that are off "
            "by at most 10%. Errors include the difference between the queries of the workload and the others."
        ),
        "",
        "## Picked and best layouts",
        "",
        *paragraph(
            "*Picked* is the layout that `advise` names. *Best* is the written layout of which queries read the fewest "
            "bytes. *More* is how many more bytes queries read in the picked layout than in the best one. Shares are "
            "of each layout's own bytes, and some layouts compress better than others."
        ),
        "",
        "| table | filters | CPU seconds | picked | share read | best | share read | more |",
        "|---|--:|--:|---|--:|---|--:|--:|",
        *(_picked(each) for each in found),
        "",
        "The benchmark writes no partitions. If `advise` named partitions, *picked* is its best layout without them.",
        "",
        "## Predicted sizes",
        "",
        *paragraph(
            "The bytes of all files of a layout, predicted and written. Sizes are off by "
            f"{fmean(of_sizes):.1%} on average, and {sum(each <= 0.15 for each in of_sizes)} of {len(of_sizes)} by at "
            "most 15%."
        ),
        "",
        *table(("table", "layouts", "error of sizes, mean", "error of sizes, largest", "of"), _sizes(found)),
        "",
        "## Predictions by kind of layout",
        "",
        *table(
            (
                "layouts",
                "written",
                "error of shares, mean",
                "error of shares, largest",
                "error of bytes, mean",
                "error of bytes, largest",
            ),
            _kinds(rewritten),
        ),
        "",
        "*workload* are cuts from the workload, *zorder* sets of two to four columns, *sort* single columns.",
        *how("make bench-advice", figures["machine"], _HOW.format(rows=figures["rows"]), *_STEPS),
    ]
    return "\n".join(lines) + "\n"


def _sizes(pairs: Sequence[Pair]) -> list[list[str]]:
    rows = []
    for pair in pairs:
        of = [each for each in pair.outcomes if each.kind != "today"]
        worst = max(of, key=lambda each: each.error_of_size)
        errors = (fmean(each.error_of_size for each in of), worst.error_of_size)
        rows.append([pair.name, str(len(of)), *(f"{each:.1%}" for each in errors), f"`{worst.layout}`"])
    return rows


def _kinds(outcomes: Sequence[Outcome]) -> list[list[str]]:
    rows = []
    for kind in dict.fromkeys(each.kind for each in outcomes):
        of = [each for each in outcomes if each.kind == kind]
        shares, sizes = [each.error for each in of], [each.error_of_bytes for each in of]
        errors = (fmean(shares), max(shares), fmean(sizes), max(sizes))
        rows.append([kind, str(len(of)), *(f"{each:.1%}" for each in errors)])
    return rows


def _within(errors: Sequence[float]) -> int:
    return sum(each <= 0.1 for each in errors)


def _of_dict(pair: dict[str, Any]) -> Pair:
    return Pair(**{**pair, "outcomes": tuple(Outcome(**each) for each in pair["outcomes"])})


def _picked(pair: Pair) -> str:
    written = [each for each in pair.outcomes if each.kind != "today"]
    pick, best = next(each for each in written if each.is_pick), min(written, key=lambda each: each.actual_bytes)
    advised = "" if pair.advised == pick.layout else f" (advised: {pair.advised})"
    reads = f"`{pick.layout}`{advised} | {pick.actual:.2%} | `{best.layout}` | {best.actual:.2%} | {pair.regret:.1%}"
    return f"| {pair.name} | {pair.filters} | {pair.cpu_seconds:.0f} | {reads} |"


def _kept(name: str, rows: int) -> dict[str, Any]:
    """Measure, unless that was done before."""
    path = DATA / f"advice-{name}-{rows}.json"
    if not path.exists():
        logging.getLogger("iceberg_zorder").setLevel(logging.ERROR)
        DATA.mkdir(exist_ok=True)
        path.write_text(json.dumps(asdict(measured(name, rows))))
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def main(
    rows: Annotated[int, typer.Option(help="Rows of each table.")] = 400_000,
    processes: Annotated[int, typer.Option(help="How many tables at a time.")] = os.cpu_count() or 1,
    pairs: Annotated[str, typer.Option(help="Names of tables, between commas.")] = "",
) -> None:
    """Measure what is not measured yet, and write the page."""
    names = pairs.split(",") if pairs else [pair.name for pair in TABLES]
    with ProcessPoolExecutor(processes) as pool:
        found = list(pool.map(_kept, names, [rows] * len(names)))
    figures = {"machine": machine(), "rows": rows, "pairs": found}
    if pairs:
        typer.echo(page(figures))
        return
    FIGURES.write_text(json.dumps(figures, indent=1) + "\n")
    PAGE.write_text(page(figures))
    typer.echo(PAGE.read_text())


if __name__ == "__main__":
    typer.run(main)
