"""The curves of tables that grow: what filters read, and what was written, after each growth."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, ScalarFormatter

from benchmarks.upkeep.figures import DELTA, ICEBERG, ICEBERG_ALL, OURS, OURS_PYICEBERG, RATIO_LIMIT, Figures, History
from benchmarks.upkeep.rows import GROWING

_DPI = 110
_WIDTH = 12.8
_COLOURS = {
    OURS: "#d9480f",
    OURS_PYICEBERG: "#f3b995",
    ICEBERG: "#8ea6c4",
    DELTA: "#93bfae",
}
_LIMIT = "#a8a8a8"


def curves(figures: Figures, path: Path) -> None:
    """Draw a panel of what is read above one of what is written, for each table.

    Parameters
    ----------
    figures : Figures
        What was found.
    path : Path
        Where the picture goes; its suffix says the format.
    """
    sets = [of for of in GROWING if any(each.set == of.name and each.grown for each in figures.histories)]
    figure = Figure(figsize=(_WIDTH, 6.4), dpi=_DPI, layout="constrained")
    panels = figure.subplots(2, len(sets), sharex=True, sharey="row", squeeze=False)
    for place, of in enumerate(sets):
        above, below = panels[0][place], panels[1][place]
        ours = figures.of(of.name, OURS) or figures.of(of.name, OURS_PYICEBERG)
        for history in (each for each in figures.histories if each.set == of.name and each.grown):
            _draw(above, below, history, ours)
        above.axhline(RATIO_LIMIT, color=_LIMIT, linestyle=":", linewidth=1)
        below.axhline(of.byte_limit, color=_LIMIT, linestyle=":", linewidth=1, label="promised of ours")
        above.set_yscale("log")
        above.yaxis.set_major_formatter(ScalarFormatter())
        above.set_yticks([1, 1.25, 1.5, 2, 3, 4], minor=False)
        above.minorticks_off()
        above.set_title(of.name, fontsize=10.5, fontweight="bold", loc="left", pad=3)
        below.set_xlabel("merges of 1%" if of.merges else "appends of 2%", fontsize=9.5)
        below.xaxis.set_major_locator(MaxNLocator(steps=[1, 2, 5, 10], integer=True))
        for axes in (above, below):
            axes.tick_params(labelsize=8.5)
            for side in ("top", "right"):
                axes.spines[side].set_visible(False)
    panels[0][0].set_ylabel("what column = value reads,\nbeside a full rewrite by ours", fontsize=9.5)
    panels[1][0].set_ylabel("bytes written so far,\nbeside rewriting everything each time", fontsize=9.5)
    panels[1][0].set_ylim(0, 1.1)
    entries = {
        label: handle
        for axes in panels.flatten()
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        list(entries.values()), list(entries), loc="outside lower center", ncols=6, frameon=False, fontsize=9.5
    )
    figure.savefig(path)


def _draw(above: Axes, below: Axes, history: History, ours: History | None) -> None:
    colour = _COLOURS[history.system]
    attainable = {step.number: step.attainable for step in ours.steps if step.attainable} if ours else {}
    known = [step for step in history.steps if step.number in attainable]
    width = 2.2 if history.system in (OURS, OURS_PYICEBERG) else 1.5
    above.plot(
        [step.number for step in known],
        [step.scan / (attainable[step.number] or 1) for step in known],
        color=colour,
        linewidth=width,
        label=history.system,
    )
    if history.system == ICEBERG:
        whole = [(step.number, sum(step.full.values()) / len(step.full)) for step in known if step.full]
        above.plot(
            [number for number, _ in whole],
            [scan / (attainable[number] or 1) for number, scan in whole],
            "o",
            color="#4f6d94",
            markersize=5,
            label=ICEBERG_ALL,
        )
    below.plot([step.number for step in history.grown], history.byte_ratios(), color=colour, linewidth=width)
