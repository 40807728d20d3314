"""Fields inside fields of a table's schema."""

from __future__ import annotations

from pyiceberg.types import IcebergType, ListType, MapType, StructType


def children(of: IcebergType) -> list[tuple[int, IcebergType]]:
    """List what is right inside a type, in the order in which Parquet has it.

    Parameters
    ----------
    of : pyiceberg.types.IcebergType
        The type.

    Returns
    -------
    list of (int, pyiceberg.types.IcebergType)
        The fields of a struct, the element of a list, or the key and the value of a map: their ids and types.

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
