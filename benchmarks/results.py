"""What a benchmark found, as values that are written to JSON and read back."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.cost import Cost
from benchmarks.metrics import ScanFractions


@dataclass(frozen=True)
class PruningResult:
    """How well one layout of one set prunes.

    Parameters
    ----------
    set, layout : str
        Names.
    files, row_groups, pages : int
        How many there are; pages of one column.
    rows : tuple of int
        Rows of the smallest and the largest file.
    by_files, by_row_groups, by_pages : ScanFractions or None
        Scan fractions at each level; pages have no conjunctions.
    error : str or None
        Why there is nothing, if so.
    """

    set: str
    layout: str
    files: int = 0
    rows: tuple[int, int] = (0, 0)
    row_groups: int = 0
    pages: int = 0
    by_files: ScanFractions | None = None
    by_row_groups: ScanFractions | None = None
    by_pages: ScanFractions | None = None
    error: str | None = None

    def line(self) -> str:
        """Say it on one line."""
        levels = (("files", self.by_files), ("groups", self.by_row_groups), ("pages", self.by_pages))
        parts = [f"{name} {found.equality:5.1f}/{found.average:5.1f}" for name, found in levels if found]
        return f"{self.files:3} files {self.row_groups:4} groups {self.pages:4} pages  " + "  ".join(parts)


@dataclass(frozen=True)
class CostResult:
    """What one layout of one set costs.

    Parameters
    ----------
    set, layout : str
        Names.
    rows, table_bytes : int
        Number of rows, and size of the ingested data files.
    files : int
        Data files that came out.
    cost : Cost
        The median of the timed runs.
    """

    set: str
    layout: str
    rows: int
    table_bytes: int
    files: int
    cost: Cost

    @property
    def read_ratio(self) -> float:
        """Bytes read per byte of the table."""
        return self.cost.read_bytes / self.table_bytes

    def line(self) -> str:
        """Say it on one line."""
        cost = self.cost
        return (
            f"CPU {cost.cpu_seconds:6.2f} s  wall {cost.wall_seconds:6.2f} s  read {self.read_ratio:5.2f}x  "
            f"shuffle {cost.shuffle_bytes / 1e6:6.1f} MB  peak {cost.peak_rss_bytes / 1e6:6.0f} MB"
        )


@dataclass(frozen=True)
class PageFilterResult:
    """Which share of a column's pages one layout of a single file lets equality filters skip.

    Parameters
    ----------
    set, layout, column : str
        Names.
    pages : int
        Pages of the column.
    average : float
        Percent of the pages that are skipped, averaged over values drawn from the rows.
    of_value : float or None
        The same for the value that the Impala article filters by.
    """

    set: str
    layout: str
    column: str
    pages: int
    average: float
    of_value: float | None


@dataclass(frozen=True)
class MemoryResult:
    """A rewrite of a table that is much larger than the memory.

    Parameters
    ----------
    heap_bytes : int
        Largest heap of the only executor.
    table_bytes : int
        Size of the table's data files.
    files : int
        Files that it was rewritten into.
    rows : int
        Its rows.
    unchanged : bool
        Whether rows and their hash were the same afterwards.
    cost : Cost
        What it cost.
    """

    heap_bytes: int
    table_bytes: int
    files: int
    rows: int
    unchanged: bool
    cost: Cost


@dataclass(frozen=True)
class Results:
    """Everything that a run found, and on what.

    Parameters
    ----------
    environment : dict of str to str
        Machine, versions, and the scale of the run.
    pruning : tuple of PruningResult
        In the order in which they ran.
    costs : tuple of CostResult
        In the order in which they ran.
    page_filters : tuple of PageFilterResult
        The Impala article's test.
    memory : MemoryResult or None
        The rewrite of a table larger than the memory.
    """

    environment: dict[str, str]
    pruning: tuple[PruningResult, ...] = ()
    costs: tuple[CostResult, ...] = ()
    page_filters: tuple[PageFilterResult, ...] = ()
    memory: MemoryResult | None = None

    def write(self, path: Path) -> None:
        """Write as JSON."""
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    @staticmethod
    def read(path: Path) -> Results:
        """Read what :meth:`write` wrote."""
        raw = json.loads(path.read_text(encoding="utf-8"))
        return Results(
            raw["environment"],
            tuple(_pruning(each) for each in raw["pruning"]),
            tuple(CostResult(**{**each, "cost": Cost(**each["cost"])}) for each in raw["costs"]),
            tuple(PageFilterResult(**each) for each in raw["page_filters"]),
            MemoryResult(**{**raw["memory"], "cost": Cost(**raw["memory"]["cost"])}) if raw["memory"] else None,
        )

    def sets(self) -> list[str]:
        """Name the sets, in order."""
        return list(dict.fromkeys(each.set for each in self.pruning))

    def layouts(self) -> list[str]:
        """Name the layouts, in order."""
        return list(dict.fromkeys(each.layout for each in self.pruning))

    def of(self, set_name: str, layout: str) -> PruningResult | None:
        """Find a result that is no failure."""
        found = (each for each in self.pruning if (each.set, each.layout) == (set_name, layout) and not each.error)
        return next(found, None)


def _pruning(raw: dict[str, Any]) -> PruningResult:
    levels = {
        name: ScanFractions(raw[name]["equality"], tuple(raw[name]["ranges"]), raw[name]["conjunction"])
        for name in ("by_files", "by_row_groups", "by_pages")
        if raw[name]
    }
    return PruningResult(**{**raw, **levels, "rows": tuple(raw["rows"])})
