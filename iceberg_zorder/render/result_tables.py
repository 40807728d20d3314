"""Results of rewrites as tables for terminals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from iceberg_zorder.printable import all_printable


def result_tables(result: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Show what a rewrite did, or would do.

    Examples
    --------
    >>> from dataclasses import asdict
    >>> from rich.console import Console
    >>> from iceberg_zorder.rewrite.result import ColumnScan, RewriteResult
    >>> result = RewriteResult(6, 2, 1000, 0, 0, scan_fractions=(ColumnScan("a", 1.0, 0.25, None),))
    >>> _, fractions = result_tables(asdict(result))
    >>> Console(width=60).print(fractions)  # doctest: +NORMALIZE_WHITESPACE
    ┏━━━━━━━━━━━━━━━┳━━━━━━━━┳━━━━━━━━━━━┳━━━━━━━━┓
    ┃ scan fraction ┃ before ┃ predicted ┃ actual ┃
    ┡━━━━━━━━━━━━━━━╇━━━━━━━━╇━━━━━━━━━━━╇━━━━━━━━┩
    │ a             │ 100.0% │     25.0% │        │
    └───────────────┴────────┴───────────┴────────┘
    """
    result = all_printable(result)
    yield _counts(result)
    if workload := result["workload"]:
        queries = f"the {workload['queries']:,} queries of the workload"
        yield _shares("share read by", "queries", ("before", "predicted", "actual"), [{**workload, "queries": queries}])
    if result["scan_fractions"]:
        yield _shares("scan fraction", "column", ("before", "predicted", "actual"), result["scan_fractions"])
    if result["predicates"]:
        yield _shares("share read by", "predicate", ("before", "predicted"), result["predicates"])
    if result["expected_seconds"] is not None:
        yield Text(f"Expected to take {result['expected_seconds']:,.1f} seconds, judging by earlier rewrites")


def _counts(result: Mapping[str, Any]) -> Table:
    counts = Table(show_header=False)
    counts.add_column()
    counts.add_column(justify="right")
    for name, value in result.items():
        if name == "rewritten_bytes_count":
            counts.add_row("rewritten bytes", decimal(value or 0))
        elif name.endswith("_count"):
            counts.add_row(name.removesuffix("_count").replace("_", " "), f"{value:,}")
    return counts


def _shares(title: str, key: str, names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Table:
    shares = Table()
    shares.add_column(title)
    for name in names:
        shares.add_column(name, justify="right")
    for row in rows:
        percents = ("" if row[name] is None else f"{100 * row[name]:.1f}%" for name in names)
        # Names and conditions hold brackets that are no markup.
        shares.add_row(Text(row[key]), *percents)
    return shares
