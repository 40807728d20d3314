"""The page of the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

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


def left(case: Case, layout: str, workload: int) -> float:
    """Find what a layout has queries read above the rows that match, in percent of the table.

    Examples
    --------
    >>> left({"matching": [2.0, 1.0], "ours": {"scanned": [5.0, 9.0]}}, "ours", SAME)
    3.0
    """
    return float(case[layout]["scanned"][workload] - case["matching"][workload])


def less(cases: Sequence[Case], layout: str, workload: int) -> float:
    """Average over cases by how much less of what is left ours has queries read, as a share of the other's."""
    return 1 - fmean(left(case, "ours", workload) / left(case, layout, workload) for case in cases)


def page(figures: Mapping[str, Any]) -> str:
    """Write the page."""
    cases = figures["cases"]
    worst = max(cases, key=lambda case: case["ours"]["scanned"][SAME] / case["set"]["scanned"][SAME])
    above = worst["ours"]["scanned"][SAME] / worst["set"]["scanned"][SAME] - 1
    lines = [
        "# Cuts from a workload beside other layouts",
        "",
        f"Written by `make bench-workload` on {figures['machine']}.",
        "",
        f"Tables of {figures['rows']:,} rows, each with a workload: of TPC-H and TPC-DS what their queries filter",
        "these tables by, of the others what services ask for. Layouts that learn from queries see 100 of them, three",
        "times others; everything is measured on 400 queries that none has seen. The best set of at most four columns,",
        "and its best weights of 1, 2 and 4, were found by trying all on those very queries, which nobody can. A k-d",
        "tree knows all rows, the others a sample. Cuts from a workload choose their columns, four at most.",
        "",
        "Two layouts are written by other tools in Spark, by the best set of columns: Iceberg's own z-order, and",
        "Delta's `OPTIMIZE` of a table with `CLUSTER BY`. Tables there have the types in which one would store them,",
        "dates, times and texts; what queries read is found for all layouts alike, by the whole bounds of all columns.",
        "That set is the best one for our cuts, and another may be better for theirs: Iceberg's z-order takes the bits",
        "of values as they are, so that on logs the 60 bits of a trace outweigh the time and the host. Both tools are",
        "told of a size and not of a number of files.",
        _came_out(cases),
        "",
        "| table | what is asked |",
        "|---|---|",
        *(f"| {pair.name} | {pair.about} |" for pair in PAIRS),
        "",
        "Of what is left to gain, which is what is read above the rows that match, cuts from the workload leave on",
        "average so much less than the others (where it is negative, more):",
        "",
        "| than | the same workload | shifted: half of the queries are new |",
        "|---|--:|--:|",
        *(
            f"| {about} | {less(cases, name, SAME):.0%} | {less(cases, name, SHIFTED):.0%} |"
            for name, about in OTHERS.items()
        ),
        "",
        f"Against the best set of columns, the worst is {worst['pair']} in {worst['files']} files, at {above:+.1%}",
        "of its scan fraction.",
    ]
    for title, workload in (("The same workload", SAME), ("A shifted workload", SHIFTED)):
        lines += ["", f"## {title}", "", "Scan fraction in percent.", "", *_table(cases, workload)]
    lines += ["", "## The columns", "", "| table | files | chosen, by training set | best set |", "|---|--:|---|---|"]
    for case in cases:
        chosen = "; ".join(dict.fromkeys(", ".join(sorted(each)) for each in case["ours"]["columns"]))
        lines.append(f"| {case['pair']} | {case['files']} | {chosen} | {', '.join(case['set']['columns'])} |")
    return "\n".join(lines) + "\n"


def _came_out(cases: Sequence[Case]) -> str:
    """Tell how many files came out of what is told of a size."""
    wanted = dict.fromkeys(case["files"] for case in cases)
    told = []
    for name, peer in (("Iceberg's z-order", "iceberg"), ("liquid clustering", "liquid")):
        counts = [_span([case[peer]["files"] for case in cases if case["files"] == files]) for files in wanted]
        told.append(f"{name} wrote {' and '.join(counts)}")
    return f"For {' and '.join(map(str, wanted))} files {', '.join(told)}."


def _span(counts: Sequence[int]) -> str:
    return str(counts[0]) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"


def _table(cases: Sequence[Case], workload: int) -> list[str]:
    layouts = ["ours", *OTHERS]
    lines = [
        "| table | files | rows that match | **cuts from the workload** | " + " | ".join(OTHERS.values()) + " |",
        "|---|--:|" + "--:|" * (len(layouts) + 1),
    ]
    for case in cases:
        scanned = [case[layout]["scanned"][workload] for layout in layouts]
        cells = [f"**{each:.2f}**" if each == min(scanned) else f"{each:.2f}" for each in scanned]
        lines.append(
            f"| {case['pair']} | {case['files']} | {case['matching'][workload]:.2f} | " + " | ".join(cells) + " |"
        )
    return lines
