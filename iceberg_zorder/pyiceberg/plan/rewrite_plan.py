"""The plan of a rewrite: a value that can be looked at, kept for a while, and executed."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.expressions import BooleanExpression
from pyiceberg.table.snapshots import Snapshot

from iceberg_zorder.errors import RewriteFailedError, StalePlanError
from iceberg_zorder.layout.layout_json import layout_hash
from iceberg_zorder.pyiceberg.catalog.renewal import refresh, renewed
from iceberg_zorder.pyiceberg.content_files import Partition
from iceberg_zorder.pyiceberg.display import display_name
from iceberg_zorder.pyiceberg.file_groups import DataFileTask, FileGroup, rows_of, size_of
from iceberg_zorder.pyiceberg.plan.layouts import FittedGroup, MoreFiles, PlannedLayout, fit_layouts
from iceberg_zorder.pyiceberg.plan.plan_request import PlanRequest, branch_snapshot
from iceberg_zorder.pyiceberg.plan.planner import nothing_in
from iceberg_zorder.pyiceberg.plan.row_order import RowOrder
from iceberg_zorder.pyiceberg.plan.sampling import SampleContext
from iceberg_zorder.pyiceberg.plan.scan_fractions import ScanFractions, predicate_scan
from iceberg_zorder.pyiceberg.plan.selection.selection import SelectedFiles
from iceberg_zorder.pyiceberg.plan.selection.target_size import TargetSize, given_target
from iceberg_zorder.pyiceberg.progress import PLAN, Progress, silent
from iceberg_zorder.pyiceberg.scan.history import ancestors, snapshots_to
from iceberg_zorder.pyiceberg.scan.listing import Listing
from iceberg_zorder.report.history import SnapshotFacts, expected_seconds
from iceberg_zorder.request.metrics_check import CheckedMetrics
from iceberg_zorder.request.plan_text import plan_text
from iceberg_zorder.request.reasons import Reason
from iceberg_zorder.request.result import PredicateScan
from iceberg_zorder.request.rewrite_messages import left_out, other_layout, why_nothing
from iceberg_zorder.rows.memory_budget import MemoryBudget

_LOG = logging.getLogger(__name__)
_READS = {"before": "today", "predicted": "planned"}
"""What a plan tells of a workload, by the files of which queries read it."""


@dataclass(frozen=True, eq=False)
class RewritePlan:
    """What a rewrite will do, and why: which data files it rewrites together, and which it leaves.

    It is of one snapshot. Data that is appended later does not matter to it; if its files are rewritten or deleted from
    meanwhile, or the table's schema or partition spec changes, it is stale, and refused. ``str()`` of it is for people.

    Parameters
    ----------
    request : PlanRequest
        What is asked for.
    schema_id, spec_id : int
        The table's schema and partition spec.
    snapshot : pyiceberg.table.snapshots.Snapshot or None
        The snapshot that was planned on, if the table has any.
    order : RowOrder or None
        The columns to cluster by; None if the workload was to choose them, and there is nothing to rewrite.
    groups : tuple of FileGroup
        The file groups that are to be rewritten, in this order, each with the reason why it was chosen.
    left : tuple of SelectedFiles
        The data files that are left alone, by partition and reason.
    message : str or None
        Why there is no file group, and what would force one.
    layouts : tuple of PlannedLayout
        One of each file group once it is sampled.
    scan_fractions : Mapping of str to float
        By column, the scan fraction in [0, 1] that ``column = value`` is predicted to have among the new files of all
        groups, on average over the values of the rows: lower is better. Files that are left do not count; a column
        without a value is left out. Empty before it is sampled.
    target : TargetSize or None
        The size that new files are to have, if it is known, and where that is from.
    scan_fractions_before : Mapping of str to float
        The scan fractions that the data files of all groups have, for the same values.
    expected_seconds : float or None
        Once it is sampled, how long the rewrite is expected to take, if snapshots tell of rewrites before it.
    predicates : tuple of PredicateScan
        The conditions that were asked for when it was sampled.
    warnings : tuple of str
        What its user should know once it is sampled, as sentences.
    """

    request: PlanRequest
    schema_id: int
    spec_id: int
    snapshot: Snapshot | None
    order: RowOrder
    groups: tuple[FileGroup, ...] = ()
    left: tuple[SelectedFiles, ...] = ()
    message: str | None = None
    layouts: tuple[PlannedLayout, ...] = ()
    scan_fractions: Mapping[str, float] = field(default_factory=dict)
    target: TargetSize | None = None
    scan_fractions_before: Mapping[str, float] = field(default_factory=dict)
    expected_seconds: float | None = None
    predicates: tuple[PredicateScan, ...] = ()
    warnings: tuple[str, ...] = ()
    measure: ScanFractions | None = None  # what measures the files of its groups, once it is sampled
    metrics: CheckedMetrics = field(default_factory=CheckedMetrics)  # the columns whose bounds do not serve
    is_whole: bool = False  # whether nothing is left for a later rewrite by the same request
    limit_message: str = ""  # what is to be said of ``max-files-to-rewrite``, should nothing be rewritten

    @property
    def is_sampled(self) -> bool:
        """Whether the layouts are known."""
        return bool(self.layouts)

    def sampled(
        self, progress: Progress = silent, *, predicates: Sequence[str | BooleanExpression] = ()
    ) -> RewritePlan:
        """Read a sample of the clustering columns: the same plan with its layouts, and with predictions.

        The layouts are those that the rewrite would find; for the predictions as many rows are read again. What would
        not gain is left, unless it has to be rewritten. Nothing is written.

        Parameters
        ----------
        progress : Progress, optional
            Told of every file that was read.
        predicates : sequence of str or pyiceberg.expressions.BooleanExpression, optional
            Conditions, of which it is told how much they read of the planned files, before and after.

        Returns
        -------
        RewritePlan
            The plan; this one, if it is sampled or there is nothing to rewrite.

        Raises
        ------
        InvalidInputError
            When the plan is stale, a condition cannot be honoured, or bounds do not suffice that are asked to.
        RewriteFailedError
            When a data file, or a delete file, cannot be read.
        """
        request, table = self.request, self.request.table
        by_case = request.case_sensitive
        conditions = [(str(each), Listing(table, each, case_sensitive=by_case)) for each in predicates]
        if self.is_sampled or not self.groups:
            return self.with_predicates(conditions) if conditions else self
        with renewed(table):
            self.check_is_current()
            progress(PLAN, rows_of(self._tasks), size_of(self._tasks))
            budget = MemoryBudget(request.options.memory_limit // 2)
            context = SampleContext(
                table, self.order, request.options.layout, progress, budget=budget, workload=request.workload
            )
            try:
                sampled = self.sampled_in(context)
            except Exception as error:
                why = f"{str(error).rstrip('.')}. Nothing was written."
                raise RewriteFailedError(f"Cannot sample {display_name(table)}, because {why}") from error
        sampled.metrics.check()
        for intended in sampled.metrics.intended:
            _LOG.warning("%s", intended)
        return sampled.with_predicates(conditions)

    def sampled_in(self, context: SampleContext) -> RewritePlan:
        """Sample a plan that has file groups; those that cannot be read, and are told of, are no longer in it."""
        assert self.target is not None  # noqa: S101
        options = self.request.options
        share = 0 if options.rewrite_all else 2 if self.target.is_given else 1
        more = MoreFiles(share, math.isinf(options.max_scan_ratio))
        fitted = fit_layouts(context, self.groups, more)
        chosen: list[FittedGroup] = []
        left: list[FittedGroup] = []
        for each in fitted.groups:
            (chosen if options.rewrite_all or each.group.is_due or each.gains else left).append(each)
        over = fitted.measure.over
        not_gaining = []
        for each in left:
            before, predicted = each.means or (0.0, 0.0)
            why = Reason("no-gain", {"before": before, "predicted": predicted, "over": over})
            not_gaining.append(SelectedFiles(each.group.key, each.group.tasks, (why,)))
        groups = tuple(each.group for each in chosen)
        measured = [each.planned.measured for each in chosen]
        plan = replace(
            self,
            groups=groups,
            left=(*self.left, *not_gaining),
            message=self._why_nothing(fitted.measure, left) if left and not chosen else self.message,
            layouts=tuple(each.planned for each in chosen),
            scan_fractions=fitted.measure.predicted(measured),
            scan_fractions_before=fitted.measure.before(measured),
            expected_seconds=expected_seconds(self._snapshots, sum(group.input_size for group in groups)),
            measure=fitted.measure,
            # Without a file group nothing is done about the columns whose bounds do not serve.
            metrics=fitted.metrics if chosen else fitted.metrics.without_fixes(),
        )
        return plan.warned()

    def _why_nothing(self, measure: ScanFractions, left: Sequence[FittedGroup]) -> str:
        """Say why all file groups are left."""
        before, predicted = measure.means([each.planned.measured for each in left])
        name = display_name(self.request.table)
        found = why_nothing(name, len(left), before or 0.0, predicted or 0.0, over=measure.over)
        return found + self.limit_message

    def with_groups(self, indices: Collection[int]) -> RewritePlan:
        """Take some of the file groups of a plan that is not sampled; the others are for a later rewrite."""
        if len(indices) == len(self.groups):
            return self
        groups = tuple(group for group in self.groups if group.index in indices)
        return replace(self, groups=groups, is_whole=False)

    def warned(self) -> RewritePlan:
        """Take note of what the user should know, and log it, but for what is set only if the plan is executed."""
        warnings = self._warnings() if self.groups else tuple(self.metrics.warnings)
        for warning in warnings:
            if warning not in self.metrics.intended:
                _LOG.warning("%s", warning)
        return replace(self, warnings=warnings)

    def _warnings(self) -> tuple[str, ...]:
        """Say what the user should know, in sentences."""
        options = self.request.options
        measured = [each.measured for each in self.layouts]
        name, order = display_name(self.request.table), self.order
        found = []
        layouts = [each.layout for each in self.layouts]
        alike = [each.name for each in order.named if all(each.name in layout.left_out for layout in layouts)]
        found += left_out(name, order.ignored, alike)
        found += self.measure.gains_and_losses(measured, rewrite_all=options.rewrite_all) if self.measure else []
        found += [*self.metrics.warnings, *self.metrics.intended]
        last = next((each for each in reversed(self._snapshots) if each.is_layout), None)
        files, all_files = len(self._tasks), self._all_files
        # Who rewrites everything on purpose knows of it.
        is_asked_for = files == all_files and options.rewrite_all
        if last and not is_asked_for and not last.is_by(order.sort_order):
            found.append(other_layout(name, last.sort_order, order.sort_order, files, all_files))
        return tuple(found)

    @property
    def _snapshots(self) -> list[SnapshotFacts]:
        return snapshots_to(self.request.table, self.snapshot)

    @property
    def _all_files(self) -> int:
        """Count the data files of the snapshot, or those that the filter leaves where it does not tell."""
        summary = self.snapshot.summary if self.snapshot else None
        total = summary.additional_properties.get("total-data-files", "") if summary else ""
        return int(total) if total.isdecimal() else len(self._tasks) + sum(len(each.tasks) for each in self.left)

    def with_predicates(self, conditions: Sequence[tuple[str, Listing]]) -> RewritePlan:
        """Measure what conditions read of the planned files, and predict it of the new ones, if it is sampled."""
        measured = [each.measured for each in self.layouts]
        fields = self.measure.fields if self.measure else []
        found = (predicate_scan(*each, self.groups, measured, fields) for each in conditions)
        return replace(self, predicates=tuple(found))

    def check_is_current(self) -> None:
        """Look whether the table still is what this was planned from, as far as the plan is concerned.

        Raises
        ------
        StalePlanError
            When a planned file is gone or has other deletes, the schema or the partition spec has changed, or the
            branch or the table is another one.
        InvalidInputError
            When the table's properties do not allow any more what was planned.
        """
        if not self.groups:
            return
        if why := self._why_stale():
            raise StalePlanError(
                f"Cannot execute the plan of {display_name(self.request.table)}, because {why}. Nothing was rewritten: "
                "plan again."
            )
        self.request.row_order()
        self.request.check_may_write()

    def _why_stale(self) -> str | None:
        """Say why it cannot be executed any more."""
        request, table = self.request, self.request.table
        try:
            refresh(table)
        except NoSuchTableError:
            return "the table was dropped since"
        ref = table.refs().get(request.branch_name)
        if table.schema().schema_id != self.schema_id:
            return "its schema has changed since"
        if table.spec().spec_id != self.spec_id:
            return "its partition spec has changed since"
        if ref is None or self.snapshot is None:
            return f"branch {request.branch_name} was dropped since"
        if ref.snapshot_id == self.snapshot.snapshot_id:
            return None
        head = table.snapshot_by_id(ref.snapshot_id)
        history = [each.snapshot_id for each in ancestors(table, head)]
        if head is None or self.snapshot.snapshot_id not in history:
            return f"snapshot {self.snapshot.snapshot_id} is no longer in the history of branch {request.branch_name}"
        deletes = {task.data_file.file_path: _delete_paths(task) for task in request.planner().listing.tasks(head)}
        for task in self._tasks:
            path = task.data_file.file_path
            if path not in deletes:
                return f"data file {path} is no longer in the table"
            if deletes[path] != _delete_paths(task):
                return f"the deletes of data file {path} have changed since"
        return None

    @property
    def _tasks(self) -> list[DataFileTask]:
        return [task for group in self.groups for task in group.tasks]

    def to_dict(self) -> dict[str, Any]:
        """Describe the plan by what JSON has; ``docs/options.md`` lists the keys.

        Returns
        -------
        dict
            The plan. Keys are added in later versions, and none is taken away while ``"version"`` is 1.
        """
        request, target = self.request, self.target
        layouts = map(_layout, self.layouts or [None] * len(self.groups))
        groups = [
            {
                **self._files(group.key, group.tasks),
                "expected_data_files_count": group.expected_output_files,
                "reason": group.reason,
                "layout": layout,
            }
            for group, layout in zip(self.groups, layouts, strict=True)
        ]
        return {
            "version": 1,
            "table": display_name(request.table),
            "branch": request.branch_name,
            "snapshot_id": None if self.snapshot is None else self.snapshot.snapshot_id,
            "sort_order": request.sort_order,
            "where": None if request.where is None else str(request.where),
            "options": dict(request.written_options),
            "target_file_size_bytes": None if target is None else target.size,
            "target_file_size_from": None if target is None else target.source,
            "message": self.message,
            "file_groups": groups,
            "left": [{**self._files(each.key, each.tasks), "reason": each.reason} for each in self.left],
            "scan_fractions": dict(self.scan_fractions),
            "scan_fractions_before": dict(self.scan_fractions_before),
            "expected_seconds": self.expected_seconds,
            "predicates": [asdict(each) for each in self.predicates],
            "workload": self._workload(),
        }

    def _files(self, key: Partition, tasks: Sequence[DataFileTask]) -> dict[str, Any]:
        table = self.request.table
        partition = tasks[0].data_file.partition
        return {
            "partition": table.specs()[self.spec_id].partition_to_path(partition, table.schema()) if key else "",
            "data_files_count": len(tasks),
            "bytes": size_of(tasks),
            "rows": rows_of(tasks),
        }

    def _workload(self) -> dict[str, Any] | None:
        """Tell what the queries of the workload read of the file groups; None without one."""
        workload = self.request.workload
        if workload is None:
            return None
        reads = [each.measured.reads for each in self.layouts]
        means = {name: workload.mean(each.get(of) for each in reads) for name, of in _READS.items()}
        return {"queries": len(workload.queries), **means}

    def to_json(self) -> str:
        """Write the plan as JSON; see :meth:`to_dict`."""
        return json.dumps(self.to_dict(), indent=2)

    def __str__(self) -> str:
        return plan_text(self.to_dict())


def _delete_paths(task: DataFileTask) -> set[str]:
    return {file.file_path for file in (*task.position_deletes, *task.equality_deletes)}


def _layout(planned: PlannedLayout | None) -> dict[str, Any] | None:
    if planned is None:
        return None
    layout = planned.layout
    return {
        "curve": layout.curve,
        "data_files_count": layout.files,
        "hash": layout_hash(layout),
        "scan_fractions": dict(planned.scan_fractions),
        "scan_fractions_before": dict(planned.scan_fractions_before),
    }


def plan_request(request: PlanRequest, lost: Sequence[FileGroup] = (), done: Collection[str] = ()) -> RewritePlan:
    """Plan what is asked for, on the newest snapshot."""
    table = request.table
    refresh(table)
    request = request.completed()
    snapshot = branch_snapshot(table, request.branch_name, "rewrite data files")
    planner = request.planner()
    order = request.row_order()
    request.check_may_write()
    at = table.schema().schema_id, table.spec().spec_id
    if snapshot is None:
        target = given_target(table, request.options)
        message = nothing_in(table, "branch main has no snapshot yet")
        return RewritePlan(request, *at, None, order, message=message, target=target)
    plan = planner.plan(snapshot, lost, order, partial(request.settled, order, snapshot), done=done)
    return RewritePlan(request, *at, snapshot, **vars(plan) | {"order": plan.order or order})
