"""What rewrites are predicted to bring, beside what they bring: ``make bench-predictions``.

Every set of the benchmark arrives in commits, in its own order, and is rewritten by the PyIceberg engine. What was
predicted is held against all rows: values at evenly spaced ranks of each column are looked for among the bounds in the
manifests. The fuzzer's tables are hostile and small: for them the shares are taken that the rewrites found among their
own new files.
"""

from __future__ import annotations

import json
import logging
import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import compress
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import typer
from pyiceberg.table import Table

from benchmarks.bounds import file_bounds
from benchmarks.metrics import drawn_evenly, scan_fraction
from benchmarks.pages import head, how, paragraph, table
from benchmarks.sets import SETS, BenchmarkSet
from benchmarks.without_jvm import catalog_in, machine
from iceberg_zorder.errors import RewriteFailedError
from iceberg_zorder.pyiceberg import report, rewrite_data_files
from tests.fuzz.disturbances import Disturbances
from tests.fuzz.engines import PyIceberg
from tests.fuzz.histories import lake
from tests.fuzz.requests import Request

DATA = Path("benchmark-data")
PAGE, FIGURES = Path("docs/benchmarks/predictions.md"), Path("docs/benchmarks/predictions.json")
COMMITS = 20
FILES = 48
OTHER_FILES = (3, 12, 500)
"""Of these numbers of files, too, for the sets that are named."""
OTHER_SETS = ("uniform", "lineitem", "store_sales")
VALUES = 2_000
_CLOSE = 0.1
_ABOUT = """\
Before it writes, a rewrite predicts which share of the table `column = value` will read. This page compares predicted
with actual shares, for readers who ask how far to trust a dry run."""
_HOW = """\
[predictions.json](predictions.json) has every figure, including those of the random tables. Named tables are those of
[the benchmark of peers](peers.md#sets). A fuzzer (tests with random input) makes the random tables. Errors are
relative to the actual share."""
_STEPS = (
    "*Attainable* is what a report predicts from bounds alone.",
    "*Predicted* is what the rewrite predicts before it writes, from held-out rows.",
    f"*Actual* is computed from the bounds of all new files, for {VALUES:,} values at evenly spaced ranks of all rows.",
    "All URLs begin with the same 16 characters, and bounds keep no more, so no layout helps column `url`.",
)


@dataclass(frozen=True)
class Prediction:
    """A column of a rewritten table: the shares of the bytes that equality reads, before, as predicted, and after."""

    table: str
    column: str
    files: int
    rows_per_file: float
    before: float
    predicted: float
    actual: float
    planned_files: int = 0
    attainable: float = 0.0

    @property
    def error(self) -> float:
        """How far the prediction is off, relative to what came."""
        return abs(self.predicted - self.actual) / self.actual if self.actual else 0.0

    @property
    def error_of_bounds(self) -> float:
        """How far off is what a report said to be attainable, which has seen bounds alone."""
        return abs(self.attainable - self.actual) / self.actual if self.actual else 0.0


def of_set(of: BenchmarkSet, rows: int, wanted: int = FILES) -> Iterator[Prediction]:
    """Append the set in commits, rewrite it, and judge what was predicted by all of its rows."""
    source = pq.read_table(of.source(rows, DATA))
    with tempfile.TemporaryDirectory() as directory:
        catalog = catalog_in(Path(directory))
        catalog.create_namespace("db")
        table = catalog.create_table("db.t", source.schema)
        step = source.num_rows // COMMITS + 1
        for start in range(0, source.num_rows, step):
            table.append(source.slice(start, step))
        size = sum(task.file.file_size_in_bytes for task in table.scan().plan_files())
        with table.transaction() as transaction:
            transaction.set_properties({"write.target-file-size-bytes": str(size // wanted)})
        found = report(table, list(of.columns))
        attainable = {each.name: each.attainable or 0.0 for each in found.columns}
        result = rewrite_data_files(table, list(of.columns), options={"rewrite-all": True})
        actual = {column: _of_all_rows(table, source[column], column) for column in of.columns}
        files = result.added_data_files_count
        for each in result.scan_fractions:
            told = each.before or 0.0, each.predicted or 0.0, actual[each.column]
            of_report = found.file_sizes.files_after_rewrite, attainable[each.column]
            yield Prediction(of.name, each.column, files, source.num_rows / files, *told, *of_report)
        catalog.close()


def _of_all_rows(table: Table, values: pa.ChunkedArray, column: str) -> float:
    bounds = file_bounds(table, [column])
    # Files of NULLs alone have no bounds, and are never read.
    nulls = [
        (each.file.null_value_counts or {}).get(table.schema().find_field(column).field_id)
        for each in table.scan().plan_files()
    ]
    has_values = [null != rows for null, rows in zip(nulls, bounds.record_counts, strict=True)]
    if pa.types.is_date(values.type):
        values = values.cast(pa.int32())
    elif pa.types.is_timestamp(values.type):
        values = values.cast(pa.int64())
    elif pa.types.is_floating(values.type):
        values = values.filter(pc.invert(pc.is_nan(values)))
    drawn: list[Any] = drawn_evenly(values.drop_null().to_pylist(), VALUES)
    lower, upper, sizes = (
        list(compress(each, has_values)) for each in (bounds.lower[column], bounds.upper[column], bounds.sizes)
    )
    return float(scan_fraction(drawn, lower, upper, sizes) * sum(sizes) / sum(bounds.sizes))


def of_random_tables(seeds: Sequence[int]) -> Iterator[Prediction]:
    """Rewrite tables of the fuzzer; what is refused, or does not rewrite anything, tells nothing."""
    for seed in seeds:
        with tempfile.TemporaryDirectory() as directory:
            rng = random.Random(seed)
            made = lake(rng, Path(directory))
            made.history.make(made.location)
            request = Request.draw(rng, made.history)
            try:
                result = PyIceberg().rewrite(made, request, Disturbances(made.history)).result
            except RewriteFailedError:  # rows of a data file that this engine does not read
                continue
            if result is None or not result.added_data_files_count:
                continue
            files = result.added_data_files_count
            rows = sum(len(each.rows) for each in made.history.read()) / files
            for each in result.scan_fractions:
                told = each.before or 0.0, each.predicted or 0.0, each.actual or 0.0
                yield Prediction(f"seed {seed}", each.column, files, rows, *told)


def page(figures: dict[str, Any]) -> str:
    """Write the page of the figures."""
    sets = [Prediction(**each) for each in figures["sets"]]
    random_tables = [Prediction(**each) for each in figures["random_tables"]]
    errors, of_bounds = [each.error for each in sets], [each.error_of_bounds for each in sets]
    random_errors = sorted(each.error for each in random_tables)
    rows_per_file = fmean(each.rows_per_file for each in random_tables)
    tables = len({each.table for each in random_tables})
    lines = [
        *head("Predicted and actual scan fractions", _ABOUT),
        "",
        "## Result",
        "",
        *table(
            ("figure", "columns", "mean error", "largest", f"within {_CLOSE:.0%}"),
            [
                _errors("predicted, tables of the benchmark", errors),
                _errors("attainable, tables of the benchmark", of_bounds),
                _errors("predicted, random tables", random_errors),
            ],
        ),
        "",
        *paragraph(
            f"For {sum(each.planned_files == each.files for each in sets)} of {len(sets)} columns, the rewrite wrote "
            f"as many files as planned. The {tables} random tables have {rows_per_file:.0f} rows per file on average. "
            "For half of their columns, the prediction is off by at most "
            f"{random_errors[len(random_errors) // 2]:.1%}."
        ),
        "",
        "## Columns",
        "",
        *table(
            (
                *("table", "column", "files", "before", "attainable", "predicted", "actual"),
                *("error of attainable", "of predicted"),
            ),
            [_row(each) for each in sets],
            texts=2,
        ),
        *how("make bench-predictions", figures["machine"], _HOW, *_STEPS),
    ]
    return "\n".join(lines) + "\n"


def _errors(name: str, errors: Sequence[float]) -> list[str]:
    close = f"{sum(each <= _CLOSE for each in errors)} of {len(errors)}"
    return [name, str(len(errors)), f"{fmean(errors):.1%}", f"{max(errors):.1%}", close]


def _row(of: Prediction) -> list[str]:
    shares = (f"{share:.2%}" for share in (of.before, of.attainable, of.predicted, of.actual))
    return [of.table, f"`{of.column}`", str(of.files), *shares, f"{of.error_of_bounds:.1%}", f"{of.error:.1%}"]


def main(
    rows: Annotated[int, typer.Option(help="Rows of each set.")] = 1_000_000,
    seeds: Annotated[int, typer.Option(help="Tables of the fuzzer.")] = 300,
) -> None:
    """Measure, and write the page."""
    logging.getLogger("iceberg_zorder").setLevel(logging.ERROR)
    sets = []
    for each, files in [
        *((each, FILES) for each in SETS),
        *((each, files) for each in SETS if each.name in OTHER_SETS for files in OTHER_FILES),
    ]:
        found = list(of_set(each, rows, files))
        sets += found
        for of in found:
            typer.echo(f"{of.table:16} {of.column:20} {of.predicted:.4f} {of.actual:.4f} {of.error:.1%}")
    random_tables = list(of_random_tables(range(seeds)))
    figures = {
        "machine": machine(),
        "sets": [asdict(each) for each in sets],
        "random_tables": [asdict(each) for each in random_tables],
    }
    FIGURES.write_text(json.dumps(figures, indent=1) + "\n")
    PAGE.write_text(page(figures))
    typer.echo(PAGE.read_text())


if __name__ == "__main__":
    typer.run(main)
