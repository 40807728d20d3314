"""List a snapshot's data files that may match a filter, with deletes and bounds, and the snapshot's ancestors."""

from __future__ import annotations

import gc
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyiceberg.conversions import to_bytes
from pyiceberg.expressions import BooleanExpression
from pyiceberg.manifest import DataFile, DataFileContent, ManifestContent, ManifestEntry
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.typedef import Record
from pyiceberg.types import (
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    PrimitiveType,
    StringType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
)

from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.keys import VALUE, domain, encode, key_at
from iceberg_zorder.layout.sample import cut
from iceberg_zorder.metrics.data_files import ColumnBounds, DataFiles
from iceberg_zorder.metrics.history import SnapshotFacts
from iceberg_zorder.pyiceberg.bounds import metrics_config, named_fields
from iceberg_zorder.pyiceberg.compat import (
    file_may_match,
    filtered_fields,
    manifest_may_match,
    manifests_of,
    partition_may_match,
    read_entries,
)
from iceberg_zorder.pyiceberg.files import (
    DataFileTask,
    Partition,
    bounds,
    is_unpartitioned,
    of_field,
    partition_of,
    sequence_number,
    single_path,
)
from iceberg_zorder.pyiceberg.listing.predicates import file_filter
from iceberg_zorder.workload.scanned_table import ScannedTable


def scanned_table(table: Table, identifier: tuple[str, ...]) -> ScannedTable:
    """Return the facts about a table that reading a workload needs."""
    columns = {name: str(field.field_type) for name, field in named_fields(table.schema().as_struct())}
    return ScannedTable(identifier, columns, table.location())


def snapshots_to(table: Table, head: Snapshot | None) -> list[SnapshotFacts]:
    """Return a snapshot and its ancestors that have not expired, oldest first."""
    found = []
    for each in reversed([*ancestors(table, head)]):
        summary = dict(each.summary.additional_properties) if each.summary else {}
        operation = each.summary.operation.value if each.summary else "append"
        found.append(SnapshotFacts(each.snapshot_id, each.timestamp_ms, operation, summary, each.parent_snapshot_id))
    return found


def ancestors(table: Table, head: Snapshot | None) -> Iterator[Snapshot]:
    """Yield a snapshot and its ancestors that have not expired, newest first.

    PyIceberg's own function searches all snapshots for each ancestor, which takes seconds with thousands.
    """
    by_id = {each.snapshot_id: each for each in table.metadata.snapshots}
    while head is not None:
        yield head
        head = None if head.parent_snapshot_id is None else by_id.get(head.parent_snapshot_id)


_Sequenced = tuple[DataFile, int]


@dataclass
class DeleteIndex:
    """The delete files of a snapshot."""

    schema: Schema  # for the types of equality fields
    unpartitioned: frozenset[int]  # ids of unpartitioned specs
    _positions: dict[Partition, list[_Sequenced]] = field(default_factory=dict)
    _positions_by_path: dict[str, list[_Sequenced]] = field(default_factory=dict)
    _equalities: dict[Partition, list[_Sequenced]] = field(default_factory=dict)
    _global_equalities: list[_Sequenced] = field(default_factory=list)

    def add(self, delete: DataFile, sequence_number: int) -> None:
        """Add a delete file and its data sequence number."""
        sequenced = (delete, sequence_number)
        if delete.content == DataFileContent.EQUALITY_DELETES:
            if delete.spec_id in self.unpartitioned:
                self._global_equalities.append(sequenced)
            else:
                self._equalities.setdefault(partition_of(delete), []).append(sequenced)
        elif path := single_path(delete):
            self._positions_by_path.setdefault(path, []).append(sequenced)
        else:
            self._positions.setdefault(partition_of(delete), []).append(sequenced)

    def of(self, data: DataFile, sequence_number: int) -> tuple[tuple[DataFile, ...], tuple[DataFile, ...]]:
        """Return the position deletes and the equality deletes that may apply to a data file."""
        partition = partition_of(data) if self._positions or self._equalities else ()
        positions = self._positions.get(partition, []) + self._positions_by_path.get(data.file_path, [])
        equalities = self._global_equalities + self._equalities.get(partition, [])
        return (
            tuple(delete for delete, number in positions if number >= sequence_number),
            tuple(
                delete for delete, number in equalities if number > sequence_number and self._may_equal(data, delete)
            ),
        )

    def _may_equal(self, data: DataFile, delete: DataFile) -> bool:
        """Return whether a data file may hold a row of an equality delete file, by counts and bounds."""
        fields = (self._field(field_id) for field_id in delete.equality_ids or [])
        return all(_columns_may_equal(data, delete, each) for each in fields if each is not None)

    def _field(self, field_id: int) -> NestedField | None:
        try:
            found = self.schema.find_field(field_id)
        except ValueError:
            return None
        return found if isinstance(found.field_type, PrimitiveType) else None


def _columns_may_equal(data: DataFile, delete: DataFile, column: NestedField) -> bool:
    of_data, of_delete = _nulls(data, column), _nulls(delete, column)
    if of_data != "none" and of_delete != "none" and not (of_data == "all" and of_delete == "all"):
        return True
    if of_data == "all" or of_delete == "all":
        return of_data != "none" and of_delete != "none"
    if _may_hold_nan(data, column) and _may_hold_nan(delete, column):
        return True
    (data_lower, data_upper), (delete_lower, delete_upper) = bounds(data, column), bounds(delete, column)
    if None in (data_lower, data_upper, delete_lower, delete_upper):
        return True
    return not (data_lower > delete_upper or delete_lower > data_upper)


def _nulls(file: DataFile, column: NestedField) -> str:
    """Return how many of a file's values are NULL: ``none``, ``some`` (or unknown), or ``all``."""
    if column.required:
        return "none"
    nulls = (file.null_value_counts or {}).get(column.field_id)
    if nulls is None:
        return "some"
    if nulls <= 0:
        return "none"
    return "all" if (file.value_counts or {}).get(column.field_id) == nulls else "some"


def _may_hold_nan(file: DataFile, column: NestedField) -> bool:
    """Return whether a file may hold NaN, which bounds do not include."""
    if not isinstance(column.field_type, FloatType | DoubleType):
        return False
    return (file.nan_value_counts or {}).get(column.field_id) != 0


_MAX_LONG = (1 << 63) - 1
_MOST_ROWS = (1 << 61) - 1
_TIMES = (TimeType, TimestampType, TimestamptzType, TimestampNanoType, TimestamptzNanoType)
_WIDTHS: dict[type[IcebergType], np.dtype[Any]] = {
    **dict.fromkeys((IntegerType, DateType), np.dtype("<i4")),
    **dict.fromkeys((LongType, *_TIMES), np.dtype("<i8")),
    FloatType: np.dtype("<f4"),
    DoubleType: np.dtype("<f8"),
}
"""Binary form of numeric bounds, unless the column had a smaller type when the file was written."""


def file_arrays(
    files: Sequence[DataFile],
    fields: Sequence[NestedField],
    columns: Sequence[ClusteringColumn],
    *,
    partitions: npt.NDArray[np.int64] | None = None,
    lengths: Sequence[int | None] | None = None,
) -> DataFiles:
    """Return data files as arrays, from their manifest entries."""
    cuts = [None] * len(columns) if lengths is None else lengths
    return DataFiles(
        np.zeros(len(files), np.int64) if partitions is None else partitions,
        np.array([file.record_count for file in files], np.int64),
        np.array([file.file_size_in_bytes for file in files], np.int64),
        tuple(
            column_bounds(files, field, column, length)
            for field, column, length in zip(fields, columns, cuts, strict=True)
        ),
    )


def new_files_read(
    by: FileFilter, files: DataFiles, fields: Sequence[NestedField], partitions: Sequence[DataFile | None]
) -> npt.NDArray[np.bool_]:
    """Return which planned files a condition does not rule out."""
    found = np.empty(files.count, np.bool_)
    for place, new in enumerate(new_data_files(files, fields, partitions)):
        is_known = partitions[files.partitions[place]] is not None
        found[place] = by.may_match(new) if is_known else by.values_may_match(new)
    return found


def new_data_files(
    files: DataFiles, fields: Sequence[NestedField], partitions: Sequence[DataFile | None]
) -> list[DataFile]:
    """Return manifest entries for planned files; the arguments are those of :func:`new_files_read`."""
    return [_new_file(files, place, fields, partitions[files.partitions[place]]) for place in range(files.count)]


def _new_file(files: DataFiles, place: int, fields: Sequence[NestedField], example: DataFile | None) -> DataFile:
    rows = max(1, int(files.rows[place]))
    lower, upper = (
        {
            field.field_id: bound(key_at(keys.keys, place), field.field_type)
            for field, bounds in zip(fields, files.columns, strict=True)
            for keys in [getattr(bounds, end)]
            if keys.states[place] == VALUE and isinstance(field.field_type, PrimitiveType)
        }
        for end in ("lower", "upper")
    )
    shares = zip(fields, files.columns, strict=True)
    file = DataFile.from_args(
        partition=Record() if example is None else example.partition,
        record_count=rows,
        file_size_in_bytes=int(files.sizes[place]),
        value_counts={field.field_id: rows for field in fields},
        null_value_counts={field.field_id: round(rows * (1 - bounds.valued[place])) for field, bounds in shares},
        nan_value_counts={},
        lower_bounds=lower,
        upper_bounds=upper,
    )
    if example is not None:
        file.spec_id = example.spec_id
    return file


def column_bounds(
    files: Sequence[DataFile], field: NestedField, column: ClusteringColumn, length: int | None = None
) -> ColumnBounds:
    """Return the bounds of a column in data files."""
    ends = _ends(files, field)
    lower, upper = (encode(each if length is None else cut(each, length), column.type) for each in ends)
    rows = np.array([_count(file.value_counts, field.field_id, file.record_count) for file in files], np.int64)
    empty = [
        _count(file.null_value_counts, field.field_id, 0) + _count(file.nan_value_counts, field.field_id, 0)
        for file in files
    ]
    valued = np.clip(1 - np.array(empty, np.int64) / np.maximum(rows, 1), 0.0, 1.0)
    return ColumnBounds(column, lower, upper, np.where(rows > 0, valued, 0.0))


def _ends(files: Sequence[DataFile], field: NestedField) -> list[pa.Array]:
    kind = arrow_type(field.field_type)
    width = _WIDTHS.get(type(field.field_type))
    if width is not None:
        kept = [(file.lower_bounds, file.upper_bounds) for file in files]
        encoded = [[of_field(pair[end], field.field_id, None) for pair in kept] for end in range(2)]
        if {len(each) for end in encoded for each in end if each is not None} <= {width.itemsize}:
            return [_of_width(each, width).cast(kind) for each in encoded]
    pairs = [bounds(file, field) for file in files]
    return [pa.array([pair[end] for pair in pairs], kind) for end in range(2)]


def _of_width(encoded: Sequence[bytes | None], width: np.dtype[Any]) -> pa.Array:
    """Decode all bounds at once; :func:`iceberg_zorder.pyiceberg.files.bounds` decodes them one by one."""
    is_missing = np.array([each is None for each in encoded], np.bool_)
    values = np.zeros(len(encoded), width)
    values[~is_missing] = np.frombuffer(b"".join(each for each in encoded if each is not None), width)
    # NaN is no bound.
    return pa.array(values, mask=is_missing | np.isnan(values))


def arrow_type(kind: IcebergType) -> pa.DataType:
    """Return the Arrow type of a type's bounds."""
    if isinstance(kind, BooleanType):
        return pa.bool_()
    if isinstance(kind, FloatType | DoubleType):
        return pa.float64()
    if isinstance(kind, DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    if isinstance(kind, StringType):
        return pa.large_string()
    return pa.int64() if domain(str(kind)) == "long" else pa.large_binary()


def _count(kept: Mapping[int, int] | None, field_id: int, otherwise: int) -> int:
    """Return a field's count; invalid counts are ignored."""
    found = of_field(kept, field_id, otherwise)
    return found if 0 <= found <= _MOST_ROWS else otherwise


def bound(key: int | bytes, kind: PrimitiveType) -> bytes:
    r"""Return a key as a bound, in Iceberg's single-value serialization.

    Examples
    --------
    >>> from pyiceberg.types import DecimalType, LongType
    >>> bound(1, LongType()), bound(-2, DecimalType(9, 2)), bound(b"\xc3", StringType())
    (b'\x01\x00\x00\x00\x00\x00\x00\x00', b'\xfe', b'')
    """
    if isinstance(kind, DecimalType):
        unscaled = int.from_bytes(key, "big") - (1 << 127) if isinstance(key, bytes) else key
        return unscaled.to_bytes((8 + (unscaled + (unscaled < 0)).bit_length()) // 8, "big", signed=True)
    if isinstance(key, bytes):
        # An incomplete character is dropped.
        return key.decode(errors="ignore").encode() if isinstance(kind, StringType) else key
    if isinstance(kind, FloatType | DoubleType):
        bits = key if key >= 0 else key ^ _MAX_LONG
        return to_bytes(kind, struct.unpack("<d", struct.pack("<q", bits))[0])
    return to_bytes(kind, bool(key) if isinstance(kind, BooleanType) else key)


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Disable garbage collection while manifests are read.

    Repeated collections of a growing heap take a quarter of the time for 100,000 files. Other threads are affected,
    too.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@dataclass(frozen=True, eq=False)
class FileFilter:
    """A filter on data files, by their manifest entries alone, bound to a table's schema and partition specs."""

    schema: Schema
    specs: Mapping[int, PartitionSpec]
    expression: BooleanExpression
    case_sensitive: bool = False

    @staticmethod
    def from_where(
        table: Table, where: str | BooleanExpression | None = None, *, case_sensitive: bool = False
    ) -> FileFilter:
        """Bind a filter to a table's current schema; raises InvalidInputError if it is invalid for the table."""
        expression = file_filter(table, where, case_sensitive=case_sensitive)
        return FileFilter(table.schema(), table.specs(), expression, case_sensitive)

    def may_match(self, file: DataFile) -> bool:
        """Return whether a data file may hold a matching row, by its partition and metrics."""
        return self.partition_may_match(file) and self.values_may_match(file)

    def partition_may_match(self, file: DataFile) -> bool:
        """Return whether a data file may hold a matching row, by its partition alone."""
        return self._partition_tests[file.spec_id](file)

    @cached_property
    def values_may_match(self) -> Callable[[DataFile], bool]:
        """A test whether a data file may hold a matching row, by its metrics alone."""
        return file_may_match(self.schema, self.expression, self.case_sensitive)

    @cached_property
    def _partition_tests(self) -> dict[int, Callable[[DataFile], bool]]:
        return {
            each: partition_may_match(spec, self.schema, self.expression, self.case_sensitive)
            for each, spec in self.specs.items()
        }


def kept_fields(table: Table, filters: Iterable[FileFilter]) -> list[NestedField]:
    """Return the filters' columns for which a table's new files keep bounds."""
    schema, config = table.schema(), metrics_config(table)
    found = {each for of in filters for each in filtered_fields(schema, of.expression, of.case_sensitive)}
    return [schema.find_field(each) for each in found if config.mode(schema.find_column_name(each) or "").keeps_bounds]


@without_garbage_collection()
def list_files(table: Table, snapshot: Snapshot, by: FileFilter) -> list[DataFileTask]:
    """Return a snapshot's data files that may match a filter, with their deletes; reads its manifests."""
    manifest_tests = {
        each: manifest_may_match(spec, by.schema, by.expression, by.case_sensitive) for each, spec in by.specs.items()
    }
    unpartitioned = frozenset(each for each, spec in by.specs.items() if is_unpartitioned(spec))
    deletes = DeleteIndex(by.schema, unpartitioned)
    entries: list[ManifestEntry] = []
    for manifest in manifests_of(snapshot, table.io):
        if manifest.content == ManifestContent.DELETES:
            for entry in read_entries(manifest, table.io):
                deletes.add(entry.data_file, sequence_number(entry))
        elif manifest_tests[manifest.partition_spec_id](manifest):
            entries += [entry for entry in read_entries(manifest, table.io) if by.may_match(entry.data_file)]
    return [
        DataFileTask(entry.data_file, number, *deletes.of(entry.data_file, number), entry.snapshot_id)
        for entry in entries
        for number in [sequence_number(entry)]
    ]
