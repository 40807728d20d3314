"""Spark's part of scheduled maintenance: rewrites that PyIceberg cannot do, and Iceberg's own procedures."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import TypeVar

from pyspark.sql import Row, SparkSession

from iceberg_zorder.errors import RewriteFailedError
from iceberg_zorder.layout.columns import quoted_identifier
from iceberg_zorder.maintain.observation import TableName
from iceberg_zorder.maintain.pass_report import Done
from iceberg_zorder.maintain.policy.settings import (
    ExpireSnapshots,
    FollowUp,
    RemoveOrphanFiles,
    RewriteManifests,
)
from iceberg_zorder.spark.call import SparkCall, failure_message, procedure_call, string_literal
from iceberg_zorder.spark.catalogs import SparkCatalog
from iceberg_zorder.spark.local import local_session
from iceberg_zorder.spark.rewrite import execute_plan

_T = TypeVar("_T")
_SNAPSHOT_PROPERTY = "spark.sql.iceberg.snapshot-property."


class SparkMaintenance:
    """Runs Spark's part of maintenance in its own Spark session, started on first use.

    ``catalogs`` returns the Spark settings of a policy's catalogs; ``conf`` has further Spark settings.
    """

    def __init__(self, catalogs: Callable[[], Iterable[SparkCatalog]], conf: Mapping[str, str]) -> None:
        self._catalogs, self._conf = catalogs, conf
        self._open = ExitStack()
        self._spark: SparkSession | None = None

    def close(self) -> None:
        """Stop Spark, if it was started."""
        self._spark = None
        self._open.close()

    def rewrite(self, name: TableName, plan: str, told: Mapping[str, str]) -> Done:
        """Execute a plan; see :class:`iceberg_zorder.pyiceberg.maintain.maintained_tables.SparkWork`."""

        def work(spark: SparkSession) -> Done:
            _refresh(spark, name)
            with _told(spark, told):
                done = execute_plan(spark, _full_name(name), plan)
            failed = done.failed_data_files_count
            return Done(
                done.rewritten_data_files_count,
                done.added_data_files_count,
                done.rewritten_bytes_count,
                failed,
                done.message,
                f"{failed:,} data files could not be rewritten" if failed else None,
            )

        return self._in_spark(work)

    def follow_up(self, name: TableName, what: FollowUp, now: datetime) -> str:
        """Run a follow-up; see :class:`iceberg_zorder.pyiceberg.maintain.maintained_tables.SparkWork`."""
        procedure, arguments = procedure_of(name, what, now)

        def work(spark: SparkSession) -> Row | None:
            try:
                _refresh(spark, name)
                rows = spark.sql(procedure_call(name.catalog, procedure, arguments)).collect()
            except Exception as error:  # every Spark failure ends in a message
                raise RewriteFailedError(f"Cannot call {procedure}, because {failure_message(error)}") from error
            return None if procedure == "remove_orphan_files" or not rows else rows[0]

        row = self._in_spark(work)
        counts = {} if row is None else {key: value for key, value in row.asDict().items() if value}
        said = ", ".join(f"{key.removesuffix('_count').replace('_', ' ')} {value:,}" for key, value in counts.items())
        return f"{procedure}: {said or 'done'}"

    def _in_spark(self, work: Callable[[SparkSession], _T]) -> _T:
        """Run work in Spark; an interrupt waits until Spark has cancelled it."""
        call = SparkCall(nullcontext(self._session()), work)
        try:
            return call.result()
        except BaseException as error:
            # Interrupts (Ctrl-C, a scheduler's timeout) are no Exceptions. They are raised in place of the call's
            # error, because a pass continues after a failed table.
            if not isinstance(error, Exception):
                with suppress(Exception):
                    call.cancel()
            raise

    def _session(self) -> SparkSession:
        if self._spark is None:
            catalogs = list(self._catalogs())
            settings = {key: value for each in catalogs for key, value in each.settings.items()}
            packages = sorted({package for each in catalogs for package in each.packages})
            home = tempfile.TemporaryDirectory(prefix="iceberg-zorder-", ignore_cleanup_errors=True)
            directory = Path(self._open.enter_context(home))
            session = local_session(self._conf, session_settings=settings, packages=packages, directory=directory)
            self._spark = self._open.enter_context(session)
        return self._spark


def procedure_of(name: TableName, what: FollowUp, now: datetime) -> tuple[str, dict[str, str]]:
    """Return Iceberg's procedure for a follow-up, with its arguments as SQL expressions.

    Examples
    --------
    >>> from datetime import timedelta
    >>> at = datetime(2026, 11, 24, 12, tzinfo=timezone.utc)
    >>> procedure_of(TableName("lake", ("db",), "t"), ExpireSnapshots(timedelta(days=5), 10), at)
    ('expire_snapshots', {'table': "'`db`.`t`'", 'older_than': "TIMESTAMP '2026-11-19 12:00:00+00:00'", \
'retain_last': '10'})
    """
    table = string_literal(".".join(quoted_identifier(part) for part in (*name.namespace, name.name)))
    arguments = {"table": table}
    if isinstance(what, ExpireSnapshots):
        if what.older_than is not None:
            arguments["older_than"] = _moment(now - what.older_than)
        if what.retain_last is not None:
            arguments["retain_last"] = str(what.retain_last)
        return "expire_snapshots", arguments
    if isinstance(what, RemoveOrphanFiles):
        return "remove_orphan_files", {**arguments, "older_than": _moment(now - what.older_than)}
    if isinstance(what, RewriteManifests):
        return "rewrite_manifests", arguments
    return "rewrite_position_delete_files", arguments


def _moment(at: datetime) -> str:
    return f"TIMESTAMP '{at.astimezone(timezone.utc).replace(microsecond=0).isoformat(sep=' ')}'"


def _full_name(name: TableName) -> str:
    return ".".join(quoted_identifier(part) for part in (name.catalog, *name.namespace, name.name))


def _refresh(spark: SparkSession, name: TableName) -> None:
    """Refresh a table in Spark, which caches loaded tables."""
    spark.sql(f"REFRESH TABLE {_full_name(name)}")


@contextmanager
def _told(spark: SparkSession, properties: Mapping[str, str]) -> Iterator[None]:
    """Add properties to the summaries of snapshots committed in the block."""
    for key, value in properties.items():
        spark.conf.set(f"{_SNAPSHOT_PROPERTY}{key}", value)
    try:
        yield
    finally:
        for key in properties:
            spark.conf.unset(f"{_SNAPSHOT_PROPERTY}{key}")
