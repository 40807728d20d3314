"""Choose data files by sizes, deletes, age and gain, and plan their file groups, by partition."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from urllib.parse import quote_plus

from pyiceberg.manifest import FileFormat
from pyiceberg.table import Table
from pyiceberg.typedef import Record

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.pyiceberg.catalog.renewal import refresh
from iceberg_zorder.pyiceberg.commit.validation import USE_SPARK
from iceberg_zorder.pyiceberg.compat.schemas import sanitize_column_names, schema_to_pyarrow
from iceberg_zorder.pyiceberg.content_files import Partition, partition_of
from iceberg_zorder.pyiceberg.display import display_name
from iceberg_zorder.pyiceberg.file_groups import DataFileTask, FileGroup
from iceberg_zorder.pyiceberg.kept_bounds import KeptBounds
from iceberg_zorder.pyiceberg.partitions import Partitions, partition_columns
from iceberg_zorder.pyiceberg.plan.rewrite_plan import RewritePlan
from iceberg_zorder.pyiceberg.plan.rewrite_spec import (
    ResolvedSpec,
    RewriteSpec,
    branch_snapshot,
    completed,
    resolve_spec,
)
from iceberg_zorder.pyiceberg.plan.row_order import RowOrder
from iceberg_zorder.pyiceberg.plan.selection.selection import Selector
from iceberg_zorder.pyiceberg.plan.selection.sizes import SizeRules, size_rules
from iceberg_zorder.pyiceberg.plan.selection.target_size import TargetSize, found_target, given_target
from iceberg_zorder.pyiceberg.scan.history import snapshots_to
from iceberg_zorder.report.history import SnapshotFacts
from iceberg_zorder.request.metrics_check import FIX
from iceberg_zorder.upkeep.settled import Settled, request_key
from iceberg_zorder.upkeep.upkeep_request import finer


def plan_spec(
    table: Table, spec: RewriteSpec, lost: Sequence[FileGroup] = (), done: Collection[str] = ()
) -> tuple[ResolvedSpec, RewritePlan]:
    """List the data files of the newest snapshot, and select; raises InvalidInputError.

    Where lost file groups are planned again, none is taken that is done.
    """
    refresh(table)
    work = resolve_spec(table, completed(table, spec))
    return work, select(work, lost, done)


def select(work: ResolvedSpec, lost: Sequence[FileGroup] = (), done: Collection[str] = ()) -> RewritePlan:
    """Choose among the data files of the newest snapshot.

    Where lost file groups are planned again, their partitions' files are chosen from, but for those in ``done``.
    """
    table, options, order = work.table, work.options, work.order
    snapshot = branch_snapshot(table, work.spec.branch, "rewrite data files")
    at = None if snapshot is None else snapshot.snapshot_id, table.schema().schema_id, table.spec().spec_id
    plan = RewritePlan(display_name(table), str(table.metadata.table_uuid), *at, work.spec)
    if snapshot is None:
        why = "branch main has no snapshot yet"
        return replace(plan, message=nothing_in(table, why), target=given_target(table, options))
    tasks, snapshots = work.listing.tasks(snapshot), snapshots_to(table, snapshot)
    scope, is_filtered = _by_partition(table, tasks), work.spec.where is not None
    target = given_target(table, options) or found_target(
        options, snapshots, [files.input_size for files in scope], is_filtered=is_filtered
    )
    sizes, most = size_rules(table, options, target), math.inf
    if lost:
        scope = _by_partition(table, _again(tasks, lost, done, table.spec().spec_id))
        most = sum(group.data_files_count for group in lost) if options.max_files_to_rewrite else math.inf
    settled = None if order is None or lost or options.rewrite_all else _settled(work, order, snapshots, target)
    selector = Selector(table, sizes, order, work.output_spec_id, snapshots, work.spec.at_ms, settled, work.workload)
    chosen, left, message = selector.select(scope, most)
    groups = [_group(work, number, files, sizes) for number, files in enumerate(chosen, 1)]
    if not work.spec.any_format:
        check_formats(table, groups)
    if order is not None:
        order_of_groups(work, groups)
    return replace(
        plan,
        groups=tuple(_in_job_order(groups, options.rewrite_job_order)),
        left=tuple(left),
        message=message if scope or lost or is_filtered else nothing_in(table, "the table has no data file"),
        target=target,
    )


def order_of_groups(work: ResolvedSpec, groups: Sequence[FileGroup]) -> RowOrder:
    """Have rows ordered by the partitions that they go to, and refuse what cannot be partitioned by."""
    assert work.order is not None  # noqa: S101
    if all(group.partition is not None for group in groups):
        return work.order
    spec, schema = work.table.specs()[work.output_spec_id], work.table.schema()
    Partitions(spec, schema, schema_to_pyarrow(sanitize_column_names(schema)))
    return replace(work.order, partition=partition_columns(schema, spec))


def key_of_request(work: ResolvedSpec, order: RowOrder, target: TargetSize) -> str:
    """Make the key of what is asked for, on the table as it is; see :func:`.request_key`."""
    # A file with a workload may say something else by the next time.
    options = {**work.spec.options, **({"workload": work.workload.key} if work.workload else {})}
    where = "" if work.spec.where is None else str(work.spec.where)
    ids = work.table.schema().schema_id, work.output_spec_id
    key = request_key(order.sort_order, where, ids, target.size, options, work.table.properties)
    return key if work.workload is None else f"{key} {work.workload.key}"


def nothing_in(table: Table, why: str) -> str:
    """Say that there is nothing to rewrite in a table at all."""
    return f"Nothing to rewrite in {display_name(table)}: {why}."


def key_of(task: DataFileTask, spec_id: int) -> Partition:
    """Tell which file group a data file belongs to: that of its partition, or the one of all other specs."""
    return partition_of(task.data_file)[1:] if task.data_file.spec_id == spec_id else ()


def _by_partition(table: Table, tasks: Sequence[DataFileTask]) -> list[FileGroup]:
    """Gather the data files of each partition, and write it as PyIceberg does, which types its fields for each."""
    spec, found = table.spec(), dict[Partition, list[DataFileTask]]()
    for task in tasks:
        found.setdefault(key_of(task, spec.spec_id), []).append(task)
    fields = [*zip(spec.fields, spec.partition_type(table.schema()).fields, strict=True)]

    def path_of(record: Record) -> str:
        texts = (field.transform.to_human_string(of.field_type, record[at]) for at, (field, of) in enumerate(fields))
        return "/".join(
            f"{quote_plus(field.name)}={quote_plus(text)}" for (field, _), text in zip(fields, texts, strict=True)
        )

    return [
        FileGroup(key, tuple(of_key), partition_path=path_of(of_key[0].data_file.partition) if key else "")
        for key, of_key in found.items()
    ]


def _again(
    tasks: Sequence[DataFileTask], lost: Sequence[FileGroup], done: Collection[str], spec_id: int
) -> list[DataFileTask]:
    """Find what takes the place of lost file groups: the data files of their partitions, and their own.

    Their own count, too, for the table may have got another partition spec in between.
    """
    keys, own = {group.key for group in lost}, {path for group in lost for path in group.paths}
    paths = [(task, task.data_file.file_path) for task in tasks]
    return [task for task, path in paths if path in own or (key_of(task, spec_id) in keys and path not in done)]


def _settled(
    work: ResolvedSpec, order: RowOrder, snapshots: Sequence[SnapshotFacts], target: TargetSize
) -> Settled | None:
    """Find what earlier rewrites by the same request have settled; see :meth:`.Settled.by`."""
    if work.options.layout.metrics_check == FIX and KeptBounds.of(work.table, order.named).missing:
        # New files are to have bounds that those have not.
        return None
    return Settled.by(key_of_request(work, order, target), snapshots)


def _group(work: ResolvedSpec, number: int, files: FileGroup, sizes: SizeRules) -> FileGroup:
    """Tell of chosen files how they are rewritten."""
    size = files.input_size
    return replace(
        files,
        index=number,
        spec_id=work.output_spec_id,
        expected_output_files=sizes.expected_output_files(finer(size) if files.is_finer else size),
        max_output_file_size=sizes.write_max_file_size,
        is_due=any(map(sizes.is_due, files.tasks)),
        data_files={task.data_file.file_path: task.delete_paths for task in files.tasks},
    )


def _in_job_order(groups: Sequence[FileGroup], job_order: str) -> list[FileGroup]:
    by, _, direction = job_order.replace("_", "-").lower().partition("-")
    values = {"bytes": lambda group: group.input_size, "files": lambda group: group.data_files_count}
    return sorted(groups, key=values[by], reverse=direction == "desc") if by in values else [*groups]


def check_formats(table: Table, groups: Sequence[FileGroup]) -> None:
    """Refuse files that are not Parquet; raises InvalidInputError."""
    for task in (task for group in groups for task in group.tasks):
        for file in (task.data_file, *task.position_deletes, *task.equality_deletes):
            if file.file_format != FileFormat.PARQUET:
                raise InvalidInputError(
                    f"Cannot rewrite data files of {display_name(table)}, because {file.file_path} is of format "
                    f"{file.file_format.value} and not Parquet: {USE_SPARK}"
                )
