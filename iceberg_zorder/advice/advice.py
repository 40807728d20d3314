"""Result types of ``advise``: figures of each candidate, the pick, its cost, warnings, a statement to paste."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from iceberg_zorder.displayed import Displayed
from iceberg_zorder.figures import files_read, percent
from iceberg_zorder.metrics.scan_cost import scan_cost

SETS = ("sort", "zorder")
"""The kinds of layouts that a set of columns defines."""


@dataclass(frozen=True)
class JudgedLayout:
    """A layout, and how much of it queries read."""

    kind: str  # ``today``, ``sort``, ``zorder``, ``workload`` or ``partition``
    # The sort order, the partition field, or ``workload(a, b)`` for cuts from the workload; empty for ``today``.
    layout: str
    columns: tuple[str, ...]  # of the layout
    files: int  # number of data files
    # Bytes and number of the data files that a query with a filter reads: weighted averages. Cuts from the workload are
    # judged by cross-validation: each query counts with a layout that was cut for other queries.
    bytes_per_query: float
    files_per_query: float
    # Those bytes, plus the open cost of those files, plus the cost of planning among all files; in bytes.
    cost_per_query: float
    chosen_by_cost: float  # cost per query, including the extra cost of full scans
    margin: float  # standard error of the saved cost per query; it shrinks with the number of filters
    # Bytes of all data files. They differ between layouts, because the order of rows changes compression.
    bytes: int
    target_file_size_bytes: int | None = None  # None if the layout needs no other size than a rewrite takes by itself

    @property
    def is_set(self) -> bool:
        """Whether a set of columns defines the layout."""
        return self.kind in SETS

    def full_scan_cost(self, open_cost: int) -> float:
        """Return the cost of a full scan in bytes."""
        return scan_cost(self.bytes, self.files, self.files, open_cost)

    def read_text(self, table_bytes: int) -> str:
        """Return the average read as text, with its share of the bytes of today's table."""
        read = files_read(self.bytes_per_query, self.files_per_query, self.files)
        return f"{read} ({percent(self.bytes_per_query / max(1, table_bytes))})"


@dataclass(frozen=True)
class DailySavings:
    """Savings a day: bytes, opened files, and the CPU seconds to read those bytes; negative for losses."""

    bytes: float
    files: float
    cpu_seconds: float


@dataclass(frozen=True)
class RewriteCost:
    """What a rewrite costs, and after how many queries it pays."""

    read_bytes: int  # of data files
    written_bytes: int  # of data files
    # Saved cost per query with a filter, less the extra cost of full scans; bytes read and open costs, in bytes.
    saved_cost_per_query: float
    pays_after_queries: float  # number of such queries that save as much as the rewrite reads, writes and opens
    pays_after_days: float | None  # the same in days; None if the number of queries a day is unknown
    cpu_seconds: Mapping[str, float]  # of the rewrite, by engine, at rates measured on TPC-H
    saved_per_day: DailySavings | None  # None if the number of queries a day is unknown


@dataclass(frozen=True)
class FileSize:
    """The shown layout with another file size; averages per query as in :class:`JudgedLayout`."""

    target_file_size_bytes: int
    files: int  # the resulting number of files
    bytes_per_query: float
    files_per_query: float
    cost_per_query: float


@dataclass(frozen=True)
class Caution:
    """A warning with its reason."""

    # ``never-filtered``, ``full-scans``, ``point-lookups``, ``no-bounds``, ``joined``, ``small-table``,
    # ``partitions-do-it``, ``rewrite-due`` or ``not-judged``.
    kind: str
    columns: tuple[str, ...]  # the columns concerned; may be empty
    message: str  # the problem and its consequence
    statement: str | None = None  # a statement to paste, if there is one


@dataclass(frozen=True)
class Advice(Displayed):
    """Advice on a table.

    Parameters
    ----------
    table : str
        Table name, including the catalog.
    snapshot_id : int
        Snapshot that the advice is for.
    scans, full_scans : float
        Number of scans with filters in the workload, and of scans without filters.
    filters : int
        Number of distinct filters that judge layouts.
    table_bytes, target_file_size_bytes, open_cost_bytes : int
        Bytes of the data files, target size of new files, and the cost of opening a file, in bytes.
    queries_per_day : float or None
        Number of scans with filters per day, if known.
    today : JudgedLayout
        The current layout.
    candidates : tuple of JudgedLayout
        Simulated layouts, the best first. A pick with another file size stands before them.
    pick : JudgedLayout or None
        Recommended layout; None if the table should stay as it is.
    reason : str
        Reason for the recommendation.
    cost : RewriteCost or None
        Cost of the rewrite to the pick; None without a pick.
    file_sizes : tuple of FileSize
        Figures of the pick, or else of the best candidate, at several file sizes.
    warnings : tuple of Caution
        What the figures leave out or do not know.
    statement, command : str or None
        Spark SQL statement and shell command that rewrite the table to the pick; None without a pick.
    preparation : str or None
        Command or line of Python to run first. It writes the workload file that the statement and the command name.
        None if not needed.
    """

    kind = "advice"

    table: str
    snapshot_id: int
    scans: float
    full_scans: float
    filters: int
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
        """Return the best candidate of these kinds; None if there is none."""
        return next((each for each in self.candidates if each.kind in kinds), None)

    def to_dict(self) -> dict[str, Any]:
        """Return the advice in JSON types."""
        described: dict[str, Any] = json.loads(json.dumps({"version": 1, **asdict(self)}))
        return described

    def to_json(self) -> str:
        """Return the advice as JSON on one line."""
        return json.dumps(self.to_dict())
