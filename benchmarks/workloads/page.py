"""The page of the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from benchmarks.pages import bullets, head, how, paragraph, table
from benchmarks.workloads.pairs import PAIRS

OTHERS = {
    "all": "all filtered columns",
    "set": "best set of columns",
    "weighted": "best set, best weights",
    "iceberg": "Iceberg's z-order, best set",
    "liquid": "liquid clustering, best set",
    "qd_tree": "greedy Qd-tree",
    "k_d_tree": "k-d tree",
}
SAME, SHIFTED = 0, 1
Case = Mapping[str, Any]
_ABOUT = """\
Option `workload` cuts files for the queries of a table. This page compares such cuts with seven other layouts, for
readers who ask whether a workload is worth collecting."""
_RESULT = """\
Queries read the matching rows in any layout. The table shows how much less our cuts make them read beyond these rows
than another layout does, on average over all tables. A negative figure means that our cuts make them read more."""
_LAYOUTS = (
    "*Cuts from the workload* choose their columns, four at most.",
    "*Best set* and *best weights* were found by trying all sets of at most four columns with weights of 1, 2 and "
    "4. They were tried on the measured queries, which nobody can know, so the two are references.",
    "*k-d tree* knows all rows, the other layouts a sample.",
    "*Iceberg's z-order* and *liquid clustering* (Delta's `OPTIMIZE` with `CLUSTER BY`) are written by Spark, by the "
    "best set for our cuts. Another set may suit them better. Iceberg's z-order interleaves raw bits, so on logs a "
    "trace outweighs the time.",
)
_HOW = """\
[workload.json](workload.json) has every figure: also the shifted workload by table, and the chosen columns. Tables
have {rows:,} rows. Layouts that learn see 100 queries, three times other ones. Everything is measured on 400 queries
that no layout has seen, by the full bounds of all columns. Queries on TPC-H and TPC-DS tables have the filters of
these benchmarks; other tables have the filters that services ask for."""


def left(case: Case, layout: str, workload: int) -> float:
    """Return what queries read of a layout beyond the rows that match, in percent of the table.

    Examples
    --------
    >>> left({"matching": [2.0, 1.0], "ours": {"scanned": [5.0, 9.0]}}, "ours", SAME)
    3.0
    """
    return float(case[layout]["scanned"][workload] - case["matching"][workload])


def less(cases: Sequence[Case], layout: str, workload: int) -> float:
    """Return how much less queries read beyond matching rows with our cuts, as a mean share of another layout's."""
    return 1 - fmean(left(case, "ours", workload) / left(case, layout, workload) for case in cases)


def page(figures: Mapping[str, Any]) -> str:
    """Return the page."""
    cases = figures["cases"]
    worst = max(cases, key=lambda case: case["ours"]["scanned"][SAME] / case["set"]["scanned"][SAME])
    above = worst["ours"]["scanned"][SAME] / worst["set"]["scanned"][SAME] - 1
    compared = [
        (about, f"{less(cases, name, SAME):.0%}", f"{less(cases, name, SHIFTED):.0%}") for name, about in OTHERS.items()
    ]
    lines = [
        *head("Cuts from a workload beside other layouts", _ABOUT, figures.get("note", "")),
        "",
        "## Result",
        "",
        *paragraph(_RESULT),
        "",
        *table(("less than", "the same workload", "a shifted workload: half of the queries are new"), compared),
        "",
        *paragraph(
            f"Against the best set of columns, the worst case is {worst['pair']} in {worst['files']} files, at "
            f"{above:+.1%} of its scan fraction."
        ),
        "",
        "## The same workload",
        "",
        "Share of the table that queries read on average, in percent. **Bold** is the best of a row.",
        "",
        *_scanned(cases),
        "",
        "## Tables",
        "",
        "| table | what queries ask for |",
        "|---|---|",
        *(f"| {pair.name} | {pair.about} |" for pair in PAIRS),
        "",
        "## Layouts",
        "",
        *bullets(*_LAYOUTS, _came_out(cases)),
        *how("make bench-workload", figures["machine"], _HOW.format(rows=figures["rows"])),
    ]
    return "\n".join(lines) + "\n"


def _came_out(cases: Sequence[Case]) -> str:
    """Return how many files the tools wrote that take a size instead of a number of files."""
    wanted = dict.fromkeys(case["files"] for case in cases)
    written = []
    for name, peer in (("Iceberg's z-order", "iceberg"), ("liquid clustering", "liquid")):
        counts = [_span([case[peer]["files"] for case in cases if case["files"] == files]) for files in wanted]
        written.append(f"{name} wrote {' and '.join(counts)}")
    return f"These two take a file size. For {' and '.join(map(str, wanted))} files {', '.join(written)}."


def _span(counts: Sequence[int]) -> str:
    return str(counts[0]) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"


def _scanned(cases: Sequence[Case]) -> list[str]:
    layouts = ["ours", *OTHERS]
    rows = []
    for case in cases:
        scanned = [case[layout]["scanned"][SAME] for layout in layouts]
        cells = [f"**{each:.2f}**" if each == min(scanned) else f"{each:.2f}" for each in scanned]
        rows.append([case["pair"], str(case["files"]), f"{case['matching'][SAME]:.2f}", *cells])
    return table(["table", "files", "rows that match", "**cuts from the workload**", *OTHERS.values()], rows)
