"""Finds dimensions, the small tables of joins, in a catalog, and reads their join keys."""

from __future__ import annotations

import logging
from typing import Any

import pyarrow.compute as pc
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError
from pyiceberg.table import Table
from pyiceberg.types import DoubleType, FloatType

from iceberg_zorder.pyiceberg.compat import check_loaded, filtered_fields
from iceberg_zorder.pyiceberg.listing.listing import scanned_table
from iceberg_zorder.pyiceberg.listing.predicates import file_filter
from iceberg_zorder.rewrite.predicate import Name
from iceberg_zorder.workload.dimension_keys import MOST_KEYS
from iceberg_zorder.workload.scanned_table import ScannedTable

_LOG = logging.getLogger("iceberg_zorder")
_MOST_ROWS = 5_000_000
"""Larger tables are not read for their keys, because they are no dimensions."""
_MOST_LOOKUPS = 1_000
"""Most lookups for one workload, because each reads data files; joins that need another one filter nothing."""


def with_dimensions(table: Table, identifier: tuple[str, ...]) -> tuple[ScannedTable, CatalogDimensions]:
    """Return what reading a workload needs: the facts about a table, and the other tables of its catalog."""
    return scanned_table(table, identifier), CatalogDimensions(table.catalog, identifier[:-1])


class CatalogDimensions:
    """Dimensions in a table's catalog, each loaded once.

    Names without a namespace are looked up in ``namespace``, the large table's.
    """

    def __init__(self, catalog: Catalog, namespace: tuple[str, ...]) -> None:
        self._catalog, self._namespace = catalog, namespace
        self._tables: dict[tuple[str, ...], Table | None] = {}
        self._scanned: dict[tuple[str, ...], ScannedTable] = {}
        self._keys: dict[tuple[tuple[str, ...], Name, str], list[Any] | str] = {}
        self._is_full = False

    def find(self, name: tuple[str, ...]) -> ScannedTable | None:
        """Return a dimension; None if there is no such table."""
        full = (*self._namespace, *name) if len(name) == 1 else name
        # In front may be the catalog's name. Another one is of a catalog whose tables are not known here.
        is_own = len(full) > 2 and full[0].lower() == self._catalog.name.lower()
        candidates = [full, full[1:]] if is_own else [full]
        # Catalogs tell small letters from capital ones, and engines do not.
        for identifier in (*candidates, *(tuple(part.lower() for part in each) for each in candidates)):
            table = self._table(identifier)
            if table is not None:
                # Many statements ask for the same table, and its facts about columns are kept with it.
                if identifier not in self._scanned:
                    self._scanned[identifier] = scanned_table(table, identifier)
                return self._scanned[identifier]
        return None

    def keys(self, dimension: ScannedTable, column: Name, filter: str) -> list[Any] | str:  # noqa: A002
        """Return the distinct values of a column in rows that may match a filter, or the reason why they are unknown.

        They are unknown if there are more than 10,000 values, if the table has more than 5 million rows or cannot be
        read, and after 1,000 lookups. An empty list means that no row matches.
        """
        lookup = (dimension.identifier, column, filter)
        if lookup not in self._keys:
            if len(self._keys) == _MOST_LOOKUPS:
                if not self._is_full:
                    message = "Made %s lookups of join keys: joins that need another one filter nothing"
                    _LOG.warning(message, f"{_MOST_LOOKUPS:,}")
                self._is_full = True
                return f"{_MOST_LOOKUPS:,} keys were looked up before"
            name = ".".join(dimension.identifier)
            try:
                self._keys[lookup] = self._read(name, *lookup)
            except Exception as error:  # readers raise errors of many kinds, and the workload needs no dimension
                _LOG.warning("Cannot look up keys in %s: %s", name, error)
                self._keys[lookup] = f"{name} cannot be read: {error}"
        return self._keys[lookup]

    def _read(self, name: str, identifier: tuple[str, ...], column: Name, filter: str) -> list[Any] | str:  # noqa: A002
        table = self._table(identifier)
        if table is None:
            return f"{name} cannot be loaded"
        snapshot = table.current_snapshot()
        if snapshot is None:
            return []
        rows = snapshot.summary["total-records"] if snapshot.summary else None
        if rows is None:
            return f"the number of rows of {name} is not known"
        if int(rows) > _MOST_ROWS:
            return f"{name} has more than {_MOST_ROWS:,} rows"
        where = file_filter(table, filter, case_sensitive=False)
        fields = [table.schema().find_field(each) for each in filtered_fields(table.schema(), where, False)]
        if any(isinstance(each.field_type, FloatType | DoubleType) for each in fields):
            # PyIceberg and Spark differ in where NaN is.
            return f"a condition on {name} is on a float or double"
        key = table.schema().find_field(".".join(column), case_sensitive=False)
        # PyIceberg takes a partition's column that files lack for NULL, unless it is selected.
        names = [table.schema().find_column_name(each.field_id) or "" for each in (key, *fields)]
        rows_read = table.scan(where, selected_fields=tuple(names), case_sensitive=False).to_arrow()
        keys = pc.unique(rows_read.column(names[0])).drop_null()
        return f"more than {MOST_KEYS:,} keys of {name} match" if len(keys) > MOST_KEYS else keys.to_pylist()

    def _table(self, identifier: tuple[str, ...]) -> Table | None:
        if identifier not in self._tables:
            try:
                table = self._catalog.load_table(identifier)
                check_loaded(table)
                self._tables[identifier] = table
            except (NoSuchTableError, NoSuchNamespaceError):
                self._tables[identifier] = None
            except Exception as error:  # catalogs raise errors of many kinds
                _LOG.warning("Cannot load %s to look up keys: %s", ".".join(identifier), error)
                self._tables[identifier] = None
        return self._tables[identifier]
