"""The Spark engine of the commands: starts Spark with the catalog, then issues the CALL."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from iceberg_zorder.cli.interruption import Interrupted
from iceberg_zorder.cli.output import Output
from iceberg_zorder.cli.pyiceberg_engine import warnings
from iceberg_zorder.cli.table import by_text, with_compared
from iceberg_zorder.errors import InvalidInputError, RewriteFailedError
from iceberg_zorder.metrics.clustering_report import ClusteringReport
from iceberg_zorder.pyiceberg.plan.rewrite_plan import RewritePlan
from iceberg_zorder.rewrite.result import RewriteResult
from iceberg_zorder.spark.call import SparkCall, failure_message
from iceberg_zorder.spark.catalogs import SparkCatalog
from iceberg_zorder.spark.clustering import report
from iceberg_zorder.spark.local import local_session, plugin_lines
from iceberg_zorder.spark.rewrite import describe_plan, dry_run, execute_plan, rewrite_data_files

if TYPE_CHECKING:
    from iceberg_zorder.spark.call import SparkSession

_T = TypeVar("_T")

_ORPHANS = "remove_orphan_files"
"""Part of the plugin's warnings about orphaned files, which are always shown."""


@dataclass(frozen=True)
class SparkEngine:
    """Plans and rewrites through a Spark session of its own."""

    table: str
    catalog: SparkCatalog
    conf: dict[str, str]
    name: ClassVar[str] = "spark"

    def plan(
        self, asked: Mapping[str, Any], predicates: list[str], output: Output, *, sampled: bool
    ) -> Mapping[str, Any]:
        """Plan the rewrite; raises Interrupted when cancelled."""

        def plan(spark: SparkSession) -> Mapping[str, Any]:
            return describe_plan(spark, self.table, **asked, sampled=sampled, predicates=predicates)

        return self._in_spark(plan, f"Planning the rewrite of {self.table} by {by_text(asked)}", output)

    def rewrite(
        self, asked: Mapping[str, Any], predicates: list[str], output: Output, done: Callable[[], None]
    ) -> RewriteResult:
        """Rewrite the table; raises Interrupted when cancelled."""

        def rewrite(spark: SparkSession) -> RewriteResult:
            if predicates:
                return dry_run(spark, self.table, **asked, predicates=predicates)
            return rewrite_data_files(spark, self.table, **asked)

        doing = f"Rewriting {self.table} by {by_text(asked)}"
        return self._in_spark(rewrite, doing, output, done, message=lambda result: result.message)

    def execute(self, plan: RewritePlan, output: Output, done: Callable[[], None]) -> RewriteResult:
        """Execute a plan; raises Interrupted when cancelled."""

        def execute(spark: SparkSession) -> RewriteResult:
            return execute_plan(spark, self.table, plan.to_json())

        doing = f"Rewriting {self.table} by a plan"
        return self._in_spark(execute, doing, output, done, message=lambda result: result.message)

    def report(
        self, asked: Mapping[str, Any], compared: int | None, output: Output
    ) -> tuple[ClusteringReport, ClusteringReport | None]:
        """Report on the table; raises Interrupted when cancelled."""

        def report_on(spark: SparkSession) -> tuple[ClusteringReport, ClusteringReport | None]:
            return with_compared(partial(report, spark, self.table), asked, compared)

        with warnings(output):
            return self._in_spark(report_on, f"Reading the metadata of {self.table}", output)

    def _in_spark(
        self,
        work: Callable[[SparkSession], _T],
        doing: str,
        output: Output,
        done: Callable[[], None] = lambda: None,
        message: Callable[[_T], str | None] = lambda _: None,
    ) -> _T:
        """Run work in Spark, and show the plugin's warnings that ``message`` of its outcome does not contain."""
        # A cancelled Spark may still be starting and writing its log.
        with tempfile.TemporaryDirectory(prefix="iceberg-zorder-", ignore_cleanup_errors=True) as temporary:
            directory = Path(temporary)
            try:
                with output.progress() as say:
                    outcome = self._call(work, doing, say, done, directory)
            except Interrupted as interrupted:
                _warn(output, [line for line in plugin_lines(directory) if _ORPHANS in line], said=str(interrupted))
                raise
            except Exception as error:  # every Spark failure ends in a message
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
        say: Callable[[str], None],
        done: Callable[[], None],
        directory: Path,
    ) -> _T:
        def begun(spark: SparkSession) -> _T:
            say(doing)
            return work(spark)

        say("Starting Spark, which takes up to a minute (longer the first time, when it downloads Iceberg)")
        settings, packages = self.catalog.settings, self.catalog.packages
        session = local_session(self.conf, session_settings=settings, packages=packages, directory=directory)
        call = SparkCall(session, begun)
        try:
            result = call.result()
            done()
        except Interrupted:
            say("Cancelling; press Ctrl-C again to exit at once")
            return _cancelled(call)
        return result


def _cancelled(call: SparkCall[_T]) -> _T:
    """Cancel a call; returns its result if it had completed, else raises Interrupted with its message."""
    try:
        result = call.cancel()
    except Exception as error:  # Spark raises various classes for cancelled jobs
        message = failure_message(error)
        raise Interrupted(message if message.startswith("Cannot ") else "") from error
    if result is None:
        raise Interrupted
    return result


def _warn(output: Output, lines: list[str], *, said: str | None) -> None:
    """Show the plugin's warnings, without those that ``said`` contains."""
    for line in lines:
        if said is None or line not in said:
            output.warning(line)
