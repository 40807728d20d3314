"""The PyIceberg engine of the commands: loads the table, then plans or rewrites it in this process."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from iceberg_zorder.cli.output import Output
from iceberg_zorder.cli.table import NamedTable, by_text, with_compared
from iceberg_zorder.errors import InvalidInputError, RewriteFailedError
from iceberg_zorder.metrics.clustering_report import ClusteringReport
from iceberg_zorder.pyiceberg.catalog import load_table, why
from iceberg_zorder.pyiceberg.plan.rewrite_plan import RewritePlan
from iceberg_zorder.pyiceberg.reporting.report import report
from iceberg_zorder.pyiceberg.rewrite import execute, plan_rewrite, rewrite_data_files, sample
from iceberg_zorder.rewrite.result import RewriteResult


@dataclass(frozen=True)
class PyIcebergEngine:
    """Plans and rewrites in this process, without a JVM."""

    table: NamedTable
    name: ClassVar[str] = "pyiceberg"

    def plan(
        self, asked: Mapping[str, Any], predicates: list[str], output: Output, *, sampled: bool
    ) -> Mapping[str, Any]:
        """Plan the rewrite."""
        with failures(f"plan the rewrite of {self.table.name}", output):
            table = load_table(self.table.catalog, self.table.identifier)
            with output.progress() as say, output.work() as work:
                say(f"Planning the rewrite of {self.table.name} by {by_text(asked)}")
                plan = plan_rewrite(table, **asked)
                return (sample(table, plan, predicates=predicates, progress=work) if sampled else plan).to_dict()

    def rewrite(
        self, asked: Mapping[str, Any], predicates: list[str], output: Output, done: Callable[[], None]
    ) -> RewriteResult:
        """Rewrite the table."""
        with failures(f"rewrite {self.table.name}", output):
            table = load_table(self.table.catalog, self.table.identifier)
            with output.progress() as say, output.work() as work:
                say(f"Rewriting {self.table.name} by {by_text(asked)}")
                if predicates:
                    plan = sample(table, plan_rewrite(table, **asked), predicates=predicates, progress=work)
                    result = execute(table, plan, progress=work)
                else:
                    # Unlike execute, this plans again what concurrent operations changed.
                    result = rewrite_data_files(table, **asked, progress=work)
                done()
        return result

    def execute(self, plan: RewritePlan, output: Output, done: Callable[[], None]) -> RewriteResult:
        """Execute a plan."""
        with failures(f"rewrite {self.table.name}", output):
            table = load_table(self.table.catalog, self.table.identifier)
            with output.progress() as say, output.work() as work:
                say(f"Rewriting {self.table.name} by a plan")
                result = execute(table, plan, progress=work)
                done()
        return result

    def report(
        self, asked: Mapping[str, Any], compared: int | None, output: Output
    ) -> tuple[ClusteringReport, ClusteringReport | None]:
        """Report on the table."""
        with failures(f"report on {self.table.name}", output), output.progress() as say:
            say(f"Reading the metadata of {self.table.name}")
            table = load_table(self.table.catalog, self.table.identifier)

            def report_by(**arguments: Any) -> ClusteringReport:
                found = report(table, **arguments)
                findings = (replace(each, command=self.table.pasted(each.command)) for each in found.findings)
                return replace(found, findings=tuple(findings))

            return with_compared(report_by, asked, compared)


@contextmanager
def failures(act: str, output: Output) -> Iterator[None]:
    """Turn any exception into a RewriteFailedError with a message, and show warnings."""
    try:
        with warnings(output):
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
    """Show the engine's warnings, with secrets masked."""
    handler = _Warnings(output, masked)
    logger = logging.getLogger("iceberg_zorder")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
