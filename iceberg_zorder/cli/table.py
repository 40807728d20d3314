"""The table that a command names, and the protocol that both engines implement for commands."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from iceberg_zorder.cli.output import Output
from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.columns import quoted_name
from iceberg_zorder.metrics.clustering_report import ClusteringReport
from iceberg_zorder.pyiceberg.catalog import CatalogConfiguration, catalog_properties, has_tables
from iceberg_zorder.pyiceberg.plan.rewrite_plan import RewritePlan
from iceberg_zorder.rewrite.options import name_parts
from iceberg_zorder.rewrite.result import RewriteResult


@dataclass(frozen=True)
class NamedTable:
    """A table that a command names.

    Examples
    --------
    >>> table = NamedTable("lake.db.t", ("db", "t"), CatalogConfiguration("lake", {}, ("--uri", "http://h")))
    >>> table.pasted("iceberg-zorder rewrite db.t --catalog lake")
    'iceberg-zorder rewrite db.t --catalog lake --uri http://h'
    """

    name: str
    """Its full name, the catalog in front."""
    identifier: tuple[str, ...]
    """Its name in the catalog: the namespace's parts, and its own."""
    catalog: CatalogConfiguration

    def pasted(self, command: str | None) -> str | None:
        """Complete a command of ours that is shown to be pasted by the flags that find the catalog."""
        is_ours = command is not None and command.startswith("iceberg-zorder ")
        return f"{command} {shlex.join(self.catalog.flags)}" if is_ours and self.catalog.flags else command


def named_table(table: str, act: str, catalog: str | None, uri: str | None, warehouse: str | None) -> NamedTable:
    """Find the catalog of a table, whose name may begin with the catalog's, as all output prints it."""
    found = catalog_properties(catalog, uri=uri, warehouse=warehouse)
    parts = tuple(name_parts(table))
    if len(parts) > 2 and parts[0] == found.name:
        if has_tables(found, parts, parts[1:]):
            raise InvalidInputError(
                f"Cannot {act} {table}, because catalog {found.name} has a table of that name, and one of the name "
                f"{'.'.join(parts[1:])}: write {found.name}.{table} or {'.'.join(parts[1:])}"
            )
        parts = parts[1:]
    if len(parts) < 2:
        raise InvalidInputError(f"Cannot {act} {table}, because it names no namespace: write it as db.{table}")
    return NamedTable(quoted_name((found.name, *parts)), parts, found)


class Engine(Protocol):
    """What reads and rewrites the table of a command.

    ``asked`` are the arguments that the functions of both engines share, by name: ``columns``, ``where``, ``options``
    and ``branch``; for a report others in place of ``options``.
    """

    def plan(
        self, asked: Mapping[str, Any], predicates: list[str], output: Output, *, sampled: bool
    ) -> Mapping[str, Any]:
        """Plan the rewrite; nothing is written. With ``sampled`` the plan has layouts and predictions.

        Returns what :meth:`iceberg_zorder.pyiceberg.RewritePlan.to_dict` describes.
        """

    def rewrite(
        self, asked: Mapping[str, Any], predicates: list[str], output: Output, done: Callable[[], None]
    ) -> RewriteResult:
        """Rewrite the table, or in a dry run tell what ``predicates`` would read; calls ``done`` when it is done."""

    def execute(self, plan: RewritePlan, output: Output, done: Callable[[], None]) -> RewriteResult:
        """Rewrite what a plan says; calls ``done`` when it is done."""

    def report(
        self, asked: Mapping[str, Any], compared: int | None, output: Output
    ) -> tuple[ClusteringReport, ClusteringReport | None]:
        """Report on the table, and on a snapshot of before if there is one to compare with."""


def by_text(asked: Mapping[str, Any]) -> str:
    """Return what a table is to be rewritten by, for people."""
    return asked["columns"] or "what the table remembers"


def with_compared(
    report_by: Callable[..., ClusteringReport], asked: Mapping[str, Any], compared: int | None
) -> tuple[ClusteringReport, ClusteringReport | None]:
    """Report on a table, and on its snapshot of before if one is asked for."""
    found = report_by(**asked)
    if compared is None:
        return found, None
    # What is compared is by the same columns, though an older snapshot may tell of others.
    return found, report_by(**{**asked, "columns": found.sort_order}, snapshot_id=compared)
