"""How tables and types are called in messages: as Iceberg for Java calls them."""

from __future__ import annotations

from pyiceberg.table import Table
from pyiceberg.types import IcebergType, ListType, MapType, StructType

from iceberg_zorder.layout.columns import quoted_name


def display_name(table: Table) -> str:
    """Name a table as Iceberg for Java does: the catalog's name, the namespace, the table."""
    return ".".join((table.catalog.name, *table.name()))


def sql_name(table: Table) -> str:
    """Name a table as ``ALTER TABLE`` takes it."""
    return quoted_name((table.catalog.name, *table.name()))


def type_text(kind: IcebergType) -> str:
    """Write a type as Iceberg for Java does.

    Examples
    --------
    >>> from pyiceberg.types import LongType
    >>> type_text(MapType(1, LongType(), 2, ListType(3, LongType(), False), False))
    'map<long, list<long>>'
    """
    if isinstance(kind, StructType):
        fields = ", ".join(
            f"{field.field_id}: {field.name}: {'required' if field.required else 'optional'} "
            f"{type_text(field.field_type)}{f' ({field.doc})' if field.doc else ''}"
            for field in kind.fields
        )
        return f"struct<{fields}>"
    if isinstance(kind, ListType):
        return f"list<{type_text(kind.element_type)}>"
    if isinstance(kind, MapType):
        return f"map<{type_text(kind.key_type)}, {type_text(kind.value_type)}>"
    return str(kind)
