"""The Spark engine behind the commands: start Spark with the catalog, and issue the CALL, or plan without it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from iceberg_zorder.cli.interruption import Interrupted
from iceberg_zorder.cli.output import Output
from iceberg_zorder.cli.pyiceberg_engine import warnings
from iceberg_zorder.cli.request import ReportRequest, RewriteRequest, with_compared
from iceberg_zorder.errors import InvalidInputError, RewriteFailedError
from iceberg_zorder.pyiceberg.catalog.configuration import CatalogConfiguration
from iceberg_zorder.report.clustering_report import ClusteringReport
from iceberg_zorder.request.result import RewriteResult
from iceberg_zorder.spark.call import SparkCall
from iceberg_zorder.spark.catalogs import SparkCatalog, spark_catalog
from iceberg_zorder.spark.clustering import report
from iceberg_zorder.spark.failures import failure_message
from iceberg_zorder.spark.local import local_session, plugin_lines
from iceberg_zorder.spark.plan import describe_plan, dry_run
from iceberg_zorder.spark.rewrite import rewrite_data_files

if TYPE_CHECKING:
    from iceberg_zorder.spark.call import SparkSession

_T = TypeVar("_T")

_ORPHANS = "remove_orphan_files"
"""Named by the plugin's warnings of files that were left: those are passed on whatever happens."""


@dataclass(frozen=True)
class SparkEngine:
    """Plans and rewrites through a Spark session of its own.

    Parameters
    ----------
    catalog : SparkCatalog
        The catalog, as Spark takes it.
    conf : dict of str to str
        Settings of Spark.
    """

    catalog: SparkCatalog
    conf: dict[str, str]

    @staticmethod
    def of(catalog: CatalogConfiguration, conf: dict[str, str]) -> SparkEngine:
        """Prepare the engine; raises InvalidInputError for wrong usage."""
        for name in conf:
            if not name.startswith("spark."):
                raise InvalidInputError(f"Cannot set --conf {name}, because Spark's settings start with 'spark.'")
        return SparkEngine(spark_catalog(catalog.name, catalog.properties), conf)

    def plan(self, request: RewriteRequest, output: Output, *, sampled: bool) -> Mapping[str, Any]:
        """Plan a request; raises as :class:`iceberg_zorder.cli.request.Engine`, and Interrupted when cancelled."""

        def plan(spark: SparkSession) -> Mapping[str, Any]:
            return describe_plan(
                spark,
                request.table,
                request.sort_order,
                where=request.where,
                options=request.options,
                branch=request.branch,
                sampled=sampled,
                predicates=request.predicates,
            )

        doing = f"Planning the rewrite of {request.table} by {request.by}"
        return self._in_spark(plan, doing, output, lambda: None, message=lambda _: None)

    def rewrite(self, request: RewriteRequest, output: Output, done: Callable[[], None]) -> RewriteResult:
        """Carry out a request; raises as :class:`iceberg_zorder.cli.request.Engine`, and Interrupted when cancelled."""

        def rewrite(spark: SparkSession) -> RewriteResult:
            asked: dict[str, Any] = {
                "where": request.where,
                "options": request.options,
                "branch": request.branch,
            }
            if request.predicates:
                return dry_run(spark, request.table, request.sort_order, **asked, predicates=request.predicates)
            return rewrite_data_files(spark, request.table, request.sort_order, **asked)

        doing = f"Rewriting {request.table} by {request.by}"
        return self._in_spark(rewrite, doing, output, done, message=lambda result: result.message)

    def report(self, request: ReportRequest, output: Output) -> tuple[ClusteringReport, ClusteringReport | None]:
        """Report on a table; raises as :class:`iceberg_zorder.cli.request.Engine`, and Interrupted when cancelled."""

        def report_on(spark: SparkSession) -> tuple[ClusteringReport, ClusteringReport | None]:
            def report_by(sort_order: str | None, snapshot_id: int | None) -> ClusteringReport:
                return report(
                    spark,
                    request.table,
                    sort_order,
                    where=request.where,
                    branch=request.branch,
                    snapshot_id=snapshot_id,
                    predicates=request.predicates,
                    workload=request.workload,
                )

            return with_compared(report_by, request)

        doing = f"Reading the metadata of {request.table}"
        with warnings(output):
            return self._in_spark(report_on, doing, output, lambda: None, message=lambda _: None)

    def _in_spark(
        self,
        work: Callable[[SparkSession], _T],
        doing: str,
        output: Output,
        done: Callable[[], None],
        *,
        message: Callable[[_T], str | None],
    ) -> _T:
        """Do some work, of whose outcome ``message`` is shown anyway; what the plugin warned of is passed on."""
        # Spark may still be starting, and write its log, when nobody waits for it any more.
        with tempfile.TemporaryDirectory(prefix="iceberg-zorder-", ignore_cleanup_errors=True) as temporary:
            directory = Path(temporary)
            try:
                outcome = self._call(work, doing, output, done, directory)
            except Interrupted as interrupted:
                _warn(output, [line for line in plugin_lines(directory) if _ORPHANS in line], said=str(interrupted))
                raise
            except Exception as error:  # whatever Spark raises ends in a message
                failure = failure_message(error)
                _warn(output, plugin_lines(directory), said=failure)
                if isinstance(error, InvalidInputError | RewriteFailedError):
                    raise
                raise RewriteFailedError(failure) from error
            _warn(output, plugin_lines(directory), said=message(outcome))
        return outcome

    def _call(
        self,
        work: Callable[[SparkSession], _T],
        doing: str,
        output: Output,
        done: Callable[[], None],
        directory: Path,
    ) -> _T:
        with output.progress() as say:
            say("Starting Spark (the first time it downloads Iceberg)")

            def begun(spark: SparkSession) -> _T:
                say(doing)
                return work(spark)

            session = local_session(
                self.conf,
                session_settings=self.catalog.settings,
                packages=self.catalog.packages,
                directory=directory,
            )
            call = SparkCall(session, begun)
            try:
                result = call.result()
                done()
            except Interrupted:
                say("Cancelling; a second Ctrl-C does not wait for that")
                return _cancelled(call)
        return result


def _cancelled(call: SparkCall[_T]) -> _T:
    """Cancel a call; returns its result if it was over before, else raises Interrupted with what the call said."""
    try:
        result = call.cancel()
    except Exception as error:  # whatever Spark raises for jobs that it has cancelled
        message = failure_message(error)
        raise Interrupted(message if message.startswith("Cannot ") else "") from error
    if result is None:
        raise Interrupted
    return result


def _warn(output: Output, lines: list[str], *, said: str | None) -> None:
    """Pass on what the plugin warned of, less what is said anyway."""
    for line in lines:
        if said is None or line not in said:
            output.warning(line)
