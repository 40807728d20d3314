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


def without_views(schema: pa.Schema) -> pa.Schema:
    """Give strings and binaries the types that rows can be taken of, which Arrow does not do of views.

    Examples
    --------
    >>> view = pa.schema([pa.field("s", pa.struct([("v", pa.string_view())]), metadata={"PARQUET:field_id": "1"})])
    >>> plain = without_views(view)
    >>> plain.field("s").type, plain.field("s").metadata
    (StructType(struct<v: string>), {b'PARQUET:field_id': b'1'})
    """
    return pa.schema([_field_without_views(field) for field in schema], schema.metadata)


def _field_without_views(field: pa.Field) -> pa.Field:
    kind = field.type
    if pa.types.is_string_view(kind):
        return field.with_type(pa.string())
    if pa.types.is_binary_view(kind):
        return field.with_type(pa.binary())
    if pa.types.is_struct(kind):
        return field.with_type(pa.struct([_field_without_views(each) for each in kind]))
    if pa.types.is_map(kind):
        return field.with_type(pa.map_(_field_without_views(kind.key_field), _field_without_views(kind.item_field)))
    if pa.types.is_large_list(kind):
        return field.with_type(pa.large_list(_field_without_views(kind.value_field)))
    if pa.types.is_list(kind):
        return field.with_type(pa.list_(_field_without_views(kind.value_field)))
    return field
