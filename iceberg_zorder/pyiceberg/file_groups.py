"""Data files that are rewritten together, with the deletes that apply to them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyiceberg.manifest import DataFile
from pyiceberg.typedef import Record

from iceberg_zorder.pyiceberg.content_files import Partition


@dataclass(frozen=True, eq=False)
class DataFileTask:
    """A data file to be rewritten, with the delete files that apply to it."""

    data_file: DataFile
    data_sequence_number: int
    position_deletes: tuple[DataFile, ...] = ()
    equality_deletes: tuple[DataFile, ...] = ()
    added_by: int | None = None  # the snapshot that added it, if the manifest tells


@dataclass(frozen=True, eq=False)
class FileGroup:
    """Data files that are rewritten together, at least one, and why.

    Parameters
    ----------
    index : int
        Its place in the plan, from 1.
    key : tuple
        The values of the partition that its data files share, by which other plans find it again; empty where they
        have none, or are of other specs than the table's current one.
    spec_id : int
        The partition spec of the files to be written.
    partition : pyiceberg.typedef.Record or None
        Their partition, or None where rows of several partitions come together: their data files are of other specs.
    tasks : tuple of DataFileTask
        The data files.
    expected_output_files, max_output_file_size : int
        How many files to write, and the size in bytes above which a file is not planned to be.
    reason : str
        Why it was chosen, in words that name options and their values.
    is_due : bool, optional
        Whether one of its data files is to be rewritten for its deletes or its partition spec, whatever is gained.
    worth : float, optional
        The bytes that a filter is expected to read less for each byte of it; 0 if it is not known.
    """

    index: int
    key: Partition
    spec_id: int
    partition: Record | None
    tasks: tuple[DataFileTask, ...]
    expected_output_files: int
    max_output_file_size: int
    reason: str
    is_due: bool = False
    worth: float = 0.0

    @property
    def like(self) -> DataFile | None:
        """A data file that is in the partition of the new ones; None where that is not known."""
        return None if self.partition is None else self.tasks[0].data_file

    @property
    def paths(self) -> list[str]:
        """Paths of the data files."""
        return [task.data_file.file_path for task in self.tasks]

    @property
    def input_size(self) -> int:
        """Bytes of the data files."""
        return size_of(self.tasks)

    @property
    def rows(self) -> int:
        """Rows of the data files, deleted ones included."""
        return rows_of(self.tasks)


def size_of(tasks: Iterable[DataFileTask]) -> int:
    """Add up the bytes of data files."""
    return sum(task.data_file.file_size_in_bytes for task in tasks)


def rows_of(tasks: Iterable[DataFileTask]) -> int:
    """Add up the rows of data files, deleted ones included."""
    return sum(task.data_file.record_count for task in tasks)
