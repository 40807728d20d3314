"""Data files as arrays, their lower/upper bounds as keys, and arrays as data files that do not exist yet."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyiceberg.conversions import to_bytes
from pyiceberg.manifest import DataFile
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
from iceberg_zorder.layout.keys import VALUE, KeyColumn, domain, encode
from iceberg_zorder.layout.sample import cut
from iceberg_zorder.pyiceberg.content_files import bounds, of_field
from iceberg_zorder.pyiceberg.scan.listing import Listing
from iceberg_zorder.report.data_files import ColumnBounds, DataFiles

_MAX_LONG = (1 << 63) - 1
_MOST_ROWS = (1 << 61) - 1
_TIMES = (TimeType, TimestampType, TimestamptzType, TimestampNanoType, TimestamptzNanoType)
_WIDTHS: dict[type[IcebergType], np.dtype[Any]] = {
    **dict.fromkeys((IntegerType, DateType), np.dtype("<i4")),
    **dict.fromkeys((LongType, *_TIMES), np.dtype("<i8")),
    FloatType: np.dtype("<f4"),
    DoubleType: np.dtype("<f8"),
}
"""How bounds of numbers are kept, unless the column was of a smaller type when its file was written."""


def file_arrays(
    files: Sequence[DataFile],
    fields: Sequence[NestedField],
    columns: Sequence[ClusteringColumn],
    *,
    partitions: npt.NDArray[np.int64] | None = None,
    lengths: Sequence[int | None] | None = None,
) -> DataFiles:
    """Describe data files by what their manifest entries say."""
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
    listing: Listing, files: DataFiles, fields: Sequence[NestedField], partitions: Sequence[DataFile | None]
) -> npt.NDArray[np.bool_]:
    """Tell which files that do not exist yet a condition does not rule out."""
    found = np.empty(files.count, np.bool_)
    for place, new in enumerate(new_data_files(files, fields, partitions)):
        is_known = partitions[files.partitions[place]] is not None
        found[place] = listing.may_match(new) if is_known else listing.values_may_match(new)
    return found


def new_data_files(
    files: DataFiles, fields: Sequence[NestedField], partitions: Sequence[DataFile | None]
) -> list[DataFile]:
    """Describe files that do not exist yet as those that do, with the arguments of :func:`new_files_read`."""
    return [_new_file(files, place, fields, partitions[files.partitions[place]]) for place in range(files.count)]


def _new_file(files: DataFiles, place: int, fields: Sequence[NestedField], like: DataFile | None) -> DataFile:
    rows = max(1, int(files.rows[place]))
    lower, upper = (
        {
            field.field_id: bound(_key(keys, place), field.field_type)
            for field, bounds in zip(fields, files.columns, strict=True)
            for keys in [getattr(bounds, end)]
            if keys.states[place] == VALUE and isinstance(field.field_type, PrimitiveType)
        }
        for end in ("lower", "upper")
    )
    shares = zip(fields, files.columns, strict=True)
    file = DataFile.from_args(
        partition=Record() if like is None else like.partition,
        record_count=rows,
        file_size_in_bytes=int(files.sizes[place]),
        value_counts={field.field_id: rows for field in fields},
        null_value_counts={field.field_id: round(rows * (1 - bounds.valued[place])) for field, bounds in shares},
        nan_value_counts={},
        lower_bounds=lower,
        upper_bounds=upper,
    )
    if like is not None:
        file.spec_id = like.spec_id
    return file


def _key(keys: KeyColumn, place: int) -> int | bytes:
    return int(keys.keys[place]) if isinstance(keys.keys, np.ndarray) else keys.keys[place].as_py()


def column_bounds(
    files: Sequence[DataFile], field: NestedField, column: ClusteringColumn, length: int | None = None
) -> ColumnBounds:
    """Read the bounds of a column in data files."""
    ends = _ends(files, field)
    lower, upper = (encode(each if length is None else cut(each, length), column.type) for each in ends)
    return ColumnBounds(column, lower, upper, _valued(files, field.field_id))


def _ends(files: Sequence[DataFile], field: NestedField) -> list[pa.Array]:
    kind = _arrow_type(field.field_type)
    width = _WIDTHS.get(type(field.field_type))
    if width is not None:
        kept = [(file.lower_bounds, file.upper_bounds) for file in files]
        encoded = [[of_field(pair[end], field.field_id, None) for pair in kept] for end in range(2)]
        if {len(each) for end in encoded for each in end if each is not None} <= {width.itemsize}:
            return [_of_width(each, width).cast(kind) for each in encoded]
    pairs = [bounds(file, field) for file in files]
    return [pa.array([pair[end] for pair in pairs], kind) for end in range(2)]


def _of_width(encoded: Sequence[bytes | None], width: np.dtype[Any]) -> pa.Array:
    """Decode bounds all at once, as :func:`iceberg_zorder.pyiceberg.content_files.bounds` does one by one."""
    is_missing = np.array([each is None for each in encoded], np.bool_)
    values = np.zeros(len(encoded), width)
    values[~is_missing] = np.frombuffer(b"".join(each for each in encoded if each is not None), width)
    # NaN bounds nothing.
    return pa.array(values, mask=is_missing | np.isnan(values))


def _arrow_type(kind: IcebergType) -> pa.DataType:
    if isinstance(kind, BooleanType):
        return pa.bool_()
    if isinstance(kind, FloatType | DoubleType):
        return pa.float64()
    if isinstance(kind, DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    if isinstance(kind, StringType):
        return pa.large_string()
    return pa.int64() if domain(str(kind)) == "long" else pa.large_binary()


def _valued(files: Sequence[DataFile], field_id: int) -> npt.NDArray[np.float64]:
    rows = np.array([_count(file.value_counts, field_id, file.record_count) for file in files], np.int64)
    counts = ((file.null_value_counts, file.nan_value_counts) for file in files)
    without = np.array([_count(nulls, field_id, 0) + _count(nans, field_id, 0) for nulls, nans in counts], np.int64)
    return np.where(rows > 0, np.clip(1 - without / np.maximum(rows, 1), 0.0, 1.0), 0.0)


def _count(kept: Mapping[int, int] | None, field_id: int, otherwise: int) -> int:
    """Look up a count; one that no file can have is none."""
    found = of_field(kept, field_id, otherwise)
    return found if 0 <= found <= _MOST_ROWS else otherwise


def bound(key: int | bytes, kind: PrimitiveType) -> bytes:
    r"""Write a key as a bound, as Iceberg serialises single values.

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
        # Half a character is none.
        return key.decode(errors="ignore").encode() if isinstance(kind, StringType) else key
    if isinstance(kind, FloatType | DoubleType):
        bits = key if key >= 0 else key ^ _MAX_LONG
        return to_bytes(kind, struct.unpack("<d", struct.pack("<q", bits))[0])
    return to_bytes(kind, bool(key) if isinstance(kind, BooleanType) else key)
