"""Plan a rewrite: resolve its spec on a table, list data files, and select among them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.manifest import FileFormat
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from iceberg_zorder.errors import InvalidInputError, StalePlanError
from iceberg_zorder.metrics.scan_cost import open_cost
from iceberg_zorder.pyiceberg.catalog import refresh
from iceberg_zorder.pyiceberg.compat import USE_SPARK
from iceberg_zorder.pyiceberg.files import (
    ChosenFiles,
    DataFileTask,
    FileGroup,
    Partition,
    PartitionFiles,
    display_name,
    partition_of,
)
from iceberg_zorder.pyiceberg.listing.listing import FileFilter, ancestors, list_files, snapshots_to
from iceberg_zorder.pyiceberg.plan.rewrite_plan import RewritePlan, planned_snapshot
from iceberg_zorder.pyiceberg.plan.rewrite_spec import (
    ResolvedSpec,
    RewriteSpec,
    branch_snapshot,
    completed,
    order_of_groups,
    resolve_spec,
)
from iceberg_zorder.pyiceberg.plan.selection import (
    LAST_LAYOUT,
    Selector,
    SizeRules,
    automatic_target,
    explicit_target,
    size_rules,
)
from iceberg_zorder.rewrite.messages import NOT_IN_PLAN, Reason
from iceberg_zorder.select.gain import size_for_smaller_target


def plan_spec(table: Table, spec: RewriteSpec) -> tuple[ResolvedSpec, RewritePlan]:
    """Resolve a spec on a table, list the newest snapshot's data files, and select; raises InvalidInputError."""
    refresh(table)
    resolved = resolve_spec(table, completed(table, spec))
    return resolved, select(table, resolved)


def select(table: Table, resolved: ResolvedSpec) -> RewritePlan:
    """Select among the data files of the newest snapshot."""
    options, order = resolved.options, resolved.order
    snapshot = branch_snapshot(table, resolved.spec.branch, "rewrite data files")
    at = None if snapshot is None else snapshot.snapshot_id, table.schema().schema_id, table.spec().spec_id
    plan = RewritePlan(display_name(table), str(table.metadata.table_uuid), *at, resolved.spec)
    if snapshot is None:
        why = "branch main has no snapshot yet"
        return replace(plan, message=nothing_in(table, why), target=explicit_target(table, options))
    tasks, snapshots = list_files(table, snapshot, resolved.filter), snapshots_to(table, snapshot)
    scope, is_filtered = _by_partition(table, tasks), resolved.spec.where is not None
    target = explicit_target(table, options) or automatic_target(
        options,
        snapshots,
        [files.input_size for files in scope],
        2 if order is None else len(order.named),
        open_cost(table.properties),
        is_filtered=is_filtered,
    )
    rules = size_rules(table, options, target)
    request = None if order is None or options.rewrite_all else resolved.request_key(table, target)
    selector = Selector(
        table, rules, order, resolved.output_spec_id, snapshots, resolved.spec.at_ms, request, resolved.workload
    )
    chosen, left, message = selector.select(scope)
    groups = [_group(resolved, number, files, rules) for number, files in enumerate(chosen, 1)]
    if not resolved.spec.any_format:
        check_formats(table, groups)
    if order is not None:
        order_of_groups(table, resolved, groups)
    by, _, direction = options.rewrite_job_order.replace("_", "-").lower().partition("-")
    if by in ("bytes", "files"):
        groups.sort(
            key=lambda group: group.input_size if by == "bytes" else group.data_files_count,
            reverse=direction == "desc",
        )
    return replace(
        plan,
        groups=tuple(groups),
        left=tuple(left),
        message=message if scope or is_filtered else nothing_in(table, "the table has no data file"),
        target=target,
    )


def nothing_in(table: Table, why: str) -> str:
    """Return the message that there is nothing to rewrite."""
    return f"Nothing to rewrite in {display_name(table)}: {why}."


def _by_partition(table: Table, tasks: Sequence[DataFileTask]) -> list[PartitionFiles]:
    """Group data files by partition."""
    spec, schema, partitions = table.spec(), table.schema(), dict[Partition, list[DataFileTask]]()
    for task in tasks:
        # All files of other specs are together, because their rows may go to any partition.
        key = partition_of(task.data_file)[1:] if task.data_file.spec_id == spec.spec_id else ()
        partitions.setdefault(key, []).append(task)
    return [
        PartitionFiles(tuple(of_key), spec.partition_to_path(of_key[0].data_file.partition, schema) if key else "")
        for key, of_key in partitions.items()
    ]


def plan_again(table: Table, plan: RewritePlan, conflicting: Sequence[FileGroup]) -> tuple[ResolvedSpec, RewritePlan]:
    """Plan file groups that conflict with other operations, on the newest snapshot: those of their files that are left.

    No other file joins them, so no retry exceeds the plan, its ``max-files-to-rewrite`` or a budget.
    """
    refresh(table)
    resolved = resolve_spec(table, plan.spec)
    head = branch_snapshot(table, plan.spec.branch, "rewrite data files")
    target = explicit_target(table, resolved.options) or plan.target
    rules, planned = (
        size_rules(table, resolved.options, target),
        {path for group in conflicting for path in group.paths},
    )
    tasks = {} if head is None else _listed_by_path(table, resolved, head, planned)[1]
    remaining = (
        replace(each, tasks=tuple(tasks[path] for path in each.paths if path in tasks)) for each in conflicting
    )
    groups = [_group(resolved, each.index, each, rules) for each in remaining if each.tasks]
    check_formats(table, groups)
    at = {"snapshot_id": head and head.snapshot_id, "schema_id": table.schema().schema_id}
    return resolved, plan.unsampled(**at, spec_id=table.spec().spec_id, groups=tuple(groups), target=target)


def _group(resolved: ResolvedSpec, number: int, files: ChosenFiles, rules: SizeRules) -> FileGroup:
    """Return chosen files with the parameters of their rewrite."""
    size = files.input_size
    expected = rules.sizes.expected_files(size_for_smaller_target(size) if files.uses_smaller_target else size)
    return FileGroup(
        files.tasks,
        files.partition_path,
        files.reasons,
        saved_bytes_per_byte=files.saved_bytes_per_byte,
        uses_smaller_target=files.uses_smaller_target,
        extents=files.extents,
        index=number,
        spec_id=resolved.output_spec_id,
        expected_output_files=_with_a_row(expected, files),
        max_output_file_size=rules.sizes.largest_planned,
        must_rewrite=any(map(rules.must_rewrite, files.tasks)),
    )


def _with_a_row(files: int, group: PartitionFiles) -> int:
    """Limit the number of new files to the number of rows."""
    return min(files, max(1, group.rows))


def check_formats(table: Table, groups: Sequence[FileGroup]) -> None:
    """Refuse files that are neither Parquet nor deletion vectors; raises InvalidInputError."""
    for task in (task for group in groups for task in group.tasks):
        for file in (task.data_file, *task.position_deletes, *task.equality_deletes):
            if file.file_format not in (FileFormat.PARQUET, FileFormat.PUFFIN):
                raise InvalidInputError(
                    f"Cannot rewrite data files of {display_name(table)}, because {file.file_path} is of format "
                    f"{file.file_format.value} and not Parquet: {USE_SPARK}"
                )


_Plan = TypeVar("_Plan", bound=RewritePlan)


def current(table: Table, plan: _Plan) -> tuple[ResolvedSpec, _Plan]:
    """Check a plan against the table's current state; returns its resolved spec, and the plan with its files.

    Raises
    ------
    StalePlanError
        When the plan is for another table, a planned file was removed or has other deletes, the schema or the partition
        spec has changed, or the branch was replaced.
    InvalidInputError
        When the table's properties no longer allow the plan.
    """
    try:
        refresh(table)
        why = _why_stale(table, plan)
    except NoSuchTableError:
        why = "the table was dropped"
    if why:
        raise _stale(table, why)
    resolved = resolve_spec(table, plan.spec)
    return resolved, _listed(table, resolved, plan) if plan.groups else plan


def _stale(table: Table, why: str) -> StalePlanError:
    return StalePlanError(
        f"Cannot execute the plan of {display_name(table)}, because {why}. Nothing was rewritten: plan again."
    )


def _why_stale(table: Table, plan: RewritePlan) -> str | None:
    """Return why a plan is stale, by the table's metadata; None if it is not."""
    uuid = str(table.metadata.table_uuid)
    if uuid != plan.table_uuid:
        return f"it is for table {plan.table} with UUID {plan.table_uuid}, but this table has UUID {uuid}"
    if not plan.groups:
        return None
    if table.schema().schema_id != plan.schema_id:
        return "the table's schema has changed since"
    if table.spec().spec_id != plan.spec_id or not {each.spec_id for each in plan.groups} <= table.specs().keys():
        return "the table's partition spec has changed since"
    ref = table.refs().get(plan.spec.branch)
    if ref is None or plan.snapshot_id is None:
        return f"branch {plan.spec.branch} was dropped"
    history = (each.snapshot_id for each in ancestors(table, table.snapshot_by_id(ref.snapshot_id)))
    if plan.snapshot_id not in history:
        return f"snapshot {plan.snapshot_id} is no longer in the history of branch {plan.spec.branch}"
    return None


def _listed(table: Table, resolved: ResolvedSpec, plan: _Plan) -> _Plan:
    """Return a plan with its files listed, unless it has the newest snapshot's."""
    head = table.snapshot_by_name(plan.spec.branch)
    assert head is not None  # noqa: S101
    is_same, is_read = head.snapshot_id == plan.snapshot_id, not plan.groups[0].tasks
    if is_same and not is_read:
        return plan
    by, tasks = _listed_by_path(table, resolved, head, {path for group in plan.groups for path in group.data_files})
    for group in plan.groups:
        for path, deletes in group.data_files.items():
            if path not in tasks:
                raise _stale(table, f"data file {path} is no longer in the table")
            if tasks[path].delete_paths != deletes:
                raise _stale(table, f"the deletes of data file {path} have changed since")
    if not is_read:
        return plan
    # Files of the plan's snapshot, listed again only if they may differ.
    planned_on = planned_snapshot(table, plan)
    assert planned_on is not None  # noqa: S101
    in_question = tasks.values() if is_same else list_files(table, planned_on, by)
    return _with_tasks(table, resolved, plan, tasks, planned_on, in_question)


def _listed_by_path(
    table: Table, resolved: ResolvedSpec, head: Snapshot, planned: Collection[str]
) -> tuple[FileFilter, dict[str, DataFileTask]]:
    """List a snapshot's data files by the filter; all, if the filter misses planned ones."""
    by = resolved.filter
    tasks = {task.data_file.file_path: task for task in list_files(table, head, by)}
    if resolved.spec.where is not None and not tasks.keys() >= {*planned}:
        # The filter may select other files here: timestamps as text use the session's time zone.
        by = FileFilter.from_where(table)
        tasks = {task.data_file.file_path: task for task in list_files(table, head, by)}
    return by, tasks


def _with_tasks(
    table: Table,
    resolved: ResolvedSpec,
    plan: _Plan,
    tasks: Mapping[str, DataFileTask],
    planned_on: Snapshot,
    in_question: Collection[DataFileTask],
) -> _Plan:
    """Complete a plan read from JSON with its files, the origin of its target size, and the files that it leaves."""
    groups = []
    for group in plan.groups:
        if group.spec_id != resolved.output_spec_id:
            raise InvalidInputError(
                f"Cannot read the plan of {display_name(table)}, because a file group has partition spec "
                f"{group.spec_id}, but its options have {resolved.output_spec_id}"
            )
        listed = tuple(tasks[path] for path in group.data_files)
        group = replace(group, tasks=listed, counts=None, stored_files={})
        groups.append(replace(group, expected_output_files=_with_a_row(group.expected_output_files, group)))
    target = plan.target
    if target is not None and target.source == LAST_LAYOUT:
        snapshots = snapshots_to(table, planned_on)
        last = next((each.target for each in reversed(snapshots) if each.target), None)
        target = replace(target, origin=last[1] if last else target.source)
    if not resolved.spec.any_format:
        check_formats(table, groups)
    # If file groups were removed from the plan, a later rewrite must still find their files.
    planned = {path for group in groups for path in group.data_files}
    counted = sum(each.data_files_count for each in plan.left)
    if len(in_question) < len(planned) + counted and resolved.spec.where is not None:
        # The filter may select fewer files here.
        in_question = list_files(table, planned_on, FileFilter.from_where(table))
    relisted = tuple(task for task in in_question if task.data_file.file_path not in planned)
    missing = len(in_question) - len(planned) - counted
    if missing < 0:
        raise InvalidInputError(
            f"Cannot read the plan of {display_name(table)}, because its left counts {counted:,} data files, but "
            f"its snapshot has {counted + missing:,} besides those to rewrite"
        )
    others = [PartitionFiles((), reasons=(Reason(NOT_IN_PLAN),), counts=(missing, 0, 0))] if missing else []
    return replace(plan, groups=tuple(groups), left=(*plan.left, *others), target=target, relisted=relisted)
