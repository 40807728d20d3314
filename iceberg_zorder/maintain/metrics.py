"""Prometheus metrics of passes: over HTTP with ``--watch``, or as a file for the node exporter."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SHUT_RDWR
from threading import Lock, Thread
from typing import Any
from urllib.parse import urlsplit

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    generate_latest,
)
from prometheus_client.parser import text_string_to_metric_families

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.maintain.pass_report import PassReport, TableReport

_OUTCOMES = ("done", "failed")
_ACTIONS = ("rewrite", "leave")
_PREFIX = "iceberg_zorder_"
_TABLE = ("table",)
_COUNTERS = {
    "passes": ("Ended passes.", ("outcome",)),
    "decisions": ("Decisions on tables.", ("table", "action")),
    "rewritten_bytes": ("Bytes of replaced data files.", _TABLE),
    "rewritten_files": ("Replaced data files.", _TABLE),
    "added_files": ("Data files that replaced them.", _TABLE),
    "conflicts": ("Rewrites that lost to a concurrent writer.", _TABLE),
    "failures": ("Failures other than conflicts.", _TABLE),
}
_GAUGES = {
    "last_pass_duration_seconds": ("Duration of the last pass.", ()),
    "last_pass_timestamp_seconds": ("End of the last pass.", ()),
    "last_successful_pass_timestamp_seconds": ("End of the last pass without a failure.", ()),
    "table_bytes": ("Bytes of data files, as last observed.", _TABLE),
    "table_files": ("Data files, as last observed.", _TABLE),
    "table_small_files": ("Data files below min-file-size-bytes, as last observed.", _TABLE),
    "table_expected_saved_bytes": (
        "Predicted savings of a filter by the rewrite last decided on, in bytes.",
        _TABLE,
    ),
    "table_workload_read_ratio": ("Average share of the table's bytes that its queries read.", _TABLE),
}


class PassMetrics:
    """Counters and gauges of passes."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._tables: set[str] = set()
        self._is_set: set[str] = set()
        self._counters = {
            name: Counter(f"{_PREFIX}{name}", about, labels, registry=self.registry)
            for name, (about, labels) in _COUNTERS.items()
        }
        # Gauges without labels are registered when first set, so that they never report a false 0.
        self._gauges = {
            name: Gauge(f"{_PREFIX}{name}", about, labels, registry=self.registry if labels else None)
            for name, (about, labels) in _GAUGES.items()
        }
        for outcome in _OUTCOMES:
            self._counters["passes"].labels(outcome)

    def _set(self, name: str, value: float, table: str | None = None) -> None:
        gauge = self._gauges[name]
        if table is not None:
            gauge.labels(table).set(value)
            return
        if name not in self._is_set:
            self._is_set.add(name)
            self.registry.register(gauge)
        gauge.set(value)

    def count(self, report: PassReport) -> None:
        """Take note of a pass."""
        self._counters["passes"].labels("failed" if report.has_failed else "done").inc()
        self._set("last_pass_duration_seconds", (report.ended - report.began).total_seconds())
        self._set("last_pass_timestamp_seconds", report.ended.timestamp())
        if not report.has_failed:
            self._set("last_successful_pass_timestamp_seconds", report.ended.timestamp())
        for each in report.tables:
            self._count_table(each)
        gauges = [each for name, each in self._gauges.items() if name.startswith("table_")]
        if not report.errors:
            now = {str(each.table) for each in report.tables}
            counters = [each for name, each in self._counters.items() if name != "passes"]
            _forget(self._tables - now, [*gauges, *counters])
            self._tables = now
        asleep = (each for each in report.tables if each.observation and each.observation.snapshot_id is None)
        _forget({str(each.table) for each in asleep}, gauges)

    def _count_table(self, of: TableReport) -> None:
        table = str(of.table)
        self._tables.add(table)

        def add(name: str, amount: float) -> None:
            self._counters[name].labels(table).inc(amount)

        add("conflicts", of.is_conflict)
        add("failures", of.error is not None and not of.is_conflict)
        if of.decision is not None:
            self._counters["decisions"].labels(table, of.decision.action).inc()
            self._set("table_expected_saved_bytes", of.decision.saved_bytes, table)
        if of.observation is not None and of.observation.snapshot_id is not None:
            self._set("table_bytes", of.observation.size, table)
            self._set("table_files", of.observation.files, table)
            self._set("table_small_files", of.observation.small_files, table)
            if of.observation.workload is not None and of.observation.workload.read is not None:
                self._set("table_workload_read_ratio", of.observation.workload.read, table)
        if of.done is not None:
            add("rewritten_bytes", of.done.rewritten_bytes)
            add("rewritten_files", of.done.rewritten_files)
            add("added_files", of.done.added_files)

    def text(self) -> bytes:
        """Return the metrics in Prometheus' text format."""
        return generate_latest(self.registry)

    def go_on_from(self, text: str) -> None:
        """Continue from another process' metrics; unknown ones are ignored."""
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                self._tables |= {sample.labels["table"]} if "table" in sample.labels else set()
                name = family.name.removeprefix(_PREFIX)
                if name in self._gauges:
                    self._set(name, sample.value, sample.labels.get("table"))
                elif name in self._counters:
                    self._counters[name].labels(**sample.labels).inc(sample.value)


def _forget(tables: Iterable[str], metrics: Sequence[Counter | Gauge]) -> None:
    """Remove the metrics of tables that are no longer maintained."""
    for table in tables:
        for labels in ((table,), *((table, action) for action in _ACTIONS)):
            for metric in metrics:
                with suppress(KeyError, ValueError):
                    metric.remove(*labels)


class Health:
    """Whether passes end within ``patience``, and whether the last one could list tables."""

    def __init__(self, patience: timedelta, clock: Callable[[], datetime]) -> None:
        self._patience, self._clock = patience, clock
        self._lock = Lock()
        self._since, self._errors = clock(), ()

    _errors: tuple[str, ...]

    def ended(self, report: PassReport) -> None:
        """Take note of a pass."""
        with self._lock:
            self._since, self._errors = report.ended, report.errors

    def why_ill(self) -> str | None:
        """Return the problem; None if healthy."""
        with self._lock:
            if self._clock() - self._since > self._patience:
                return f"no pass has ended since {self._since.isoformat()}"
            return "; ".join(self._errors) or None


_MOST_CONNECTIONS = 16
_SECONDS = 10.0
"""How long a connection may last."""


class _Server(ThreadingHTTPServer):
    """Ends connections that last too long, and the oldest ones beyond a number: new ones are always served."""

    request_queue_size = 128  # with fewer, a burst of connections delays others by seconds

    def __init__(self, port: int, handler: type[BaseHTTPRequestHandler]) -> None:
        self._began: dict[Any, float] = {}
        self._lock = Lock()
        super().__init__(("127.0.0.1", port), handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._began[request] = time.monotonic()
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._began.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """End connections; the server calls this after each new one, and twice a second."""
        late = time.monotonic() - _SECONDS
        with self._lock:
            extra = len(self._began) - _MOST_CONNECTIONS
            for place, (request, began) in enumerate(self._began.items()):
                if place < extra or began < late:
                    with suppress(OSError):
                        request.shutdown(SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: a client has gone."""


def serve(port: int, metrics: PassMetrics, health: Health) -> ThreadingHTTPServer:
    """Serve ``/metrics`` and ``/health`` on 127.0.0.1 until the server is shut down."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            if path == "/metrics":
                self._answer(200, CONTENT_TYPE_LATEST, metrics.text())
            elif path == "/health":
                why = health.why_ill()
                found = {"status": "ok"} if why is None else {"status": "failing", "reason": why}
                self._answer(200 if why is None else 503, "application/json", json.dumps(found).encode())
            else:
                self._answer(404, "text/plain", b"There are /metrics and /health\n")

        do_HEAD = do_GET  # noqa: N815

        def _answer(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    try:
        server = _Server(port, Handler)
    except (OSError, OverflowError) as error:
        raise InvalidInputError(f"Cannot use --metrics-port {port}, because {error}") from error
    Thread(target=server.serve_forever, daemon=True).start()
    return server
