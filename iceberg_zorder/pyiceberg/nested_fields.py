"""Fields inside fields of a table's schema."""

from __future__ import annotations

from collections.abc import Iterator

from pyiceberg.types import IcebergType, ListType, MapType, NestedField, StructType

from iceberg_zorder.request.predicate import Name


def children(of: IcebergType) -> list[tuple[int, IcebergType]]:
    """List what is right inside a type, in the order in which Parquet has it.

    Examples
    --------
    >>> from pyiceberg.types import LongType
    >>> children(ListType(3, LongType(), element_required=False)), children(LongType())
    ([(3, LongType())], [])
    """
    if isinstance(of, StructType):
        return [(field.field_id, field.field_type) for field in of.fields]
    if isinstance(of, ListType):
        return [(of.element_id, of.element_type)]
    if isinstance(of, MapType):
        return [(of.key_id, of.key_type), (of.value_id, of.value_type)]
    return []


def named_fields(struct: StructType, above: Name = ()) -> Iterator[tuple[Name, NestedField]]:
    """Walk through the fields that have a name of their own: those of structs, each after the struct that it is in.

    Examples
    --------
    >>> from pyiceberg.types import LongType
    >>> inner = StructType(NestedField(2, "b", LongType(), required=False))
    >>> [name for name, _ in named_fields(StructType(NestedField(1, "a", inner, required=False)))]
    [('a',), ('a', 'b')]
    """
    for field in struct.fields:
        name = (*above, field.name)
        yield name, field
        if isinstance(field.field_type, StructType):
            yield from named_fields(field.field_type, name)
