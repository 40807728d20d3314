"""The picture of a clustering report as SVG, in colours that serve a light and a dark page."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

_INK = "#123457"
"""Stands for the text's colour, which the page decides."""
_BOX = "#d9480f"
_FEW = 600
"""Of more boxes than that no edges are drawn, and they are drawn as pixels."""
_INKED = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
# Text stays text, and names with a dollar are no formulas.
_SETTINGS: dict[Any, Any] = {"svg.fonttype": "none", "text.parse_math": False, "font.family": "sans-serif"}


def boxes_chart(axes: Sequence[Any]) -> str:
    """Draw the files' boxes, ``Axis`` of ``report/file_boxes.py``; each place is the share of the rows below."""
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
