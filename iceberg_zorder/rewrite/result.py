"""The result of a rewrite: Iceberg's five counts, scan fractions, and a message."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from iceberg_zorder.displayed import Displayed
from iceberg_zorder.figures import scan_row


@dataclass(frozen=True)
class TableFiles:
    """Number and bytes of a table's data files, or of those that may match ``where``."""

    files: int
    bytes: int


@dataclass(frozen=True)
class ColumnScan:
    """What a filter ``column = value`` reads of a table, or of the files that may match ``where``.

    Each figure is a share of the bytes in [0, 1], or a number of files. It is an average over many values: those of
    sampled rows of the rewritten file groups, and values spread between the bounds of the other files. Lower is better.

    Parameters
    ----------
    column : str
        The column.
    before, files_before : float or None
        Before the rewrite.
    predicted, files_predicted : float or None
        After the rewrite, predicted from the sample.
    actual, files_actual : float or None
        After the rewrite, by the lower/upper bounds of the new files; None in a dry run, and if all rows were deleted.

    Examples
    --------
    >>> scan = ColumnScan("user_id", 1.0, 0.15, 0.13, 64, 12.4, 12)
    >>> scan.text(TableFiles(64, 310_000_000), TableFiles(60, 300_000_000))
    'a filter on user_id reads 39.0 MB in 12 of 60 files (was 310.0 MB in 64 of 64 files)'
    """

    column: str
    before: float | None
    predicted: float | None
    actual: float | None
    files_before: float | None = None
    files_predicted: float | None = None
    files_actual: float | None = None

    def text(self, before: TableFiles, after: TableFiles) -> str:
        """Return the figures as text: the actual ones if known, else the predicted ones."""
        column, was, becomes = scan_row(asdict(self), asdict(before), asdict(after))
        return f"a filter on {column} reads {becomes} (was {was})"


@dataclass(frozen=True)
class WorkloadScan:
    """The share of the bytes that the queries of a workload read, in [0, 1]: a weighted average."""

    queries: int  # the number of distinct queries
    # As in :class:`ColumnScan`, by partitions and lower/upper bounds.
    before: float | None
    predicted: float | None
    actual: float | None


@dataclass(frozen=True)
class PredicateScan:
    """The share in [0, 1] of the bytes of the planned file groups that a condition reads."""

    predicate: str  # the condition, as it was written
    before: float | None  # share of the old data files; None without bytes
    predicted: float | None  # predicted share of the new ones; None without bytes


@dataclass(frozen=True)
class RewriteResult(Displayed):
    """The result of a rewrite in Iceberg's counts; with the option ``dry-run``, the expected result.

    Parameters
    ----------
    rewritten_data_files_count : int
        Data files that were replaced.
    added_data_files_count : int
        New data files.
    rewritten_bytes_count : int
        Size of the replaced data files in bytes.
    failed_data_files_count : int
        Data files whose file group could not be rewritten (with partial progress only).
    removed_delete_files_count : int
        Delete files that are no longer needed.
    message : str or None
        Why nothing was rewritten, and which option would force a rewrite. Then warnings, one sentence each, such as
        columns whose filters cost more.
    scan_fractions : tuple of ColumnScan
        What a filter ``column = value`` reads, for each column with values; empty if nothing was rewritten.
    dry_run : bool
        Whether this is a dry run: nothing was written, and the counts are expected ones.
    expected_seconds : float or None
        In a dry run, the expected duration in seconds, from earlier rewrites; None without earlier rewrites.
    predicates : tuple of PredicateScan
        In a dry run, what the given conditions read.
    workload : WorkloadScan or None
        With option ``workload``, what its queries read of the table; None if nothing was rewritten.
    before, after : TableFiles or None
        The number and bytes of the table's data files, or of those that may match ``where``; None if nothing was
        rewritten.
    translated_deletes : int
        Rows that other writers deleted meanwhile, and that the rewrite deleted from its new files.

    Examples
    --------
    >>> RewriteResult(64, 12, 40_000_000, 0, 0).nothing_to_do
    False
    """

    kind = "result"

    rewritten_data_files_count: int
    added_data_files_count: int
    rewritten_bytes_count: int
    failed_data_files_count: int
    removed_delete_files_count: int
    message: str | None = None
    scan_fractions: tuple[ColumnScan, ...] = ()
    dry_run: bool = False
    expected_seconds: float | None = None
    predicates: tuple[PredicateScan, ...] = ()
    workload: WorkloadScan | None = None
    before: TableFiles | None = None
    after: TableFiles | None = None
    translated_deletes: int = 0

    @property
    def nothing_to_do(self) -> bool:
        """Whether the planner chose no data file."""
        return self.rewritten_data_files_count == 0 and self.failed_data_files_count == 0

    def to_dict(self) -> dict[str, Any]:
        """Return the result in JSON types."""
        return asdict(self)
