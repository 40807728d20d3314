"""What comes back of a rewrite: Iceberg's five counts, and why nothing was done."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RewriteResult:
    """What a rewrite did, in Iceberg's counts.

    Parameters
    ----------
    rewritten_data_files_count : int
        Data files that were replaced.
    added_data_files_count : int
        Data files that took their place.
    rewritten_bytes_count : int
        Size of the replaced data files in bytes.
    failed_data_files_count : int
        Data files whose file group could not be rewritten (with partial progress only).
    removed_delete_files_count : int
        Delete files that are no longer needed.
    message : str or None
        When nothing was rewritten: why, and what would force it.

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

    @property
    def nothing_to_do(self) -> bool:
        """Whether the planner chose no data file."""
        return self.rewritten_data_files_count == 0 and self.failed_data_files_count == 0
