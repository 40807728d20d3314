"""Made-up results, for tests of what is said about results."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.cost import Cost
from benchmarks.layouts import BIN_PACK, ICEBERG_SORT, ICEBERG_ZORDER, KD_TREE, LAYOUTS, OURS
from benchmarks.metrics import ScanFractions
from benchmarks.results import CostResult, PruningResult, Results
from benchmarks.sets import SETS

ZAMBONI = "Zamboni zorder"
TIMED = ("uniform", "iot")


def scanned(equality: float, *, conjunction: bool = True) -> ScanFractions:
    return ScanFractions(equality, (equality + 1, equality + 5), equality / 2 if conjunction else None)


def measured(set_name: str, layout: str, *, files: float, row_groups: float, pages: float) -> PruningResult:
    return PruningResult(
        set_name,
        layout,
        files=32,
        rows=(30_000, 32_500),
        row_groups=128,
        pages=600,
        by_files=scanned(files),
        by_row_groups=scanned(row_groups),
        by_pages=scanned(pages, conjunction=False),
    )


def cost(set_name: str, layout: str, *, cpu: float, wall: float, read: float = 1.1) -> CostResult:
    table = 40_000_000
    return CostResult(
        set_name, layout, 1_000_000, table, 32, Cost(cpu, wall, int(read * table), 42_000_000, 0, 1_500_000_000)
    )


def good() -> Results:
    """Results that keep every promise, with room to spare."""
    pruning = []
    for of in SETS:
        pruning.append(PruningResult(of.name, KD_TREE, files=32, by_files=scanned(21)))
        for name in [*(layout.name for layout in LAYOUTS), ZAMBONI]:
            worse = 1.0 if name == OURS else 2.5
            pruning.append(measured(of.name, name, files=20 * worse, row_groups=12 * worse, pages=5 * worse))
    seconds = {OURS: 8.0, BIN_PACK: 6.0, ICEBERG_SORT: 12.0, ICEBERG_ZORDER: 30.0}
    costs = [
        cost(set_name, name, cpu=cpu, wall=cpu / 2, read=1.1) for set_name in TIMED for name, cpu in seconds.items()
    ]
    environment = {"machine": "2 cores", "rows": "1,000,000 per set"}
    return Results(environment, tuple(pruning), tuple(costs))


def with_pruning(results: Results, *changed: PruningResult) -> Results:
    new = {(each.set, each.layout): each for each in changed}
    return replace(results, pruning=tuple(new.get((each.set, each.layout), each) for each in results.pruning))


def with_costs(results: Results, *changed: CostResult) -> Results:
    new = {(each.set, each.layout): each for each in changed}
    return replace(results, costs=tuple(new.get((each.set, each.layout), each) for each in results.costs))
