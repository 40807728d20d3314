"""Charts of a clustering report as SVG, in colours that serve a light and a dark page."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from rich.filesize import decimal

_INK = "#123457"
"""Stands for the text's colour, which the page decides."""
_NOW, _ATTAINABLE = "#d9480f", "#3b82c4"
_FEW = 600
"""Of more boxes than that no edges are drawn, and they are drawn as pixels."""
_UPRIGHT = 8
"""So many labels have room beside each other."""
_BARS = 24
_NARROW = 100
_SIZE = (5.2, 3.2)
_SQUARE = (5.2, 4.6)
_DPI = 144


def boxes_chart(axes: Sequence[Any]) -> str:
    """Draw the files' boxes, ``Axis`` of ``report/file_boxes.py``; each place is the share of the rows below."""
    with _chart("boxes", _SQUARE) as (svg, chart):
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
        many = count > _FEW
        chart.add_collection(
            PatchCollection(
                boxes,
                facecolor=_NOW,
                alpha=max(0.02, min(0.35, 8 / count)),
                edgecolor="none",
                rasterized=many,
            )
        )
        if not many:
            chart.add_collection(PatchCollection(boxes, facecolor="none", edgecolor=_NOW, linewidth=0.8))
        chart.set(xlim=(0, 1), ylim=(0, 1), xlabel=first.name, ylabel=name)
        _label(chart, first.ticks, ticks)
    return svg[0]


def _label(chart: Axes, x: Sequence[tuple[float, str]], y: Sequence[tuple[float, str]]) -> None:
    chart.set_xticks([place for place, _ in x], [text for _, text in x], rotation=20, ha="right", fontsize=7)
    chart.set_yticks([place for place, _ in y], [text for _, text in y], fontsize=7)


def scan_chart(columns: Sequence[Mapping[str, Any]]) -> str:
    """Draw the scan fraction of each column beside the attainable one."""
    with _chart("scan", (_SIZE[0], 1.2 + 0.55 * len(columns))) as (svg, chart):
        places = np.arange(len(columns))
        for offset, key, colour, label in (
            (-0.2, "scan_fraction", _NOW, "now"),
            (0.2, "attainable", _ATTAINABLE, "attainable"),
        ):
            shares = [100 * (column[key] or 0.0) for column in columns]
            bars = chart.barh(places + offset, shares, height=0.36, color=colour, label=label)
            texts = ["-" if column[key] is None else f"{100 * column[key]:.1f}%" for column in columns]
            chart.bar_label(bars, texts, padding=3, fontsize=8, color=_INK)
        chart.set_yticks(places, [column["name"] for column in columns])
        chart.invert_yaxis()
        chart.set(xlim=(0, 118), xlabel="percent of the bytes that column = value reads")
        _legend(chart)
    return svg[0]


def read_chart(shares: Sequence[tuple[str, float]]) -> str:
    """Draw what a query reads of each layout, the first one being that of today."""
    with _chart("read", (_SIZE[0], 1.0 + 0.3 * len(shares))) as (svg, chart):
        places = np.arange(len(shares))
        colours = [_NOW] + [_ATTAINABLE] * (len(shares) - 1)
        bars = chart.barh(places, [100 * share for _, share in shares], height=0.6, color=colours)
        chart.bar_label(bars, [f"{100 * share:.1f}%" for _, share in shares], padding=3, fontsize=8, color=_INK)
        chart.set_yticks(places, [name for name, _ in shares], fontsize=8)
        chart.invert_yaxis()
        chart.set(xlim=(0, 118), xlabel="percent of the bytes that a query reads")
    return svg[0]


def _legend(chart: Axes) -> None:
    chart.legend(
        loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0, ncols=2, frameon=False, fontsize=8, labelcolor=_INK
    )


def depth_chart(histogram: Mapping[str, int]) -> str:
    """Draw how many files have which depth."""
    with _chart("depth", _SIZE) as (svg, chart):
        bars = chart.bar([f"{int(depth):,}" for depth in histogram], list(histogram.values()), color=_NOW)
        chart.bar_label(bars, fontsize=7, color=_INK)
        chart.tick_params(axis="x", rotation=45 if len(histogram) > _UPRIGHT else 0, labelsize=8)
        chart.set(xlabel="files over each other, up to", ylabel="data files")
    return svg[0]


def sizes_chart(sizes: npt.NDArray[np.int64], target: int) -> str:
    """Draw how many files have which size, the target among them."""
    with _chart("sizes", _SIZE) as (svg, chart):
        sizes = np.maximum(sizes, 1)
        least, most = min(int(sizes.min()), target) / 1.3, max(int(sizes.max()), target) * 1.3
        chart.hist(sizes, np.geomspace(least, most, _BARS + 1).tolist(), color=_NOW)
        chart.axvline(target, color=_ATTAINABLE, linewidth=1.5, label="target")
        chart.set_xscale("log")
        chart.set(xlim=(least, most))
        chart.minorticks_off()
        if most < _NARROW * least:
            # A power of ten or none is in there.
            chart.set_xticks(np.geomspace(least, most, 5)[1:-1])
        chart.xaxis.set_major_formatter(lambda size, _: decimal(round(size)))
        chart.set(xlabel="size", ylabel="data files")
        _legend(chart)
    return svg[0]


@contextmanager
def _chart(salt: str, size: tuple[float, float]) -> Iterator[tuple[list[str], Axes]]:
    """Give a list that the SVG is put into in the end, and axes to draw on."""
    svg: list[str] = []
    settings: dict[Any, Any] = dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), _INK
    )
    # Text stays text, names with a dollar are no formulas, and ids differ between charts of one page.
    settings |= {"svg.fonttype": "none", "text.parse_math": False, "svg.hashsalt": salt, "font.family": "sans-serif"}
    with mpl.rc_context(settings), warnings.catch_warnings():
        # Text stays text, and it is for the browser to find glyphs; the warnings would have them on the terminal.
        warnings.filterwarnings("ignore", "Glyph")
        figure = Figure(figsize=size, layout="constrained")
        chart = figure.add_subplot()
        chart.spines[["top", "right"]].set_visible(False)
        yield svg, chart
        written = io.StringIO()
        figure.savefig(written, format="svg", transparent=True, dpi=_DPI, metadata={"Date": None, "Creator": None})
    text = written.getvalue()
    svg.append(text[text.index("<svg") :].replace(_INK, "currentColor"))
