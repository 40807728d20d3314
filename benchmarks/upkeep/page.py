"""The page on tables that grow, from the figures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

from benchmarks.pages import bullets, head, how, paragraph
from benchmarks.upkeep.figures import (
    COLUMN_LIMIT,
    ICEBERG,
    ICEBERG_ALL,
    MEAN_LIMIT,
    OURS,
    OURS_PYICEBERG,
    RATIO_LIMIT,
    Figures,
    History,
    Step,
    largest_error,
)
from benchmarks.upkeep.picture import curves
from benchmarks.upkeep.rows import GROWING, Growing

PAGE, PICTURE = Path("docs/benchmarks/upkeep.md"), Path("docs/benchmarks/upkeep.png")
PROMISED_BYTES = 2_000_000_000

_ABOUT = """\
When a clustered table grows, its new files span all values until upkeep rewrites them. This page compares the upkeep of
three systems over up to {steps} growths. It is for readers who ask what filters then read, and what upkeep writes."""
_HOW = """\
[upkeep.json](upkeep.json) has every growth of every table, with the reason of each rewrite."""
_STEPS = (
    "Tables have {megabytes:,.0f} MB in files of {file_megabytes:,.1f} MB. At first, each system clusters its table "
    "by its own full rewrite.",
    "They grow {steps} times by 2%, in four files. *Upserts* grow by merges of 1%; half of the merged rows are "
    "updates.",
    "After each growth the system's upkeep runs. Ours is `rewrite_data_files` with `max-scan-ratio` 1.2.",
    "*Reads* are the share of bytes in files whose bounds do not rule out `column = value`. Values are drawn at evenly "
    "spaced ranks of the rows; figures are averages over the clustering columns.",
    "*Reads / full rewrite's* divides the reads by the reads after a full rewrite of the same rows by iceberg-zorder.",
    "*Costs* add 4 MiB for each file that a filter opens, and 1/32 of that for each file of the table; all files count "
    "as of average size.",
    "*Written / rewrites of everything* divides the bytes that upkeep wrote by the bytes of a full rewrite after each "
    "growth.",
    "Iceberg's z-order chooses files by size. Its `rewrite-all` ran at some growths only; its written bytes are for a "
    "run after each growth.",
    "Delta's `OPTIMIZE` has its defaults, except the size of files. By default it clusters a cube (a set of files that "
    "were clustered together) again while the cube has less than 100 GB.",
)


def render(figures: Figures) -> str:
    """Write the page and the picture; returns the page."""
    curves(figures, PICTURE)
    text = page(figures)
    PAGE.write_text(text, encoding="utf-8")
    return text


def page(figures: Figures) -> str:
    """Return the page, the promises first."""
    target = next((each.target_bytes for each in figures.histories), 0)
    sizes = {"megabytes": figures.bytes / 1e6, "file_megabytes": target / 1e6, "steps": figures.steps}
    lines = head("Upkeep of tables that grow", _ABOUT.format(**sizes), figures.note)
    if figures.bytes < PROMISED_BYTES:
        lines += [
            "",
            *paragraph(
                f"**The promises are for tables of 2 GB or more; these have {figures.bytes / 1e6:,.0f} MB**, with "
                "files in proportion. `make bench-upkeep` takes tables of 2 GiB, `python -m benchmarks.upkeep --bytes` "
                "smaller ones."
            ),
        ]
    lines += [
        "",
        "## Promises",
        "",
        "| table | what | promised at most | found | result |",
        "|---|---|--:|--:|---|",
        *_promises(figures),
        "",
        "![Scan fractions beside a full rewrite's, and bytes written beside rewriting everything each time]"
        "(upkeep.png)",
        "",
        "## All systems",
        "",
        "| table | system | growths | reads, mean | reads / full rewrite's, mean | largest "
        "| written / rewrites of everything | files, first and last | delete files |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|",
        *_systems(figures),
        "",
        *paragraph(" ".join(_predictions(figures))),
        *how("make bench-upkeep", figures.environment, _HOW),
        "",
        *bullets(*(each.format(**sizes) for each in _STEPS)),
    ]
    return "\n".join(lines) + "\n"


def _promises(figures: Figures) -> Iterator[str]:
    for of in GROWING:
        for system in (OURS, OURS_PYICEBERG):
            history = figures.of(of.name, system)
            if history is not None and history.grown:
                yield from _promises_of(of, history, figures.steps)


def _promises_of(of: Growing, history: History, steps: int) -> Iterator[str]:
    name = of.name + ("" if history.system == OURS else " (PyIceberg)")
    held = "holds"
    if len(history.grown) < steps:
        name, held = f"{name}, **{len(history.grown)} of {steps} growths**", "held so far"
    for what, limit, found in (
        ("reads / full rewrite's, largest", RATIO_LIMIT, max(history.ratios)),
        ("reads / full rewrite's, mean", MEAN_LIMIT, fmean(history.ratios)),
        ("costs / full rewrite's, largest", RATIO_LIMIT, max(history.cost_ratios)),
        ("costs / full rewrite's, mean", MEAN_LIMIT, fmean(history.cost_ratios)),
        ("reads of one column / full rewrite's, largest", COLUMN_LIMIT, max(history.column_ratios)),
        ("written / rewrites of everything", of.byte_limit, history.byte_ratio),
    ):
        holds = held if found <= limit else "**does not hold**"
        yield f"| {name} | {what} | {limit:.2f}x | {found:.3f}x | {holds} |"


def _systems(figures: Figures) -> Iterator[str]:
    for of in GROWING:
        ours = figures.of(of.name, OURS) or figures.of(of.name, OURS_PYICEBERG)
        for history in (each for each in figures.histories if each.set == of.name and each.grown):
            yield _row(of, history, history.grown, ours, history.byte_ratio)
            fully = [_fully(step) for step in history.grown if step.full]
            if history.system == ICEBERG and fully:
                yield _row(of, History(of.name, ICEBERG_ALL, 0, [history.steps[0], *fully]), fully, ours, 1.0)


def _fully(step: Step) -> Step:
    return Step(step.number, "", step.table_bytes, step.before, step.full or {}, step.table_bytes, 0, 0, 0)


def relative(step: Step, ours: History | None) -> float | None:
    """Put what is read beside what a full rewrite by ours leaves of the same rows."""
    same = next((each for each in ours.steps if each.number == step.number), None) if ours else None
    return None if same is None or same.attainable is None else step.scan / same.attainable


def _row(of: Growing, history: History, steps: list[Step], ours: History | None, written: float) -> str:
    beside = [found for step in steps if (found := relative(step, ours)) is not None]
    mean, largest = (f"{fmean(beside):.2f}x", f"{max(beside):.2f}x") if beside else ("", "")
    files = f"{history.steps[0].files}, {steps[-1].files}" if steps[-1].files else ""
    numbers = f"{len(steps)}" if history.system != ICEBERG_ALL else " and ".join(str(step.number) for step in steps)
    deletes = f"{steps[-1].delete_files}" if of.merges and files else ""
    return (
        f"| {of.name} | {history.system} | {numbers} | {fmean(step.scan for step in steps):.1%} | {mean} | {largest} | "
        f"{written:.3f}x | {files} | {deletes} |"
    )


def _predictions(figures: Figures) -> Iterator[str]:
    ours = [each for each in figures.histories if each.system in (OURS, OURS_PYICEBERG)]
    real = sorted({step.number for each in ours for step in each.steps if step.full})
    error = largest_error(ours)
    if error is not None:
        yield (
            f"At growths {', '.join(str(each) for each in real)} the benchmark measured a full rewrite, and then undid "
            "it. At the other growths, the reads after a full rewrite are those that a dry run predicts. Where both "
            f"figures are known, predictions were off by {error:.1%} at most."
        )
    again = [step.second_bytes / step.table_bytes for each in ours for step in each.grown if step.second_bytes]
    asked = sum(step.second_bytes is not None for each in ours for step in each.grown)
    largest = f", at most {max(again):.1%} of the table" if again else ""
    yield f"A second run right after each upkeep run would rewrite files in {len(again)} of {asked} cases{largest}."
