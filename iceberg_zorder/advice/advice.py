"""Result types of ``advise``: the figures of each candidate, the pick, its cost, warnings, and a statement to paste."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from iceberg_zorder.metrics.scan_cost import scan_cost
from iceberg_zorder.render.figures import files_read, percent
from iceberg_zorder.render.fragments import advice_fragment

SETS = ("sort", "zorder")
"""The kinds of layouts by a set of columns, which need nothing else to be known."""


@dataclass(frozen=True)
class JudgedLayout:
    """A layout, and what the queries of the half that judges read of it.

    Parameters
    ----------
    kind : str
        ``today``, ``sort``, ``zorder``, ``workload`` or ``partition``.
    layout : str
        The sort order, the partition field, or for cuts from the workload ``workload(a, b)``; empty for today's.
    columns : tuple of str
        Its columns.
    files : int
        Data files of the table.
    bytes_per_query, files_per_query : float
        Bytes and number of the data files that a query with a filter reads on average, weighted.
    cost_per_query : float
        These bytes, the open cost of these files, and the cost of planning among all files.
    chosen_by_cost : float
        The cost for the half that chooses. Of a layout that is cut for queries each of them is counted as of one that
        is cut for others. What full scans cost more is in it.
    bytes : int
        Bytes of all of its files: rows that lie otherwise are compressed otherwise.
    """

    kind: str
    layout: str
    columns: tuple[str, ...]
    files: int
    bytes_per_query: float
    files_per_query: float
    cost_per_query: float
    chosen_by_cost: float
    bytes: int

    @property
    def is_set(self) -> bool:
        """Whether it is by a set of columns alone."""
        return self.kind in SETS

    def full_scan_cost(self, open_cost: int) -> float:
        """Return what a scan of everything costs."""
        return scan_cost(self.bytes, self.files, self.files, open_cost)

    def read_text(self, table_bytes: int) -> str:
        """Write what a query reads, and the share that this is of the bytes of today's table."""
        read = files_read(self.bytes_per_query, self.files_per_query, self.files)
        return f"{read} ({percent(self.bytes_per_query / max(1, table_bytes))})"


@dataclass(frozen=True)
class DailySavings:
    """What a day of queries saves: bytes, opened files, and CPU seconds to read these bytes; negative if it is more."""

    bytes: float
    files: float
    cpu_seconds: float


@dataclass(frozen=True)
class RewriteCost:
    """What a rewrite costs, and when it has paid.

    Parameters
    ----------
    read_bytes, written_bytes : int
        Bytes of data files.
    saved_cost_per_query : float
        What a query with a filter costs less in bytes and open costs, without what full scans cost more.
    pays_after_queries : float
        After so many such queries they have saved what was read, written and opened.
    pays_after_days : float or None
        The same in days, where it is known how many queries there are a day.
    cpu_seconds : mapping of str to float
        What the rewrite takes by engine, at rates that were measured on TPC-H.
    saved_per_day : DailySavings or None
        What queries save, where it is known how many there are a day.
    """

    read_bytes: int
    written_bytes: int
    saved_cost_per_query: float
    pays_after_queries: float
    pays_after_days: float | None
    cpu_seconds: Mapping[str, float]
    saved_per_day: DailySavings | None


@dataclass(frozen=True)
class FileSize:
    """The layout that is shown, with files of another size.

    Parameters
    ----------
    target_file_size_bytes, files : int
        The size, and how many files there are then.
    bytes_per_query, files_per_query, cost_per_query : float
        As of a layout.
    """

    target_file_size_bytes: int
    files: int
    bytes_per_query: float
    files_per_query: float
    cost_per_query: float


@dataclass(frozen=True)
class Caution:
    """A warning with its reason.

    Parameters
    ----------
    kind : str
        ``never-filtered``, ``full-scans``, ``point-lookups``, ``no-bounds``, ``joined``, ``small-table``,
        ``partitions-do-it`` or ``not-judged``.
    columns : tuple of str
        The columns that it is about, maybe none.
    message : str
        What is so, and what follows.
    statement : str or None
        What to paste, if anything.
    """

    kind: str
    columns: tuple[str, ...]
    message: str
    statement: str | None = None


@dataclass(frozen=True)
class Advice:
    """Advice on a table.

    Parameters
    ----------
    table : str
        Its name, the catalog's in front.
    snapshot_id : int
        The snapshot.
    scans, full_scans : float
        How many scans of the workload were judged: with filters, and without.
    choosing_queries, judging_queries : int
        How many different filters chose, and judged.
    in_both_halves : int
        How many did both.
    table_bytes, target_file_size_bytes, open_cost_bytes : int
        Bytes of the data files, how large new ones are to be, and how many bytes cost as much as to open a file.
    queries_per_day : float or None
        Scans with filters a day, where that is known.
    today : JudgedLayout
        The table as it is.
    candidates : tuple of JudgedLayout
        What was simulated, the best for the half that chooses first.
    pick : JudgedLayout or None
        What is advised; None to do nothing.
    reason : str
        Why.
    cost : RewriteCost or None
        Of the pick; None to do nothing.
    file_sizes : tuple of FileSize
        The pick, or the best candidate, with files of several sizes.
    warnings : tuple of Caution
        What else is to be known.
    statement, command : str or None
        What to paste into Spark SQL, and into a shell; None to do nothing, or where there is no command.
    preparation : str or None
        What is to be done before either: the command that writes the workload to the file that they name, or a line of
        Python where it was read from no file. None where nothing is.
    """

    table: str
    snapshot_id: int
    scans: float
    full_scans: float
    choosing_queries: int
    judging_queries: int
    in_both_halves: int
    table_bytes: int
    target_file_size_bytes: int
    open_cost_bytes: int
    queries_per_day: float | None
    today: JudgedLayout
    candidates: tuple[JudgedLayout, ...]
    pick: JudgedLayout | None
    reason: str
    cost: RewriteCost | None
    file_sizes: tuple[FileSize, ...]
    warnings: tuple[Caution, ...]
    statement: str | None
    command: str | None
    preparation: str | None = None

    def best(self, *kinds: str) -> JudgedLayout | None:
        """Find the best candidate of some kinds, for the half that chooses."""
        return next((each for each in self.candidates if each.kind in kinds), None)

    def to_dict(self) -> dict[str, Any]:
        """Describe it in values that JSON has."""
        found: dict[str, Any] = json.loads(json.dumps({"version": 1, **asdict(self)}))
        return found

    def to_json(self) -> str:
        """Write it as JSON on one line."""
        return json.dumps(self.to_dict())

    def _repr_html_(self) -> str:
        return advice_fragment(self.to_dict())
