"""Lower/upper bounds of data files as keys, and keys as bounds."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyiceberg.conversions import to_bytes
from pyiceberg.manifest import DataFile
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
from iceberg_zorder.layout.keys import domain, encode
from iceberg_zorder.layout.sample import cut
from iceberg_zorder.pyiceberg.content_files import bounds, of_field
from iceberg_zorder.report.data_files import ColumnBounds

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
