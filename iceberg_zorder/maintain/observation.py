"""What a pass of maintenance observes about a table, from its metadata alone."""

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
    """Its place in the plan, from 1."""
    files: int
    size: int
    worth: float
    """The bytes that a filter is expected to read less afterwards for each byte of it."""
    must_rewrite: bool
    """Whether it is to be rewritten for its deletes or its partition spec, whatever is gained."""
    reason: str
    is_for_reads: bool = False
    """Whether nothing but what filters read calls for its rewrite: no size, no deletes and no partition spec."""

    @property
    def saved_bytes(self) -> float:
        """The bytes that a filter is expected to read less afterwards."""
        return self.worth * self.size


@dataclass(frozen=True)
class WorkloadNeed:
    """What the queries of a table read of it, and what ``advise`` says by them.

    Examples
    --------
    >>> WorkloadNeed(10, 5.0, read=0.31, message="advise says zorder(b): they would read 12.4%").text
    'the queries of the workload read 31.0% of the bytes; advise says zorder(b): they would read 12.4%'
    >>> WorkloadNeed(10, 5.0, read=0.31).text
    ''
    """

    queries: int
    """How many different ones there are."""
    queries_per_day: float
    not_understood: float = 0.0
    """How many of the statements and parts of conditions that were read could not be used."""
    read: float | None = None
    """The share of the table's bytes that they read on average, where that is known."""
    advised: str | None = None
    """The layout that is advised; None if there is none, or ``advise`` was not asked."""
    predicted: float | None = None
    """The share that they would read of it."""
    pays_after_days: float | None = None
    message: str = ""
    """What ``advise`` says; empty if it was not asked."""
    groups: tuple[FileGroupNeed, ...] = ()
    """What the pass rewrites for it."""

    @property
    def text(self) -> str:
        """What they read, and what ``advise`` says; empty if it was not asked."""
        if not self.message or self.read is None:
            return self.message
        return f"the queries of the workload read {self.read:.1%} of the bytes; {self.message}"


@dataclass(frozen=True)
class Arrivals:
    """What others have committed since our newest rewrite, or where there is none since the oldest snapshot."""

    commits: int = 0
    data_files: int = 0
    data_bytes: int = 0
    position_delete_files: int = 0
    """Deletion vectors count."""
    position_deletes: int = 0
    equality_delete_files: int = 0
    equality_deletes: int = 0


@dataclass(frozen=True)
class Observation:
    """What a table needs."""

    table: TableName
    snapshot_id: int | None
    """The snapshot that was looked at; None of an empty table."""
    last_rewrite_ms: int | None
    """When our newest rewrite was committed, in milliseconds since 1970, where that is known."""
    files: int = 0
    """Data files that the filter leaves."""
    size: int = 0
    """Their bytes."""
    small_files: int = 0
    """Those of them below ``min-file-size-bytes``."""
    arrivals: Arrivals = field(default_factory=Arrivals)
    groups: tuple[FileGroupNeed, ...] = ()
    """The file groups that a rewrite would plan now."""
    message: str | None = None
    """Why there are none."""
    pays: bool = False
    """Whether any file group would be planned if ``max-scan-ratio`` were the policy's trigger ``scan-ratio``."""
    depth: float | None = None
    """The average depth, if the policy asks for it and there are bounds."""
    conflicts: Conflicts | None = None
    """The conflicts that the table remembers."""
    max_scan_ratio: float = RewriteOptions().max_scan_ratio
    """The option that the file groups were planned by."""
    workload: WorkloadNeed | None = None
    """What its queries read, if the policy says where they are."""
