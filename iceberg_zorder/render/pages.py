"""Reports and advice as pages for a browser, with everything inside."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any

import matplotlib as mpl
import numpy as np
from jinja2 import Environment, FunctionLoader, Template
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from rich.filesize import decimal

from iceberg_zorder.printable import printable_lines
from iceberg_zorder.render.advice_text import basis, cost_text, headline, layout_text, shown_layouts


def template(name: str) -> Template:
    """Read a template."""
    environment = Environment(loader=FunctionLoader(_read), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters.update(
        size=lambda size: decimal(round(size)),
        percent=lambda share: "–" if share is None else f"{100 * share:.1f}%",
        decimals=lambda number: "–" if number is None else f"{number:,.2f}",
    )
    environment.globals["style"] = _read("page.css")
    return environment.get_template(name)


def _read(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


_INK = "#123457"
"""Stands for the text's colour, which the page decides."""
_BOX = "#d9480f"
_FEW = 600
"""Of more boxes than that no edges are drawn, and they are drawn as pixels."""
_INKED = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
# Text stays text, and names with a dollar are no formulas.
_SETTINGS: dict[Any, Any] = {"svg.fonttype": "none", "text.parse_math": False, "font.family": "sans-serif"}


def boxes_chart(axes: Sequence[Any]) -> str:
    """Draw the files' boxes, ``Axis`` of ``metrics/data_files.py``; each place is the share of the rows below."""
    with mpl.rc_context(_SETTINGS | dict.fromkeys(_INKED, _INK)), warnings.catch_warnings():
        # It is for the browser to find glyphs; the warnings would have them on the terminal.
        warnings.filterwarnings("ignore", "Glyph")
        figure = Figure(figsize=(5.2, 4.6), layout="constrained")
        chart = figure.add_subplot()
        chart.spines[["top", "right"]].set_visible(False)
        first = axes[0]
        count = len(first.lower)
        low, high = np.arange(count) / count, (np.arange(count) + 1) / count
        name, ticks = "data file", list[tuple[float, str]]()
        if len(axes) > 1:
            low, high, name, ticks = axes[1].lower, axes[1].upper, axes[1].name, list(axes[1].ticks)
        boxes = [
            Rectangle((x, y), max(right - x, 0.002), max(top - y, 0.002))
            for x, right, y, top in zip(first.lower, first.upper, low, high, strict=True)
        ]
        many, alpha = count > _FEW, max(0.02, min(0.35, 8 / count))
        chart.add_collection(PatchCollection(boxes, facecolor=_BOX, alpha=alpha, edgecolor="none", rasterized=many))
        if not many:
            chart.add_collection(PatchCollection(boxes, facecolor="none", edgecolor=_BOX, linewidth=0.8))
        chart.set(xlim=(0, 1), ylim=(0, 1), xlabel=first.name, ylabel=name)
        texts = [text for _, text in first.ticks]
        chart.set_xticks([place for place, _ in first.ticks], texts, rotation=20, ha="right", fontsize=7)
        chart.set_yticks([place for place, _ in ticks], [text for _, text in ticks], fontsize=7)
        written = io.StringIO()
        figure.savefig(written, format="svg", transparent=True, dpi=144, metadata={"Date": None, "Creator": None})
    text = written.getvalue()
    return text[text.index("<svg") :].replace(_INK, "currentColor")


_MOST_PARTITIONS = 30
_SIZE_CLASSES = 12
Bar = tuple[str, float, str, str]
"""The name of a bar, its length as a share, what stands behind it, and its class."""


def report_page(reports: Sequence[tuple[Mapping[str, Any], Any | None]]) -> str:
    """Write a page."""
    page = template("report_page.html").render(
        reports=[report for report, _ in reports],
        charts=[[] if boxes is None else _charts(report, boxes) for report, boxes in reports],
        most_partitions=_MOST_PARTITIONS,
    )
    # Charts have names and values, too.
    return printable_lines(page)


def _charts(report: Mapping[str, Any], boxes: Any) -> list[tuple[str, str, list[Bar]]]:
    depths = report["file_depth_histogram"]
    most = max(depths.values(), default=1)
    return [
        ("Boxes of the data files, by the share of the rows below", boxes_chart(boxes.axes), []),
        ("What column = value reads, and what is attainable", "", list(_scans(report["columns"]))),
        ("Data files by depth, up to", "", [(f"{int(at):,}", n / most, f"{n:,}", "") for at, n in depths.items()]),
        ("Data files by size, up to", "", list(_sizes(boxes.sizes, report["file_sizes"]["target_file_size_bytes"]))),
    ]


def _scans(columns: Sequence[Mapping[str, Any]]) -> Iterator[Bar]:
    for column in columns:
        for name, share, kind in ((column["name"], column["scan_fraction"], ""), ("", column["attainable"], "other")):
            yield name, share or 0.0, "–" if share is None else f"{100 * share:.1f}%", kind


def _sizes(sizes: Any, target: int) -> Iterator[Bar]:
    """Count the files of each class; that of the target is marked."""
    sizes = np.maximum(sizes, 1)
    edges = np.geomspace(
        min(int(sizes.min()), target) * 0.999, max(int(sizes.max()), target) * 1.001, _SIZE_CLASSES + 1
    )
    counts, _ = np.histogram(sizes, edges)
    for low, high, count in zip(edges.tolist(), edges[1:].tolist(), counts.tolist(), strict=False):
        is_target = low <= target < high
        text = f"{count:,}{' (target)' if is_target else ''}"
        yield decimal(round(high)), count / max(1, int(counts.max())), text, "other" if is_target else ""


def advice_page(advice: Mapping[str, Any]) -> str:
    """Write a page."""
    whole = max(1, advice["table_bytes"])
    layouts = [{**each, "name": layout_text(each)} for each in (advice["today"], *advice["candidates"])]
    shares = [(each, each["bytes_per_query"] / whole) for each in shown_layouts(advice)]
    page = template("advice_page.html").render(
        advice=advice,
        headline=headline(advice),
        basis=basis(advice),
        cost=cost_text(advice) if advice["cost"] else "",
        whole=whole,
        layouts=layouts,
        shares=[
            (layout_text(each), share, f"{100 * share:.1f}%", "" if each["kind"] == "today" else "other")
            for each, share in shares
        ],
    )
    return printable_lines(page)
