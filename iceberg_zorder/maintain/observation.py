"""What a pass of maintenance has found out about a table, from its metadata alone."""

from __future__ import annotations

from dataclasses import dataclass, field

from iceberg_zorder.maintain.notes import Conflicts
from iceberg_zorder.request.rewrite_options import RewriteOptions


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

    Parameters
    ----------
    index : int
        Its place in the plan, from 1.
    files, size : int
        Its data files, and their bytes.
    worth : float
        The bytes that a filter is expected to read less afterwards for each byte of it.
    is_due : bool
        Whether it is to be rewritten for its deletes or its partition spec, whatever is gained.
    reason : str
        Why it was planned.
    is_for_reads : bool, optional
        Whether nothing but what filters read calls for its rewrite: no size, no deletes and no partition spec.

    Examples
    --------
    >>> FileGroupNeed(1, 4, 1000, 0.25, False, "overlap").saved_bytes
    250.0
    """

    index: int
    files: int
    size: int
    worth: float
    is_due: bool
    reason: str
    is_for_reads: bool = False

    @property
    def saved_bytes(self) -> float:
        """The bytes that a filter is expected to read less afterwards."""
        return self.worth * self.size


@dataclass(frozen=True)
class WorkloadNeed:
    """What the queries of a table read of it, and what ``advise`` says by them.

    Parameters
    ----------
    queries : int
        How many different ones there are.
    queries_per_day : float
        How many run a day, above 0.
    not_understood : float
        How many of the statements and parts of conditions that were read could not be used.
    read : float or None
        The share of the table's bytes that they read on average, in [0, 1]; None where that is not known.
    advised : str or None
        The layout that is advised; None if there is none, or ``advise`` was not asked.
    predicted : float or None
        The share that they would read of it.
    pays_after_days : float or None
        When it would pay.
    message : str
        What ``advise`` says; empty if it was not asked.
    groups : tuple of FileGroupNeed
        What the pass rewrites for it.
    """

    queries: int
    queries_per_day: float
    not_understood: float = 0.0
    read: float | None = None
    advised: str | None = None
    predicted: float | None = None
    pays_after_days: float | None = None
    message: str = ""
    groups: tuple[FileGroupNeed, ...] = ()


@dataclass(frozen=True)
class Arrivals:
    """What others have committed since our newest rewrite, or since the oldest snapshot that is kept if there is none.

    Parameters
    ----------
    commits : int
        Snapshots.
    data_files, data_bytes : int
        Added data files, and their bytes where summaries tell.
    position_delete_files, position_deletes : int
        Added files of position deletes (deletion vectors count), and the deletes in them.
    equality_delete_files, equality_deletes : int
        Added files of equality deletes, and the deletes in them.
    """

    commits: int = 0
    data_files: int = 0
    data_bytes: int = 0
    position_delete_files: int = 0
    position_deletes: int = 0
    equality_delete_files: int = 0
    equality_deletes: int = 0


@dataclass(frozen=True)
class Observation:
    """What a table needs.

    Parameters
    ----------
    table : TableName
        The table.
    snapshot_id : int or None
        The snapshot that was looked at; None of an empty table.
    last_rewrite_ms : int or None
        When our newest rewrite was committed, in milliseconds since the epoch; None if no snapshot tells of one.
    files, size : int
        Its data files that the filter leaves, and their bytes.
    small_files : int
        Those of them below ``min-file-size-bytes``.
    arrivals : Arrivals
        What has come.
    groups : tuple of FileGroupNeed
        The file groups that a rewrite would plan now.
    message : str or None
        Why there are none.
    pays : bool
        Whether any file group would be planned if ``max-scan-ratio`` were the policy's trigger ``scan-ratio``.
    depth : float or None
        The average depth, if the policy asks for it and there are bounds.
    conflicts : Conflicts or None
        The conflicts that the table remembers.
    max_scan_ratio : float
        The option that the file groups were planned by.
    workload : WorkloadNeed or None
        What its queries read, if the policy says where they are.
    """

    table: TableName
    snapshot_id: int | None
    last_rewrite_ms: int | None
    files: int = 0
    size: int = 0
    small_files: int = 0
    arrivals: Arrivals = field(default_factory=Arrivals)
    groups: tuple[FileGroupNeed, ...] = ()
    message: str | None = None
    pays: bool = False
    depth: float | None = None
    conflicts: Conflicts | None = None
    max_scan_ratio: float = RewriteOptions().max_scan_ratio
    workload: WorkloadNeed | None = None
