"""What a benchmark found, for ``docs/benchmarks/peers.md`` and for the terminal."""

from __future__ import annotations

import re
from collections.abc import Callable
from statistics import fmean

from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from benchmarks.claims import ALL_CLASSES, EQUALITY, LEVELS, MEASURES, Level, Measure, claims, fractions
from benchmarks.impala import ARTICLE_PAGES, ARTICLE_SKIPPED
from benchmarks.layouts import KD_TREE, OURS
from benchmarks.metrics import PREDICATES, RANGES
from benchmarks.pages import bullets, head, how, paragraph, table
from benchmarks.results import CostResult, Results
from benchmarks.sets import SETS

CONSOLE_WIDTH = 100

_NOTHING = "–"
_SHORT = {EQUALITY.name: "equality", ALL_CLASSES.name: "all"}
_ABOUT = """\
This page compares files of iceberg-zorder with those of Iceberg's and Delta's layouts: what filters read, and what the
rewrite costs. It is for readers who ask whether to switch."""
_RESULT = """\
A scan fraction is the share of bytes that the bounds do not rule out, in percent; less is better.
*Equality* is `column = value`; *all* is the average over [four classes](#how-it-is-measured) of predicates. Figures are
averages over {sets} [tables](#sets). **Bold** is the best of a column."""
_LAYOUTS = (
    "*ours* and *ours, hilbert* cut files where boxes are tight. *ours, even ...* cut equal counts (`cuts => 'even'`).",
    "*Delta liquid, sorted files* is liquid clustering with the setting that sorts inside files.",
    "*k-d tree* of all rows is a reference, no tool. It has neither row groups nor pages.",
)
_PAGES = """\
As in Impala's article, a table is one file with pages of 20,000 rows. Figures are the percentage of a column's pages
that its page index rules out for `column = value`, from the worst to the best column. There, Impala skips
{share} of the pages for `ss_cdemo_sk = 961370`."""
_COSTS = """\
Spark rewrites {rows} million rows. Figures are medians of three rounds after two warm-ups. *Read* is bytes read per
byte of the table, without shuffles. *Peak* is the largest resident memory of Spark's JVM."""
_HOW = """\
[peers.json](peers.json) has every figure, by set and layout. Layouts get the same rows in order of arrival, the same
settings of row groups, pages and codec, and about equally many files."""
_STEPS = (
    "Predicates are drawn from the rows. Each clustering column has {predicates} equalities, "
    "{predicates} ranges of {first} of the rows and {predicates} of {second}. Each pair of columns has {predicates} "
    "conjunctions of two {second} ranges.",
    "Pages have no conjunctions, because pages of different columns begin at different rows.",
)


def markdown(results: Results) -> str:
    """Return the page of a run, as Markdown."""
    drawn = {"predicates": PREDICATES, "first": f"{RANGES[0]:.0%}", "second": f"{RANGES[1]:.0%}"}
    kept = claims(results)
    broken = [claim for claim in kept if claim.holds is False]
    lines = [
        *head("Layouts of peers", _ABOUT),
        "",
        "## Scan fractions",
        "",
        *paragraph(_RESULT.format(sets=len(results.sets()))),
        "",
        *_averages(results),
        "",
        *bullets(*_LAYOUTS),
        "",
        "![Scan fraction by files for equality, a panel per set and a bar per layout](peers.png)",
        "",
        "![The boxes of the files of three layouts, over the ranks of two columns](boxes.png)",
        *_failures(results),
        "",
        "## Promises",
        "",
        *paragraph(
            f"{sum(claim.holds is True for claim in kept)} of {len(kept)} promises hold; "
            f"{sum(claim.holds is None for claim in kept)} need figures that were not measured. "
            "`python -m benchmarks show` prints all. Broken promises:"
        ),
        "",
        *table(
            ("promise", "found"), [(claim.text, _cell(claim.figures.partition("; ")[0])) for claim in broken], texts=2
        ),
        "",
        "## Costs",
        "",
        *_costs(results),
        "",
        "[A profile](../../benchmarks/profile.md) shows where a rewrite spends time.",
        "",
        "## Memory",
        "",
        *paragraph(_memory(results)),
        "",
        "## Pages of one file",
        "",
        *_page_filters(results),
        "",
        "## Sets",
        "",
        *_sets(results),
        *how("make bench", "; ".join(f"{key} {value}" for key, value in results.environment.items()), _HOW),
        "",
        *bullets(*(each.format(**drawn) for each in _STEPS)),
    ]
    return "\n".join(lines) + "\n"


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


def _ordered(results: Results) -> list[str]:
    """Name the layouts, the reference last."""
    return sorted(results.layouts(), key=lambda layout: layout == KD_TREE)


def _sets(results: Results) -> list[str]:
    known = {each.name: each.about for each in SETS}
    return table(("set", "rows"), [(name, known.get(name, _NOTHING)) for name in results.sets()], texts=2)


def _average(values: dict[str, float], results: Results) -> float | None:
    """Average over all sets, if there is a value for each."""
    return fmean(values.values()) if values and len(values) == len(results.sets()) else None


def _averages(results: Results) -> list[str]:
    measured: list[tuple[Level, Measure]] = [(level, measure) for level in LEVELS for measure in MEASURES]
    found = {
        layout: [_average(fractions(results, layout, *each), results) for each in measured]
        for layout in _ordered(results)
    }
    rivals = [values for layout, values in found.items() if layout != KD_TREE]
    best = [
        min((f for values in rivals if (f := values[place]) is not None), default=None)
        for place in range(len(measured))
    ]

    def cell(layout: str, place: int) -> str:
        value, least = found[layout][place], best[place]
        text = _NOTHING if value is None else f"{value:.1f}"
        is_best = least is not None and text == f"{least:.1f}" and layout != KD_TREE
        return f"**{text}**" if is_best else text

    header = ["layout", *(f"{LEVELS[level].lower()}, {_SHORT[measure.name]}" for level, measure in measured)]
    return table(header, [[layout, *(cell(layout, place) for place in range(len(measured)))] for layout in found])


def _failures(results: Results) -> list[str]:
    failed = [each for each in results.pruning if each.error]
    lines = [f"{each.layout} on {each.set}: {_without_paths(each.error or '')}" for each in failed]
    return ["", "What failed, shown as – above:", "", *bullets(*lines)] if failed else []


def _without_paths(error: str) -> str:
    # A message may name files of the machine that it came from, which mean nothing to a reader.
    line = (error.splitlines() or [""])[0]
    return re.sub(r"(?:\w+:)?/+\S*/\S*", "…", line)[:160].replace("|", "\\|")


def _costs(results: Results) -> list[str]:
    if not results.costs:
        return ["Not measured."]
    rows = [
        (
            each.set,
            f"**{each.layout}**" if each.layout == OURS else each.layout,
            f"{each.cost.cpu_seconds:.1f}",
            f"{each.cost.wall_seconds:.1f}",
            f"{each.read_ratio:.2f}x",
            f"{each.cost.peak_rss_bytes / 1e6:,.0f}",
        )
        for each in results.costs
    ]
    millions = dict.fromkeys(f"{each.rows / 1e6:.1f}".removesuffix(".0") for each in results.costs)
    header = ("set", "layout", "CPU s", "wall s", "read", "peak MB")
    return [*paragraph(_COSTS.format(rows=" or ".join(millions))), "", *table(header, rows, texts=2)]


def _page_filters(results: Results) -> list[str]:
    found = results.page_filters
    if not found:
        return ["Not measured."]
    text = _PAGES.format(share=f"{ARTICLE_SKIPPED / ARTICLE_PAGES:.1%}")
    sets = list(dict.fromkeys(each.set for each in found))
    rows = []
    for layout in dict.fromkeys(each.layout for each in found):
        cells = []
        for name in sets:
            of = [each.average for each in found if (each.layout, each.set) == (layout, name)]
            cells.append(f"{min(of):.1f}–{max(of):.1f}" if of else _NOTHING)
        rows.append([f"**{layout}**" if layout == OURS else layout, *cells])
    columns = {name: len({each.column for each in found if each.set == name}) for name in sets}
    header = ["layout", *(f"{name}, {count} columns" for name, count in columns.items())]
    return [*paragraph(text), "", *table(header, rows)]


def _memory(results: Results) -> str:
    found = results.memory
    if not found:
        return "Not measured."
    return (
        f"A table of {found.rows:,} rows and {found.table_bytes / 1e9:.2f} GB was rewritten into {found.files} files, "
        f"with only `rewrite-all`. The executor's heap had {found.heap_bytes / 1e6:.0f} MB, "
        f"1/{found.table_bytes / found.heap_bytes:.1f} of the table. The rewrite took "
        f"{found.cost.wall_seconds:.0f} s and {found.cost.cpu_seconds:.0f} CPU s. It spilled "
        f"{found.cost.spilled_bytes / 1e9:.2f} GB to disk. Resident memory peaked at "
        f"{found.cost.peak_rss_bytes / 1e6:.0f} MB. Rows and their hash "
        f"{'stayed the same' if found.unchanged else '**changed**'}."
    )


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
