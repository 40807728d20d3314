"""What a new layout of a table would bring its queries: predicted by a sample, where it can pay at all."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from pyiceberg.table import Table

from iceberg_zorder.errors import RewriteFailedError
from iceberg_zorder.maintain.new_layout import (
    PREDICTED_READ,
    LaidOut,
    Prediction,
    is_made,
    is_predicted,
    new_layouts_by,
    queries_to_pay,
)
from iceberg_zorder.maintain.observation import FileGroupNeed, TableName, WorkloadNeed
from iceberg_zorder.maintain.policy.settings import QueryFiles, TableSettings
from iceberg_zorder.maintain.query_files import QueryFileReader, ReadQueries
from iceberg_zorder.pyiceberg.catalog.renewal import refresh
from iceberg_zorder.pyiceberg.display import display_name
from iceberg_zorder.pyiceberg.file_groups import DataFileTask, FileGroup, size_of
from iceberg_zorder.pyiceberg.plan.rewrite_plan import RewritePlan, plan_request
from iceberg_zorder.pyiceberg.scan.history import snapshots_to
from iceberg_zorder.pyiceberg.scan.requested_workload import RequestedWorkload
from iceberg_zorder.pyiceberg.scan.scanned_table import scanned_table
from iceberg_zorder.upkeep.settled import WORKLOAD

_LOG = logging.getLogger("iceberg_zorder")
_WHY = "its queries would read less"
_SHARE = "workload-share"


@dataclass(frozen=True, eq=False)
class NewLayout:
    """A new layout of a table for its queries.

    Parameters
    ----------
    need : WorkloadNeed
        What they read, and whether it pays.
    plan : RewritePlan or None
        The plan that the file groups of ``need`` are of, which is not sampled; None without any.
    prediction : Prediction or None
        What is known of a new layout that does not pay.
    """

    need: WorkloadNeed
    plan: RewritePlan | None = None
    prediction: Prediction | None = None

    @property
    def summary(self) -> Mapping[str, str]:
        """What the summaries of its snapshots say."""
        return {WORKLOAD: self.need.key, PREDICTED_READ: f"{self.need.predicted or 0.0:.6f}"}


def new_layout(
    plan: RewritePlan,
    queries: ReadQueries,
    pays_within_days: float,
    remembered: Prediction | None = None,
    *,
    room: int | None = None,
) -> NewLayout:
    """Find out whether a new layout of a table pays, file group by file group.

    Nothing is read of the table as long as its queries read what was predicted, or so little that no layout pays, or
    what was predicted before holds.

    Parameters
    ----------
    plan : RewritePlan
        The plan of a rewrite for the queries, by which the files are known; they are its option ``workload``.
    queries : ReadQueries
        The queries.
    pays_within_days : float
        Within how many days it has to pay, above 0.
    remembered : Prediction, optional
        What was predicted before.
    room : int, optional
        How many bytes there is room for at most: file groups that are larger are not looked at, lest a new layout that
        no pass can make is sampled by each, and keeps upkeep away.

    Returns
    -------
    NewLayout
        What was found.
    """
    request, workload = plan.request, plan.request.workload
    assert workload is not None  # noqa: S101
    parts = [*(group.tasks for group in plan.groups), *(files.tasks for files in plan.left)]
    tasks = [task for part in parts for task in part]
    size = size_of(tasks)
    read = workload.mean([workload.read_of([task.data_file for task in tasks])])
    last = LaidOut.by(snapshots_to(request.table, plan.snapshot))
    need = WorkloadNeed(
        workload.key,
        queries.queries,
        queries.per_day,
        pays_within_days,
        queries.not_understood,
        read,
        last is not None and last.key != workload.key,
        last is None,
        None if last is None else last.read,
    )
    if read is None:
        return NewLayout(need, prediction=remembered)
    if last is not None and _is_as_predicted(last, workload, tasks, request.at_ms):
        return NewLayout(need, prediction=remembered)
    if plan.target is None:
        return NewLayout(need, prediction=remembered)
    key = request.key(plan.order, plan.target)
    holds = remembered is not None and remembered.holds(key, read, size, request.at_ms)
    if remembered is not None and holds and remembered.queries > need.affordable:
        known = replace(need, predicted=remembered.predicted, queries_to_pay=remembered.queries)
        return NewLayout(known, prediction=remembered)
    whole = plan_request(replace(request, written_options={**request.written_options, "rewrite-all": "true"}))
    made = new_layouts_by(key, snapshots_to(request.table, plan.snapshot))
    shares = {group.index: _read(workload, group.tasks) for group in whole.groups if not _is_made(group, made)}
    able = {index for index, share in shares.items() if queries_to_pay(share, 0, 1) <= need.affordable}
    if not able:
        least = min((queries_to_pay(share, 0, 1) for share in shares.values()), default=None)
        return NewLayout(replace(need, queries_to_pay=least), prediction=remembered)
    fitting = _fitting(whole, able, room)
    if not fitting:
        return _too_large(need, whole, able, remembered)
    try:
        sampled = whole.with_groups(fitting).sampled()
    except RewriteFailedError as error:
        # What has to be rewritten for other reasons goes on without.
        _LOG.warning("Cannot tell whether a new layout of %s pays, because %s", display_name(request.table), error)
        return NewLayout(need, prediction=remembered)
    return _judged(need, whole, sampled, key, size)


def _is_as_predicted(last: LaidOut, workload: RequestedWorkload, tasks: Sequence[DataFileTask], now_ms: int) -> bool:
    settled = [task for task in tasks if task.added_by not in last.newer]
    return last.is_as_predicted(workload.key, _read(workload, settled), now_ms)


def _is_made(group: FileGroup, made: Collection[int]) -> bool:
    return is_made(group.input_size, size_of([task for task in group.tasks if task.added_by not in made]))


def _fitting(whole: RewritePlan, able: Collection[int], room: int | None) -> set[int]:
    """Take the file groups that there is room for."""
    sizes = {group.index: group.input_size for group in whole.groups}
    return {index for index in able if room is None or sizes[index] <= room}


def _too_large(need: WorkloadNeed, whole: RewritePlan, able: Collection[int], known: Prediction | None) -> NewLayout:
    """Say that there is room for none of the file groups that may pay."""
    least = min(group.input_size for group in whole.groups if group.index in able)
    return NewLayout(replace(need, too_large=least), prediction=known)


def _judged(need: WorkloadNeed, whole: RewritePlan, sampled: RewritePlan, key: str, size: int) -> NewLayout:
    """Take the file groups that pay."""
    workload = sampled.request.workload
    assert workload is not None  # noqa: S101
    assert need.read is not None  # noqa: S101
    groups = []
    for group, layout in zip(sampled.groups, sampled.layouts, strict=True):
        read = layout.measured.read
        worth = (workload.mean([read.before]) or 0.0) - (workload.mean([read.predicted]) or 0.0)
        told = FileGroupNeed(group.index, len(group.tasks), group.input_size, worth, group.is_due, _WHY, True)
        groups.append(told)
    paying = tuple(each for each in groups if queries_to_pay(each.worth, 0, 1) <= need.affordable)
    better = paying or [each for each in groups if each.worth > 0]
    saved, rewritten = sum(each.saved_bytes for each in better), sum(each.size for each in better)
    predicted = max(0.0, need.read - saved / size)
    if paying:
        queries = queries_to_pay(saved, 0, rewritten)
        return NewLayout(replace(need, predicted=predicted, queries_to_pay=queries, groups=paying), whole)
    first = min((queries_to_pay(each.worth, 0, 1) for each in groups), default=float("inf"))
    prediction = Prediction(key, need.read, predicted, size, first, whole.request.at_ms)
    return NewLayout(replace(need, predicted=predicted, queries_to_pay=first), prediction=prediction)


def _read(workload: RequestedWorkload, tasks: Sequence[DataFileTask]) -> float:
    return workload.mean([workload.read_of([task.data_file for task in tasks])]) or 0.0


class NewLayouts:
    """The queries on the tables of a policy, and what is known of new layouts for them.

    Parameters
    ----------
    home : Path
        The directory of the policy.
    clock : callable
        Tells the time, with a time zone.
    room : int, optional
        How many bytes a pass rewrites at most.
    """

    def __init__(self, home: Path, clock: Callable[[], datetime], room: int | None = None) -> None:
        self._room = room
        self._files = QueryFileReader(home, clock)
        self._queries: dict[TableName, ReadQueries] = {}
        self._found: dict[TableName, NewLayout] = {}
        self._predictions: dict[TableName, Prediction] = {}

    def read(self, name: TableName, table: Table, settings: TableSettings) -> float | None:
        """Read the queries on a table; tells after how many of them a rewrite has to pay, None where there are none.

        Raises InvalidInputError where they cannot be read.
        """
        self._queries.pop(name, None)
        self._found.pop(name, None)
        if settings.workload is None:
            return None
        read = self._files.read(settings.workload, scanned_table(table, (*name.namespace, name.name)))
        if not read.text:
            return None
        self._queries[name] = read
        return read.per_day * _days(settings.workload)

    def with_queries(self, name: TableName, settings: TableSettings) -> TableSettings:
        """Have a table laid out for the queries that were read."""
        if settings.workload is None:
            return settings
        options = dict(settings.options)
        if name in self._queries:
            options["workload"] = self._queries[name].text
        else:
            options.pop(_SHARE, None)
        return replace(settings, options=options)

    def find(self, name: TableName, settings: TableSettings, plan: RewritePlan) -> WorkloadNeed | None:
        """Find out whether a new layout pays for which there is room; None where no queries were read."""
        if settings.workload is None or name not in self._queries:
            return None
        before = self._predictions.get(name) or Prediction.of(plan.request.table.properties)
        found = self._found[name] = new_layout(
            plan,
            self._queries[name],
            _days(settings.workload),
            before,
            room=self._room,
        )
        if found.prediction is not None:
            self._predictions[name] = found.prediction
        return found.need

    def made(self, name: TableName) -> None:
        """Look what queries read of a new layout that was made, as they would of the next one.

        Where that is more than was predicted, another one for queries that read as much is not looked for within a day:
        each line of a log makes them others.
        """
        found = self._found[name]
        if found.plan is None or found.need.predicted is None:
            return
        request, plan = found.plan.request, found.plan
        refresh(request.table)
        snapshot = request.newest_snapshot()
        if request.workload is None or snapshot is None or plan.target is None:
            return
        tasks = list(request.planner().listing.tasks(snapshot))
        read = _read(request.workload, tasks)
        if not is_predicted(read, found.need.predicted):
            key = request.key(plan.order, plan.target)
            missed = Prediction(key, read, read, size_of(tasks), math.inf, request.at_ms)
            self._predictions[name], self._found[name] = missed, replace(found, prediction=missed)

    def of(self, name: TableName) -> NewLayout | None:
        """Tell what was found."""
        return self._found.get(name)

    def forget(self) -> None:
        """Forget what was found; what was read and predicted is kept for the next pass."""
        self._queries.clear()
        self._found.clear()


def _days(of: QueryFiles) -> float:
    return of.pays_within / timedelta(days=1)
