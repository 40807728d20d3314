"""New layouts in maintenance: run ``advise`` for a table's queries, and plan the rewrite to its pick."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH

from iceberg_zorder.advice.advice import Advice
from iceberg_zorder.advice.statements import TARGET_SIZE
from iceberg_zorder.errors import InvalidInputError, RewriteFailedError
from iceberg_zorder.maintain.notes import Notes
from iceberg_zorder.maintain.observation import FileGroupNeed, TableName, WorkloadNeed
from iceberg_zorder.maintain.policy.settings import QueryFiles, TableSettings
from iceberg_zorder.maintain.query_files import QueryFileReader, ReadQueries
from iceberg_zorder.pyiceberg.files import display_name
from iceberg_zorder.pyiceberg.listing.dimensions import with_dimensions
from iceberg_zorder.pyiceberg.listing.listing import snapshots_to
from iceberg_zorder.pyiceberg.listing.requested_workload import RequestedWorkload
from iceberg_zorder.pyiceberg.plan.planner import plan_spec
from iceberg_zorder.pyiceberg.plan.rewrite_plan import RewritePlan, planned_snapshot
from iceberg_zorder.pyiceberg.plan.rewrite_spec import RewriteSpec
from iceberg_zorder.pyiceberg.reporting.advice import advise, laid_out_by
from iceberg_zorder.rewrite.options import option_text, sort_order_text
from iceberg_zorder.workload.workload_json import from_json

_LOG = logging.getLogger("iceberg_zorder")
_WHY = "its queries would cost less"
_SHARE = "workload-share"
_DAY_MS = 86_400_000


@dataclass(frozen=True, eq=False)
class NewLayout:
    """The advice on a table, with the plan of its rewrite."""

    need: WorkloadNeed
    plan: RewritePlan | None = None  # not sampled
    is_settled: bool = True  # whether no rewrite remains to be done


class NewLayouts:
    """The queries on a policy's tables, and the advice for them, once a day; a pass rewrites at most ``room`` bytes."""

    def __init__(self, home: Path, clock: Callable[[], datetime], room: int | None = None) -> None:
        self._room = room
        self._files = QueryFileReader(home, clock)
        self._queries: dict[TableName, ReadQueries] = {}
        self._found: dict[TableName, NewLayout] = {}
        self._advised_at: dict[TableName, int] = {}

    def read(self, name: TableName, table: Table, settings: TableSettings) -> float | None:
        """Read a table's queries; return the number of queries within which a rewrite must pay, None without queries.

        Raises InvalidInputError if they cannot be read.
        """
        self._queries.pop(name, None)
        self._found.pop(name, None)
        if settings.workload is None:
            return None
        read = self._files.read(settings.workload, *with_dimensions(table, (*name.namespace, name.name)))
        if not read.text:
            return None
        self._queries[name] = read
        return read.per_day * _days(settings.workload)

    def with_queries(self, name: TableName, settings: TableSettings) -> TableSettings:
        """Return the settings with the table's queries as option ``workload``."""
        if settings.workload is None:
            return settings
        options = dict(settings.options)
        if name in self._queries:
            options["workload"] = self._queries[name].text
        else:
            options.pop(_SHARE, None)
        return replace(settings, options=options)

    def find(
        self, name: TableName, table: Table, settings: TableSettings, plan: RewritePlan | None, now: datetime
    ) -> WorkloadNeed | None:
        """Run ``advise``, unless it ran within a day; None without queries.

        With ``relayout: auto`` in the policy, the pass applies the advice.
        """
        if settings.workload is None or name not in self._queries:
            return None
        queries = self._queries[name]
        need = WorkloadNeed(queries.queries, queries.per_day, queries.not_understood, _read(table, plan))
        if self._is_asked(name, table, now):
            return need
        options = {key: value for key, value in settings.options.items() if key != _SHARE}
        workload = from_json(queries.text, "of the policy")
        days = sum(each.weight for each in workload.queries) / queries.per_day
        try:
            advice = advise(table, workload, options=options, branch=settings.branch, days=days)
        except (InvalidInputError, RewriteFailedError) as error:
            # Rewrites for other reasons continue.
            _LOG.warning("Cannot advise on the layout of %s, because %s", display_name(table), error)
            return need
        layout = self._found[name] = self._judged(table, self.with_queries(name, settings), advice, need, now)
        return layout.need

    def _is_asked(self, name: TableName, table: Table, now: datetime) -> bool:
        last = max(self._advised_at.get(name, 0), Notes.of(table.properties).advised_ms or 0)
        return 0 <= _ms(now) - last < _DAY_MS

    def _judged(
        self, table: Table, settings: TableSettings, advice: Advice, need: WorkloadNeed, now: datetime
    ) -> NewLayout:
        """Plan the advised layout, if it pays within pays-within and the policy has ``relayout: auto``."""
        if advice.pick is None or advice.cost is None:
            return NewLayout(replace(need, message=f"advise recommends no change: {advice.reason}"))
        assert settings.workload is not None  # noqa: S101
        pick, days = advice.pick, advice.cost.pays_after_days
        read = pick.bytes_per_query / advice.table_bytes
        message = (
            f"advise recommends {pick.layout}: they would read {pick.read_text(advice.table_bytes)}, today "
            f"{advice.today.read_text(advice.table_bytes)}, which pays after {_days_text(days)}"
        )
        need = replace(need, advised=pick.layout, predicted=read, pays_after_days=days, message=message)
        if settings.workload.relayout != "auto" or pick.kind == "partition":
            return NewLayout(need)
        asked = spec_of(table, settings, now)
        options = {**asked.options, "rewrite-all": "true"}
        if pick.target_file_size_bytes is not None:
            options[TARGET_SIZE] = str(pick.target_file_size_bytes)
        by = f"zorder({', '.join(pick.columns)})"
        _, plan = plan_spec(table, replace(asked, sort_order=by, options=options))
        snapshots = snapshots_to(table, planned_snapshot(table, plan))
        if list(pick.columns) == laid_out_by(table, snapshots):
            return NewLayout(replace(need, message=f"{message}; the table already has these columns"))
        limit = _days(settings.workload)
        if days is None or days > limit:
            return NewLayout(replace(need, message=f"{message}, more than pays-within {_days_text(limit)}"))
        fitting = [group for group in plan.groups if self._room is None or group.input_size <= self._room]
        if not fitting:
            why = f"{message}; each of its file groups is over the budget of a pass"
            return NewLayout(replace(need, message=why))
        worth = advice.cost.saved_cost_per_query / advice.table_bytes
        groups = tuple(
            FileGroupNeed(each.index, len(each.tasks), each.input_size, worth, each.must_rewrite, _WHY, True)
            for each in fitting
        )
        return NewLayout(replace(need, groups=groups), plan, is_settled=False)

    def made(self, name: TableName) -> None:
        """Record that a pass applied the new layout."""
        self._found[name] = replace(self._found[name], is_settled=True)

    def asked(self, name: TableName, now: datetime) -> bool:
        """Return whether nothing remains to be done about this pass's advice; if so, record its time."""
        layout = self._found.get(name)
        if layout is None or not layout.is_settled:
            return False
        self._advised_at[name] = _ms(now)
        return True

    def of(self, name: TableName) -> NewLayout | None:
        """Return the advice of this pass; None without one."""
        return self._found.get(name)

    def forget(self) -> None:
        """Drop the advice of this pass; the queries stay cached for the next one."""
        self._queries.clear()
        self._found.clear()


def spec_of(table: Table, settings: TableSettings, now: datetime) -> RewriteSpec:
    """Return the rewrite that a table's settings request at a time."""
    return RewriteSpec(
        None if settings.by is None else sort_order_text(display_name(table), settings.by),
        settings.where_at(now),
        {key: option_text(key, value) for key, value in settings.options.items()},
        settings.branch or MAIN_BRANCH,
        any_format=settings.engine != "pyiceberg",
    )


def _read(table: Table, plan: RewritePlan | None) -> float | None:
    """Return the average share of a plan's files that its queries read."""
    if plan is None or plan.spec.queries is None:
        return None
    workload = RequestedWorkload.of_queries(table, plan.spec.queries, case_sensitive=plan.spec.case_sensitive)
    files = [task.data_file for group in (*plan.groups, *plan.left) for task in group.tasks]
    return workload.mean([workload.read_of(files)])


def _days(of: QueryFiles) -> float:
    return of.pays_within / timedelta(days=1)


def _days_text(days: float | None) -> str:
    if days is None:
        return "no time"
    shown = f"{days:,.0f}" if days >= 10 else f"{days:.1f}".removesuffix(".0")
    return f"{shown} day{'' if shown == '1' else 's'}"


def _ms(now: datetime) -> int:
    return int(now.timestamp() * 1000)
