"""Draw the pictures of ``docs/understand/how-it-works.md`` with the package's own functions; no Spark is needed.

Run by ``make picture``. The rows are those of the benchmark's set ``customers``: skewed customers, lognormal prices.
Predictions are those of ``docs/benchmarks/predictions.json``.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter

from benchmarks.metrics import drawn_evenly, scan_fraction
from benchmarks.sets import SETS
from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.fit import LayoutRequest, fit
from iceberg_zorder.layout.keys import encode
from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.metrics.scan_cost import ideal_file_size, root, scan_cost

ROWS = 100_000
FILES = 16
COLUMNS = ("customer_id", "price")
TYPES = {"customer_id": "long", "price": "double"}
OPEN_COST = 4 * 1024**2
GIB = 1024**3
PREDICTIONS = Path(__file__).parents[1] / "benchmarks" / "predictions.json"
BLUE, ORANGE, GREY = "#2f6690", "#d1603d", "#9a9a9a"

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Files:
    """The bounds of files in positions, by column, and their numbers of rows."""

    lower: dict[str, Integers]
    upper: dict[str, Integers]
    rows: Integers

    @classmethod
    def of_rows(cls, positions: dict[str, Integers], file: Integers) -> Files:
        """Return the bounds that rows leave in their files."""
        order = np.argsort(file, kind="stable")
        starts = np.flatnonzero(np.diff(file[order], prepend=-1))
        return cls(
            {name: np.minimum.reduceat(each[order], starts) for name, each in positions.items()},
            {name: np.maximum.reduceat(each[order], starts) for name, each in positions.items()},
            np.diff(starts, append=len(order)),
        )

    def read_of(self, positions: dict[str, Integers]) -> float:
        """Return the share of the rows that ``column = value`` reads, on average over values and columns."""
        shares = [
            scan_fraction(
                drawn_evenly(positions[name].tolist()),
                self.lower[name].tolist(),
                self.upper[name].tolist(),
                self.rows.tolist(),
            )
            for name in COLUMNS
        ]
        return sum(shares) / len(shares)

    def match(self, filters: dict[str, int]) -> npt.NDArray[np.bool_]:
        """Return which files filters on positions cannot skip."""
        matched: npt.NDArray[np.bool_] = np.logical_and.reduce(
            [(self.lower[name] <= value) & (value <= self.upper[name]) for name, value in filters.items()]
        )
        return matched


def read_rows() -> tuple[Sample, dict[str, npt.NDArray[Any]]]:
    """Return all rows as a sample, and their values by column."""
    (customers,) = (each for each in SETS if each.name == "customers")
    with tempfile.TemporaryDirectory() as directory:
        table = pq.read_table(customers.source(ROWS, Path(directory)))
    keys = tuple(encode(table[name], TYPES[name]) for name in COLUMNS)
    return Sample(keys), {name: table[name].to_numpy() for name in COLUMNS}


def layout_of(rows: Sample, **request: Any) -> Layout:
    """Fit a layout to half of the rows."""
    sample = rows.take(np.random.default_rng(0).permutation(ROWS)[: ROWS // 2])
    return fit([ClusteringColumn((name,), TYPES[name]) for name in COLUMNS], sample, LayoutRequest(**request))


def draw_boxes(axes: Axes, files: Files, matched: npt.NDArray[np.bool_] | None = None) -> None:
    """Draw the box of each file; where a filter is drawn, those that it reads are orange."""
    x, y = COLUMNS
    colours = mpl.colormaps["viridis"]
    for place in range(len(files.rows)):
        colour = colours(place / len(files.rows)) if matched is None else ORANGE if matched[place] else GREY
        corner = (files.lower[x][place], files.lower[y][place])
        size = (files.upper[x][place] - corner[0], files.upper[y][place] - corner[1])
        alpha = 0.25 if matched is None or matched[place] else 0.06
        if matched is not None and matched.all():
            alpha = 0.02  # All boxes lie on top of each other.
        axes.add_patch(Rectangle(corner, *size, facecolor=(*mpl.colors.to_rgb(colour), alpha), edgecolor=colour))
    in_positions(axes)


def in_positions(axes: Axes) -> None:
    """Show all positions, without numbers."""
    axes.set(xlim=(-900, 66_400), ylim=(-900, 66_400), xticks=[], yticks=[])
    axes.set_xlabel("position of customer_id")


def draw_positions(rows: Sample, values: dict[str, npt.NDArray[Any]]) -> Figure:
    """Draw rows by their values and by their positions, with the eighths of the rows in both."""
    x, y = COLUMNS
    layout = layout_of(rows, files=1)
    positions = dict(zip(COLUMNS, layout.positions(rows), strict=True))
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.7), layout="constrained")
    shown = slice(0, 5_000)
    left.scatter(values[x][shown], values[y][shown], s=1.2, color=BLUE, linewidths=0)
    right.scatter(positions[x][shown], positions[y][shown], s=1.2, color=BLUE, linewidths=0)
    for at in range(8_192, 65_536, 8_192):
        for name, line_left, line_right in ((x, left.axvline, right.axvline), (y, left.axhline, right.axhline)):
            line_left(float(values[name][positions[name] >= at].min()), color=ORANGE, linewidth=0.7)
            line_right(at, color=ORANGE, linewidth=0.7)
    left.set(title="values", xlabel=x, ylabel=y, xlim=(0, 200_000), ylim=(0, float(values[y][shown].max())))
    left.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    left.set_xticks([0, 100_000, 200_000])
    in_positions(right)
    right.set(title="positions", ylabel="position of price")
    return figure


def draw_cuts(rows: Sample) -> Figure:
    """Draw the files of a tree of four and of sixteen leaves, and those of even cuts of the curve."""
    figure, panels = plt.subplots(1, 3, figsize=(7.2, 3.0), layout="constrained", sharey=True)
    requests: dict[str, dict[str, Any]] = {
        "first cuts": {"files": 4},
        "adaptive": {"files": FILES},
        "even": {"files": FILES, "cuts": "even"},
    }
    for axes, (title, request) in zip(panels, requests.items(), strict=True):
        layout = layout_of(rows, **request)
        positions = dict(zip(COLUMNS, layout.positions(rows), strict=True))
        files = Files.of_rows(positions, layout.file(rows))
        draw_boxes(axes, files)
        read = files.read_of(positions)
        axes.set_title(f"{title}: {len(files.rows)} files,\n{100 * read:.1f}% read", fontsize=10)
    panels[0].set_ylabel("position of price")
    return figure


def draw_filters(rows: Sample) -> Figure:
    """Draw which files two filters read before a rewrite, and after it."""
    layout = layout_of(rows, files=FILES)
    positions = dict(zip(COLUMNS, layout.positions(rows), strict=True))
    arrived = Files.of_rows(positions, np.arange(ROWS) * FILES // ROWS)
    written = Files.of_rows(positions, layout.file(rows))
    x, y = COLUMNS
    # A row that is neither at a margin nor of the heaviest customer.
    row = int(np.argmin(abs(positions[x] - 46_000) + abs(positions[y] - 22_000)))
    one, both = {y: int(positions[y][row])}, {name: int(positions[name][row]) for name in COLUMNS}
    figure, panels = plt.subplots(1, 3, figsize=(7.2, 3.0), layout="constrained", sharey=True)
    cases = (
        ("as they arrived", "price = p", arrived, one),
        ("rewritten", "price = p", written, one),
        ("rewritten", "price = p AND customer_id = c", written, both),
    )
    for axes, (title, condition, files, filters) in zip(panels, cases, strict=True):
        matched = files.match(filters)
        draw_boxes(axes, files, matched)
        axes.axhline(filters[y], color="black", linewidth=1.2)
        if x in filters:
            axes.axvline(filters[x], color="black", linewidth=1.2)
        axes.set_title(f"{title}:\n{matched.sum()} of {len(matched)} files read", fontsize=10)
        axes.set_xlabel(condition, fontsize=9)
    panels[0].set_ylabel("position of price")
    return figure


def draw_predictions() -> Figure:
    """Draw what was predicted beside what was read, and how many columns were predicted how well."""
    sets = json.loads(PREDICTIONS.read_text(encoding="utf-8"))["sets"]
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.6), layout="constrained")
    actual = np.array([each["actual"] for each in sets])
    for key, label, colour, marker in (
        ("attainable", "report, by bounds alone", ORANGE, "o"),
        ("predicted", "rewrite, by sampled rows", BLUE, "x"),
    ):
        found = np.array([each[key] for each in sets])
        errors = np.sort(abs(found - actual) / actual)
        style = {"facecolors": "none", "edgecolors": colour} if marker == "o" else {"color": colour}
        left.scatter(100 * actual, 100 * found, s=22, marker=marker, linewidths=1, label=label, **style)
        right.step(100 * errors, np.arange(1, len(errors) + 1), where="post", color=colour, label=label)
    left.plot([3, 120], [3, 120], color=GREY, linewidth=0.8, zorder=0)
    left.set(xscale="log", yscale="log", xlim=(3, 120), ylim=(3, 120), xlabel="% read", ylabel="% predicted")
    right.set(xscale="log", xlim=(0.003, 120), ylim=(0, len(sets) + 1), ylabel=f"of {len(sets)} columns")
    right.set_xlabel("relative error in %, at most")
    for axis in (left.xaxis, left.yaxis):
        axis.set_ticks([5, 10, 25, 50, 100])
        axis.set_minor_locator(mpl.ticker.NullLocator())
    for axis in (left.xaxis, left.yaxis, right.xaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    left.legend(fontsize=8, loc="upper left")
    return figure


def draw_costs() -> Figure:
    """Draw what a filter costs by the size of files, and the size that is chosen."""
    sizes = np.array([2**power * 1024**2 for power in range(10)])
    figure, axes = plt.subplots(figsize=(7.2, 3.2), layout="constrained")
    for table, colour, label in ((GIB, BLUE, "1 GiB"), (10 * GIB, ORANGE, "10 GiB"), (1024 * GIB, "#4b7f52", "1 TiB")):
        costs = {int(size): filter_cost(table, int(size)) / 1024**2 for size in sizes}
        axes.plot(list(costs), list(costs.values()), color=colour, linewidth=1.4)
        chosen = ideal_file_size(table, len(COLUMNS), OPEN_COST)
        axes.scatter([chosen], [costs[chosen]], color=colour, s=45, zorder=3)
        axes.annotate(
            f"{label}: {chosen // 1024**2} MiB",
            (chosen, costs[chosen]),
            (0, 10),
            textcoords="offset points",
            ha="center",
        )
    axes.set(xscale="log", yscale="log", xlabel="size of a file in MiB", ylabel="cost of column = value\nin MiB")
    axes.set_ylim(40, 400_000)
    axes.set_xticks(sizes)
    axes.xaxis.set_minor_locator(mpl.ticker.NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / 1024**2:g}"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    return figure


def filter_cost(table: int, file_size: int) -> float:
    """Return what ``column = value`` costs in a table of so many bytes, in bytes."""
    files = max(1.0, table / file_size)
    share = root(1 / files, len(COLUMNS))
    return scan_cost(table * share, files * share, files, OPEN_COST)


def main() -> None:
    """Draw all pictures."""
    directory = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    plt.rcParams.update({"font.size": 10, "axes.titlesize": 11})
    rows, values = read_rows()
    pictures = {
        "positions": draw_positions(rows, values),
        "cuts": draw_cuts(rows),
        "filters": draw_filters(rows),
        "costs": draw_costs(),
        "predictions": draw_predictions(),
    }
    for name, figure in pictures.items():
        figure.savefig(directory / f"{name}.png", dpi=120)


if __name__ == "__main__":
    main()
