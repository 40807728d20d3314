"""Data files that are rewritten together: as they are planned, once they are sampled, and what comes of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from pyiceberg.manifest import DataFile
from pyiceberg.typedef import Record

from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.pyiceberg.compat.manifests import content_offset
from iceberg_zorder.pyiceberg.content_files import Partition, partition_of
from iceberg_zorder.report.data_files import DataFiles
from iceberg_zorder.request.reasons import Reason, words


@dataclass(frozen=True, eq=False)
class DataFileTask:
    """A data file to be rewritten, with the delete files that apply to it."""

    data_file: DataFile
    data_sequence_number: int
    position_deletes: tuple[DataFile, ...] = ()
    equality_deletes: tuple[DataFile, ...] = ()
    added_by: int | None = None  # the snapshot that added it, if the manifest tells

    @property
    def delete_paths(self) -> tuple[str, ...]:
        """Paths of the delete files, sorted; those of deletion vectors with their offsets."""
        found = ((file.file_path, content_offset(file)) for file in (*self.position_deletes, *self.equality_deletes))
        return tuple(sorted(path if offset is None else f"{path}#{offset}" for path, offset in found))


@dataclass(frozen=True, eq=False)
class FileGroup:
    """Data files of a partition that are rewritten together, or left, at least one; and why."""

    # The values of the partition that they share, by which other plans find the group again; empty where they have
    # none, or are of other specs than the table's current one.
    key: Partition
    tasks: tuple[DataFileTask, ...]  # empty in a plan that was read, until they are listed
    reasons: tuple[Reason, ...] = ()
    worth: float = 0.0  # bytes that a filter is expected to read less for each byte of it; 0 if it is not known
    is_finer: bool = False  # whether it is written to half as many files again as usual
    partition_path: str = ""  # as day=2026-01-01; empty where the key is
    # Of a group that is rewritten:
    index: int = 0  # its place in the plan, from 1
    spec_id: int = 0  # the partition spec of the files to be written
    expected_output_files: int = 1
    max_output_file_size: int = 0  # bytes above which a file is not planned to be
    is_due: bool = False  # whether one of its files is rewritten for its deletes or its spec, whatever is gained
    data_files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by path, the paths of their deletes
    counts: tuple[int, int, int] | None = None  # files, bytes and rows, in a plan that was read

    @property
    def data_files_count(self) -> int:
        """How many data files there are."""
        return self.counts[0] if self.counts else len(self.tasks)

    @property
    def input_size(self) -> int:
        """Bytes of the data files."""
        return self.counts[1] if self.counts else size_of(self.tasks)

    @property
    def rows(self) -> int:
        """Rows of the data files, deleted ones included."""
        return self.counts[2] if self.counts else sum(task.data_file.record_count for task in self.tasks)

    @property
    def reason(self) -> str:
        """Why, in words that name options and their values."""
        return words(self.reasons)

    @cached_property
    def partition(self) -> Record | None:
        """The partition of the new files; None where rows of several come together: the files are of other specs."""
        first = self.tasks[0].data_file
        is_same = first.spec_id == self.spec_id and len({partition_of(task.data_file) for task in self.tasks}) == 1
        return first.partition if is_same else None

    @property
    def like(self) -> DataFile | None:
        """A data file that is in the partition of the new ones; None where that is not known."""
        return None if self.partition is None else self.tasks[0].data_file

    @property
    def paths(self) -> list[str]:
        """Paths of the data files."""
        return [task.data_file.file_path for task in self.tasks]


class BytesRead(NamedTuple):
    """The bytes of a set of files, and of those that each query does not rule out."""

    all: int
    read: npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SampledGroup:
    """A file group with its layout, what that is predicted to be worth, and what both are measured by.

    By column, the predicted scan fraction of ``column = value`` is the share of the group's new files, in bytes, whose
    lower/upper bounds will not rule it out, on average over the values of the rows, in [0, 1]; a column without a value
    is left out. Beside it stands the same of its data files as they are.

    Rows whose values are looked for have not made the layout, where there are others. Of all file groups together they
    are about as many as are sampled (``sample-rows``, and one a group), and their keys take at most about 128 MiB a
    column.
    """

    group: FileGroup
    layout: Layout
    values: Sample  # of the rows whose values are looked for
    today: DataFiles
    planned: DataFiles
    read_today: BytesRead | None = None  # by the queries of a workload
    read_planned: BytesRead | None = None
    may_find: npt.NDArray[np.bool_] | None = None  # which queries its rows may be of use to
    scan_fractions: Mapping[str, float] = field(default_factory=dict)
    scan_fractions_before: Mapping[str, float] = field(default_factory=dict)
    means: tuple[float, float] | None = None  # those of today and as predicted; None if no sampled row has a value
    gains: bool = True  # whether filters are predicted to read less of it, or of few files no more; or nothing is known


@dataclass(frozen=True, eq=False)
class GroupResult:
    """The new files of a file group."""

    sampled: SampledGroup
    files: tuple[DataFile, ...]
    written: DataFiles  # the same files, described
    read: BytesRead | None  # by the queries of a workload


def size_of(tasks: Iterable[DataFileTask]) -> int:
    """Add up the bytes of data files."""
    return sum(task.data_file.file_size_in_bytes for task in tasks)
