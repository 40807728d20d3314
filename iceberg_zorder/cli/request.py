"""What the commands are asked for, and the engine that does it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from iceberg_zorder.cli.output import Output
from iceberg_zorder.cli.parameters import FileKind
from iceberg_zorder.pyiceberg.catalog.configuration import CatalogConfiguration
from iceberg_zorder.report.clustering_report import ClusteringReport
from iceberg_zorder.request.result import RewriteResult


class Engine(Protocol):
    """What carries out a request."""

    def plan(self, request: RewriteRequest, output: Output, *, sampled: bool) -> Mapping[str, Any]:
        """Plan the rewrite; nothing is written. With ``sampled`` the plan has layouts and predictions.

        Returns what :meth:`iceberg_zorder.pyiceberg.RewritePlan.to_dict` describes; raises as ``rewrite``.
        """

    def rewrite(self, request: RewriteRequest, output: Output, done: Callable[[], None]) -> RewriteResult:
        """Rewrite the table, and call ``done`` as soon as that is so."""

    def report(self, request: ReportRequest, output: Output) -> tuple[ClusteringReport, ClusteringReport | None]:
        """Report on the table, and on it as it was before if that is asked for; raises as ``rewrite``."""


@dataclass(frozen=True)
class RewriteRequest:
    """A checked request.

    Parameters
    ----------
    table : str
        The table's full name, the catalog in front.
    identifier : tuple of str
        Its name in the catalog: the namespace's parts, and its own.
    sort_order : str or None
        The clustering columns, or a whole sort order; None for what the table remembers.
    where, branch : str or None
        As the engines' ``rewrite_data_files`` take them.
    options : dict of str to str
        Options of the rewrite.
    engine : Engine
        What is to carry it out.
    predicates : tuple of str, optional
        Conditions, of which it is to be told how much they read, where nothing is written.
    """

    table: str
    identifier: tuple[str, ...]
    sort_order: str | None
    where: str | None
    branch: str | None
    options: dict[str, str]
    engine: Engine
    predicates: tuple[str, ...] = ()

    @property
    def by(self) -> str:
        """What it is to be rewritten by, for people."""
        return self.sort_order or "what the table remembers"


@dataclass(frozen=True)
class ReportRequest:
    """A checked request of a clustering report.

    Parameters
    ----------
    table : str
        The table's full name, the catalog in front.
    identifier : tuple of str
        Its name in the catalog.
    sort_order : str or None
        The clustering columns; None for those of the last rewrite.
    where, branch : str or None
        As :func:`iceberg_zorder.pyiceberg.report` takes them.
    predicates : tuple of str
        Conditions to report on.
    compared : int or None
        A snapshot to report on, too, as the state before.
    page : Path or None
        The file that a page is written to.
    engine : Engine
        What is to report.
    workload : str or None
        Queries of which is to be told what they read, as option ``workload`` takes them.
    """

    table: str
    identifier: tuple[str, ...]
    sort_order: str | None
    where: str | None
    branch: str | None
    predicates: tuple[str, ...]
    compared: int | None
    page: Path | None
    engine: Engine
    workload: str | None = None


@dataclass(frozen=True)
class DefaultsRequest:
    """A checked request to have a table remember something.

    Parameters
    ----------
    table : str
        The table's full name, the catalog in front.
    identifier : tuple of str
        Its name in the catalog.
    sort_order : str
        The clustering columns, or a whole sort order.
    options : dict of str to str
        Options of rewrites.
    catalog : CatalogConfiguration
        Where the table is.
    """

    table: str
    identifier: tuple[str, ...]
    sort_order: str
    options: dict[str, str]
    catalog: CatalogConfiguration


@dataclass(frozen=True)
class HistoryRequest:
    """A checked request for the rewrites of a table.

    Parameters
    ----------
    table : str
        The table's full name, the catalog in front.
    identifier : tuple of str
        Its name in the catalog.
    branch : str
        The branch.
    limit : int
        So many of the newest at most, at least 1.
    catalog : CatalogConfiguration
        Where the table is.
    """

    table: str
    identifier: tuple[str, ...]
    branch: str
    limit: int
    catalog: CatalogConfiguration


@dataclass(frozen=True)
class WorkloadRequest:
    """A checked request for the workload of a table.

    Parameters
    ----------
    table : str
        The table's full name, the catalog in front.
    identifier : tuple of str
        Its name in the catalog.
    files : tuple of Path
        What is read.
    to : Path or None
        The file that the workload is written to.
    dialect : str or None
        The dialect of SQL.
    as_of : datetime or None
        When queries are taken to run, with a zone.
    kind : str or None
        What the files are.
    catalog : CatalogConfiguration
        Where the table is.
    """

    table: str
    identifier: tuple[str, ...]
    files: tuple[Path, ...]
    to: Path | None
    dialect: str | None
    as_of: datetime | None
    kind: FileKind | None
    catalog: CatalogConfiguration


@dataclass(frozen=True)
class AdviceRequest:
    """A checked request for advice on a table.

    Parameters
    ----------
    workload : WorkloadRequest
        The table, and the files of its queries.
    options : dict of str to str
        Options of a rewrite.
    branch : str or None
        The branch.
    days : float or None
        Of how many days the queries are.
    least_saving : float
        The share that a rewrite is to save.
    page : Path or None
        The file that a page is written to.
    """

    workload: WorkloadRequest
    options: dict[str, str]
    branch: str | None
    days: float | None
    least_saving: float
    page: Path | None

    @property
    def table(self) -> str:
        """The table's full name, the catalog in front."""
        return self.workload.table

    @property
    def identifier(self) -> tuple[str, ...]:
        """Its name in the catalog."""
        return self.workload.identifier


def pasted(command: str | None, catalog: CatalogConfiguration) -> str | None:
    """Complete a command of ours that is shown to be pasted by the flags that find the catalog.

    Examples
    --------
    >>> pasted("iceberg-zorder rewrite db.t --catalog lake", CatalogConfiguration("lake", {}, ("--uri", "http://h")))
    'iceberg-zorder rewrite db.t --catalog lake --uri http://h'
    """
    is_ours = command is not None and command.startswith("iceberg-zorder ")
    return f"{command} {shlex.join(catalog.flags)}" if is_ours and catalog.flags else command


def with_compared(
    report_by: Callable[[str | None, int | None], ClusteringReport], request: ReportRequest
) -> tuple[ClusteringReport, ClusteringReport | None]:
    """Report on a table, and on its snapshot of before if one is asked for."""
    found = report_by(request.sort_order, None)
    # What is compared is by the same columns, though an older snapshot may tell of others.
    return found, None if request.compared is None else report_by(found.sort_order, request.compared)
