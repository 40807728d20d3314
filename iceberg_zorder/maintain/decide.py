"""Decide what a pass of maintenance rewrites: statistics in, ranked decisions with reasons out.

A file group is worth what filters read less for each byte that its rewrite reads. The budget goes to what is due for
its deletes or its partition spec, and then to the file groups of all tables that are worth most; one that does not fit
leaves its room to others. A new layout for the queries of a table, where it pays, is for all that is to be rewritten
of it in this pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from iceberg_zorder.maintain.new_layout import workload_text
from iceberg_zorder.maintain.observation import FileGroupNeed, Observation, TableName
from iceberg_zorder.maintain.policy.settings import Budget, TableSettings
from iceberg_zorder.maintain.triggers_met import triggers_met

Action = Literal["rewrite", "leave"]


@dataclass(frozen=True)
class Decision:
    """What is done about a table, and why.

    Parameters
    ----------
    table : TableName
        The table.
    action : str
        ``rewrite`` or ``leave``.
    reason : str
        Why.
    groups : tuple of FileGroupNeed
        The file groups that are rewritten, those that are worth most first.
    deferred : tuple of FileGroupNeed
        The file groups that the budget has no room for.
    room : int or None
        Bytes that may be rewritten if more are needed by then; None is without limit.
    is_new_layout : bool
        Whether the file groups are those of a new layout for the table's queries.
    """

    table: TableName
    action: Action
    reason: str
    groups: tuple[FileGroupNeed, ...] = ()
    deferred: tuple[FileGroupNeed, ...] = ()
    room: int | None = None
    is_new_layout: bool = False

    @property
    def size(self) -> int:
        """Bytes that are rewritten."""
        return sum(each.size for each in self.groups)

    @property
    def saved_bytes(self) -> float:
        """What ``column = value`` is expected to read less afterwards, in bytes."""
        return sum(each.saved_bytes for each in self.groups)


def decide(tables: Sequence[tuple[Observation, TableSettings]], now: datetime, budget: Budget) -> tuple[Decision, ...]:
    """Decide about tables at a moment, which has a time zone.

    Examples
    --------
    >>> from datetime import timezone
    >>> from iceberg_zorder.maintain.policy.settings import Triggers
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
    'the budget of this pass has no room for it: 100 bytes, 10 are left'
    """
    return _within([_judged(found, settings, now) for found, settings in tables], budget)


def within(groups: Sequence[FileGroupNeed], size: int) -> tuple[FileGroupNeed, ...]:
    """Take the file groups that are worth most, of so many bytes in all.

    Examples
    --------
    >>> groups = [FileGroupNeed(index, 2, 40, index / 10, False, "") for index in (1, 2, 3)]
    >>> [group.index for group in within(groups, 100)]
    [3, 2]
    """
    taken: list[FileGroupNeed] = []
    for group in sorted(groups, key=_rank):
        if group.size <= size:
            taken.append(group)
            size -= group.size
    return tuple(taken)


def _judged(found: Observation, settings: TableSettings, now: datetime) -> Decision:
    """Decide about a table as if there were no others."""

    def leave(reason: str) -> Decision:
        return Decision(found.table, "leave", reason)

    if not settings.enabled:
        return leave(settings.disabled_because)
    if not settings.allows(now):
        return leave("it is outside of allowed-hours")
    if found.conflicts is not None and now < found.conflicts.until:
        return leave(f"it is left in peace until {found.conflicts.until:%Y-%m-%d %H:%M:%SZ} after a conflict")
    queries = [] if found.workload is None else [text for text in [workload_text(found.workload)] if text]
    if found.workload is not None and found.workload.groups:
        groups = tuple(sorted(found.workload.groups, key=_rank))
        return Decision(found.table, "rewrite", "; ".join(queries), groups, is_new_layout=True)
    triggers = triggers_met(found, settings.triggers, now, settings.zone)
    if not triggers.is_any:
        return leave("; ".join([f"no trigger is met: {'; '.join(triggers.unmet)}", *queries]))
    if not found.groups:
        return leave("; ".join([found.message or "there is nothing to rewrite", *queries]))
    groups = tuple(sorted(found.groups, key=_rank))
    return Decision(found.table, "rewrite", "; ".join([*triggers.met, *queries]), groups)


def _rank(group: FileGroupNeed) -> tuple[bool, float, int, int]:
    return not group.is_due, -group.worth, group.size, group.index


def _within(judged: Sequence[Decision], budget: Budget) -> tuple[Decision, ...]:
    """Give the budget to the file groups that are worth most."""
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
    first = [
        replace(of[table], groups=tuple(groups), deferred=tuple(deferred.get(table, ())))
        for table, groups in taken.items()
    ]
    rest = []
    for each in judged:
        if each.table in taken:
            continue
        if each.groups:
            each = replace(
                each,
                action="leave",
                reason=_no_room(each.groups, room, budget, len(taken)),
                groups=(),
                deferred=each.groups,
            )
        rest.append(each)
    return (*first, *rest)


def _no_room(groups: Sequence[FileGroupNeed], room: int | None, budget: Budget, tables: int) -> str:
    least = min(each.size for each in groups)
    if room is None or (budget.tables is not None and tables >= budget.tables):
        return f"the budget of this pass has no room for it: {budget.tables} tables"
    return f"the budget of this pass has no room for it: {least:,} bytes, {room:,} are left"
