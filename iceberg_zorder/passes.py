"""Run passes over a policy's tables in this process, for the command ``maintain`` and for Python schedulers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from datetime import datetime, timezone
from importlib.util import find_spec
from types import MappingProxyType
from typing import TYPE_CHECKING

from iceberg_zorder.maintain.events import Listener
from iceberg_zorder.maintain.maintenance_pass import MaintenancePass
from iceberg_zorder.maintain.pass_report import PassReport
from iceberg_zorder.maintain.policy.policy import Policy
from iceberg_zorder.pyiceberg.maintain.maintained_tables import PyIcebergTables, properties_of

if TYPE_CHECKING:
    from iceberg_zorder.spark.catalogs import SparkCatalog
    from iceberg_zorder.spark.maintenance import SparkMaintenance

_NO_SETTINGS: Mapping[str, str] = MappingProxyType({})


def run_pass(
    policy: Policy,
    *,
    dry_run: bool = False,
    conf: Mapping[str, str] = _NO_SETTINGS,
    say: Callable[[str], None] = lambda _: None,
    tell: Listener = lambda _: None,
) -> PassReport:
    r"""Run one pass over the tables of a policy.

    Parameters
    ----------
    policy : Policy
        The policy, as :func:`~iceberg_zorder.maintain.policy.read.read_policy` returns it.
    dry_run : bool, optional
        Whether to decide only, and write nothing.
    conf : mapping of str to str, optional
        Spark settings, for tables that need Spark.
    say : callable, optional
        Receives each step as text.
    tell : callable, optional
        Receives each event of the pass.

    Returns
    -------
    PassReport
        The decision and the result of each table. Failures of tables and catalogs are in ``failures``, and do not
        raise.

    Examples
    --------
    >>> import tempfile
    >>> from iceberg_zorder.maintain.policy.read import parse_policy
    >>> with tempfile.TemporaryDirectory() as home:
    ...     text = f"version: 1\ncatalogs: {{lake: {{uri: 'sqlite:///{home}/catalog.db'}}}}\ntables: {{'*': {{}}}}"
    ...     report = run_pass(parse_policy(text, "policy.yaml", {}))
    >>> report.tables, report.failures
    ((), ())
    """
    with policy_tables(policy, conf) as tables:
        return MaintenancePass(tables.policy, tables, now, say, tell).run(dry_run=dry_run)


@contextmanager
def policy_tables(policy: Policy, conf: Mapping[str, str]) -> Iterator[PyIcebergTables]:
    """Open the tables of a policy; the catalogs' connections close on exit."""
    with ExitStack() as stack:
        spark = stack.enter_context(closing(_spark(policy, conf))) if find_spec("pyspark") else None
        yield stack.enter_context(closing(PyIcebergTables(policy, spark=spark)))


def now() -> datetime:
    """Return the time, in UTC.

    Examples
    --------
    >>> now().tzinfo
    datetime.timezone.utc
    """
    return datetime.now(timezone.utc)


def _spark(policy: Policy, conf: Mapping[str, str]) -> SparkMaintenance:
    """Return Spark maintenance with the policy's catalogs; Spark starts on first use."""
    from iceberg_zorder.spark.catalogs import spark_catalog
    from iceberg_zorder.spark.maintenance import SparkMaintenance

    def catalogs() -> list[SparkCatalog]:
        found = [(name, properties_of(policy, name)) for name in policy.catalogs]
        return [spark_catalog(name, properties) for name, properties in found]

    return SparkMaintenance(catalogs, conf)
