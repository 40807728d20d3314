"""The command ``maintain``: read a policy, and run passes over its tables."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import closing, nullcontext
from datetime import datetime, timezone
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from iceberg_zorder.cli.failure import FAILED
from iceberg_zorder.cli.output import Output
from iceberg_zorder.cli.pyiceberg_engine import warnings
from iceberg_zorder.maintain.maintenance_pass import MaintenancePass, Peace
from iceberg_zorder.maintain.policy.policy import Policy
from iceberg_zorder.maintain.policy.read import read_policy
from iceberg_zorder.pyiceberg.maintain.maintained_tables import PyIcebergTables, properties_of

if TYPE_CHECKING:
    from iceberg_zorder.spark.maintenance import SparkMaintenance


def run(path: Path, output: Output, *, watch: bool, dry_run: bool, conf: Mapping[str, str]) -> int:
    """Run a pass, or with ``watch`` one after the other until a signal comes.

    Parameters
    ----------
    path : Path
        The policy.
    output : Output
        Where to tell of it.
    watch : bool
        Whether to go on.
    dry_run : bool
        Whether to decide only.
    conf : mapping of str to str
        Settings of Spark, should a table ask for it.

    Returns
    -------
    int
        The exit code: 0, or 1 where a table or a catalog failed.

    Raises
    ------
    InvalidInputError
        When the policy is wrong; nothing was looked at then.
    """
    policy = read_policy(path, os.environ)
    with closing(_spark(policy, conf)) if find_spec("pyspark") else nullcontext() as spark:
        return _passes(policy, PyIcebergTables(policy, spark=spark), output, watch=watch, dry_run=dry_run)


def _passes(policy: Policy, tables: PyIcebergTables, output: Output, *, watch: bool, dry_run: bool) -> int:
    peace = Peace()
    while True:
        began = time.monotonic()
        with output.progress() as say, warnings(output):
            report = MaintenancePass(policy, tables, peace, _now, say).run(dry_run=dry_run)
        output.maintained(report.to_dict())
        if not watch:
            return FAILED if report.has_failed else 0
        time.sleep(max(0.0, began + policy.interval.total_seconds() - time.monotonic()))


def _spark(policy: Policy, conf: Mapping[str, str]) -> SparkMaintenance:
    """Prepare Spark with the catalogs of a policy; it is started for the first table that asks for it."""
    from iceberg_zorder.spark.catalogs import SparkCatalog, spark_catalog
    from iceberg_zorder.spark.maintenance import SparkMaintenance

    def catalogs() -> list[SparkCatalog]:
        found = [(name, properties_of(policy, name)) for name in policy.catalogs]
        return [spark_catalog(name, properties) for name, properties in found]

    return SparkMaintenance(catalogs, conf)


def _now() -> datetime:
    return datetime.now(timezone.utc)
