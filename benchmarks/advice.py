"""What queries are predicted to read of layouts, beside what they read once these are written: ``make bench-advice``.

Three tables with queries arrive in commits. Advice is made, and then every set of one or two columns that it has
simulated is really written by the PyIceberg engine: what the queries of the half that judges read of it, by the bounds
in the manifests, is held against what was said, and the layout that was picked against the best that there was.
"""

from __future__ import annotations

import json
import logging
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import typer
from pyiceberg.table import Table

from benchmarks.without_jvm import catalog_in, machine
from iceberg_zorder.advice.advice import Advice, JudgedLayout
from iceberg_zorder.advice.judged_queries import halves
from iceberg_zorder.pyiceberg import advise, rewrite_data_files
from iceberg_zorder.pyiceberg.clustering.judged_filters import queries_today
from iceberg_zorder.pyiceberg.scan.listing import Listing
from iceberg_zorder.workload.workload import Query, Workload
from quickstart.data import generate

DATA = Path("benchmark-data")
PAGE, FIGURES = Path("docs/benchmarks-advice.md"), Path("docs/benchmarks-advice.json")
COMMITS = 16
FILES = 48
QUERIES = 400
DAY = 86_400

Draw = Callable[[], str]
Rng = np.random.Generator


def calls(rows: int, rng: Rng) -> tuple[pa.Table, Draw]:
    """Make calls: who called whom and when; asked for by caller and week, by callee, and by day."""
    caller, callee = rng.zipf(1.3, rows) % 50_000, rng.integers(0, 50_000, rows)
    at = np.sort(rng.integers(0, 90 * DAY, rows))

    def draw() -> str:
        kind, row = rng.random(), rng.integers(rows)
        if kind < 0.7:
            start = rng.integers(0, 83) * DAY
            return f"caller = {caller[row]} AND at >= {start} AND at < {start + 7 * DAY}"
        if kind < 0.9:
            return f"callee = {callee[row]}"
        start = 89 * DAY - int(rng.exponential(3)) * DAY
        return f"at >= {start} AND at < {start + DAY}"

    seconds = rng.integers(1, 3_600, rows)
    return pa.table({"caller": caller, "callee": callee, "at": at, "seconds": seconds}), draw


def iot(rows: int, rng: Rng) -> tuple[pa.Table, Draw]:
    """Make readings of devices, asked for by device and the last hours, by day, and above a value."""
    device, at = rng.integers(0, 5_000, rows), np.sort(rng.integers(0, 30 * DAY, rows))
    value = rng.normal(device % 50, 3, rows)

    def draw() -> str:
        kind, row = rng.random(), rng.integers(rows)
        if kind < 0.8:
            start = 30 * DAY - int(rng.exponential(1.5) * DAY) - 3_600
            return f"device = {device[row]} AND at >= {start} AND at < {start + 6 * 3_600}"
        if kind < 0.95:
            start = rng.integers(0, 29) * DAY
            return f"at >= {start} AND at < {start + DAY}"
        return f"value >= {rng.integers(52, 58)}.0D"

    return pa.table({"device": device, "at": at, "value": value}), draw


def lineitem(rows: int, rng: Rng) -> tuple[pa.Table, Draw]:
    """Generate TPC-H's lineitem, and the filters of its queries with other values, of those that have any."""
    directory = DATA / f"lineitem-advice-{rows}"
    DATA.mkdir(exist_ok=True)
    generate(directory, scale_factor=rows / 6_000_000, files=1)

    def day(start: str, days: np.integer[Any] | int) -> str:
        return f"DATE '{np.datetime64(start) + int(days)}'"

    def draw() -> str:
        year, quantity = rng.integers(0, 5) * 365, rng.integers(1, 20)
        mode = rng.choice(["MAIL", "SHIP", "AIR", "RAIL", "TRUCK"])
        kind = rng.integers(0, 7)
        start = rng.integers(0, 2_000)
        if kind == 0:
            discount = rng.integers(2, 9)
            return (
                f"l_shipdate >= {day('1993-01-01', year)} AND l_shipdate < {day('1994-01-01', year)} "
                f"AND l_quantity < 24 AND l_discount BETWEEN 0.0{discount - 1} AND 0.0{discount + 1}"
            )
        if kind == 1:
            return (
                f"l_receiptdate >= {day('1993-01-01', year)} AND l_receiptdate < {day('1994-01-01', year)} "
                f"AND l_shipmode IN ('{mode}', 'FOB')"
            )
        if kind in (2, 3):
            length = 30 if kind == 2 else 90
            return f"l_shipdate >= {day('1992-06-01', start)} AND l_shipdate < {day('1992-06-01', start + length)}"
        if kind == 4:
            return f"l_quantity BETWEEN {quantity} AND {quantity + 10} AND l_shipmode = '{mode}'"
        if kind == 5:
            return f"l_partkey = {rng.integers(1, 200_000 * rows // 6_000_000)}"
        return f"l_returnflag = 'R' AND l_shipdate > {day('1993-01-01', year)}"

    found = pq.read_table(directory)
    # The generator's files have views of strings; what most engines write has none.
    plain = [
        pa.field(each.name, pa.string() if pa.types.is_string_view(each.type) else each.type) for each in found.schema
    ]
    return found.cast(pa.schema(plain)), draw


SETS = {"calls": calls, "iot": iot, "lineitem": lineitem}


@dataclass(frozen=True)
class Outcome:
    """A set of columns: the share of the table that a query reads, as predicted and really, and the table's bytes."""

    table: str
    layout: str
    files: int
    predicted: float
    actual: float
    predicted_bytes: float
    actual_bytes: float
    is_pick: bool

    @property
    def error(self) -> float:
        """How far the predicted share is off, relative to what is read."""
        return abs(self.predicted - self.actual) / self.actual if self.actual else 0.0

    @property
    def error_of_bytes(self) -> float:
        """How far the predicted bytes are off, relative to what is read."""
        return abs(self.predicted_bytes - self.actual_bytes) / self.actual_bytes if self.actual_bytes else 0.0


def outcomes(name: str, rows: int, most_columns: int = 2) -> Iterator[Outcome]:
    """Advise on a table, and write each set of columns of up to so many that was simulated."""
    source, draw = SETS[name](rows, np.random.default_rng(5))
    workload = Workload.of([Query(draw(), 1.0) for _ in range(QUERIES)])
    with tempfile.TemporaryDirectory() as directory:
        catalog = catalog_in(Path(directory))
        catalog.create_namespace("db")
        table = catalog.create_table("db.t", source.schema)
        step = source.num_rows // COMMITS + 1
        for start in range(0, source.num_rows, step):
            table.append(source.slice(start, step))
        size = sum(task.file.file_size_in_bytes for task in table.scan().plan_files())
        options = {"target-file-size-bytes": size // FILES}
        advice = advise(table, workload, options=options)
        pick = of_sets(advice, most_columns)[0]
        yield Outcome(name, "today", advice.today.files, *_both(table, workload, advice.today, size), False)
        paths = [task.file.file_path for task in table.scan().plan_files()]
        for place, each in enumerate(of_sets(advice, most_columns)):
            # The same files, as they are when the advice is followed: which rows are sampled depends on their names.
            written = catalog.create_table(f"db.t{place}", source.schema)
            written.add_files(paths)
            rewrite_data_files(written, each.layout, options={**options, "rewrite-all": True})
            yield Outcome(name, each.layout, each.files, *_both(written, workload, each, size), each is pick)
            catalog.drop_table(f"db.t{place}")
        catalog.close()


def of_sets(advice: Advice, most_columns: int) -> list[JudgedLayout]:
    """List the sets of up to so many columns, what is picked among them first."""
    sets = [each for each in advice.candidates if each.kind != "partition" and len(each.columns) <= most_columns]
    near = [each for each in sets if each.chosen_by_bytes <= 1.02 * sets[0].chosen_by_bytes]
    pick = min(near, key=lambda each: (len(each.columns), each.chosen_by_bytes))
    return [pick, *(each for each in sets if each is not pick)]


def _both(table: Table, workload: Workload, layout: JudgedLayout, size: int) -> tuple[float, float, float, float]:
    """Tell the shares and the bytes that are read, as predicted and really."""
    snapshot = table.current_snapshot()
    assert snapshot is not None
    tasks = Listing(table).tasks(snapshot)
    total = sum(task.data_file.file_size_in_bytes for task in tasks)
    today = queries_today(table, workload, tasks)
    read = dict(zip((query.filter for query in today.queries), today.bytes.tolist(), strict=True))
    _, judging = halves(today.queries)
    actual = float(np.average([read[each.filter] for each in judging], weights=[each.weight for each in judging]))
    return layout.bytes_per_query / size, actual / total, layout.bytes_per_query, actual


def page(figures: dict[str, Any]) -> str:
    """Write the page of the figures."""
    found = [Outcome(**each) for each in figures["outcomes"]]
    errors = [each.error for each in found if each.layout != "today"]
    lines = [
        "# Advice, and what came of it",
        "",
        f"Written by `make bench-advice` on {figures['machine']}: {figures['rows']:,} rows a table,",
        f"in about {FILES} files, and {QUERIES} queries, of which half choose and the others, counted here, judge.",
        "*Predicted* is what [`iceberg-zorder advise`](advise.md) said by its sample; *actual* is what these queries",
        "read of the table once it is written so, by the bounds in its manifests. Bytes are off by more than shares",
        "are, because what is written is compressed more, or less, than the files of before.",
        "",
        "| table | layout | files | predicted | actual | error | error of the bytes | |",
        "|---|---|--:|--:|--:|--:|--:|---|",
        *(_row(each) for each in found),
        "",
        f"Mean error: {fmean(errors):.1%}; largest: {max(errors):.1%}.",
        *(_pick(name, [each for each in found if each.table == name]) for name in SETS),
    ]
    return "\n".join(lines) + "\n"


def _row(of: Outcome) -> str:
    shares = f"{of.predicted:.2%} | {of.actual:.2%} | {of.error:.1%} | {of.error_of_bytes:.1%}"
    return f"| {of.table} | `{of.layout}` | {of.files} | {shares} | {'picked' if of.is_pick else ''} |"


def regret(found: list[Outcome]) -> float:
    """Tell how much more the pick reads than the best of the layouts that were written."""
    written = [each for each in found if each.layout != "today"]
    pick = next(each for each in written if each.is_pick)
    return pick.actual_bytes / min(each.actual_bytes for each in written) - 1


def _pick(name: str, found: list[Outcome]) -> str:
    return f"The pick of {name} reads {regret(found):.1%} more than the best of those that were written."


def main(rows: Annotated[int, typer.Option(help="Rows of each table.")] = 600_000) -> None:
    """Measure, and write the page."""
    logging.getLogger("iceberg_zorder").setLevel(logging.ERROR)
    found = []
    for name in SETS:
        for each in outcomes(name, rows):
            shares = f"{each.predicted:.4f} {each.actual:.4f} {each.error:.1%} {each.error_of_bytes:.1%}"
            typer.echo(f"{each.table:9} {each.layout:32} {shares}")
            found.append(each)
    figures = {"machine": machine(), "rows": rows, "outcomes": [asdict(each) for each in found]}
    FIGURES.write_text(json.dumps(figures, indent=1) + "\n")
    PAGE.write_text(page(figures))
    typer.echo(PAGE.read_text())


if __name__ == "__main__":
    typer.run(main)
