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
In any layout, queries read at least the rows that match. The table compares what they read beyond these rows. It shows
how much less queries read with our cuts than with another layout, on average over all tables. A negative figure means
that queries read more with our cuts."""
_LAYOUTS = (
    "*Cuts from the workload* use at most four columns, which the benchmark chooses by the queries, as `advise` does.",
    "*Best set* is the best of all sets of at most four columns. *Best weights* also tries weights of 1, 2 and 4, for "
    "the best two sets. The measured queries decide which is best. Nobody knows these beforehand, so both layouts are "
    "references.",
    "*Greedy Qd-tree* cuts at ends of the queries' ranges, each time where queries can skip the largest number of "
    "rows.",
    "The *k-d tree* is built from all rows, our layouts and the Qd-tree from a sample.",
    "Spark writes *Iceberg's z-order* and *liquid clustering* (Delta's `OPTIMIZE` with `CLUSTER BY`), by the columns "
    "of *best set*. Another set may suit them better. Iceberg's z-order interleaves raw bits, so on table logs the "
    "bits of `trace` outweigh those of the time.",
)
_HOW = """\
[workload.json](workload.json) has every figure, including those of the shifted workload by table, and the chosen
columns. Tables have {rows:,} rows. Our cuts and the Qd-tree are made three times, each time from 100 other queries;
figures are averages of the three. All layouts are measured on 400 further queries, by bounds that are kept in full for
all columns."""
_QUERIES = (
    "Queries on TPC-H and TPC-DS tables have the filters of these benchmarks. Queries on the other tables are made up "
    "after those of typical services."
)


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
        *table(
            ("our cuts read less than", "the same workload", "a shifted workload: half of the queries are new"),
            compared,
        ),
        "",
        *paragraph(
            f"Compared with the best set of columns, our cuts do worst on {worst['pair']} in {worst['files']} files: "
            f"their scan fraction differs by {above:+.1%}."
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
        *paragraph(_QUERIES),
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
    numbers = " and ".join(map(str, wanted))
    return f"Spark's two layouts take a file size, not a number of files. For {numbers} files, {', '.join(written)}."


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
