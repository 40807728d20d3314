"""Data files and file groups: names, fields of manifest entries, and the files that are rewritten together."""

from __future__ import annotations

import logging
import math
import re
import struct
import uuid
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
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
    """Name a table as Iceberg for Java does: the catalog's name, the namespace, the table."""
    return ".".join((table.catalog.name, *table.name()))


def sql_name(table: Table) -> str:
    """Name a table as ``ALTER TABLE`` takes it."""
    return quoted_name((table.catalog.name, *table.name()))


PLAN, SAMPLE, READ, WRITE = "plan", "sample", "read", "write"
"""The stages of a rewrite, in order; the first tells once how much there is of each of the others."""


class Progress(Protocol):
    """Is told of every piece of work when it is done, maybe from several threads."""

    def __call__(self, stage: str, rows: int, size: int, /) -> None:
        """Take note of some work."""


def silent(stage: str, rows: int, size: int) -> None:
    """Take no note."""


_Kept = TypeVar("_Kept")
PATH_FIELD = 2147483546
"""Field id of ``file_path`` in a position delete file."""

Partition = tuple[Hashable, ...]
"""A partition spec's id and the values of a partition: hashable, and equal for what Iceberg takes as one partition."""


def partition_of(file: DataFile) -> Partition:
    """Return a file's partition, so that it can be compared."""
    values = file.partition
    return (file.spec_id, *[identity(values[place]) for place in range(len(values))])


def by_partition(files: Sequence[DataFile]) -> dict[Partition, list[int]]:
    """Find the places of the files of each partition."""
    places: dict[Partition, list[int]] = {}
    for place, file in enumerate(files):
        places.setdefault(partition_of(file), []).append(place)
    return places


def identity(value: Hashable) -> Hashable:
    """Make a partition's value one that Python compares as Iceberg does: NaN is itself, and -0.0 is not 0.0."""
    return value.hex() if isinstance(value, float) else value


def is_unpartitioned(spec: PartitionSpec) -> bool:
    """Tell whether a spec has no partitions, which is when its equality deletes apply to all data files."""
    return all(isinstance(field.transform, VoidTransform) for field in spec.fields)


def single_path(delete_file: DataFile) -> str | None:
    """Tell which one data file a position delete file names."""
    if delete_file.content != DataFileContent.POSITION_DELETES:
        return None
    if path := referenced_data_file(delete_file):
        return path
    lower, upper = _encoded_bounds(delete_file, PATH_FIELD)
    return lower.decode() if lower is not None and lower == upper else None


def bounds(file: DataFile, field: NestedField) -> tuple[Any, Any]:
    """Read the lower and the upper bound that a file's manifest keeps of a column; None where it keeps none."""
    lower, upper = _encoded_bounds(file, field.field_id)
    return _decoded(lower, field), _decoded(upper, field)


def _encoded_bounds(file: DataFile, field_id: int) -> tuple[bytes | None, bytes | None]:
    return of_field(file.lower_bounds, field_id, None), of_field(file.upper_bounds, field_id, None)


def of_field(kept: Mapping[int, _Kept] | None, field_id: int, otherwise: _Kept) -> _Kept:
    """Look up what a manifest keeps of a field, which may be nothing of any."""
    # Manifests are read into mappings that are slow to ask whether they are empty.
    return otherwise if kept is None else kept.get(field_id, otherwise)


def _decoded(encoded: bytes | None, field: NestedField) -> Any:
    if encoded is None:
        return None
    try:
        value: Any = from_bytes(field.field_type, encoded)  # type: ignore[arg-type]
    except (ValueError, struct.error):
        # What is no value of the type bounds nothing.
        return None
    # Old writers left NaN in the bounds of columns that hold it. It compares with nothing, so it bounds nothing.
    return None if isinstance(value, float) and math.isnan(value) else value


def sequence_number(entry: ManifestEntry) -> int:
    """Return an entry's data sequence number; those of a version 1 table are 0."""
    return entry.sequence_number or 0


def joined_file(files: Sequence[DataFile], fields: Iterable[NestedField]) -> DataFile:
    """Describe data files as one that holds their rows, by their manifest entries.

    Examples
    --------
    >>> from pyiceberg.types import LongType
    >>> field = NestedField(1, "a", LongType(), required=False)
    >>> def file(nulls, **bounds):
    ...     bounds = {name: {1: to_bytes(LongType(), value)} for name, value in bounds.items()}
    ...     counts = {"value_counts": {1: 9}, "null_value_counts": {1: nulls}}
    ...     return DataFile.from_args(record_count=9, file_size_in_bytes=70, **counts, **bounds)
    >>> files = [file(2, lower_bounds=-5, upper_bounds=3), file(9), file(0, lower_bounds=4, upper_bounds=8)]
    >>> found = joined_file(files, [field])
    >>> [from_bytes(LongType(), bounds[1]) for bounds in (found.lower_bounds, found.upper_bounds)]
    [-5, 8]
    >>> found.value_counts, found.null_value_counts, joined_file([*files, file(8)], [field]).upper_bounds
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
        for bounds, found, chosen in (
            ([file.lower_bounds for file in valued], lower, min),
            ([file.upper_bounds for file in valued], upper, max),
        ):
            known = [from_bytes(kind, each[key]) for each in bounds if each and key in each]
            if len(known) == len(bounds) and known and all(each == each for each in known):
                found[key] = to_bytes(kind, chosen(known))
    counted: dict[str, Any] = {"value_counts": values, "null_value_counts": nulls, "nan_value_counts": {}}
    return DataFile.from_args(
        partition=Record(),
        record_count=max(1, sum(file.record_count for file in files)),
        file_size_in_bytes=sum(file.file_size_in_bytes for file in files),
        lower_bounds=lower,
        upper_bounds=upper,
        **counted,
    )


def new_file_name(stem: str, write_id: str, ending: str) -> str:
    """Return a name that no other file has; :func:`is_of_write` tells by it which write a file is of."""
    return f"{stem}-{write_id}{'-' if write_id else ''}{uuid.uuid4()}{ending}"


def is_of_write(name: str, write_ids: Collection[str]) -> bool:
    """Tell whether a file was written by one of some writes, by its name."""
    found = _OF_WRITE.fullmatch(name)
    return found is not None and found["id"] in write_ids


def new_write_id(address: str) -> str:
    """Make an id that no other write has, for one of a table that is found at an address: 8 hexadecimal digits."""
    return f"w{address}{uuid.uuid4().hex}"


def is_leased(write_id: str) -> bool:
    """Tell whether a write is one of maintenance, which needs a lease.

    Examples
    --------
    >>> is_leased(new_write_id("0badf00d")), is_leased("f00dfeedf00dfeed")
    (True, False)
    """
    return write_id.startswith("w")


def is_written_at(write_id: str, address: str) -> bool:
    """Tell whether a write was one of the table at an address."""
    return re.fullmatch(f"w{re.escape(address)}[0-9a-f]{{32}}", write_id) is not None


def delete_files(table: Table, paths: Iterable[str]) -> None:
    """Delete files that no snapshot will have; what cannot be deleted is logged."""
    for path in paths:
        try:
            table.io.delete(path)
        except FileNotFoundError:  # noqa: PERF203 - it was to be written next
            continue
        except Exception:
            _LOG.warning("Cannot delete %s, which is not needed: remove_orphan_files does", path, exc_info=True)


_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_OF_WRITE = re.compile(rf".*-(?P<id>\w+)-{_UUID}(?:-zorder\.parquet|\.avro)")


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
    saved_bytes_per_byte: float = 0.0  # that a filter is expected to read less; 0 if it is not known
    uses_smaller_target: bool = False  # whether it is written to half as many files again as usual
    partition_path: str = ""  # as day=2026-01-01; empty where the key is
    # Of a group that is rewritten:
    index: int = 0  # its place in the plan, from 1
    spec_id: int = 0  # the partition spec of the files to be written
    expected_output_files: int = 1
    max_output_file_size: int = 0  # bytes above which a file is not planned to be
    must_rewrite: bool = False  # whether one of its files is rewritten for its deletes or its spec, whatever is gained
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
    """The bytes of a set of files, and the bytes and the number of those that each query does not rule out."""

    all: int
    read: npt.NDArray[np.int64]
    files: npt.NDArray[np.int64]


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
    scan_fractions: Mapping[str, float] = field(default_factory=dict)
    scan_fractions_before: Mapping[str, float] = field(default_factory=dict)
    costs: tuple[float, float] | None = None  # of a filter, today and as judged; None if no sampled row has a value
    gains: bool = True  # whether filters are predicted to cost less; or nothing is known


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
