"""The result of a rewrite: Iceberg's five counts, scan fractions, and a message."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ColumnScan:
    """The share in [0, 1] of the bytes of the rewritten file groups that a filter ``column = value`` reads.

    All shares are averages over the values of the same sampled rows; lower is better.

    Parameters
    ----------
    column : str
        The column.
    before : float or None
        Of the replaced data files.
    predicted : float or None
        Of the new files, predicted from the sample.
    actual : float or None
        Of the new files, by their lower/upper bounds; None in a dry run, and if all rows were deleted.
    """

    column: str
    before: float | None
    predicted: float | None
    actual: float | None


@dataclass(frozen=True)
class WorkloadScan:
    """The weighted average share in [0, 1] of the same bytes that the queries of a workload read.

    Parameters
    ----------
    queries : int
        The number of distinct queries.
    before, predicted, actual : float or None
        As in :class:`ColumnScan`, by partitions and lower/upper bounds.
    """

    queries: int
    before: float | None
    predicted: float | None
    actual: float | None


@dataclass(frozen=True)
class PredicateScan:
    """The share in [0, 1] of the bytes of the planned file groups that a condition reads.

    Parameters
    ----------
    predicate : str
        The condition, as it was written.
    before, predicted : float or None
        Of the old data files, and predicted of the new ones; None if there are no bytes.
    """

    predicate: str
    before: float | None
    predicted: float | None


@dataclass(frozen=True)
class RewriteResult:
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
        Why nothing was rewritten, and which option would force it; then warnings, such as a column that gets worse.
        One sentence each.
    scan_fractions : tuple of ColumnScan
        The scan fractions of the rewritten file groups, by column. Columns without a sampled value are missing. Empty
        if nothing was rewritten.
    dry_run : bool
        Whether this is a dry run: nothing was written, and the counts are expected ones.
    expected_seconds : float or None
        In a dry run, the expected duration in seconds, from earlier rewrites; None without any.
    predicates : tuple of PredicateScan
        In a dry run, what the given conditions read.
    workload : WorkloadScan or None
        With option ``workload``, what its queries read of the same file groups; None if nothing was rewritten.

    Examples
    --------
    >>> RewriteResult(64, 12, 40_000_000, 0, 0).nothing_to_do
    False
    """

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

    @property
    def nothing_to_do(self) -> bool:
        """Whether the planner chose no data file."""
        return self.rewritten_data_files_count == 0 and self.failed_data_files_count == 0
