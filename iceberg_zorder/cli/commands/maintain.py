"""The commands ``maintain`` (run passes over a policy's tables) and ``init`` (write a first policy)."""

from __future__ import annotations

import logging
import os
import shlex
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from iceberg_zorder.cli.failure import FAILED
from iceberg_zorder.cli.files import replace_text
from iceberg_zorder.cli.interruption import Interrupted, Signals
from iceberg_zorder.cli.output import Output
from iceberg_zorder.cli.pyiceberg_engine import failures, warnings
from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.maintain.events import JsonLog, Listener
from iceberg_zorder.maintain.maintenance_pass import MaintenancePass
from iceberg_zorder.maintain.pass_report import PassReport
from iceberg_zorder.maintain.policy.policy import Policy
from iceberg_zorder.maintain.policy.read import read_policy
from iceberg_zorder.passes import now, policy_tables
from iceberg_zorder.pyiceberg.catalog import CatalogConfiguration, open_catalog
from iceberg_zorder.pyiceberg.maintain.first_policy import first_policy
from iceberg_zorder.render.pass_text import pass_renderables

if TYPE_CHECKING:
    from iceberg_zorder.maintain.metrics import PassMetrics

_LOG = logging.getLogger("iceberg_zorder")
_LONGEST_PASS = timedelta(hours=6)
"""Without ``minutes`` in the budget, /health reports a maintainer as unhealthy after a longer pass."""


def run(
    path: Path,
    output: Output,
    signals: Signals,
    *,
    watch: bool,
    dry_run: bool,
    conf: Mapping[str, str],
    log_file: Path | None = None,
    metrics_port: int | None = None,
    metrics_textfile: Path | None = None,
) -> int:
    """Run a pass, or with ``watch`` one after the other until a signal comes."""
    if metrics_port is not None and not watch:
        raise InvalidInputError(
            "Cannot use --metrics-port, because it needs --watch: use --metrics-textfile for a single pass"
        )
    policy = read_policy(path, os.environ)
    with ExitStack() as stack:
        tell: Listener = _log(log_file) if log_file is not None else lambda _: None
        ended: Callable[[PassReport], None] = lambda _: None  # noqa: E731
        if metrics_port is not None or metrics_textfile is not None:
            ended = _counted(policy, metrics_port, metrics_textfile, stack)
        tables = stack.enter_context(policy_tables(policy, conf))
        while True:
            began = time.monotonic()
            with output.progress() as say, output.work() as work, warnings(output, tables.policy.masked):
                one = MaintenancePass(tables.policy, tables, now, say, tell, work)
                report = one.run(dry_run=dry_run, stop=signals.came)
            # Python drops exceptions in finalisers, and libraries may swallow them.
            if signals.came():
                raise Interrupted
            ended(report)
            _show(report, output)
            if not watch:
                return FAILED if report.has_failed else 0
            time.sleep(max(0.0, began + policy.interval.total_seconds() - time.monotonic()))


def init(to: Path | None, configuration: CatalogConfiguration, output: Output) -> int:
    """Write a first policy for the tables of a catalog, to standard output or to a new file."""
    if to is not None and to.exists():
        raise InvalidInputError(f"Cannot write {to}, because the file exists: name a new one")
    with failures(f"write a policy for catalog {configuration.name}", output), output.progress() as say:
        say(f"Reading the metadata of the tables of {configuration.name}")
        with open_catalog(configuration) as opened:
            text = first_policy(opened, configuration, "policy.yaml" if to is None else str(to))

    def render(console: Console) -> None:
        if to is None:
            console.file.write(text)

    if to is not None:
        replace_text(to, text, flag="--to")
        output.note(f"Wrote {to}. To see its decisions, run iceberg-zorder maintain {shlex.quote(str(to))} --dry-run")
    found = {"catalog": configuration.name, "policy": text, "file": None if to is None else str(to)}
    output.show(found, render)
    return 0


def _show(report: PassReport, output: Output) -> None:
    found = report.to_dict()

    def render(console: Console) -> None:
        for each in pass_renderables(found):
            console.print(each)

    output.show(found, render)


def _log(path: Path) -> Listener:
    try:
        return JsonLog(path)
    except OSError as error:
        raise InvalidInputError(f"Cannot write --log-file {path}, because {error}") from error


def _counted(policy: Policy, port: int | None, textfile: Path | None, stack: ExitStack) -> Callable[[PassReport], None]:
    """Start to serve or write metrics; returns a function to call with the report of each pass."""
    if not find_spec("prometheus_client"):
        raise InvalidInputError(
            "Cannot write metrics, because prometheus-client is not installed: pip install '.[maintain]' in a clone"
        )
    from iceberg_zorder.maintain.metrics import Health, PassMetrics, serve

    metrics = PassMetrics()
    limit = timedelta(minutes=policy.budget.minutes) if policy.budget.minutes is not None else _LONGEST_PASS
    health = Health(2 * policy.interval + limit, now)
    if textfile is not None:
        _continue(metrics, textfile)
    if port is not None:
        stack.callback(serve(port, metrics, health).shutdown)

    def ended(report: PassReport) -> None:
        metrics.count(report)
        health.ended(report)
        if textfile is not None:
            try:
                _write(metrics, textfile)
            except OSError as error:
                # The pass is done, and the next one writes metrics again.
                _LOG.warning("Cannot write --metrics-textfile %s, because %s", textfile, error)

    return ended


def _continue(metrics: PassMetrics, path: Path) -> None:
    """Continue the counters in a metrics file, and check that the file can be written."""
    try:
        there = path.read_bytes() if path.exists() else b""
        try:
            metrics.go_on_from(there.decode())
        except ValueError as error:
            if b"iceberg_zorder" not in there and there.strip(b"\0"):
                raise InvalidInputError(
                    f"Cannot use --metrics-textfile {path}, because that file holds no metrics: {error}"
                ) from error
            _LOG.warning("Counters start at 0, because --metrics-textfile %s cannot be read: %s", path, error)
        _write(metrics, path)
    except OSError as error:
        raise InvalidInputError(f"Cannot write --metrics-textfile {path}, because {error}") from error


def _write(metrics: PassMetrics, path: Path) -> None:
    # Another user's node exporter reads the file.
    replace_text(path, metrics.text().decode(), flag="--metrics-textfile", mode=0o644)
