"""How tables are called in messages: as Iceberg for Java calls them."""

from __future__ import annotations

from pyiceberg.table import Table

from iceberg_zorder.layout.columns import quoted_name


def display_name(table: Table) -> str:
    """Name a table as Iceberg for Java does: the catalog's name, the namespace, the table."""
    return ".".join((table.catalog.name, *table.name()))


def sql_name(table: Table) -> str:
    """Name a table as ``ALTER TABLE`` takes it."""
    return quoted_name((table.catalog.name, *table.name()))
