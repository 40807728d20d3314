"""Map the fields of data files by id, and convert batches to the table's schema.

PyIceberg's own projection turns NULL lists and maps of structs into empty ones, but a rewrite must not change rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.types import IcebergType, ListType, MapType, NestedField, StructType

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.pyiceberg.compat import MappedField, NameMapping

_Convert = Callable[[pa.Array], pa.Array]
_FIELD_ID = b"PARQUET:field_id"


@dataclass(frozen=True)
class FileField:
    """A field of a data file, with the fields inside it."""

    field_id: int | None
    path: tuple[str, ...]  # names of the enclosing fields, then its own
    type: pa.DataType
    children: tuple[FileField, ...]


def file_fields(schema: pa.Schema, mapping: NameMapping | None) -> tuple[FileField, ...]:
    """Return the fields of a data file by id, or by the name mapping if the file has no ids."""
    found = tuple(_file_field(field, (), ()) for field in schema)
    if not found or fields_by_id(found):
        return found
    if mapping is None:
        raise InvalidInputError(
            "its columns have no field ids and the table has no property schema.name-mapping.default"
        )
    return tuple(_file_field(field, (), tuple(mapping)) for field in schema)


def _file_field(field: pa.Field, around: tuple[str, ...], mapped: Sequence[MappedField]) -> FileField:
    mine = next((each for each in mapped if field.name in each.names), None)
    own = (field.metadata or {}).get(_FIELD_ID)
    field_id = int(own) if own is not None else None if mine is None else mine.field_id
    # A MappedField without inner fields is falsy.
    inner = () if mine is None else mine.fields
    path = (*around, field.name)
    return FileField(
        field_id, path, field.type, tuple(_file_field(child, path, inner) for child in _children(field.type))
    )


def _children(of: pa.DataType) -> list[pa.Field]:
    if pa.types.is_struct(of):
        return [of.field(place) for place in range(of.num_fields)]
    if pa.types.is_map(of):
        return [of.key_field.with_name("key"), of.item_field.with_name("value")]
    if pa.types.is_list(of) or pa.types.is_large_list(of) or pa.types.is_fixed_size_list(of):
        return [of.value_field.with_name("element")]
    return []


def fields_by_id(fields: Sequence[FileField]) -> dict[int, FileField]:
    """Return fields and all fields inside them, by id."""
    found: dict[int, FileField] = {}
    for field in fields:
        if field.field_id is not None:
            found[field.field_id] = field
        found |= fields_by_id(field.children)
    return found


def field_paths(fields: Sequence[FileField], around: tuple[int, ...] = ()) -> dict[int, tuple[int, ...]]:
    """Return the paths of fields outside lists and maps, by id."""
    found: dict[int, tuple[int, ...]] = {}
    for place, field in enumerate(fields):
        if field.field_id is not None:
            found[field.field_id] = (*around, place)
        if pa.types.is_struct(field.type):
            found |= field_paths(field.children, (*around, place))
    return found


@dataclass(frozen=True)
class Projection:
    """Converts batches of one data file to a schema; strings may stay dictionary-encoded."""

    schema: pa.Schema
    _columns: tuple[tuple[int | None, _Convert], ...]

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Convert a batch."""
        arrays = [
            convert(pa.nulls(batch.num_rows) if place is None else batch.column(place))
            for place, convert in self._columns
        ]
        fields = [
            field if field.type == array.type else field.with_type(array.type)
            for field, array in zip(self.schema, arrays, strict=True)
        ]
        if not arrays:
            # A batch without columns keeps its number of rows.
            return pa.RecordBatch.from_struct_array(pa.array([{}] * batch.num_rows, pa.struct([])))
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def projection(
    wanted: Schema,
    target: pa.Schema,
    file: Sequence[FileField],
    constants: Mapping[int, Any],
    *,
    keep_dictionaries: bool = False,
) -> Projection:
    """Return the projection of a data file to a schema, whose Arrow form is ``target``."""
    columns: list[tuple[int | None, _Convert]] = []
    places = {field.field_id: place for place, field in enumerate(file) if field.field_id is not None}
    for field, arrow in zip(wanted.fields, target, strict=True):
        place = places.get(field.field_id)
        if place is None:
            columns.append((None, _missing(field, arrow.type, constants)))
        else:
            converter = _converter(field.field_type, file[place], arrow.type, keep_dictionary=keep_dictionaries)
            columns.append((place, converter))
    return Projection(target, tuple(columns))


def columns_to_read(wanted: Sequence[NestedField], file: Sequence[FileField]) -> list[str]:
    """Return the Parquet paths of the columns that a projection reads."""
    by_id = {field.field_id: field for field in file if field.field_id is not None}
    found = []
    for field in wanted:
        if field.field_id in by_id:
            mine = by_id[field.field_id]
            inner: list[str] = []
            if isinstance(field.field_type, StructType) and pa.types.is_struct(mine.type):
                inner = columns_to_read(field.field_type.fields, mine.children)
            found += inner or [".".join(mine.path)]
    return found


def _missing(field: NestedField, target: pa.DataType, constants: Mapping[int, Any]) -> _Convert:
    value = constants.get(field.field_id)
    value = field.initial_default if value is None else value
    if value is None and field.required:
        raise InvalidInputError(f"it lacks the required column {field.name}")
    scalar = None if value is None else constant(value, target)
    return lambda array: pa.nulls(len(array), target) if scalar is None else repeated(scalar, len(array), target)


def constant(value: Any, target: pa.DataType) -> pa.Scalar:
    """Return a partition value or a default as an Arrow scalar; UUIDs as bytes."""
    if isinstance(value, UUID):
        value = value.bytes
    if isinstance(target, pa.BaseExtensionType):
        target = target.storage_type
    return pa.scalar(value, target)


def repeated(scalar: pa.Scalar, rows: int, target: pa.DataType) -> pa.Array:
    """Repeat a scalar as an array of a type, which may be an extension type of the scalar's."""
    array = pa.repeat(scalar, rows)
    return pa.ExtensionArray.from_storage(target, array) if isinstance(target, pa.BaseExtensionType) else array


def _converter(kind: IcebergType, mine: FileField, target: pa.DataType, *, keep_dictionary: bool = False) -> _Convert:
    if isinstance(kind, StructType):
        return _struct_converter(kind, mine, target)
    if isinstance(kind, ListType):
        element = _converter(kind.element_type, mine.children[0], target.value_type)
        return lambda array: _list(array, element, target)
    if isinstance(kind, MapType):
        key = _converter(kind.key_type, mine.children[0], target.key_type)
        value = _converter(kind.value_type, mine.children[1], target.item_type)
        return lambda array: _map(array, key, value, target)
    return lambda array: convert(array, target, keep_dictionary=keep_dictionary)


def _struct_converter(kind: StructType, mine: FileField, target: pa.StructType) -> _Convert:
    places = {child.field_id: place for place, child in enumerate(mine.children) if child.field_id is not None}
    parts: list[tuple[int | None, _Convert]] = []
    for place, field in enumerate(kind.fields):
        arrow = target.field(place).type
        found = places.get(field.field_id)
        if found is None:
            parts.append((None, _missing(field, arrow, {})))
        else:
            parts.append((found, _converter(field.field_type, mine.children[found], arrow)))

    def convert_struct(array: pa.StructArray) -> pa.StructArray:
        fields = [part(array if found is None else array.field(found)) for found, part in parts]
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(fields, fields=list(target), mask=mask)

    return convert_struct


def _list(array: pa.Array, element: _Convert, target: pa.DataType) -> pa.Array:
    if pa.types.is_fixed_size_list(array.type):
        array = array.cast(pa.large_list(array.type.value_field))
    array = _fresh(array)
    mask = array.is_null() if array.null_count else None
    return pa.LargeListArray.from_arrays(array.offsets.cast(pa.int64()), element(array.values), type=target, mask=mask)


def _map(array: pa.MapArray, key: _Convert, value: _Convert, target: pa.DataType) -> pa.MapArray:
    array = _fresh(array)
    mask = array.is_null() if array.null_count else None
    return pa.MapArray.from_arrays(array.offsets, key(array.keys), value(array.items), type=target, mask=mask)


def _fresh(array: pa.Array) -> pa.Array:
    """Copy a sliced array, because Arrow combines only unsliced arrays with a mask."""
    return array if array.offset == 0 else pa.concat_arrays([array, array.slice(0, 0)])


def convert(array: pa.Array, target: pa.DataType, *, keep_dictionary: bool = False) -> pa.Array:
    """Convert values of a primitive type by Iceberg's type promotion, and between Arrow's forms of a type."""
    if pa.types.is_dictionary(array.type):
        if keep_dictionary and pa.types.is_large_string(target):
            return array
        array = array.dictionary_decode()
    if array.type == target:
        return array
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if isinstance(target, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(target, convert(array, target.storage_type))
    if pa.types.is_timestamp(target) and pa.types.is_timestamp(array.type):
        # Only the zone's name differs; the instants are in UTC.
        array = array.cast(pa.timestamp(target.unit, array.type.tz))
        return array if array.type == target else array.view(target)
    return array.cast(target)
