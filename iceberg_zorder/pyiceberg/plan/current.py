"""Whether a table still is what a plan was made from, as far as the plan is concerned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from iceberg_zorder.errors import StalePlanError
from iceberg_zorder.pyiceberg.catalog.renewal import refresh
from iceberg_zorder.pyiceberg.display import display_name
from iceberg_zorder.pyiceberg.file_groups import DataFileTask, FileGroup
from iceberg_zorder.pyiceberg.plan.planner import check_formats, key_of
from iceberg_zorder.pyiceberg.plan.rewrite_plan import RewritePlan
from iceberg_zorder.pyiceberg.plan.rewrite_spec import ResolvedSpec, resolve_spec
from iceberg_zorder.pyiceberg.plan.selection.target_size import LAST_LAYOUT
from iceberg_zorder.pyiceberg.scan.history import ancestors, snapshots_to
from iceberg_zorder.pyiceberg.scan.listing import Listing
from iceberg_zorder.request.reasons import NOT_IN_PLAN, Reason

_Plan = TypeVar("_Plan", bound=RewritePlan)


def current(table: Table, plan: _Plan) -> tuple[ResolvedSpec, _Plan]:
    """Check a plan against the table as it is now; returns what it is asked for there, and the plan with its files.

    Raises
    ------
    StalePlanError
        When the plan is of another table, a planned file is gone or has other deletes, the schema or the partition spec
        has changed, or the branch is another one.
    InvalidInputError
        When the table's properties do not allow any more what was planned.
    """
    try:
        refresh(table)
        why = _why_stale(table, plan)
    except NoSuchTableError:
        why = "the table was dropped since"
    if why:
        raise _stale(table, why)
    work = resolve_spec(table, plan.spec)
    return work, _listed(work, plan) if plan.groups else plan


def _stale(table: Table, why: str) -> StalePlanError:
    return StalePlanError(
        f"Cannot execute the plan of {display_name(table)}, because {why}. Nothing was rewritten: plan again."
    )


def _why_stale(table: Table, plan: RewritePlan) -> str | None:
    """Say why a plan cannot be executed any more, as far as the table's metadata tells."""
    uuid = str(table.metadata.table_uuid)
    if uuid != plan.table_uuid:
        return f"it is of table {plan.table} with UUID {plan.table_uuid}, and this one has UUID {uuid}"
    if not plan.groups:
        return None
    if table.schema().schema_id != plan.schema_id:
        return "its schema has changed since"
    if table.spec().spec_id != plan.spec_id or not {each.spec_id for each in plan.groups} <= table.specs().keys():
        return "its partition spec has changed since"
    ref = table.refs().get(plan.spec.branch)
    if ref is None or plan.snapshot_id is None:
        return f"branch {plan.spec.branch} was dropped since"
    history = (each.snapshot_id for each in ancestors(table, table.snapshot_by_id(ref.snapshot_id)))
    if plan.snapshot_id not in history:
        return f"snapshot {plan.snapshot_id} is no longer in the history of branch {plan.spec.branch}"
    return None


def _listed(work: ResolvedSpec, plan: _Plan) -> _Plan:
    """List the files of a plan, unless it has them as the newest snapshot has them."""
    table = work.table
    head = table.snapshot_by_name(plan.spec.branch)
    assert head is not None  # noqa: S101
    is_same, is_read = head.snapshot_id == plan.snapshot_id, not plan.groups[0].tasks
    if is_same and not is_read:
        return plan
    # The filter of a plan that was read may mean something else here: text of timestamps is in the zone of a session.
    listing = Listing(table) if is_read else work.listing
    tasks = {task.data_file.file_path: task for task in listing.tasks(head)}
    for group in plan.groups:
        for path, deletes in group.data_files.items():
            if path not in tasks:
                raise _stale(table, f"data file {path} is no longer in the table")
            if tasks[path].delete_paths != deletes:
                raise _stale(table, f"the deletes of data file {path} have changed since")
    if not is_read:
        return plan
    # Those of the plan's snapshot and filter, which are listed once more only where they may be others.
    in_question = tasks.values() if is_same and work.spec.where is None else work.listing.tasks(_snapshot(work, plan))
    return _with_tasks(work, plan, tasks, len(in_question))


def _with_tasks(work: ResolvedSpec, plan: _Plan, tasks: Mapping[str, DataFileTask], in_question: int) -> _Plan:
    """Have a plan that was read know its files, where the size of new ones is from, and how many files it lacks."""
    groups = []
    for group in plan.groups:
        found = tuple(tasks[path] for path in group.data_files)
        groups.append(replace(group, tasks=found, key=key_of(found[0], plan.spec_id), counts=None))
    target = plan.target
    if target is not None and target.source == LAST_LAYOUT:
        snapshots = snapshots_to(work.table, _snapshot(work, plan))
        last = next((each.target for each in reversed(snapshots) if each.target), None)
        target = replace(target, origin=last[1] if last else target.source)
    if not work.spec.any_format:
        check_formats(work.table, groups)
    # Somebody may have taken file groups out of it, which a later rewrite is to find.
    planned = sum(each.data_files_count for each in (*groups, *plan.left))
    missing = in_question - planned
    others = [FileGroup((), (), (Reason(NOT_IN_PLAN),), counts=(missing, 0, 0))] if missing else []
    return replace(plan, groups=tuple(groups), left=(*plan.left, *others), target=target)


def _snapshot(work: ResolvedSpec, plan: RewritePlan) -> Snapshot:
    snapshot = work.table.snapshot_by_id(plan.snapshot_id or 0)
    assert snapshot is not None  # noqa: S101
    return snapshot
