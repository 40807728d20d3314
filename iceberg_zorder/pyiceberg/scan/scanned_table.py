"""The columns of a table as workloads know them."""

from __future__ import annotations

from collections.abc import Iterator

from pyiceberg.table import Table
from pyiceberg.types import StructType

from iceberg_zorder.request.predicate import Name
from iceberg_zorder.workload.scanned_table import ScannedTable


def scanned_table(table: Table, identifier: tuple[str, ...]) -> ScannedTable:
    """Describe a table for the reading of workloads.

    Parameters
    ----------
    table : pyiceberg.table.Table
        The table, as loaded.
    identifier : tuple of str
        Its name in the catalog.

    Returns
    -------
    ScannedTable
        Its current columns, fields of structs among them, and its location.
    """
    return ScannedTable(identifier, dict(_columns(table.schema().as_struct(), ())), table.location())


def _columns(struct: StructType, above: Name) -> Iterator[tuple[Name, str]]:
    for field in struct.fields:
        name = (*above, field.name)
        yield name, str(field.field_type)
        if isinstance(field.field_type, StructType):
            yield from _columns(field.field_type, name)
