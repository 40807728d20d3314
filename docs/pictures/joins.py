"""Draw the picture of ``docs/understand/joins.md`` with the package's own functions; no Spark is needed.

Run by ``make picture``. 100,000 sales of 365 days and 1,000 items, by chance, are laid out in 16 files.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from docs.pictures.explained import GREY, ORANGE
from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.fit import LayoutRequest, fit
from iceberg_zorder.layout.keys import encode
from iceberg_zorder.layout.sample import Sample

ROWS, FILES, DAYS, ITEMS = 100_000, 16, 365, 1_000
NOVEMBER = range(304, 334)
BRAND = (112, 131, 140, 866, 902)
"""The keys of a brand's items."""

Integers = npt.NDArray[np.int64]


def boxes() -> tuple[Integers, Integers]:
    """Return the lower and the upper bounds of the files in both columns, of shape (files, 2)."""
    random = np.random.default_rng(0)
    values = np.stack([random.integers(0, DAYS, ROWS), random.integers(0, ITEMS, ROWS)], axis=1)
    sample = Sample(tuple(encode(pa.array(values[:, place]), "long") for place in (0, 1)))
    columns = [ClusteringColumn((name,), "long") for name in ("day", "item")]
    layout = fit(columns, sample, LayoutRequest(FILES))
    file = layout.file(sample)
    each = [values[file == number] for number in np.unique(file)]
    return np.array([rows.min(axis=0) for rows in each]), np.array([rows.max(axis=0) for rows in each])


def matched(lower: Integers, upper: Integers, column: int, ranges: Sequence[tuple[int, int]]) -> npt.NDArray[np.bool_]:
    """Return which files may hold a value of the ranges in a column."""
    found = [(lower[:, column] <= high) & (upper[:, column] >= low) for low, high in ranges]
    return np.asarray(np.logical_or.reduce(found), np.bool_)


def draw(axes: Axes, lower: Integers, upper: Integers, read: npt.NDArray[np.bool_]) -> None:
    """Draw the box of each file; orange ones are read."""
    for low, high, is_read in zip(lower.tolist(), upper.tolist(), read.tolist(), strict=True):
        size = (high[0] - low[0], high[1] - low[1])
        colour = ORANGE if is_read else GREY
        axes.add_patch(Rectangle(low, *size, facecolor=colour, alpha=0.3 if is_read else 0.06))
        axes.add_patch(Rectangle(low, *size, fill=False, edgecolor=colour))
    axes.set(xlim=(-5, DAYS + 4), ylim=(-15, ITEMS + 14), xticks=[], yticks=[], xlabel="day key")


def draw_joins() -> Figure:
    """Draw which files three joins read."""
    lower, upper = boxes()
    figure, panels = plt.subplots(1, 3, figsize=(7.2, 3.0), layout="constrained", sharey=True)
    cases = (
        ("30 days of November", 0, [(NOVEMBER[0], NOVEMBER[-1])]),
        ("a brand's 5 items, as a set", 1, [(key, key) for key in BRAND]),
        ("least to greatest item", 1, [(BRAND[0], BRAND[-1])]),
    )
    for axes, (title, column, ranges) in zip(panels, cases, strict=True):
        read = matched(lower, upper, column, ranges)
        draw(axes, lower, upper, read)
        span = axes.axvspan if column == 0 else axes.axhspan
        for low, high in ranges:
            span(low - 0.5, high + 0.5, color="black", alpha=0.25 if low < high else 0.9, linewidth=0.8)
        axes.set_title(f"{title}:\n{read.sum()} of {len(read)} files read", fontsize=10)
    panels[0].set_ylabel("item key")
    return figure


if __name__ == "__main__":
    directory = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    plt.rcParams.update({"font.size": 10, "axes.titlesize": 11})
    draw_joins().savefig(directory / "joins.png", dpi=120)
