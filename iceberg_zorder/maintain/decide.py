"""Decide what a maintenance pass rewrites: statistics in, ranked decisions with reasons out.

The worth of a file group is the bytes that filters save for each byte rewritten. The budget goes first to groups that
must be rewritten for their deletes or partition spec, then to the groups of highest worth in all tables. A group that
does not fit leaves the budget to smaller ones. If a new layout for a table's queries pays, it replaces the table's
other file groups in this pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone, tzinfo
from typing import Literal

from iceberg_zorder.maintain.observation import FileGroupNeed, Observation, TableName
from iceberg_zorder.maintain.policy.schedule import cron_due
from iceberg_zorder.maintain.policy.settings import Budget, TableSettings, Triggers

Action = Literal["rewrite", "leave"]


@dataclass(frozen=True)
class Decision:
    """The action for a table, with its reason."""

    table: TableName
    action: Action
    reason: str
    groups: tuple[FileGroupNeed, ...] = ()
    """File groups to rewrite, highest worth first."""
    deferred: tuple[FileGroupNeed, ...] = ()
    """File groups that exceed the budget."""
    room: int | None = None
    """Limit in bytes if the table is planned again before its rewrite; None is unlimited."""
    is_new_layout: bool = False
    """Whether the file groups belong to a new layout for the table's queries."""

    @property
    def size(self) -> int:
        """Bytes to rewrite."""
        return sum(each.size for each in self.groups)

    @property
    def saved_bytes(self) -> float:
        """Predicted savings of a filter ``column = value``, in bytes."""
        return sum(each.saved_bytes for each in self.groups)


def decide(tables: Sequence[tuple[Observation, TableSettings]], now: datetime, budget: Budget) -> tuple[Decision, ...]:
    """Decide about tables at a time, which must have a time zone.

    Examples
    --------
    >>> def table(name, size, worth):
    ...     groups = (FileGroupNeed(1, 4, size, worth, False, "overlap"),)
    ...     found = Observation(TableName("lake", ("db",), name), 1, None, groups=groups, pays=True)
    ...     return found, TableSettings(triggers=Triggers(scan_ratio=1.2))
    >>> tables = [table("a", 100, 0.1), table("b", 100, 0.5), table("c", 50, 0.2)]
    >>> now = datetime(2026, 11, 23, tzinfo=timezone.utc)
    >>> found = decide(tables, now, Budget(bytes=160))
    >>> [(each.table.name, each.action) for each in found]
    [('b', 'rewrite'), ('c', 'rewrite'), ('a', 'leave')]
    >>> found[2].reason
    'over the budget of this pass: needs 100 bytes, 10 are left'
    """
    return _within([_judged(found, settings, now) for found, settings in tables], budget)


def with_room(decision: Decision, size: int | None) -> Decision:
    """Give a deferred table the bytes that earlier rewrites left of the budget; None is unlimited."""
    groups = within(decision.deferred, sum(each.size for each in decision.deferred) if size is None else size)
    if decision.groups or not groups:
        return decision
    deferred = tuple(each for each in decision.deferred if each not in groups)
    reason = "earlier rewrites used less of the budget than planned"
    return replace(decision, action="rewrite", reason=reason, groups=groups, deferred=deferred)


def within(groups: Sequence[FileGroupNeed], size: int) -> tuple[FileGroupNeed, ...]:
    """Return the file groups of highest worth, of at most ``size`` bytes in all."""
    taken: list[FileGroupNeed] = []
    for group in sorted(groups, key=_rank):
        if group.size <= size:
            taken.append(group)
            size -= group.size
    return tuple(taken)


def _judged(found: Observation, settings: TableSettings, now: datetime) -> Decision:
    """Decide about a table by itself, without a budget."""

    def leave(reason: str) -> Decision:
        return Decision(found.table, "leave", reason)

    if not settings.enabled:
        return leave(settings.disabled_because)
    if not settings.allows(now):
        return leave("outside allowed-hours")
    if found.conflicts is not None and now < found.conflicts.until:
        return leave(f"backing off until {found.conflicts.until:%Y-%m-%d %H:%M:%SZ} after a conflict")
    queries = [found.workload.text] if found.workload and found.workload.text else []
    if found.workload is not None and found.workload.groups:
        groups = tuple(sorted(found.workload.groups, key=_rank))
        return Decision(found.table, "rewrite", "; ".join(queries), groups, is_new_layout=True)
    met, unmet = triggers_met(found, settings.triggers, now, settings.time_zone)
    if not met:
        why = [] if found.groups or not found.message else [found.message]
        return leave("; ".join([f"no trigger is met: {'; '.join(unmet)}", *why, *queries]))
    if not found.groups:
        return leave("; ".join([found.message or "there is nothing to rewrite", *queries]))
    groups = tuple(sorted(found.groups, key=_rank))
    return Decision(found.table, "rewrite", "; ".join([*met, *queries]), groups)


def _rank(group: FileGroupNeed) -> tuple[bool, float, int, int]:
    return not group.must_rewrite, -group.worth, group.size, group.index


def _within(judged: Sequence[Decision], budget: Budget) -> tuple[Decision, ...]:
    """Spend the budget on the file groups of highest worth."""
    of = {each.table: each for each in judged}
    wanted = sorted(
        ((group, each.table) for each in judged for group in each.groups), key=lambda pair: (*_rank(pair[0]), pair[1])
    )
    taken: dict[TableName, list[FileGroupNeed]] = {}
    deferred: dict[TableName, list[FileGroupNeed]] = {}
    room = budget.bytes
    for group, table in wanted:
        is_another = table not in taken and budget.tables is not None and len(taken) >= budget.tables
        if is_another or (room is not None and group.size > room):
            deferred.setdefault(table, []).append(group)
            continue
        taken.setdefault(table, []).append(group)
        room = None if room is None else room - group.size
    found = []
    for table in dict.fromkeys((*taken, *deferred, *of)):
        groups, left = tuple(taken.get(table, ())), tuple(deferred.get(table, ()))
        decision = replace(of[table], groups=groups, deferred=left)
        if left and not groups:
            decision = replace(decision, action="leave", reason=_no_room(left, room, budget, len(taken)))
        found.append(decision)
    return tuple(found)


def _no_room(groups: Sequence[FileGroupNeed], room: int | None, budget: Budget, tables: int) -> str:
    least = min(each.size for each in groups)
    if room is None or (budget.tables is not None and tables >= budget.tables):
        return f"over the budget of this pass: {budget.tables} tables"
    return f"over the budget of this pass: needs {least:,} bytes, {room:,} are left"


def triggers_met(found: Observation, triggers: Triggers, now: datetime, zone: tzinfo) -> tuple[list[str], list[str]]:
    """Return the met and the unmet triggers of a policy, with their figures.

    Examples
    --------
    >>> from iceberg_zorder.maintain.observation import Arrivals
    >>> table = TableName("lake", ("db",), "t")
    >>> found = Observation(table, 1, None, arrivals=Arrivals(commits=7, data_files=3))
    >>> now = datetime(2026, 11, 23, tzinfo=timezone.utc)
    >>> triggers_met(found, Triggers(commit_count=5, data_file_count=10), now, timezone.utc)
    (['commit-count 7 of 5'], ['data-file-count 3 of 10'])
    """
    told = [*_counted(found, triggers), *_timed(found, triggers, now, zone)]
    least = found.max_scan_ratio
    ratio = least if triggers == Triggers() else triggers.scan_ratio
    if ratio is not None:
        raised = f", raised to max-scan-ratio {least:g}" if ratio < least else ""
        told.insert(0, (found.pays, f"scan-ratio {ratio:g}{raised}: {'a' if found.pays else 'no'} rewrite pays"))
    met, unmet = ([text for is_met, text in told if is_met is wanted] for wanted in (True, False))
    return met, unmet


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
    # A table's property may hold any time.
    since = None if last is None else datetime.fromtimestamp(max(0, min(last / 1000, now.timestamp())), timezone.utc)
    told = []
    if triggers.interval is not None:
        is_over = since is None or now - since >= triggers.interval
        when = "no rewrite yet" if since is None else f"last rewrite {since:%Y-%m-%d %H:%M:%SZ}"
        told.append((is_over, f"interval {triggers.interval}: {when}"))
    if triggers.cron is not None:
        must_rewrite = since is None or cron_due(triggers.cron, since, now, zone)
        told.append(
            (must_rewrite, f"cron {triggers.cron}: {'due' if must_rewrite else 'not due'} since the last rewrite")
        )
    return told
