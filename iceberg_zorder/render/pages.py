"""Reports and advice as pages for a browser, with everything inside."""

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
from iceberg_zorder.printable import printable_lines
from iceberg_zorder.render.advice_text import answer as advised
from iceberg_zorder.render.advice_text import basis, cost_text, layout_text, read_text, shown_layouts
from iceberg_zorder.render.figures import count, files_read, less, moment, number, percent, size
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
    """A bar: its name, its length as a share of the longest there may be, its text, its class and a remark."""

    name: str
    share: float
    text: str
    kind: str = "now"
    mark: str = ""


_MOST_PARTITIONS = 30
_SIZE_CLASSES = 12
_NEARLY = 0.98
"""Above this ratio to the other figure none is marked as the better one."""


def report_page(reports: Sequence[tuple[Mapping[str, Any], Any | None]]) -> str:
    """Write a page on a report, or on an older and a newer one."""
    told = [report for report, _ in reports]
    names = ("Before", "Now")[-len(told) :]
    boxes = [each for _, each in reports if each is not None]
    page = template("report_page.html").render(
        report=told[-1],
        answer=answer(told[-1], told[0] if len(told) > 1 else None) if told[-1]["total_file_count"] else "",
        snapshots=list(zip(names, map(snapshot_text, told), strict=True)),
        sides=list(zip(names, told, strict=True)),
        reads=list(_reads(list(zip(names, told, strict=True)))),
        # One scale for all, by the rows of the newest.
        pictures=[(name, replace(each, rows=boxes[-1].rows).axes) for name, each in zip(names, boxes, strict=False)],
        charts=[*_depths(told), *_sizes(boxes, told[-1]["file_sizes"]["target_file_size_bytes"])],
        most_partitions=_MOST_PARTITIONS,
    )
    # Charts have names and values, too.
    return printable_lines(page)


def _reads(sides: Sequence[tuple[str, Mapping[str, Any]]]) -> Iterator[tuple[str, list[Bar]]]:
    """Return what each filter reads, as bars on one scale: the bytes of the larger table."""
    newest = sides[-1][1]
    whole = max(1, *(report["total_bytes"] for _, report in sides))
    for column in newest["columns"]:
        found = [(name, each, _named(each["columns"], "name", column["name"])) for name, each in sides]
        yield f"A filter on {column['name']}", list(_bars(found, "average_file_count", whole))
    for predicate in newest["predicates"]:
        found = [(name, each, _named(each["predicates"], "predicate", predicate["predicate"])) for name, each in sides]
        yield predicate["predicate"], list(_bars(found, "total_file_count", whole))
    if workload := newest.get("workload"):
        title = f"The {count(workload['queries'], 'query', 'queries')} of the workload, on average"
        found = [(name, each, each.get("workload")) for name, each in sides]
        yield title, list(_bars(found, "average_file_count", whole))


def _named(rows: Sequence[Mapping[str, Any]], key: str, name: str) -> Mapping[str, Any] | None:
    return next((each for each in rows if each[key] == name), None)


def _bars(
    found: Sequence[tuple[str, Mapping[str, Any], Mapping[str, Any] | None]], files_key: str, whole: int
) -> Iterator[Bar]:
    reads = [
        (name, row["scan_fraction"] * report["total_bytes"], row, report)
        for name, report, row in found
        if row is not None and row["scan_fraction"] is not None
    ]
    ordered = sorted(read for _, read, _, _ in reads)
    for name, read, row, report in reads:
        is_best = len(reads) > 1 and read == ordered[0] < _NEARLY * ordered[1]
        text = f"{files_read(read, row[files_key], report['total_file_count'])} ({percent(row['scan_fraction'])})"
        mark = less(read, ordered[1]) if is_best else ""
        yield Bar(name, read / whole, text, name.lower(), mark)
    _, newest, last = found[-1]
    if last and (share := last.get("attainable")) is not None:
        read, of = share * newest["total_bytes"], newest["file_sizes"]["files_after_rewrite"]
        files = last.get("attainable_file_count")
        text = size(read) if files is None else files_read(read, files, of)
        yield Bar("Attainable", read / whole, f"{text} ({percent(share)})", "attainable")


def _depths(reports: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, list[list[Bar]]]]:
    """Count the files by depth, each report by the same classes and on the same scale."""
    found = [report["file_depth_histogram"] for report in reports]
    depths = sorted({depth for each in found for depth in each})
    most = max((files for each in found for files in each.values()), default=1)
    if depths:
        sides = [
            [_counted(_depth_class(int(at)), each.get(at, 0), most, kind) for at in depths]
            for kind, each in _kinds(found)
        ]
        yield "Data files by depth", sides


def _depth_class(highest: int) -> str:
    """Name a class of depths: above 16 each is twice as wide as the last."""
    return str(highest) if highest <= 16 else f"{highest // 2 + 1:,} – {highest:,}"


def _sizes(boxes: Sequence[Any], target: int) -> Iterator[tuple[str, list[list[Bar]]]]:
    """Count the files by size in the same way; the class of the target is marked."""
    found = [np.maximum(each.sizes, 1) for each in boxes]
    if not found:
        return
    least = min(int(each.min()) for each in found)
    largest = max(int(each.max()) for each in found)
    edges = np.geomspace(min(least, target) * 0.999, max(largest, target) * 1.001, _SIZE_CLASSES + 1)
    counts = [np.histogram(each, edges)[0].tolist() for each in found]
    most = max(map(max, counts))
    classes = [
        (f"{size(low)} – {size(high)}", " (target)" if low <= target < high else "") for low, high in pairwise(edges)
    ]
    sides = [
        [_counted(name, files, most, kind, note) for (name, note), files in zip(classes, each, strict=True)]
        for kind, each in _kinds(counts)
    ]
    yield "Data files by size", sides


def _kinds(sides: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    return zip(("before", "now")[-len(sides) :], sides, strict=True)


def _counted(name: str, files: int, most: int, kind: str, note: str = "") -> Bar:
    return Bar(name, files / max(1, most), f"{files:,}{note}", kind)


def advice_page(advice: Mapping[str, Any]) -> str:
    """Write a page."""
    shown = shown_layouts(advice)
    most = max(each["bytes_per_query"] for each in shown) or 1
    page = template("advice_page.html").render(
        advice=advice,
        answer=advised(advice),
        basis=basis(advice),
        cost=cost_text(advice) if advice["cost"] else "",
        whole=max(1, advice["table_bytes"]),
        layouts=[{**each, "name": layout_text(each)} for each in (advice["today"], *advice["candidates"])],
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
