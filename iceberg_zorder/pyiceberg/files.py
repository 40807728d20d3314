"""Data files and file groups: names, fields of manifest entries, and the files that are rewritten together."""

from __future__ import annotations

import logging
import math
import struct
import uuid
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from pyiceberg.conversions import from_bytes, to_bytes
from pyiceberg.manifest import DataFile, DataFileContent, ManifestEntry
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table import Table
from pyiceberg.transforms import VoidTransform
from pyiceberg.typedef import Record
from pyiceberg.types import NestedField, PrimitiveType

from iceberg_zorder.layout.columns import quoted_name
from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.metrics.data_files import DataFiles
from iceberg_zorder.pyiceberg.compat import content_offset, referenced_data_file
from iceberg_zorder.rewrite.messages import Reason, words

_LOG = logging.getLogger("iceberg_zorder")


def display_name(table: Table) -> str:
    """Return a table's name as Iceberg for Java prints it: catalog, namespace, table."""
    return ".".join((table.catalog.name, *table.name()))


def sql_name(table: Table) -> str:
    """Return a table's quoted name for SQL."""
    return quoted_name((table.catalog.name, *table.name()))


PLAN, SAMPLE, READ, WRITE = "plan", "sample", "read", "write"
"""The stages of a rewrite, in order; the first reports the total of all others."""


class Progress(Protocol):
    """Receives each finished piece of work; several threads may call it."""

    def __call__(self, stage: str, rows: int, size: int, /) -> None:
        """Receive finished work."""


def silent(stage: str, rows: int, size: int) -> None:
    """Ignore progress."""


_Kept = TypeVar("_Kept")
PATH_FIELD = 2147483546
"""Field id of ``file_path`` in a position delete file."""

Partition = tuple[Hashable, ...]
"""A spec's id and a partition's values: hashable, and equal exactly if Iceberg considers the partitions equal."""


def partition_of(file: DataFile) -> Partition:
    """Return a file's partition in comparable form."""
    values = file.partition
    return (file.spec_id, *[identity(values[place]) for place in range(len(values))])


def by_partition(files: Sequence[DataFile]) -> dict[Partition, list[int]]:
    """Return the places of each partition's files."""
    places: dict[Partition, list[int]] = {}
    for place, file in enumerate(files):
        places.setdefault(partition_of(file), []).append(place)
    return places


def identity(value: Hashable) -> Hashable:
    """Return a partition value that Python compares as Iceberg does: NaN equals NaN, and -0.0 differs from 0.0."""
    return value.hex() if isinstance(value, float) else value


def is_unpartitioned(spec: PartitionSpec) -> bool:
    """Return whether a spec is unpartitioned; its equality deletes then apply to all data files."""
    return all(isinstance(field.transform, VoidTransform) for field in spec.fields)


def single_path(delete_file: DataFile) -> str | None:
    """Return the only data file that a position delete file refers to; None for several."""
    if delete_file.content != DataFileContent.POSITION_DELETES:
        return None
    if path := referenced_data_file(delete_file):
        return path
    lower, upper = _encoded_bounds(delete_file, PATH_FIELD)
    return lower.decode() if lower is not None and lower == upper else None


def delete_key(delete_file: DataFile) -> str:
    """Return what tells delete files apart: the path; of deletion vectors, which may share a file, with the offset."""
    offset = content_offset(delete_file)
    return delete_file.file_path if offset is None else f"{delete_file.file_path}#{offset}"


def bounds(file: DataFile, field: NestedField) -> tuple[Any, Any]:
    """Return a column's lower and upper bound in a file's manifest entry; None if missing."""
    lower, upper = _encoded_bounds(file, field.field_id)
    return _decoded(lower, field), _decoded(upper, field)


def _encoded_bounds(file: DataFile, field_id: int) -> tuple[bytes | None, bytes | None]:
    return of_field(file.lower_bounds, field_id, None), of_field(file.upper_bounds, field_id, None)


def of_field(kept: Mapping[int, _Kept] | None, field_id: int, otherwise: _Kept) -> _Kept:
    """Return a field's entry in a manifest's mapping, which may be None."""
    # bool() of PyIceberg's mappings is slow.
    return otherwise if kept is None else kept.get(field_id, otherwise)


def _decoded(encoded: bytes | None, field: NestedField) -> Any:
    if encoded is None:
        return None
    try:
        value: Any = from_bytes(field.field_type, encoded)  # type: ignore[arg-type]
    except (ValueError, struct.error):
        # Invalid bytes are no bound.
        return None
    # Old writers left NaN in bounds; it compares with nothing, so it is no bound.
    return None if isinstance(value, float) and math.isnan(value) else value


def sequence_number(entry: ManifestEntry) -> int:
    """Return an entry's data sequence number; 0 in format version 1."""
    return entry.sequence_number or 0


def joined_file(files: Sequence[DataFile], fields: Iterable[NestedField]) -> DataFile:
    """Return a data file entry that describes the rows of several data files together.

    Examples
    --------
    >>> from pyiceberg.types import LongType
    >>> field = NestedField(1, "a", LongType(), required=False)
    >>> def file(nulls, **bounds):
    ...     bounds = {name: {1: to_bytes(LongType(), value)} for name, value in bounds.items()}
    ...     counts = {"value_counts": {1: 9}, "null_value_counts": {1: nulls}}
    ...     return DataFile.from_args(record_count=9, file_size_in_bytes=70, **counts, **bounds)
    >>> files = [file(2, lower_bounds=-5, upper_bounds=3), file(9), file(0, lower_bounds=4, upper_bounds=8)]
    >>> joined = joined_file(files, [field])
    >>> [from_bytes(LongType(), bounds[1]) for bounds in (joined.lower_bounds, joined.upper_bounds)]
    [-5, 8]
    >>> joined.value_counts, joined.null_value_counts, joined_file([*files, file(8)], [field]).upper_bounds
    ({1: 27}, {1: 11}, {})
    """
    values: dict[int, int] = {}
    nulls: dict[int, int] = {}
    lower: dict[int, bytes] = {}
    upper: dict[int, bytes] = {}
    for column in fields:
        key, kind = column.field_id, column.field_type
        counts = [((file.value_counts or {}).get(key), (file.null_value_counts or {}).get(key)) for file in files]
        if not isinstance(kind, PrimitiveType) or not files:
            continue
        if all(None not in count for count in counts):
            values[key], nulls[key] = (sum(count[place] or 0 for count in counts) for place in (0, 1))
        valued = [file for file, (count, empty) in zip(files, counts, strict=True) if count is None or count != empty]
        ends = [bounds(file, column) for file in valued]
        for place, kept, chosen in ((0, lower, min), (1, upper, max)):
            known = [each[place] for each in ends]
            if known and None not in known:
                kept[key] = to_bytes(kind, chosen(known))
    counted: dict[str, Any] = {"value_counts": values, "null_value_counts": nulls, "nan_value_counts": {}}
    return DataFile.from_args(
        partition=Record(),
        record_count=max(1, sum(file.record_count for file in files)),
        file_size_in_bytes=sum(file.file_size_in_bytes for file in files),
        lower_bounds=lower,
        upper_bounds=upper,
        **counted,
    )


def new_write_id() -> str:
    """Return a unique id for a rewrite by maintenance."""
    return f"w{uuid.uuid4().hex}"


def is_leased(write_id: str) -> bool:
    """Return whether a write belongs to maintenance, which needs a lease.

    Examples
    --------
    >>> is_leased(new_write_id()), is_leased("f00dfeedf00dfeed")
    (True, False)
    """
    return write_id.startswith("w")


def delete_files(table: Table, paths: Iterable[str]) -> None:
    """Delete files that no snapshot refers to; failures are logged."""
    for path in paths:
        try:
            table.io.delete(path)
        except FileNotFoundError:  # noqa: PERF203 - it was not written yet
            continue
        except Exception:
            _LOG.warning("Cannot delete unneeded file %s: run remove_orphan_files", path, exc_info=True)


@dataclass(frozen=True, eq=False)
class DataFileTask:
    """A data file with the delete files that apply to it."""

    data_file: DataFile
    data_sequence_number: int
    position_deletes: tuple[DataFile, ...] = ()
    equality_deletes: tuple[DataFile, ...] = ()
    added_by: int | None = None  # the snapshot that added it, if recorded

    @property
    def delete_paths(self) -> tuple[str, ...]:
        """Sorted keys of the delete files."""
        return tuple(sorted(map(delete_key, (*self.position_deletes, *self.equality_deletes))))


@dataclass(frozen=True, eq=False)
class PartitionFiles:
    """Data files of a partition, at least one; in a plan the files that it leaves, with the reasons."""

    tasks: tuple[DataFileTask, ...]  # empty in a plan read from JSON, until listed
    partition_path: str = ""  # such as day=2026-01-01; empty without partitions, and for files of old specs
    reasons: tuple[Reason, ...] = ()  # why they are rewritten, or left
    counts: tuple[int, int, int] | None = None  # files, bytes and rows, in a plan read from JSON

    @property
    def data_files_count(self) -> int:
        """Number of data files."""
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
        """The reasons as text, with options and their values."""
        return words(self.reasons)

    @property
    def paths(self) -> list[str]:
        """Paths of the data files."""
        return [task.data_file.file_path for task in self.tasks]


@dataclass(frozen=True, eq=False)
class ChosenFiles(PartitionFiles):
    """Data files of a partition that are chosen for a rewrite, with what the choice found."""

    saved_bytes_per_byte: float = 0.0  # predicted savings of a filter; 0 if unknown
    uses_smaller_target: bool = False  # whether they are written to 1.5 times as many files as usual
    extents: Mapping[str, int] = field(default_factory=dict)  # thousandths of the partition by column, if it is a part


@dataclass(frozen=True, eq=False, kw_only=True)
class FileGroup(ChosenFiles):
    """Chosen data files that are rewritten together, with the parameters of their rewrite."""

    index: int  # number in the plan, from 1
    spec_id: int  # partition spec of the new files
    expected_output_files: int
    max_output_file_size: int  # largest planned file, in bytes
    must_rewrite: bool  # whether deletes or an old spec demand the rewrite, regardless of the gain
    stored_files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # ``data_files``, read from JSON

    @property
    def data_files(self) -> Mapping[str, tuple[str, ...]]:
        """The paths of the data files, each with the paths of its delete files."""
        return self.stored_files or {task.data_file.file_path: task.delete_paths for task in self.tasks}

    @cached_property
    def partition(self) -> Record | None:
        """The partition of the new files; None if the old files are of other specs, so rows go to several."""
        first = self.tasks[0].data_file
        is_same = first.spec_id == self.spec_id and len({partition_of(task.data_file) for task in self.tasks}) == 1
        return first.partition if is_same else None

    @property
    def example(self) -> DataFile | None:
        """A data file in the partition of the new files; None if unknown."""
        return None if self.partition is None else self.tasks[0].data_file


class BytesRead(NamedTuple):
    """The bytes of a set of files, and the bytes and number of files that each query reads."""

    all: int
    read: npt.NDArray[np.int64]
    files: npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SampledGroup:
    """A file group with its layout, the layout's predictions, and the sample behind both.

    The values that predictions search for come from held-out rows, unless all rows were sampled for the layout. All
    groups together hold out about as many rows as they sample (``sample-rows``, at least one a group); their keys take
    at most about 128 MiB a column.
    """

    group: FileGroup
    layout: Layout
    values: Sample  # held-out rows, whose values predictions search for
    today: DataFiles
    planned: DataFiles
    read_today: BytesRead | None = None  # by the queries of a workload
    read_planned: BytesRead | None = None
    scan_fractions: Mapping[str, float] = field(default_factory=dict)
    scan_fractions_before: Mapping[str, float] = field(default_factory=dict)
    costs: tuple[float, float] | None = None  # of a filter, today and as judged; None without values
    gains: bool = True  # whether filters are predicted to cost less; True if unknown


@dataclass(frozen=True, eq=False)
class GroupResult:
    """The new files of a file group."""

    sampled: SampledGroup
    files: tuple[DataFile, ...]
    written: DataFiles  # the same files, described
    read: BytesRead | None  # by the queries of a workload


def left_files(files: PartitionFiles, *reasons: Reason) -> PartitionFiles:
    """Return data files as left, for these reasons."""
    return PartitionFiles(files.tasks, files.partition_path, reasons, files.counts)


def size_of(tasks: Iterable[DataFileTask]) -> int:
    """Return the bytes of data files."""
    return sum(task.data_file.file_size_in_bytes for task in tasks)
