"""Pictures of what a benchmark found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from benchmarks.claims import EQUALITY, ZAMBONI, fractions
from benchmarks.layouts import KD_TREE, OURS
from benchmarks.metrics import Boxes
from benchmarks.results import Results

Sample = tuple[str, Boxes, tuple[int, ...]]
"""A title, the boxes of a layout over two columns, and how many distinct values each column has."""

_DPI = 110
_WIDTH = 12.8
_PANELS_PER_ROW = 4
_BAR_HEIGHT = 0.19
_FAMILIES = {
    "iceberg-zorder": "#d9480f",
    "iceberg-zorder, other options": "#f3b995",
    "Iceberg": "#8ea6c4",
    "Delta": "#93bfae",
    "zamboni": "#b3a0cc",
    "k-d tree, the reference": "#a8a8a8",
}


def _family(layout: str) -> str:
    if layout == OURS:
        return "iceberg-zorder"
    if layout.startswith(OURS):
        return "iceberg-zorder, other options"
    if layout == KD_TREE:
        return "k-d tree, the reference"
    if ZAMBONI in layout.lower():
        return "zamboni"
    return "Delta" if layout.startswith("Delta") else "Iceberg"


def _in_order(layouts: Sequence[str]) -> list[str]:
    """Put ours on top and families together, whatever the order in which they ran."""
    families = list(_FAMILIES)
    return sorted(layouts, key=lambda layout: families.index(_family(layout)))


def bars(results: Results, path: Path) -> None:
    """Draw the scan fractions by files for equality, a panel per set.

    Parameters
    ----------
    results : Results
        What a run found.
    path : Path
        Where the picture goes; its suffix says the format.
    """
    layouts = _in_order(results.layouts())
    found = {layout: fractions(results, layout, "by_files", EQUALITY) for layout in layouts}
    sets = results.sets()
    # The last place is the legend's.
    columns = min(_PANELS_PER_ROW, len(sets) + 1)
    rows = math.ceil((len(sets) + 1) / columns)
    figure = Figure(figsize=(_WIDTH, 0.7 + rows * (0.45 + _BAR_HEIGHT * len(layouts))), dpi=_DPI, layout="constrained")
    panels = figure.subplots(rows, columns, sharey=True, squeeze=False).flatten()
    for axes, name in zip(panels, sets, strict=False):
        _draw_bars(axes, name, layouts, {layout: found[layout].get(name) for layout in layouts})
    for axes in panels[len(sets) :]:
        axes.axis("off")
    families = {_family(layout): Patch(color=_FAMILIES[_family(layout)]) for layout in layouts}
    panels[len(sets)].legend(list(families.values()), list(families), loc="center", frameon=False, fontsize=10.5)
    figure.suptitle(
        "Share of the table's bytes that a filter column = value has to read, by the bounds of files (less is better)",
        fontsize=12.5,
    )
    figure.savefig(path)


def _draw_bars(axes: Axes, title: str, layouts: Sequence[str], values: dict[str, float | None]) -> None:
    places = range(len(layouts))
    axes.barh(
        places,
        [values[layout] or 0 for layout in layouts],
        height=0.78,
        color=[_FAMILIES[_family(layout)] for layout in layouts],
    )
    for place, layout in zip(places, layouts, strict=True):
        value = values[layout]
        axes.text(
            (value or 0) + 1.5,
            place,
            "not measured" if value is None else f"{value:.1f}%",
            va="center",
            fontsize=8,
            color="#222222" if layout == OURS else "#555555",
            fontweight="bold" if layout == OURS else "normal",
        )
    axes.set_title(title, fontsize=10.5, fontweight="bold", loc="left", pad=3)
    # The same scale everywhere, with room for a number right of a full bar.
    axes.set_xlim(0, 122)
    axes.set_ylim(len(layouts) - 0.4, -0.6)
    axes.set_xticks([])
    axes.set_yticks(places, layouts, fontsize=8.5)
    axes.tick_params(axis="y", length=0)
    for label in axes.get_yticklabels():
        if label.get_text() == OURS:
            label.set_fontweight("bold")
    for side in ("top", "right", "bottom"):
        axes.spines[side].set_visible(False)
    axes.spines["left"].set_color("#bbbbbb")


def boxes_picture(samples: Sequence[Sample], path: Path) -> None:
    """Draw the boxes of files side by side, on axes of ranks.

    Parameters
    ----------
    samples : sequence of (str, Boxes, tuple of int)
        For every panel its title, the boxes over two columns, and how many distinct values each column has.
    path : Path
        Where the picture goes; its suffix says the format.
    """
    figure = Figure(figsize=(_WIDTH, 0.65 + _WIDTH / max(len(samples), 3)), dpi=_DPI, layout="constrained")
    panels = figure.subplots(1, len(samples), sharex=True, sharey=True, squeeze=False).flatten()
    for axes, (title, boxes, distinct) in zip(panels, samples, strict=True):
        _draw_boxes(axes, title, boxes, distinct)
    panels[0].set_ylabel("rank in the second column", fontsize=9.5)
    figure.savefig(path)


def _draw_boxes(axes: Axes, title: str, boxes: Boxes, distinct: tuple[int, ...]) -> None:
    ranks = np.array(distinct)[:, None]
    # A box has the whole of its last value. Bounds that are not known reach to the edges.
    low = np.clip(boxes.lower, 0, ranks) / ranks
    high = np.clip(boxes.upper, -1, ranks - 1) / ranks + 1 / ranks
    has_values = np.all(boxes.lower <= boxes.upper, axis=0).tolist()
    areas = (high - low).prod(axis=0)
    colours = mpl.colormaps["viridis"]
    # Neighbours get like colours, along the diagonal; small boxes go on top of large ones.
    hue = np.argsort(np.argsort((low + high).sum(axis=0), kind="stable")) / max(len(areas), 1)
    for place in np.argsort(-areas, kind="stable"):
        if not has_values[place]:
            continue
        colour = colours(float(hue[place]))
        width, height = high[:, place] - low[:, place]
        axes.add_patch(
            Rectangle(
                (low[0, place], low[1, place]),
                width,
                height,
                facecolor=(*colour[:3], 0.2),
                edgecolor=colour,
                linewidth=1.1,
            )
        )
    axes.set_title(f"{title}\n{len(areas)} files", fontsize=11)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.set_aspect("equal")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_xlabel("rank in the first column", fontsize=9.5)
