"""Fields inside fields of a table's schema."""

from __future__ import annotations

from collections.abc import Iterator

from pyiceberg.table import Table
from pyiceberg.types import IcebergType, ListType, MapType, NestedField, StructType

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.pyiceberg.display import display_name
from iceberg_zorder.request.arguments import spelled_alike
from iceberg_zorder.request.predicate import Name


def children(of: IcebergType) -> list[tuple[int, IcebergType]]:
    """List what is right inside a type, with the ids of fields, in the order in which Parquet has it."""
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


def found_fields(table: Table, name: Name, *, case_sensitive: bool) -> list[NestedField]:
    """Find the fields from the top-level column down to a named one; the error that is raised has the reason alone."""
    path: list[NestedField] = []
    struct = table.schema().as_struct()
    for part in name:
        if path:
            outer = path[-1]
            if not isinstance(outer.field_type, StructType):
                of = f"{outer.name} is of type {outer.field_type}"
                raise InvalidInputError(f"{of}: only fields of structs can be named inside a column")
            struct = outer.field_type
        known = [field.name for field in struct.fields]
        found = [
            field
            for field in struct.fields
            if (field.name == part if case_sensitive else field.name.lower() == part.lower())
        ]
        if len(found) != 1:
            of, has = display_name(table), f"has {', '.join(known)}"
            raise InvalidInputError(
                f"the name is ambiguous when case does not count: {of} {has}"
                if found
                else f"{of} has no such column{spelled_alike(part, known, f'it {has}')}"
            )
        path += found
    return path
