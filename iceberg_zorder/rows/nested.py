"""Columns of a batch, and the fields of structs inside them."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc


def leaf(batch: pa.RecordBatch, path: Sequence[int]) -> pa.Array:
    """Take a column of a batch, or a field of a struct; NULL where a struct around it is NULL.

    Examples
    --------
    >>> rows = pa.RecordBatch.from_pylist([{"a": {"b": 1}}, {"a": None}])
    >>> leaf(rows, [0, 0]).to_pylist()
    [1, None]
    """
    array = batch.column(path[0])
    return pc.struct_field(array, list(path[1:])) if len(path) > 1 else array


def type_at(schema: pa.Schema, path: Sequence[int]) -> pa.DataType:
    """Tell the type of a column, or of a field of a struct.

    Examples
    --------
    >>> type_at(pa.schema([("a", pa.struct([("b", pa.int64())]))]), [0, 0])
    DataType(int64)
    """
    kind = schema.field(path[0]).type
    for place in path[1:]:
        kind = kind.field(place).type
    return kind
