"""The PyIceberg engine behind the commands: load the table, and plan or rewrite it in this process."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from iceberg_zorder.cli.output import Output
from iceberg_zorder.cli.request import ReportRequest, RewriteRequest, pasted, with_compared
from iceberg_zorder.errors import InvalidInputError, RewriteFailedError
from iceberg_zorder.pyiceberg.catalog.configuration import CatalogConfiguration, load_table
from iceberg_zorder.pyiceberg.catalog.retry import why
from iceberg_zorder.pyiceberg.clustering.report import report
from iceberg_zorder.pyiceberg.rewrite import execute, plan_rewrite, rewrite_data_files
from iceberg_zorder.report.clustering_report import ClusteringReport
from iceberg_zorder.request.result import RewriteResult


@dataclass(frozen=True)
class PyIcebergEngine:
    """Plans and rewrites in this process, without a JVM.

    Parameters
    ----------
    catalog : CatalogConfiguration
        The catalog.
    """

    catalog: CatalogConfiguration

    @staticmethod
    def of(catalog: CatalogConfiguration, conf: dict[str, str]) -> PyIcebergEngine:
        """Prepare the engine; raises InvalidInputError for wrong usage."""
        for name in conf:
            raise InvalidInputError(f"Cannot set --conf {name}, because the engine is pyiceberg and it is for Spark")
        return PyIcebergEngine(catalog)

    def plan(self, request: RewriteRequest, output: Output, *, sampled: bool) -> Mapping[str, Any]:
        """Plan a request; raises as :class:`iceberg_zorder.cli.request.Engine`."""
        with failures(f"plan the rewrite of {request.table}"):
            table = load_table(self.catalog, request.identifier)
            with output.progress() as say, output.work() as work, warnings(output):
                say(f"Planning the rewrite of {request.table} by {request.by}")
                plan = plan_rewrite(
                    table,
                    request.sort_order,
                    where=request.where,
                    options=request.options,
                    branch=request.branch,
                )
                return (plan.sampled(work, predicates=request.predicates) if sampled else plan).to_dict()

    def rewrite(self, request: RewriteRequest, output: Output, done: Callable[[], None]) -> RewriteResult:
        """Carry out a request; raises as :class:`iceberg_zorder.cli.request.Engine`."""
        with failures(f"rewrite {request.table}"):
            table = load_table(self.catalog, request.identifier)
            asked: dict[str, Any] = {
                "where": request.where,
                "options": request.options,
                "branch": request.branch,
            }
            with output.progress() as say, output.work() as work, warnings(output):
                say(f"Rewriting {request.table} by {request.by}")
                if request.predicates:
                    plan = plan_rewrite(table, request.sort_order, **asked)
                    result = execute(plan.sampled(work, predicates=request.predicates), progress=work)
                else:
                    # What other operations change meanwhile is planned again, where a plan that is kept goes stale.
                    result = rewrite_data_files(table, request.sort_order, **asked, progress=work)
                done()
        return result

    def report(self, request: ReportRequest, output: Output) -> tuple[ClusteringReport, ClusteringReport | None]:
        """Report on a table; raises as :class:`iceberg_zorder.cli.request.Engine`."""

        def report_by(sort_order: str | None, snapshot_id: int | None) -> ClusteringReport:
            found = report(
                table,
                sort_order,
                where=request.where,
                branch=request.branch,
                snapshot_id=snapshot_id,
                predicates=request.predicates,
                workload=request.workload,
            )
            findings = (replace(each, command=pasted(each.command, self.catalog)) for each in found.findings)
            return replace(found, findings=tuple(findings))

        with failures(f"report on {request.table}"), output.progress() as say, warnings(output):
            say(f"Reading the metadata of {request.table}")
            table = load_table(self.catalog, request.identifier)
            return with_compared(report_by, request)


@contextmanager
def failures(act: str) -> Iterator[None]:
    """Have whatever PyIceberg, the catalog or a manifest raises end in a message."""
    try:
        yield
    except (InvalidInputError, RewriteFailedError):
        raise
    except Exception as error:
        raise RewriteFailedError(f"Cannot {act}, because {why(error)}") from error


class _Warnings(logging.Handler):
    def __init__(self, output: Output, masked: Callable[[str], str]) -> None:
        super().__init__(logging.WARNING)
        self._output, self._masked = output, masked

    def emit(self, record: logging.LogRecord) -> None:
        self._output.warning(self._masked(record.getMessage()))


@contextmanager
def warnings(output: Output, masked: Callable[[str], str] = str) -> Iterator[None]:
    """Pass on what the engine warns of, without secrets."""
    handler = _Warnings(output, masked)
    logger = logging.getLogger("iceberg_zorder")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
