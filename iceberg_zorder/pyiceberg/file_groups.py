"""Data files that are rewritten together, with the deletes that apply to them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyiceberg.manifest import DataFile
from pyiceberg.typedef import Record

from iceberg_zorder.pyiceberg.content_files import Partition
from iceberg_zorder.request.reasons import Reason, words


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
    """Data files that are rewritten together, at least one, and why."""

    index: int  # its place in the plan, from 1
    # The values of the partition that its data files share, by which other plans find it again; empty where they have
    # none, or are of other specs than the table's current one.
    key: Partition
    spec_id: int  # the partition spec of the files to be written
    partition: Record | None  # None where rows of several come together: their data files are of other specs
    tasks: tuple[DataFileTask, ...]
    expected_output_files: int
    max_output_file_size: int  # bytes above which a file is not planned to be
    reasons: tuple[Reason, ...]
    is_due: bool = False  # whether one of its files is rewritten for its deletes or its spec, whatever is gained
    worth: float = 0.0  # bytes that a filter is expected to read less for each byte of it; 0 if it is not known

    @property
    def reason(self) -> str:
        """Why, in words that name options and their values."""
        return words(self.reasons)

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
