"""The table of a command, and what both engines do alike with it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.columns import quoted_name
from iceberg_zorder.metrics.clustering_report import ClusteringReport
from iceberg_zorder.pyiceberg.catalog import CatalogConfiguration, has_tables
from iceberg_zorder.rewrite.options import name_parts


@dataclass(frozen=True)
class NamedTable:
    """The table of a command.

    Examples
    --------
    >>> table = NamedTable(("db", "t"), CatalogConfiguration("lake", {}, ("--uri", "http://h")))
    >>> table.name
    'lake.db.t'
    >>> table.pasted("iceberg-zorder rewrite db.t --catalog lake")
    'iceberg-zorder rewrite db.t --catalog lake --uri http://h'
    """

    identifier: tuple[str, ...]
    """Namespace parts and table name."""
    catalog: CatalogConfiguration

    @property
    def name(self) -> str:
        """Full name, including the catalog."""
        return quoted_name((self.catalog.name, *self.identifier))

    def pasted(self, command: str | None) -> str | None:
        """Append the catalog's flags to an iceberg-zorder command; other commands stay as they are."""
        is_ours = command is not None and command.startswith("iceberg-zorder ")
        return f"{command} {shlex.join(self.catalog.flags)}" if is_ours and self.catalog.flags else command


def named_table(table: str, act: str, found: CatalogConfiguration) -> NamedTable:
    """Resolve a table name, with or without the catalog's name in front."""
    parts = tuple(name_parts(table))
    if len(parts) > 2 and parts[0] == found.name:
        if has_tables(found, parts, parts[1:]):
            raise InvalidInputError(
                f"Cannot {act} {table}, because catalog {found.name} has a table of that name and a table "
                f"{'.'.join(parts[1:])}: write {found.name}.{table} or {'.'.join(parts[1:])}"
            )
        parts = parts[1:]
    if len(parts) < 2:
        raise InvalidInputError(f"Cannot {act} {table}, because the namespace is missing: write db.{table}")
    return NamedTable(parts, found)


def by_text(asked: Mapping[str, Any]) -> str:
    """Return the sort order of a request as text."""
    return asked["columns"] or "the table's zorder.columns"


def with_compared(
    report_by: Callable[..., ClusteringReport], asked: Mapping[str, Any], compared: int | None
) -> tuple[ClusteringReport, ClusteringReport | None]:
    """Report on a table, and on its snapshot ``compared`` if given."""
    found = report_by(**asked)
    if compared is None:
        return found, None
    # Both reports use the same columns, whatever the older snapshot was clustered by.
    return found, report_by(**{**asked, "columns": found.sort_order}, snapshot_id=compared)
