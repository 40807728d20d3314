"""What iceberg-zorder promises, checked against what a run found."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from benchmarks.layouts import (
    BIN_PACK,
    DELTA_ZORDER,
    ICEBERG_HILBERT,
    ICEBERG_SORT,
    ICEBERG_ZORDER,
    KD_TREE,
    LIQUID,
    LIQUID_SORTED,
    OURS,
)
from benchmarks.metrics import ScanFractions
from benchmarks.results import CostResult, Results
from benchmarks.sets import SETS

Level = Literal["by_files", "by_row_groups", "by_pages"]

LEVELS: dict[Level, str] = {"by_files": "Files", "by_row_groups": "Row groups", "by_pages": "Pages"}
"""Titles of the levels at which bounds are kept, by their field in the results."""

ZAMBONI = "zamboni"
"""What the name of zamboni's layout contains, whatever its case."""


@dataclass(frozen=True)
class Measure:
    """One number of a layout's scan fractions.

    Parameters
    ----------
    name : str
        Its name in figures.
    of : callable
        What takes it from the scan fractions.
    """

    name: str
    of: Callable[[ScanFractions], float]


EQUALITY = Measure("equality", lambda found: found.equality)
ALL_CLASSES = Measure("all classes", lambda found: found.average)
MEASURES = (EQUALITY, ALL_CLASSES)


@dataclass(frozen=True)
class Claim:
    """A promise, and whether a run keeps it.

    Parameters
    ----------
    text : str
        What is promised.
    figures : str
        What was found.
    holds : bool or None
        Whether it is kept; None if what it needs was not measured.
    """

    text: str
    figures: str
    holds: bool | None

    @property
    def verdict(self) -> str:
        """Say in words whether it holds."""
        return {True: "holds", False: "does not hold", None: "not measured"}[self.holds]


def fractions(results: Results, layout: str, level: Level, measure: Measure) -> dict[str, float]:
    """Look up the scan fractions of a layout.

    Parameters
    ----------
    results : Results
        What a run found.
    layout : str
        Name of the layout.
    level : str
        Field of the level.
    measure : Measure
        Which number.

    Returns
    -------
    dict of str to float
        In percent, by set; a set where there is none is left out.
    """
    found = {}
    for name in results.sets():
        result = results.of(name, layout)
        of_level: ScanFractions | None = getattr(result, level) if result else None
        if of_level:
            found[name] = measure.of(of_level)
    return found


def claims(results: Results) -> list[Claim]:
    """Check every promise.

    Averages are means over the sets. A promise about scan fractions is kept only if it is for equality and for the
    average over all classes of predicates; one about costs, if it is on the average of the timed sets.

    Parameters
    ----------
    results : Results
        What a run found.

    Returns
    -------
    list of Claim
        Always the same promises in the same order.
    """
    zamboni = next((name for name in results.layouts() if ZAMBONI in name.lower()), ZAMBONI)
    skewed = {each.name for each in SETS if each.skewed}
    found = [
        _file_counts(results),
        _on_average(results, "at most half of Iceberg zorder", ICEBERG_ZORDER, "by_files", factor=0.5),
        _on_every(results, "below Delta liquid on every set", LIQUID, "by_files", strict=True),
        _on_average(results, "no higher than the k-d tree of all rows", KD_TREE, "by_files"),
        _on_every(results, "at most 5% above the k-d tree on any set", KD_TREE, "by_files", factor=1.05),
        _on_every(results, "below the k-d tree on every skewed set", KD_TREE, "by_files", strict=True, only=skewed),
    ]
    for level in ("by_row_groups", "by_pages"):
        found += [
            _on_average(results, "below Iceberg hilbert", ICEBERG_HILBERT, level, strict=True),
            _on_average(results, "below Delta zorder", DELTA_ZORDER, level, strict=True),
            _on_average(results, "below zamboni", zamboni, level, strict=True),
            _on_average(results, "no higher than Delta liquid with sorted files", LIQUID_SORTED, level),
            _on_every(
                results,
                "at most 2 points above Iceberg zorder on any set",
                ICEBERG_ZORDER,
                level,
                points=2.0,
            ),
        ]
    return [
        *found,
        _cost(results, "CPU: on average at most 0.45x Iceberg zorder", _cpu, ICEBERG_ZORDER, 0.45),
        _cost(results, "CPU: on average at most 1.5x Iceberg bin-pack", _cpu, BIN_PACK, 1.5),
        _cost(results, "CPU: on average not above Iceberg sort", _cpu, ICEBERG_SORT, 1.0),
        _cost(results, "Wall time: on average at most 0.45x Iceberg zorder", _wall, ICEBERG_ZORDER, 0.45),
        _cost(results, "Bytes read: on average at most 1.3x the table", _read, None, 1.3),
    ]


def _cpu(result: CostResult) -> float:
    return result.cost.cpu_seconds


def _wall(result: CostResult) -> float:
    return result.cost.wall_seconds


def _read(result: CostResult) -> float:
    return result.read_ratio


def _file_counts(results: Results) -> Claim:
    text = "File counts: those of all layouts but bin-pack within 10% of each other, on every set"
    counts = {
        name: [
            each.files for each in results.pruning if each.set == name and not each.error and each.layout != BIN_PACK
        ]
        for name in results.sets()
    }
    spreads = {name: _ratio(max(files), min(files)) for name, files in counts.items() if len(files) > 1}
    if not spreads:
        return Claim(text, "", None)
    worst = max(spreads, key=lambda name: spreads[name])
    failing = [name for name, spread in spreads.items() if spread > 1.1]
    figures = f"at worst {min(counts[worst])} to {max(counts[worst])} files, on {worst}{_but_on(failing)}"
    failed = [each for each in results.pruning if each.error]
    if failed:
        figures += f"; failed: {', '.join(f'{each.layout} on {each.set}' for each in failed)}"
    unknown = not failing and any(each.layout == OURS for each in failed)
    return Claim(text, figures, None if unknown else not failing)


def _on_average(
    results: Results, promise: str, rival: str, level: Level, *, factor: float = 1.0, strict: bool = False
) -> Claim:
    text = f"Scan fraction by {LEVELS[level].lower()}: on average {promise}"
    holds, figures = [], []
    for measure in MEASURES:
        pairs = _pairs(results, rival, level, measure)
        if not pairs:
            return Claim(text, "", None)
        ours, theirs = (fmean(side) for side in zip(*pairs.values(), strict=True))
        holds.append(_kept(ours, factor * theirs, strict=strict))
        figures.append(f"{measure.name} {ours:.1f}% against {theirs:.1f}% ({_ratio(ours, theirs):.3f}x)")
    return _claim(results, text, holds, figures, pairs, results.sets())


def _on_every(
    results: Results,
    promise: str,
    rival: str,
    level: Level,
    *,
    factor: float = 1.0,
    points: float = 0.0,
    strict: bool = False,
    only: Collection[str] | None = None,
) -> Claim:
    text = f"Scan fraction by {LEVELS[level].lower()}: {promise}"
    wanted = [name for name in results.sets() if only is None or name in only]
    holds, figures = [], []
    for measure in MEASURES:
        pairs = {name: pair for name, pair in _pairs(results, rival, level, measure).items() if name in wanted}
        if not pairs:
            return Claim(text, "", None)
        excess = {name: ours - theirs if points else _ratio(ours, theirs) for name, (ours, theirs) in pairs.items()}
        worst = max(excess, key=lambda name: excess[name])
        shown = f"{excess[worst]:+.2f} points" if points else f"{excess[worst]:.3f}x"
        failing = [
            name for name, (ours, theirs) in pairs.items() if not _kept(ours, factor * theirs + points, strict=strict)
        ]
        holds.append(not failing)
        figures.append(f"{measure.name} at worst {shown}, on {worst}{_but_on(failing)}")
    return _claim(results, text, holds, figures, pairs, wanted)


def _cost(results: Results, promise: str, of: Callable[[CostResult], float], rival: str | None, most: float) -> Claim:
    ours = {each.set: of(each) for each in results.costs if each.layout == OURS}
    theirs = {each.set: of(each) for each in results.costs if each.layout == rival}
    ratios = (
        ours if rival is None else {name: _ratio(ours[name], value) for name, value in theirs.items() if name in ours}
    )
    timed = list(dict.fromkeys(each.set for each in results.costs))
    if not ratios:
        return Claim(promise, "", None)
    worst = max(ratios, key=lambda name: ratios[name])
    average = fmean(ratios.values())
    figures = f"{average:.3f}x on average, at worst {ratios[worst]:.3f}x, on {worst}"
    failing = [name for name, ratio in ratios.items() if ratio > most]
    return _claim(results, promise, [average <= most], [figures + _but_on(failing)], ratios, timed, ours=ours)


def _pairs(results: Results, rival: str, level: Level, measure: Measure) -> dict[str, tuple[float, float]]:
    ours = fractions(results, OURS, level, measure)
    theirs = fractions(results, rival, level, measure)
    return {name: (value, theirs[name]) for name, value in ours.items() if name in theirs}


def _kept(ours: float, most: float, *, strict: bool) -> bool:
    return ours < most if strict else ours <= most


def _ratio(ours: float, theirs: float) -> float:
    if theirs == 0:
        return 1.0 if ours == 0 else float("inf")
    return ours / theirs


def _but_on(failing: Sequence[str]) -> str:
    return f" (missed on {', '.join(failing)})" if failing else ""


def _claim(
    results: Results,
    text: str,
    holds: Sequence[bool],
    figures: Sequence[str],
    compared: Mapping[str, object],
    wanted: Sequence[str],
    *,
    ours: Collection[str] | None = None,
) -> Claim:
    left_out = [name for name in wanted if name not in compared]
    if left_out:
        figures = [*figures, f"without {', '.join(left_out)}"]
    if ours is None:
        ours = [name for name in results.sets() if results.of(name, OURS)]
    # Where a rival fails there is nothing to compare with, but our own failure must not help a promise to hold.
    unknown = all(holds) and any(name not in ours for name in left_out)
    return Claim(text, "; ".join(figures), None if unknown else all(holds))
