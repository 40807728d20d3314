"""The plan of a rewrite: a value that can be looked at, kept for a while, and executed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table.snapshots import Snapshot, ancestors_of

from iceberg_zorder.errors import InvalidInputError, RewriteFailedError
from iceberg_zorder.layout.layout_json import layout_hash
from iceberg_zorder.pyiceberg.catalog.renewal import refresh, renewed
from iceberg_zorder.pyiceberg.commit.replacement import check_committable
from iceberg_zorder.pyiceberg.compat.schemas import sanitize_column_names, schema_to_pyarrow
from iceberg_zorder.pyiceberg.content_files import Partition
from iceberg_zorder.pyiceberg.display import display_name
from iceberg_zorder.pyiceberg.file_groups import DataFileTask, FileGroup, rows_of, size_of
from iceberg_zorder.pyiceberg.partitions import Partitions, partition_columns
from iceberg_zorder.pyiceberg.plan.layouts import PlannedLayout, predict_layouts
from iceberg_zorder.pyiceberg.plan.plan_request import PlanRequest
from iceberg_zorder.pyiceberg.plan.planner import no_snapshot
from iceberg_zorder.pyiceberg.plan.row_order import RowOrder
from iceberg_zorder.pyiceberg.plan.sampling import SampleContext
from iceberg_zorder.pyiceberg.plan.selection.selection import SelectedFiles
from iceberg_zorder.pyiceberg.progress import PLAN, Progress, silent
from iceberg_zorder.pyiceberg.write.file_writer import check_writable
from iceberg_zorder.request.plan_text import plan_text
from iceberg_zorder.rows.memory_budget import MemoryBudget
from iceberg_zorder.rows.spill import check_directory


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
    order : RowOrder
        The columns to cluster by.
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

    @property
    def is_sampled(self) -> bool:
        """Whether the layouts are known."""
        return bool(self.layouts)

    def sampled(self, progress: Progress = silent) -> RewritePlan:
        """Read a sample of the clustering columns: the same plan with its layouts, and with predictions.

        The layouts are those that the rewrite would find; for the predictions as many rows are read again. Nothing is
        written.

        Parameters
        ----------
        progress : Progress, optional
            Told of every file that was read.

        Returns
        -------
        RewritePlan
            The plan; this one, if it is sampled or there is nothing to rewrite.

        Raises
        ------
        InvalidInputError
            When the plan is stale.
        RewriteFailedError
            When a data file, or a delete file, cannot be read.
        """
        if self.is_sampled or not self.groups:
            return self
        request, table = self.request, self.request.table
        with renewed(table):
            self.check_is_current()
            progress(PLAN, rows_of(self._tasks), size_of(self._tasks))
            budget = MemoryBudget(request.options.memory_limit // 2)
            try:
                context = SampleContext(table, self.order, request.options.layout, progress, budget=budget)
                layouts, fractions = predict_layouts(context, self.groups)
            except Exception as error:
                raise RewriteFailedError(
                    f"Cannot sample {display_name(table)}, because {str(error).rstrip('.')}. Nothing was written."
                ) from error
        return replace(self, layouts=layouts, scan_fractions=fractions)

    def check_is_current(self) -> None:
        """Look whether the table still is what this was planned from, as far as the plan is concerned.

        Raises
        ------
        InvalidInputError
            When a planned file is gone or has other deletes, the schema or the partition spec has changed, or the
            branch or the table is another one; or its properties do not allow any more what was planned.
        """
        if not self.groups:
            return
        if why := self._why_stale():
            raise InvalidInputError(
                f"Cannot execute the plan of {display_name(self.request.table)}, because {why}. Nothing was rewritten: "
                "plan again."
            )
        _checked_order(self.request)

    @property
    def _tasks(self) -> list[DataFileTask]:
        return [task for group in self.groups for task in group.tasks]

    def _why_stale(self) -> str | None:
        table, request, planned = self.request.table, self.request, self.snapshot
        try:
            refresh(table)
        except NoSuchTableError:
            return "the table was dropped since"
        ref = table.refs().get(request.branch_name)
        if table.schema().schema_id != self.schema_id:
            return "its schema has changed since"
        if table.spec().spec_id != self.spec_id:
            return "its partition spec has changed since"
        if ref is None or planned is None:
            return f"branch {request.branch_name} was dropped since"
        if ref.snapshot_id == planned.snapshot_id:
            return None
        head = table.snapshot_by_id(ref.snapshot_id)
        history = [] if head is None else [each.snapshot_id for each in ancestors_of(head, table.metadata)]
        if head is None or planned.snapshot_id not in history:
            return f"snapshot {planned.snapshot_id} is no longer in the history of branch {request.branch_name}"
        return self._why_files_changed(request.planner().listing.tasks(head))

    def _why_files_changed(self, now: Sequence[DataFileTask]) -> str | None:
        deletes = {task.data_file.file_path: _delete_paths(task) for task in now}
        for task in self._tasks:
            path = task.data_file.file_path
            if path not in deletes:
                return f"data file {path} is no longer in the table"
            if deletes[path] != _delete_paths(task):
                return f"the deletes of data file {path} have changed since"
        return None

    def to_dict(self) -> dict[str, Any]:
        """Describe the plan by what JSON has; ``docs/options.md`` lists the keys.

        Returns
        -------
        dict
            The plan. Keys are added in later versions, and none is taken away while ``"version"`` is 1.
        """
        request = self.request
        layouts = self.layouts or (None,) * len(self.groups)
        return {
            "version": 1,
            "table": display_name(request.table),
            "branch": request.branch_name,
            "snapshot_id": None if self.snapshot is None else self.snapshot.snapshot_id,
            "sort_order": request.sort_order,
            "where": None if request.where is None else str(request.where),
            "options": dict(request.written_options),
            "message": self.message,
            "file_groups": [
                {
                    **self._files(group.key, group.tasks),
                    "expected_data_files_count": group.expected_output_files,
                    "reason": group.reason,
                    "layout": None if layout is None else _layout(layout),
                }
                for group, layout in zip(self.groups, layouts, strict=True)
            ],
            "left": [{**self._files(each.key, each.tasks), "reason": each.reason} for each in self.left],
            "scan_fractions": dict(self.scan_fractions),
        }

    def to_json(self) -> str:
        """Write the plan as JSON; see :meth:`to_dict`."""
        return json.dumps(self.to_dict(), indent=2)

    def __str__(self) -> str:
        return plan_text(self.to_dict())

    def _files(self, key: Partition, tasks: Sequence[DataFileTask]) -> dict[str, Any]:
        table = self.request.table
        spec = table.specs()[self.spec_id]
        partition = spec.partition_to_path(tasks[0].data_file.partition, table.schema()) if key else ""
        return {
            "partition": partition,
            "data_files_count": len(tasks),
            "bytes": size_of(tasks),
            "rows": rows_of(tasks),
        }


def _delete_paths(task: DataFileTask) -> set[str]:
    return {file.file_path for file in (*task.position_deletes, *task.equality_deletes)}


def _layout(planned: PlannedLayout) -> dict[str, Any]:
    layout = planned.layout
    return {
        "curve": layout.curve,
        "data_files_count": layout.files,
        "hash": layout_hash(layout),
        "scan_fractions": dict(planned.scan_fractions),
    }


def plan_request(request: PlanRequest, lost: Sequence[FileGroup] = ()) -> RewritePlan:
    """Plan what is asked for, on the newest snapshot.

    Parameters
    ----------
    request : PlanRequest
        What is asked for, beside what the table remembers; its table has the newest metadata afterwards.
    lost : sequence of FileGroup, optional
        File groups of an earlier plan that are to be planned again, and no others.

    Returns
    -------
    RewritePlan
        The file groups, or the reason why there are none.

    Raises
    ------
    InvalidInputError
        When the request cannot be honoured, or a property of the table.
    """
    table = request.table
    refresh(table)
    request = request.completed()
    snapshot = request.newest_snapshot()
    planner = request.planner()
    order = _checked_order(request)
    at = table.schema().schema_id, table.spec().spec_id
    if snapshot is None:
        return RewritePlan(request, *at, None, order, message=no_snapshot(table))
    plan = planner.plan(snapshot, lost)
    if any(group.partition is None for group in plan.groups):
        spec, schema = table.specs()[plan.groups[0].spec_id], table.schema()
        order = replace(order, partition=partition_columns(schema, spec))
        # Refuses what cannot be partitioned by.
        Partitions(spec, schema, schema_to_pyarrow(sanitize_column_names(schema)))
    return RewritePlan(request, *at, snapshot, order, plan.groups, plan.left, plan.message)


def _checked_order(request: PlanRequest) -> RowOrder:
    """Resolve the sort order, and refuse what else the table's properties, or the machine, do not allow."""
    order = request.row_order()
    check_writable(request.table)
    if request.options.spill_directory is not None:
        check_directory(request.options.spill_directory)
    check_committable(request.table)
    return order
