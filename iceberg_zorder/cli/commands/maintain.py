"""The command ``maintain``: read a policy, and run passes over its tables."""

from __future__ import annotations

import os
import time
from datetime import datetime, timezone
from pathlib import Path

from iceberg_zorder.cli.failure import FAILED
from iceberg_zorder.cli.output import Output
from iceberg_zorder.cli.pyiceberg_engine import warnings
from iceberg_zorder.maintain.maintenance_pass import MaintenancePass, Peace
from iceberg_zorder.maintain.policy.read import read_policy
from iceberg_zorder.pyiceberg.maintained_tables import PyIcebergTables


def run(path: Path, output: Output, *, watch: bool, dry_run: bool) -> int:
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
    tables, peace = PyIcebergTables(policy), Peace()
    while True:
        began = time.monotonic()
        with output.progress() as say, warnings(output):
            report = MaintenancePass(policy, tables, peace, _now, say).run(dry_run=dry_run)
        output.maintained(report.to_dict())
        if not watch:
            return FAILED if report.has_failed else 0
        time.sleep(max(0.0, began + policy.interval.total_seconds() - time.monotonic()))


def _now() -> datetime:
    return datetime.now(timezone.utc)
