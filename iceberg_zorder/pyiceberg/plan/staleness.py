"""Tell whether a table still is what a plan was made from."""

from __future__ import annotations

from collections.abc import Sequence

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table.snapshots import Snapshot

from iceberg_zorder.pyiceberg.catalog.renewal import refresh
from iceberg_zorder.pyiceberg.file_groups import DataFileTask
from iceberg_zorder.pyiceberg.plan.plan_request import PlanRequest
from iceberg_zorder.pyiceberg.scan.history import ancestors


def why_stale(
    request: PlanRequest, at: tuple[int, int], planned: Snapshot | None, tasks: Sequence[DataFileTask]
) -> str | None:
    """Say why a plan cannot be executed any more."""
    table = request.table
    try:
        refresh(table)
    except NoSuchTableError:
        return "the table was dropped since"
    ref = table.refs().get(request.branch_name)
    if table.schema().schema_id != at[0]:
        return "its schema has changed since"
    if table.spec().spec_id != at[1]:
        return "its partition spec has changed since"
    if ref is None or planned is None:
        return f"branch {request.branch_name} was dropped since"
    if ref.snapshot_id == planned.snapshot_id:
        return None
    head = table.snapshot_by_id(ref.snapshot_id)
    history = [each.snapshot_id for each in ancestors(table, head)]
    if head is None or planned.snapshot_id not in history:
        return f"snapshot {planned.snapshot_id} is no longer in the history of branch {request.branch_name}"
    return _why_files_changed(tasks, request.planner().listing.tasks(head))


def _why_files_changed(tasks: Sequence[DataFileTask], now: Sequence[DataFileTask]) -> str | None:
    deletes = {task.data_file.file_path: _delete_paths(task) for task in now}
    for task in tasks:
        path = task.data_file.file_path
        if path not in deletes:
            return f"data file {path} is no longer in the table"
        if deletes[path] != _delete_paths(task):
            return f"the deletes of data file {path} have changed since"
    return None


def _delete_paths(task: DataFileTask) -> set[str]:
    return {file.file_path for file in (*task.position_deletes, *task.equality_deletes)}
