"""The columns of a table as workloads know them."""

from __future__ import annotations

from pyiceberg.table import Table

from iceberg_zorder.pyiceberg.nested_fields import named_fields
from iceberg_zorder.workload.scanned_table import ScannedTable


def scanned_table(table: Table, identifier: tuple[str, ...]) -> ScannedTable:
    """Describe a table for the reading of workloads."""
    columns = {name: str(field.field_type) for name, field in named_fields(table.schema().as_struct())}
    return ScannedTable(identifier, columns, table.location())
