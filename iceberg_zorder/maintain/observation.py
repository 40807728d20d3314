"""A maintenance pass's observation of a table, from metadata alone."""

from __future__ import annotations

from dataclasses import dataclass, field

from iceberg_zorder.maintain.notes import Conflicts
from iceberg_zorder.rewrite.options import RewriteOptions


@dataclass(frozen=True, order=True)
class TableName:
    """A table of a catalog."""

    catalog: str
    namespace: tuple[str, ...]
    name: str

    def __str__(self) -> str:
        return ".".join((self.catalog, *self.namespace, self.name))


@dataclass(frozen=True)
class FileGroupNeed:
    """A file group that a rewrite would plan.

    Examples
    --------
    >>> FileGroupNeed(1, 4, 1000, 0.25, False, "overlap").saved_bytes
    250.0
    """

    index: int
    """Number of the group in the plan, from 1."""
    files: int
    size: int
    worth: float
    """Predicted savings of a filter in bytes, per byte of the group."""
    must_rewrite: bool
    """Whether deletes or an old partition spec demand its rewrite, regardless of the gain."""
    reason: str
    is_for_reads: bool = False
    """Whether only the savings of filters justify its rewrite: not sizes, deletes or a partition spec."""

    @property
    def saved_bytes(self) -> float:
        """Predicted savings of a filter, in bytes."""
        return self.worth * self.size


@dataclass(frozen=True)
class WorkloadNeed:
    """The reads of a table's queries, and the advice for them.

    Examples
    --------
    >>> WorkloadNeed(10, 5.0, read=0.31, message="advise says zorder(b): they would read 12.4%").text
    'the queries of the workload read 31.0% of the bytes; advise says zorder(b): they would read 12.4%'
    >>> WorkloadNeed(10, 5.0, read=0.31).text
    ''
    """

    queries: int
    """Number of distinct queries."""
    queries_per_day: float
    not_understood: float = 0.0
    """Number of statements and conditions that could not be used."""
    read: float | None = None
    """Average share of the table's bytes that the queries read, if known."""
    advised: str | None = None
    """Recommended layout; None without one, or without advice."""
    predicted: float | None = None
    """Share of the bytes that the queries would read of that layout."""
    pays_after_days: float | None = None
    message: str = ""
    """The advice as text; empty without advice."""
    groups: tuple[FileGroupNeed, ...] = ()
    """File groups to rewrite for that layout."""

    @property
    def text(self) -> str:
        """The reads and the advice as text; empty without advice."""
        if not self.message or self.read is None:
            return self.message
        return f"the queries of the workload read {self.read:.1%} of the bytes; {self.message}"


@dataclass(frozen=True)
class Arrivals:
    """Changes by others since our newest rewrite, or else since the oldest snapshot."""

    commits: int = 0
    data_files: int = 0
    data_bytes: int = 0
    position_delete_files: int = 0
    """Includes deletion vectors."""
    position_deletes: int = 0
    equality_delete_files: int = 0
    equality_deletes: int = 0


@dataclass(frozen=True)
class Observation:
    """The state of a table, as far as maintenance needs it."""

    table: TableName
    snapshot_id: int | None
    """The observed snapshot; None for an empty table."""
    last_rewrite_ms: int | None
    """Time of our newest rewrite in milliseconds since 1970, if known."""
    files: int = 0
    """Data files that may match ``where``."""
    size: int = 0
    """Bytes of those files."""
    small_files: int = 0
    """Number of those files below ``min-file-size-bytes``."""
    arrivals: Arrivals = field(default_factory=Arrivals)
    groups: tuple[FileGroupNeed, ...] = ()
    """File groups that a rewrite would plan."""
    message: str | None = None
    """Why there are no file groups."""
    pays: bool = False
    """Whether a rewrite would plan a file group if ``max-scan-ratio`` were the policy's trigger ``scan-ratio``."""
    depth: float | None = None
    """Average depth, if a trigger needs it and there are bounds."""
    conflicts: Conflicts | None = None
    """Conflicts stored in the table."""
    max_scan_ratio: float = RewriteOptions().max_scan_ratio
    """Option ``max-scan-ratio`` of the plan."""
    workload: WorkloadNeed | None = None
    """Reads of its queries, if the policy names a workload."""
