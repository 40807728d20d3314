"""Reports and advice as self-contained HTML pages."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.resources import files
from itertools import count as counter
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from jinja2 import Environment, FunctionLoader, Template

from iceberg_zorder import __version__
from iceberg_zorder.figures import count, files_read, less, moment, number, percent, size
from iceberg_zorder.printable import printable_lines
from iceberg_zorder.render.advice_text import answer as advised
from iceberg_zorder.render.advice_text import basis, cost_text, layout_text, read_text, shown_layouts
from iceberg_zorder.render.report_text import answer, snapshot_text


def template(name: str) -> Template:
    """Read a template."""
    environment = Environment(loader=FunctionLoader(_read), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters.update(
        size=size, percent=percent, number=number, thousands="{:,}".format, zipped=partial(zip, strict=True)
    )
    environment.globals |= {
        "style": _read("page.css"),
        "script": _read("page.js"),
        "version": __version__,
        "now": moment(round(1000 * time.time())),
        "next_id": counter().__next__,
    }
    return environment.get_template(name)


def _read(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


class Bar(NamedTuple):
    """A bar: name, length as a share of the longest possible, text, class and remark."""

    name: str
    share: float
    text: str
    kind: str = "now"
    mark: str = ""


_MOST_PARTITIONS = 30
_SIZE_CLASSES = 12
_NEARLY = 0.98
"""Ratio of two figures above which neither is marked as better."""


def report_page(reports: Sequence[tuple[Mapping[str, Any], Any | None]]) -> str:
    """Write a page on a report, or on an older and a newer one."""
    names = ("Before", "Now")[-len(reports) :]
    sides = [(name, report) for name, (report, _) in zip(names, reports, strict=True)]
    boxes = {name: each for name, (_, each) in zip(names, reports, strict=True) if each is not None}
    newest = sides[-1][1]
    page = template("report_page.html").render(
        report=newest,
        answer=answer(newest, *(report for _, report in sides[:-1])) if newest["total_file_count"] else "",
        snapshots=[(name, snapshot_text(report)) for name, report in sides],
        sides=sides,
        reads=list(_reads(sides)),
        # One scale for all, from the rows of the newest report.
        pictures=[(name, replace(each, rows=[*boxes.values()][-1].rows).axes) for name, each in boxes.items()],
        charts=[_depths(sides), _sizes(boxes, newest["file_sizes"]["target_file_size_bytes"])] if boxes else [],
        most_partitions=_MOST_PARTITIONS,
    )
    # Charts have names and values, too.
    return printable_lines(page)


_Side = tuple[str, Mapping[str, Any]]


def _reads(sides: Sequence[_Side]) -> Iterator[tuple[str, list[Bar]]]:
    """Return what each filter reads, as bars on one scale: the bytes of the larger table."""
    newest = sides[-1][1]
    whole = max(1, *(report["total_bytes"] for _, report in sides))
    asked = (("columns", "name", "A filter on "), ("predicates", "predicate", ""))
    for rows, key, title in asked:
        for row in newest[rows]:
            found = [next((each for each in report[rows] if each[key] == row[key]), None) for _, report in sides]
            yield f"{title}{row[key]}", list(_bars(sides, found, whole))
    if workload := newest.get("workload"):
        title = f"The {count(workload['queries'], 'query', 'queries')} of the workload, on average"
        yield title, list(_bars(sides, [report.get("workload") for _, report in sides], whole))


def _bars(sides: Sequence[_Side], found: Sequence[Mapping[str, Any] | None], whole: int) -> Iterator[Bar]:
    known = [(side, row) for side, row in zip(sides, found, strict=True) if row and row["scan_fraction"] is not None]
    reads = [row["scan_fraction"] * report["total_bytes"] for (_, report), row in known]
    for ((name, report), row), read in zip(known, reads, strict=True):
        files = row["average_file_count"] if "average_file_count" in row else row["total_file_count"]
        text = f"{files_read(read, files, report['total_file_count'])} ({percent(row['scan_fraction'])})"
        mark = less(read, max(reads)) if read < _NEARLY * max(reads) else ""
        yield Bar(name, read / whole, text, name.lower(), mark)
    (_, newest), last = sides[-1], found[-1] or {}
    if (share := last.get("attainable")) is not None:
        read, files = share * newest["total_bytes"], last.get("attainable_file_count")
        of = newest["file_sizes"]["files_after_rewrite"]
        text = size(read) if files is None else files_read(read, files, of)
        yield Bar("Attainable", read / whole, f"{text} ({percent(share)})", "attainable")


def _depths(sides: Sequence[_Side]) -> tuple[str, list[list[Bar]]]:
    found = [report["file_depth_histogram"] for _, report in sides]
    depths = sorted({depth for each in found for depth in each})
    # Above 16 each class is twice as wide as the last.
    names = [f"{at}" if at <= 16 else f"{at // 2 + 1:,} – {at:,}" for at in map(int, depths)]
    return "Data files by depth", _counts(names, [[each.get(at, 0) for at in depths] for each in found])


def _sizes(boxes: Mapping[str, Any], target: int) -> tuple[str, list[list[Bar]]]:
    sizes = [np.maximum(each.sizes, 1) for each in boxes.values()]
    every = np.append(np.concatenate(sizes), target)
    edges = np.geomspace(every.min() * 0.999, every.max() * 1.001, _SIZE_CLASSES + 1)
    names = [
        f"{size(low)} – {size(high)}{' (target)' if low <= target < high else ''}" for low, high in pairwise(edges)
    ]
    return "Data files by size", _counts(names, [np.histogram(each, edges)[0].tolist() for each in sizes])


def _counts(names: Sequence[str], sides: Sequence[Sequence[int]]) -> list[list[Bar]]:
    """Return the number of files of each class, for each report, as bars on one scale."""
    most = max(1, *map(max, sides))
    kinds = ("before", "now")[-len(sides) :]
    return [
        [Bar(name, files / most, f"{files:,}", kind) for name, files in zip(names, each, strict=True)]
        for kind, each in zip(kinds, sides, strict=True)
    ]


def advice_page(advice: Mapping[str, Any]) -> str:
    """Write a page."""
    shown = shown_layouts(advice)
    most = max((each["bytes_per_query"] for each in shown), default=0) or 1
    page = template("advice_page.html").render(
        advice=advice,
        answer=advised(advice),
        basis=basis(advice),
        cost=cost_text(advice) if advice["cost"] else "",
        whole=max(1, advice["table_bytes"]),
        layouts=[{**each, "name": layout_text(each)} for each in [*shown[:1], *advice["candidates"]]],
        bars=[
            Bar(
                layout_text(each),
                each["bytes_per_query"] / most,
                f"{read_text(each)} ({percent(each['bytes_per_query'] / max(1, advice['table_bytes']))})",
                "before" if each["kind"] == "today" else "now" if each == advice["pick"] else "attainable",
                "advised" if each == advice["pick"] else "",
            )
            for each in shown
        ],
    )
    return printable_lines(page)
