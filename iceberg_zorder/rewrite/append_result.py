"""The result of an append."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from iceberg_zorder.figures import count, size


@dataclass(frozen=True)
class AppendResult:
    """What an append added to a table.

    Parameters
    ----------
    added_data_files_count : int
        New data files; 0 without rows, and then there is no new snapshot.
    added_records_count : int
        Rows.
    added_bytes_count : int
        Size of the new data files in bytes.
    clustered_partitions_count : int
        Partitions whose rows were worth several files, one box each. The rows of the others are in files of their own,
        one for each partition unless it exceeds the target size.

    Examples
    --------
    >>> AppendResult(5, 600_000, 42_000_000, 1).text
    'Appended 600,000 rows in 5 data files of 42.0 MB'
    """

    added_data_files_count: int
    added_records_count: int
    added_bytes_count: int
    clustered_partitions_count: int

    @property
    def text(self) -> str:
        """The result as one line."""
        rows, files = count(self.added_records_count, "row"), count(self.added_data_files_count, "data file")
        return f"Appended {rows} in {files} of {size(self.added_bytes_count)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the result in JSON types."""
        return asdict(self)
