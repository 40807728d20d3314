"""Draw the picture of ``docs/do/append.md`` with the package's own functions; no Spark is needed.

Run by ``make picture``. A table of 64 files gets an append of a tenth of its rows.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from docs.pictures.explained import GREY, ORANGE
from iceberg_zorder.layout.appended import Boxes, fit_appended
from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.fit import LayoutRequest, fit
from iceberg_zorder.layout.keys import encode
from iceberg_zorder.layout.sample import Sample

ROWS, FILES, APPENDED, NEW_FILES = 100_000, 64, 10_000, 8
MOST = 1_000
COLUMNS = [ClusteringColumn(("user",), "long"), ClusteringColumn(("item",), "long")]

Integers = npt.NDArray[np.int64]


def rows(random: np.random.Generator, count: int) -> Integers:
    """Return rows of two columns, whose values crowd at the low end."""
    return np.stack([(MOST * random.random(count) ** power).astype(np.int64) for power in (1.4, 2.0)], axis=1)


def sample(values: Integers) -> Sample:
    """Return the keys of rows."""
    return Sample(tuple(encode(pa.array(values[:, place]), "long") for place in (0, 1)))


def ends(values: Integers, file: Integers) -> tuple[Integers, Integers]:
    """Return the lower and the upper bounds of the files, of shape (files, 2)."""
    each = [values[file == number] for number in np.unique(file)]
    return np.array([of.min(axis=0) for of in each]), np.array([of.max(axis=0) for of in each])


def draw(axes: Axes, lower: Integers, upper: Integers, colour: str, width: float) -> None:
    """Draw the box of each file."""
    for low, high in zip(lower.tolist(), upper.tolist(), strict=True):
        size = (high[0] - low[0], high[1] - low[1])
        axes.add_patch(Rectangle(low, *size, facecolor=colour, alpha=0.1 if width > 1 else 0.06))
        axes.add_patch(Rectangle(low, *size, fill=False, edgecolor=colour, linewidth=width))


def draw_appended() -> Figure:
    """Draw the new files of a plain append and of ours over the table's."""
    random = np.random.default_rng(0)
    old, new = rows(random, ROWS), rows(random, APPENDED)
    lower, upper = ends(old, fit(COLUMNS, sample(old), LayoutRequest(FILES)).file(sample(old)))
    boxes = Boxes(
        *(tuple(encode(pa.array(end[:, place]), "long") for place in (0, 1)) for end in (lower, upper)),
        np.ones(FILES, np.int64),
    )
    clustered = fit_appended(COLUMNS, sample(new), LayoutRequest(NEW_FILES), boxes).file(sample(new))
    plain = np.arange(APPENDED) % NEW_FILES
    figure, panels = plt.subplots(1, 2, figsize=(7.2, 3.9), layout="constrained", sharey=True)
    for axes, title, file in zip(panels, ("plain append", "clustered append"), (plain, clustered), strict=True):
        draw(axes, lower, upper, GREY, 0.6)
        low, high = ends(new, file)
        draw(axes, low, high, ORANGE, 1.8)
        values = np.sort(new[:, 0])[:: APPENDED // 100]
        read = np.mean([((low[:, 0] <= value) & (high[:, 0] >= value)).sum() for value in values])
        axes.set_title(f"{title}: a filter on user reads\n{read:.1f} of {NEW_FILES} new files", fontsize=10)
        axes.set(xlim=(-8, MOST + 8), ylim=(-8, MOST + 8), xticks=[], yticks=[], xlabel="user")
    panels[0].set_ylabel("item")
    return figure


if __name__ == "__main__":
    draw_appended().savefig(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/pictures") / "appended.png", dpi=140)
