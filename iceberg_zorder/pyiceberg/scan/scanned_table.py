"""The columns of a table as workloads know them."""

from __future__ import annotations

from pyiceberg.table import Table

from iceberg_zorder.pyiceberg.nested_fields import named_fields
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
    columns = {name: str(field.field_type) for name, field in named_fields(table.schema().as_struct())}
    return ScannedTable(identifier, columns, table.location())
