"""The fields of a data file, by the ids of the table's fields that they hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.pyiceberg.compat.schemas import MappedField, NameMapping

_FIELD_ID = b"PARQUET:field_id"


@dataclass(frozen=True)
class FileField:
    """A field of a data file.

    Parameters
    ----------
    field_id : int or None
        The table's field that it holds, if any.
    path : tuple of str
        Its name, after the names of the structs, lists and maps around it.
    type : pyarrow.DataType
        Its type.
    children : tuple of FileField
        Fields of a struct, the element of a list, the key and the value of a map.
    """

    field_id: int | None
    path: tuple[str, ...]
    type: pa.DataType
    children: tuple[FileField, ...]

    def walk(self) -> Iterator[FileField]:
        """Visit this field and all inside it."""
        yield self
        for child in self.children:
            yield from child.walk()


def file_fields(schema: pa.Schema, mapping: NameMapping | None) -> tuple[FileField, ...]:
    """Find the fields of a data file.

    Examples
    --------
    >>> column = pa.field("old name", pa.int32(), metadata={"PARQUET:field_id": "7"})
    >>> file_fields(pa.schema([column]), None)[0].field_id
    7
    """
    found = tuple(_file_field(field, (), ()) for field in schema)
    if not found or any(each.field_id is not None for top in found for each in top.walk()):
        return found
    if mapping is None:
        raise InvalidInputError(
            "its columns have no field ids and the table has no property schema.name-mapping.default to find them by"
        )
    return tuple(_file_field(field, (), tuple(mapping)) for field in schema)


def _file_field(field: pa.Field, around: tuple[str, ...], mapped: Sequence[MappedField]) -> FileField:
    mine = next((each for each in mapped if field.name in each.names), None)
    own = (field.metadata or {}).get(_FIELD_ID)
    field_id = int(own) if own is not None else None if mine is None else mine.field_id
    # A mapped field without inner ones is false.
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


def field_paths(fields: Sequence[FileField]) -> dict[int, tuple[int, ...]]:
    """Find where the fields of a batch are that no list or map holds, by their ids."""
    found: dict[int, tuple[int, ...]] = {}

    def visit(field: FileField, place: tuple[int, ...]) -> None:
        if field.field_id is not None:
            found[field.field_id] = place
        if pa.types.is_struct(field.type):
            for inner, child in enumerate(field.children):
                visit(child, (*place, inner))

    for place, field in enumerate(fields):
        visit(field, (place,))
    return found
