"""The tables of a catalog with which another one is joined, and the keys of their rows."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import pyarrow.compute as pc
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError
from pyiceberg.table import Table

from iceberg_zorder.pyiceberg.listing.listing import scanned_table
from iceberg_zorder.pyiceberg.listing.predicates import file_filter
from iceberg_zorder.rewrite.predicate import Name
from iceberg_zorder.workload.dimension_keys import MOST_KEYS
from iceberg_zorder.workload.scanned_table import ScannedTable

_LOG = logging.getLogger("iceberg_zorder")
_MOST_ROWS = 5_000_000
"""Larger tables are not read for their keys: they are no dimensions."""
_MOST_LOOKUPS = 1_000
"""Most different lookups for one workload, because each reads files of a dimension; further joins are left out."""


def with_dimensions(table: Table, identifier: tuple[str, ...]) -> tuple[ScannedTable, CatalogDimensions]:
    """Return what reading a workload needs: the facts about a table, and the other tables of its catalog."""
    return scanned_table(table, identifier), CatalogDimensions(table.catalog, identifier[:-1])


class CatalogDimensions:
    """Dimensions in a table's catalog, each loaded once; names without a namespace are looked up beside the table.

    Parameters
    ----------
    catalog : pyiceberg.catalog.Catalog
        The catalog.
    beside : tuple of str
        The table's namespace.
    """

    def __init__(self, catalog: Catalog, beside: tuple[str, ...]) -> None:
        self._catalog, self._beside = catalog, beside
        self._tables: dict[tuple[str, ...], Table | None] = {}
        self._scanned: dict[tuple[str, ...], ScannedTable] = {}
        self._keys: dict[tuple[tuple[str, ...], Name, str], Sequence[Any] | None] = {}
        self._is_full = False

    def find(self, name: tuple[str, ...], namespace: tuple[str, ...]) -> ScannedTable | None:
        """Return a dimension; None if there is no such table."""
        if len(name) == 1:
            tried = [(*each, *name) for each in dict.fromkeys((namespace, self._beside)) if each]
        else:
            # Engines have names of their own for a catalog.
            tried = [name, name[1:]] if len(name) > 2 else [name]
        for each in tried:
            table = self._table(each)
            if table is not None:
                # Every statement asks for it, and each keeps what it derives of the columns.
                if each not in self._scanned:
                    self._scanned[each] = scanned_table(table, each)
                return self._scanned[each]
        return None

    def keys(self, dimension: ScannedTable, column: Name, filter: str) -> Sequence[Any] | None:  # noqa: A002
        """Return the distinct values of a column in rows that may match a filter.

        Returns
        -------
        sequence, or None
            None for more than 10,000 values, for tables of more than 5 million rows, for those that cannot be read, and
            after 1,000 different lookups.
        """
        asked = (dimension.identifier, column, filter)
        if asked not in self._keys:
            if len(self._keys) == _MOST_LOOKUPS:
                if not self._is_full:
                    _LOG.warning("Looked up %s sets of join keys: further joins filter nothing", f"{_MOST_LOOKUPS:,}")
                self._is_full = True
                return None
            try:
                self._keys[asked] = self._read(*asked)
            except Exception as error:  # whatever a dimension's files raise, the workload is read without it
                _LOG.warning("Cannot look up keys in %s: %s", ".".join(dimension.identifier), error)
                self._keys[asked] = None
        return self._keys[asked]

    def _read(self, identifier: tuple[str, ...], column: Name, filter: str) -> Sequence[Any] | None:  # noqa: A002
        table = self._table(identifier)
        snapshot = None if table is None else table.current_snapshot()
        if table is None or snapshot is None:
            return [] if table is not None else None
        rows = int((snapshot.summary["total-records"] if snapshot.summary else None) or 0)
        if rows > _MOST_ROWS:
            return None
        where = file_filter(table, filter, case_sensitive=False)
        found = table.scan(where, selected_fields=(".".join(column),), case_sensitive=False).to_arrow()
        keys = pc.unique(found.column(0)).drop_null()
        return None if len(keys) > MOST_KEYS else keys.to_pylist()

    def _table(self, identifier: tuple[str, ...]) -> Table | None:
        if identifier not in self._tables:
            try:
                self._tables[identifier] = self._catalog.load_table(identifier)
            except (NoSuchTableError, NoSuchNamespaceError):
                self._tables[identifier] = None
            except Exception as error:  # catalogs raise errors of many kinds
                _LOG.warning("Cannot load %s to look up keys: %s", ".".join(identifier), error)
                self._tables[identifier] = None
        return self._tables[identifier]
