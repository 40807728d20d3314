"""What a benchmark found, for ``docs/benchmarks/peers.md`` and for the terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from statistics import fmean

from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from benchmarks.claims import ALL_CLASSES, EQUALITY, LEVELS, MEASURES, Claim, Level, Measure, claims, fractions
from benchmarks.impala import ARTICLE_PAGES, ARTICLE_SKIPPED
from benchmarks.layouts import KD_TREE, LIQUID_SORTED, OURS
from benchmarks.metrics import PREDICATES, RANGES
from benchmarks.results import CostResult, PruningResult, Results
from benchmarks.sets import SETS

CONSOLE_WIDTH = 100

_NOTHING = "–"
_HEADERS = {
    "ours, hilbert": "ours hilbert",
    "ours, even zorder": "ours even zorder",
    "ours, even hilbert": "ours even hilbert",
    LIQUID_SORTED: "Delta liquid sorted",
    KD_TREE: "k-d tree",
}
_INTRODUCTION = """\
Every layout gets the same rows, ingested in the order in which they would arrive, and writes (about) the same number
of files, with the same settings of row groups and pages and the same codec; the exact numbers are under
[file counts](#file-counts). Then predicates, drawn deterministically from the rows, are put to the bounds that the
files hold: {predicates} equalities, {predicates} ranges of {first} of the rows and {predicates} of {second} for every
clustering column, and {predicates} conjunctions of two {second} ranges for every pair of columns. A scan fraction is
the share of the table's bytes that the bounds do not rule out, in percent: less is better. The k-d tree of all rows is
no tool but a reference, which holds the whole table in memory; it has neither row groups nor pages."""
_LEGEND = """\
*ours* and *ours hilbert* cut the curve into files where the boxes are tight, *ours even ...* into files of equal counts
(`cuts => 'even'`); *Delta liquid sorted* is liquid clustering with the setting that sorts inside files. **Bold**: the
best of a row, the k-d tree aside. A layout has an average only if it was measured on every set."""
_PAGES = """\
The test of the Impala article: a table in one file, with pages of 20,000 rows, and the share of a column's pages that
its page index rules out for `column = value`: on average over 100 values drawn from the rows, and for the article's own
value. The article skips {skipped:,} of {pages:,} pages, {share}, for `ss_cdemo_sk = 961370`."""
_COSTS = """\
Medians of the timed rounds, after two rounds to warm up; every layout has its turn in every round. *Read*: bytes
that the process read per byte of the table, without what it read back of its own shuffles. *Peak*: the largest resident
memory of Spark's JVM."""


def markdown(results: Results, profile: str) -> str:
    """Write the benchmark page.

    Parameters
    ----------
    results : Results
        What a run found.
    profile : str
        Markdown about where the time of a rewrite goes.

    Returns
    -------
    str
        The page, as Markdown.
    """
    parts = [
        "# Benchmarks",
        _INTRODUCTION.format(predicates=PREDICATES, first=f"{RANGES[0]:.0%}", second=f"{RANGES[1]:.0%}"),
        "## Environment",
        _rows(("", ""), [(key, value) for key, value in results.environment.items()]),
        "## Sets",
        _sets(results),
        "## Scan fractions",
        _LEGEND,
        *_pruning(results, "by_files", EQUALITY, "equality"),
        *_pruning(results, "by_files", ALL_CLASSES, "average over the four classes of predicates"),
        *_pruning(results, "by_row_groups", EQUALITY, "equality"),
        *_pruning(results, "by_row_groups", ALL_CLASSES, "average over the four classes of predicates"),
        *_pruning(results, "by_pages", EQUALITY, "equality"),
        *_pruning(results, "by_pages", ALL_CLASSES, "average over equality and the two ranges"),
        "(Pages of different columns do not begin at the same rows, so that there are no conjunctions over them.)",
        *_failures(results),
        "## File counts",
        "Files, and the thousands of rows in the smallest and in the largest.",
        _file_counts(results),
        "## Costs",
        *_costs(results),
        "## Pages of one file",
        *_page_filters(results),
        "## Memory",
        _memory(results),
        "## Promises",
        _rows(
            ("promise", "", "found"),
            [(claim.text, _verdict(claim), claim.figures or _NOTHING) for claim in claims(results)],
        ),
        "## Pictures",
        "![Scan fraction by files for equality, a panel per set and a bar per layout](peers.png)",
        "![The boxes of the files of three layouts, over the ranks of two columns](boxes.png)",
        "## Where the time goes",
        profile.strip(),
    ]
    return "\n\n".join(parts) + "\n"


def console(results: Results, to: Console) -> None:
    """Print averages and claims, in 100 columns.

    Parameters
    ----------
    results : Results
        What a run found.
    to : rich.console.Console
        Where to print.
    """
    # Cells of tables have to wrap even where other lines must not.
    to.print(Group(_console_averages(results), Text(), _console_claims(results)), soft_wrap=False, width=CONSOLE_WIDTH)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _rows(header: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: bool = False) -> str:
    ruler = [("---:" if numbers and place else "---") for place in range(len(header))]
    lines = [header, ruler, *([_cell(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _header(layout: str) -> str:
    return _cell(_HEADERS.get(layout, layout)).replace(" ", "<br>")


def _ordered(results: Results) -> list[str]:
    """Name the layouts, the reference last."""
    return sorted(results.layouts(), key=lambda layout: layout == KD_TREE)


def _sets(results: Results) -> str:
    known = {each.name: each for each in SETS}
    return _rows(
        ("set", "clustered by", ""),
        [
            (name, ", ".join(f"`{column}`" for column in known[name].columns), known[name].about)
            if name in known
            else (name, _NOTHING, _NOTHING)
            for name in results.sets()
        ],
    )


def _average(values: dict[str, float], results: Results) -> float | None:
    """Average over all sets, if there is a value for each."""
    return fmean(values.values()) if values and len(values) == len(results.sets()) else None


def _pruning(results: Results, level: Level, measure: Measure, title: str) -> list[str]:
    found = {layout: fractions(results, layout, level, measure) for layout in _ordered(results)}
    found = {layout: values for layout, values in found.items() if values}
    heading = f"### {LEVELS[level]}, {title}"
    if not found:
        return [heading, "Not measured."]

    def row(name: str, values: dict[str, float | None]) -> list[str]:
        shown = {layout: _NOTHING if value is None else f"{value:.1f}" for layout, value in values.items()}
        rivals = [value for layout, value in values.items() if value is not None and layout != KD_TREE]
        best = f"{min(rivals):.1f}" if rivals else None
        return [
            name,
            *(f"**{text}**" if text == best and layout != KD_TREE else text for layout, text in shown.items()),
        ]

    rows = [row(name, {layout: values.get(name) for layout, values in found.items()}) for name in results.sets()]
    rows.append(row("*average*", {layout: _average(values, results) for layout, values in found.items()}))
    return [heading, _rows(["set", *(_header(layout) for layout in found)], rows, numbers=True)]


def _failures(results: Results) -> list[str]:
    failed = [each for each in results.pruning if each.error]
    if not failed:
        return []
    lines = [f"- {each.layout} on {each.set}: {_without_paths(each.error or '')}" for each in failed]
    return ["What failed, shown as – above:", "\n".join(lines)]


def _without_paths(error: str) -> str:
    # A message may name files of the machine that it came from, which mean nothing to a reader.
    line = (error.splitlines() or [""])[0]
    return re.sub(r"(?:\w+:)?/+\S*/\S*", "…", line)[:160].replace("|", "\\|")


def _file_counts(results: Results) -> str:
    layouts = _ordered(results)

    def cell(result: PruningResult | None) -> str:
        if result is None:
            return _NOTHING
        low, high = result.rows
        return f"{result.files}<br>{low / 1000:.1f}–{high / 1000:.1f}" if high else f"{result.files}"

    rows = [[name, *(cell(results.of(name, layout)) for layout in layouts)] for name in results.sets()]
    return _rows(["set", *(_header(layout) for layout in layouts)], rows, numbers=True)


def _costs(results: Results) -> list[str]:
    if not results.costs:
        return ["Not measured."]

    def megabytes(count: int) -> str:
        return f"{count / 1e6:,.0f}"

    rows = [
        (
            f"{each.set}, {each.rows:,} rows",
            f"**{each.layout}**" if each.layout == OURS else each.layout,
            str(each.files),
            f"{each.cost.cpu_seconds:.1f}",
            f"{each.cost.wall_seconds:.1f}",
            f"{each.read_ratio:.2f}x",
            megabytes(each.cost.shuffle_bytes),
            megabytes(each.cost.spilled_bytes),
            megabytes(each.cost.peak_rss_bytes),
        )
        for each in results.costs
    ]
    header = ("set", "layout", "files", "CPU s", "wall s", "read", "shuffled MB", "spilled MB", "peak MB")
    lines = _rows(header, rows, numbers=True).splitlines()
    lines[1] = "| --- | --- |" + " ---: |" * (len(header) - 2)
    return [
        _COSTS,
        "\n".join(lines),
    ]


def _page_filters(results: Results) -> list[str]:
    if not results.page_filters:
        return ["Not measured."]
    rows = [
        (
            each.set,
            f"**{each.layout}**" if each.layout == OURS else each.layout,
            each.column,
            str(each.pages),
            f"{each.average:.1f}",
            _NOTHING if each.of_value is None else f"{each.of_value:.1f}",
        )
        for each in results.page_filters
    ]
    return [
        _PAGES.format(skipped=ARTICLE_SKIPPED, pages=ARTICLE_PAGES, share=f"{ARTICLE_SKIPPED / ARTICLE_PAGES:.1%}"),
        _rows(("set", "layout", "column", "pages", "skipped %, average", "for the article's value"), rows),
    ]


def _memory(results: Results) -> str:
    found = results.memory
    if not found:
        return "Not measured."
    return (
        f"A table of {found.rows:,} rows and {found.table_bytes / 1e9:.2f} GB, "
        f"{found.table_bytes / found.heap_bytes:.1f} times the {found.heap_bytes / 1e6:.0f} MB of heap that the only "
        f"executor had, was rewritten into {found.files} files with no option set but `rewrite-all`: "
        f"{found.cost.wall_seconds:.0f} s, "
        f"{found.cost.cpu_seconds:.0f} CPU s, {found.cost.spilled_bytes / 1e9:.2f} GB spilled to disk, a peak of "
        f"{found.cost.peak_rss_bytes / 1e6:.0f} MB resident; rows and their hash were "
        f"{'the same' if found.unchanged else '**different**'} afterwards."
    )


def _verdict(claim: Claim) -> str:
    return f"**{claim.verdict}**" if claim.holds is False else claim.verdict


def _console_averages(results: Results) -> Table:
    table = Table(
        title="Averages over the sets: scan fractions (equality, all classes), seconds, bytes read",
        box=box.SIMPLE_HEAD,
        title_justify="left",
        title_style="bold",
        padding=(0, 1, 0, 0),
    )
    table.add_column("layout", no_wrap=True)
    for title in ("files", "", "groups", "", "pages", "", "CPU s", "wall s", "read"):
        table.add_column(title, justify="right", no_wrap=True)
    timed = {each.set for each in results.costs}

    def cost(layout: str, of: Callable[[CostResult], float]) -> float | None:
        values = [of(each) for each in results.costs if each.layout == layout]
        return fmean(values) if values and len(values) == len(timed) else None

    for layout in _ordered(results):
        scanned = [
            _average(fractions(results, layout, level, measure), results) for level in LEVELS for measure in MEASURES
        ]
        seconds = [cost(layout, lambda each: each.cost.cpu_seconds), cost(layout, lambda each: each.cost.wall_seconds)]
        read = cost(layout, lambda each: each.read_ratio)
        table.add_row(
            layout,
            *(_NOTHING if value is None else f"{value:.1f}" for value in [*scanned, *seconds]),
            _NOTHING if read is None else f"{read:.2f}x",
            style="bold" if layout == OURS else "dim" if layout == KD_TREE else None,
        )
    return table


def _console_claims(results: Results) -> Table:
    table = Table(box=box.SIMPLE_HEAD, width=CONSOLE_WIDTH, padding=(0, 1, 0, 0))
    table.add_column("promise", ratio=5)
    table.add_column("", no_wrap=True, width=13)
    table.add_column("found", ratio=6)
    colours = {True: "green", False: "bold red", None: "yellow"}
    for claim in claims(results):
        table.add_row(claim.text, Text(claim.verdict, colours[claim.holds]), Text(claim.figures or _NOTHING))
    return table
