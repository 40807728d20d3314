"""Which triggers of a policy a table meets."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone, tzinfo

from iceberg_zorder.maintain.observation import Observation
from iceberg_zorder.maintain.policy.settings import Triggers


@dataclass(frozen=True)
class TriggersMet:
    """What calls for a rewrite.

    Parameters
    ----------
    met : tuple of str
        The triggers that are met, with their figures.
    unmet : tuple of str
        The others.
    """

    met: tuple[str, ...]
    unmet: tuple[str, ...]

    @property
    def is_any(self) -> bool:
        """Whether one is met."""
        return bool(self.met)


def triggers_met(found: Observation, triggers: Triggers, now: datetime, zone: tzinfo) -> TriggersMet:
    """Compare what was found with the triggers of a policy.

    Examples
    --------
    >>> from iceberg_zorder.maintain.observation import Arrivals, TableName
    >>> table = TableName("lake", ("db",), "t")
    >>> found = Observation(table, 1, None, arrivals=Arrivals(commits=7, data_files=3))
    >>> now = datetime(2026, 11, 23, tzinfo=timezone.utc)
    >>> triggers_met(found, Triggers(commit_count=5, data_file_count=10), now, timezone.utc)
    TriggersMet(met=('commit-count 7 of 5',), unmet=('data-file-count 3 of 10',))
    """
    told = [*_counted(found, triggers), *_timed(found, triggers, now, zone)]
    least = found.max_scan_ratio
    ratio = least if triggers == Triggers() else triggers.scan_ratio
    if ratio is not None:
        raised = f", raised to max-scan-ratio {least:g}" if ratio < least else ""
        told.insert(0, (found.pays, f"scan-ratio {ratio:g}{raised}: {'a' if found.pays else 'no'} rewrite pays"))
    return TriggersMet(
        tuple(text for is_met, text in told if is_met), tuple(text for is_met, text in told if not is_met)
    )


def _counted(found: Observation, triggers: Triggers) -> list[tuple[bool, str]]:
    come = found.arrivals
    pairs: tuple[tuple[str, float | None, float | None], ...] = (
        ("depth", found.depth, triggers.depth),
        ("commit-count", come.commits, triggers.commit_count),
        ("data-file-count", come.data_files, triggers.data_file_count),
        ("data-file-size", come.data_bytes, triggers.data_file_size),
        ("pos-delete-file-count", come.position_delete_files, triggers.pos_delete_file_count),
        ("pos-delete-record-count", come.position_deletes, triggers.pos_delete_record_count),
        ("eq-delete-file-count", come.equality_delete_files, triggers.eq_delete_file_count),
        ("eq-delete-record-count", come.equality_deletes, triggers.eq_delete_record_count),
        ("small-file-count", found.small_files, triggers.small_file_count),
        ("bytes-appended", come.data_bytes, triggers.bytes_appended),
    )
    return [
        (is_there is not None and is_there >= limit, f"{name} {_figure(is_there)} of {_figure(limit)}")
        for name, is_there, limit in pairs
        if limit is not None
    ]


def _figure(value: float | None) -> str:
    if value is None:
        return "unknown"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def _timed(found: Observation, triggers: Triggers, now: datetime, zone: tzinfo) -> list[tuple[bool, str]]:
    last = found.last_rewrite_ms
    # A table may claim any time.
    since = None if last is None else datetime.fromtimestamp(max(0, min(last / 1000, now.timestamp())), timezone.utc)
    told = []
    if triggers.interval is not None:
        is_over = since is None or now - since >= triggers.interval
        when = "no rewrite yet" if since is None else f"last rewrite {since:%Y-%m-%d %H:%M:%SZ}"
        told.append((is_over, f"interval {triggers.interval}: {when}"))
    if triggers.cron is not None:
        is_due = since is None or triggers.cron_due(since, now, zone)
        told.append((is_due, f"cron {triggers.cron}: {'due' if is_due else 'not due'} since the last rewrite"))
    return told
