"""Prometheus metrics of passes: over HTTP with ``--watch``, or as a file for the node exporter."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SHUT_RDWR
from threading import Lock, Thread
from typing import Any
from urllib.parse import urlsplit

from prometheus_client import CONTENT_TYPE_LATEST, Metric, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.maintain.pass_report import PassReport, TableReport

_OUTCOMES = ("done", "failed")
_PREFIX = "iceberg_zorder_"
_TABLE = ("table",)
_Sample = tuple[str, tuple[str, ...]]
"""A metric's name without the prefix, and the values of its labels."""
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


class PassMetrics(Collector):
    """Counters and gauges of passes; a metric without a value yet has no sample, so that none reports a false 0."""

    def __init__(self) -> None:
        self._began = time.time()
        self._values: dict[_Sample, float] = {("passes", (outcome,)): 0.0 for outcome in _OUTCOMES}

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics for Prometheus' client."""
        values = sorted(self._values.copy().items())  # passes change them in another thread
        for name, (about, labels) in _COUNTERS.items():
            counter = CounterMetricFamily(f"{_PREFIX}{name}", about, labels=labels)
            for (_, of), value in (each for each in values if each[0][0] == name):
                counter.add_metric(of, value, created=self._began)
            yield counter
        for name, (about, labels) in _GAUGES.items():
            gauge = GaugeMetricFamily(f"{_PREFIX}{name}", about, labels=labels)
            for (_, of), value in (each for each in values if each[0][0] == name):
                gauge.add_metric(of, value)
            if gauge.samples or labels:
                yield gauge

    def _add(self, name: str, amount: float, *labels: str) -> None:
        self._values[name, labels] = self._values.get((name, labels), 0.0) + amount

    def _forget(self, is_gone: Callable[[str, str], bool]) -> None:
        """Remove samples of tables, given the metric and the table."""
        self._values = {
            (name, labels): value
            for (name, labels), value in self._values.items()
            if name == "passes" or not labels or not is_gone(name, labels[0])
        }

    def count(self, report: PassReport) -> None:
        """Take note of a pass."""
        self._add("passes", 1, "failed" if report.has_failed else "done")
        ended = report.ended.timestamp()
        self._values["last_pass_duration_seconds", ()] = (report.ended - report.began).total_seconds()
        self._values["last_pass_timestamp_seconds", ()] = ended
        if not report.has_failed:
            self._values["last_successful_pass_timestamp_seconds", ()] = ended
        for each in report.tables:
            self._count_table(each, str(each.table))
        if not report.errors:
            maintained = {str(each.table) for each in report.tables}
            self._forget(lambda _, table: table not in maintained)
        asleep = {
            str(each.table) for each in report.tables if each.observation and each.observation.snapshot_id is None
        }
        self._forget(lambda name, table: name in _GAUGES and table in asleep)

    def _count_table(self, of: TableReport, table: str) -> None:
        self._add("conflicts", of.is_conflict, table)
        self._add("failures", of.error is not None and not of.is_conflict, table)
        gauges: dict[str, float | None] = {}
        if of.decision is not None:
            self._add("decisions", 1, table, of.decision.action)
            gauges["expected_saved_bytes"] = of.decision.saved_bytes
        if (found := of.observation) is not None and found.snapshot_id is not None:
            gauges |= {"bytes": found.size, "files": found.files, "small_files": found.small_files}
            gauges["workload_read_ratio"] = found.workload.read if found.workload else None
        self._values |= {(f"table_{name}", (table,)): value for name, value in gauges.items() if value is not None}
        if of.done is not None:
            self._add("rewritten_bytes", of.done.rewritten_bytes, table)
            self._add("rewritten_files", of.done.rewritten_files, table)
            self._add("added_files", of.done.added_files, table)

    def text(self) -> bytes:
        """Return the metrics in Prometheus' text format."""
        return generate_latest(self)

    def go_on_from(self, text: str) -> None:
        """Continue from another process' metrics; unknown ones are ignored."""
        for family in text_string_to_metric_families(text):
            name = family.name.removeprefix(_PREFIX)
            _, keys = (_COUNTERS | _GAUGES).get(name, ("", ()))
            for sample in family.samples:
                labels = tuple(sample.labels[key] for key in keys)
                if name in _COUNTERS:
                    self._add(name, sample.value, *labels)
                elif name in _GAUGES:
                    self._values[name, labels] = sample.value


class Health:
    """Whether passes end within ``patience``, and whether the last one could list tables."""

    def __init__(self, patience: timedelta, clock: Callable[[], datetime]) -> None:
        self._patience, self._clock = patience, clock
        # Replaced as a whole, because the server's threads read it.
        self._last: tuple[datetime, tuple[str, ...]] = (clock(), ())

    def ended(self, report: PassReport) -> None:
        """Take note of a pass."""
        self._last = (report.ended, report.errors)

    def why_ill(self) -> str | None:
        """Return the problem; None if healthy."""
        since, errors = self._last
        if self._clock() - since > self._patience:
            return f"no pass has ended since {since.isoformat()}"
        return "; ".join(errors) or None


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
