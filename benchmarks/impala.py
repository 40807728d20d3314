"""The Impala article's test: the share of pages that a filter on one column skips, in a table of one file.

Source: "Speeding up queries with Z-order", the Apache Impala blog: 2,776 of 3,035 pages of store_sales, of 23 columns
and 2.88 million rows, are skipped for ``ss_cdemo_sk = 961370``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from benchmarks.boxes import Ranks, comparable, table_boxes
from benchmarks.layouts import EVEN, ICEBERG_SORT, ICEBERG_ZORDER, LAYOUTS, OURS, Shape
from benchmarks.metrics import Boxes, Predicates, scan_fractions
from benchmarks.results import PageFilterResult
from benchmarks.run import Bench, Say, Scale
from benchmarks.sets import SETS, BenchmarkSet

ARTICLE_PAGES, ARTICLE_SKIPPED = 3035, 2776
PAGE_ROWS = 20_000
"""The article's 3,035 pages are 132 for each column, of 21,800 rows."""

_VALUES = {"ss_cdemo_sk": 961_370, "ss_customer_sk": 49_969}
_LAYOUTS = (OURS, EVEN, ICEBERG_ZORDER, ICEBERG_SORT)
_ROW_GROUP_BYTES = 128 << 20


def _uniform(columns: int) -> BenchmarkSet:
    names = tuple("abcd"[:columns])

    def make(rows: int, _: Path) -> pa.Table:
        rng = np.random.default_rng(columns)
        return pa.table({name: rng.integers(0, 2**62, rows) for name in (*names, "payload")})

    return BenchmarkSet(f"uniform{columns}", names, f"{columns} uniform columns", make)


def page_filters(spark: SparkSession, rows: int, data: Path, say: Say) -> Iterator[PageFilterResult]:
    """Measure store_sales and the article's uniform tables of two and four columns."""
    store_sales = next(each for each in SETS if each.name == "store_sales")
    for of in (store_sales, _uniform(2), _uniform(4)):
        say(f"one file of {of.name}: {of.about}")
        source = of.source(rows, data)
        bench = Bench(spark, of, source, Scale(rows, 1, 0), Shape(1, _ROW_GROUP_BYTES, PAGE_ROWS))
        table = pq.read_table(source, columns=list(of.columns))
        ranks = [Ranks.of(table[column]) for column in of.columns]
        places = [rank.places(comparable(table[column])) for rank, column in zip(ranks, of.columns, strict=True)]
        for layout in (each for each in LAYOUTS if each.name in _LAYOUTS):
            pages = table_boxes(bench.lay_out(layout), of.columns, ranks).pages
            bench.restore(layout)
            for result in _results(of, layout.name, pages, ranks, places):
                value = "" if result.of_value is None else f", {result.of_value:.1f}% for the article's value"
                say(f"  {layout.name:20} {result.column:15} {result.average:5.1f}% of {result.pages} pages{value}")
                yield result
        bench.drop()


def _results(
    of: BenchmarkSet, layout: str, pages: Boxes, ranks: Sequence[Ranks], places: Sequence[object]
) -> Iterator[PageFilterResult]:
    for column, name in enumerate(of.columns):
        counted = (pages.sizes[column : column + 1] > 0).astype(np.int64)
        boxes = Boxes(pages.lower[column : column + 1], pages.upper[column : column + 1], counted)
        drawn = Predicates.drawn([np.asarray(places[column])])
        value = _VALUES.get(name)
        of_value = None
        if value is not None:
            first, last = ranks[column].interval(value, value)
            of_value = 100 - scan_fractions(boxes, Predicates(np.array([[[first], [last]]]), (), ())).equality
        average = 100 - scan_fractions(boxes, Predicates(drawn.equality, (), ())).equality
        yield PageFilterResult(of.name, layout, name, int(counted.sum()), average, of_value)
