"""Lower/upper bounds of data files as keys, and keys as bounds."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from pyiceberg.conversions import to_bytes
from pyiceberg.manifest import DataFile
from pyiceberg.types import (
    BooleanType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    NestedField,
    PrimitiveType,
    StringType,
)

from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.keys import domain, encode
from iceberg_zorder.layout.sample import cut
from iceberg_zorder.pyiceberg.content_files import bounds, of_field
from iceberg_zorder.report.data_files import ColumnBounds

_MAX_LONG = (1 << 63) - 1


def column_bounds(
    files: Sequence[DataFile], field: NestedField, column: ClusteringColumn, length: int | None = None
) -> ColumnBounds:
    """Read the bounds of a column in data files.

    Parameters
    ----------
    files : sequence of pyiceberg.manifest.DataFile
        The data files.
    field : pyiceberg.types.NestedField
        The column in the table's schema.
    column : ClusteringColumn
        The column.
    length : int, optional
        To how many bytes bounds of text and binary columns are cut: as far as the keys of a sample, which would else
        lie below the bounds of their own file. By default they are not.

    Returns
    -------
    ColumnBounds
        The bounds, and the share of values.
    """
    pairs = [bounds(file, field) for file in files]
    kind = _arrow_type(field.field_type)
    ends = [pa.array([pair[end] for pair in pairs], kind) for end in range(2)]
    lower, upper = (encode(each if length is None else cut(each, length), column.type) for each in ends)
    return ColumnBounds(column, lower, upper, np.array([_valued(file, field.field_id) for file in files], np.float64))


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


def _valued(file: DataFile, field_id: int) -> float:
    rows = of_field(file.value_counts, field_id, file.record_count)
    if rows <= 0:
        return 0.0
    without = of_field(file.null_value_counts, field_id, 0) + of_field(file.nan_value_counts, field_id, 0)
    return max(0.0, min(1.0, 1 - without / rows))


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
