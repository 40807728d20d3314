"""Choose data files by sizes, deletes, age and gain, and plan their file groups, by partition."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from pyiceberg.expressions import BooleanExpression
from pyiceberg.manifest import FileFormat
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.pyiceberg.commit.validation import USE_SPARK, check_format
from iceberg_zorder.pyiceberg.compat.schemas import sanitize_column_names, schema_to_pyarrow
from iceberg_zorder.pyiceberg.content_files import Partition, partition_of
from iceberg_zorder.pyiceberg.display import display_name
from iceberg_zorder.pyiceberg.file_groups import DataFileTask, FileGroup, size_of
from iceberg_zorder.pyiceberg.partitions import Partitions, partition_columns
from iceberg_zorder.pyiceberg.plan.row_order import RowOrder
from iceberg_zorder.pyiceberg.plan.selection.least_age import now_ms, younger
from iceberg_zorder.pyiceberg.plan.selection.selection import SelectedFiles, Selector
from iceberg_zorder.pyiceberg.plan.selection.sizes import SizeRules, size_rules
from iceberg_zorder.pyiceberg.plan.selection.target_size import TargetSize, found_target, given_target
from iceberg_zorder.pyiceberg.scan.history import snapshots_to
from iceberg_zorder.pyiceberg.scan.listing import Listing
from iceberg_zorder.pyiceberg.scan.requested_workload import RequestedWorkload
from iceberg_zorder.request.rewrite_options import RewriteOptions
from iceberg_zorder.upkeep.settled import Settled
from iceberg_zorder.upkeep.upkeep_request import finer

_JOB_ORDERS = ("bytes-asc", "bytes-desc", "files-asc", "files-desc", "none")


@dataclass(frozen=True)
class Plan:
    """What a rewrite would do: file groups, in the order of the jobs, and what is left of the files in question."""

    groups: tuple[FileGroup, ...]
    left: tuple[SelectedFiles, ...]
    message: str | None  # why there is no file group, and what would force one
    target: TargetSize
    order: RowOrder | None  # the columns, if they are known, after what rows that change their partition go by
    is_whole: bool  # whether nothing is left for a later rewrite by the same request
    limit_message: str  # what is to be said of ``max-files-to-rewrite``, should nothing be rewritten


class Planner:
    """Plans rewrites of one table; what is wrong with the options is refused when it is made, before anything is read.

    Data files must be old enough at ``at_ms``, by default now. With ``any_format``, tables and files are planned that
    this engine cannot read or write, for another one to rewrite.
    """

    def __init__(
        self,
        table: Table,
        options: RewriteOptions,
        where: str | BooleanExpression | None = None,
        *,
        case_sensitive: bool = False,
        at_ms: int | None = None,
        any_format: bool = False,
        workload: RequestedWorkload | None = None,  # the queries that files are judged by
    ) -> None:
        self._table = table
        self._workload = workload
        self._any_format = any_format
        self._options = options
        self._is_filtered = where is not None
        if not any_format:
            check_format(table)
        self.listing = Listing(table, where, case_sensitive=case_sensitive)
        """Lists the data files that may be rewritten."""
        size_rules(table, options)
        self._at_ms = now_ms() if at_ms is None else at_ms
        order = options.rewrite_job_order.replace("_", "-").lower()
        if order not in _JOB_ORDERS:
            self._refuse(f"Invalid rewrite job order name: {options.rewrite_job_order}")
        self._job_order = order
        self._spec_id = table.spec().spec_id if options.output_spec_id is None else options.output_spec_id

    def plan(
        self,
        snapshot: Snapshot,
        lost: Sequence[FileGroup] = (),
        order: RowOrder | None = None,
        settled: Callable[[TargetSize], Settled | None] | None = None,
        *,
        done: Collection[str] = (),
    ) -> Plan:
        """Plan the rewrite of a snapshot's data files."""
        tasks = self.listing.tasks(snapshot)
        target = self._target(snapshot, tasks)
        sizes = size_rules(self._table, self._options, target)
        most = math.inf
        if lost:
            tasks = self._again(tasks, lost, done)
            most = sum(len(group.tasks) for group in lost) if self._options.max_files_to_rewrite else math.inf
        rests = settled(target) if settled is not None and not lost and not self._options.rewrite_all else None
        snapshots = snapshots_to(self._table, snapshot)
        is_younger = younger(self._table, self._options.min_age_seconds, self._at_ms)
        selector = Selector(self._table, sizes, order, self._spec_id, snapshots, is_younger, rests, self._workload)
        taken = selector.select([SelectedFiles(key, tuple(files)) for key, files in self._by_key(tasks).items()], most)
        is_empty = not tasks and not self._is_filtered
        groups = [self._group(number, files, sizes) for number, files in enumerate(taken.chosen, 1)]
        for group in () if self._any_format else groups:
            self._check_formats(group)
        return Plan(
            tuple(sorted(groups, key=self._job_key)),
            taken.left,
            nothing_in(self._table, "the table has no data file") if is_empty else taken.message,
            target,
            None if order is None else self._within_partitions(order, groups),
            taken.is_whole,
            taken.limit_message,
        )

    def _within_partitions(self, order: RowOrder, groups: Sequence[FileGroup]) -> RowOrder:
        """Have rows ordered by the partitions that they go to, and refuse what cannot be partitioned by."""
        if all(group.partition is not None for group in groups):
            return order
        spec, schema = self._table.specs()[self._spec_id], self._table.schema()
        Partitions(spec, schema, schema_to_pyarrow(sanitize_column_names(schema)))
        return replace(order, partition=partition_columns(schema, spec))

    def _target(self, snapshot: Snapshot, tasks: Sequence[DataFileTask]) -> TargetSize:
        given = given_target(self._table, self._options)
        if given is not None:
            return given
        sizes = (size_of(files) for files in self._by_key(tasks).values())
        return found_target(self._options, snapshots_to(self._table, snapshot), sizes, is_filtered=self._is_filtered)

    def _by_key(self, tasks: Sequence[DataFileTask]) -> dict[Partition, list[DataFileTask]]:
        found: dict[Partition, list[DataFileTask]] = {}
        for task in tasks:
            found.setdefault(self._key(task), []).append(task)
        return found

    def _key(self, task: DataFileTask) -> Partition:
        """Tell which file group a data file belongs to: that of its partition, or the one of all other specs."""
        own = task.data_file.spec_id == self._table.spec().spec_id
        return partition_of(task.data_file)[1:] if own else ()

    def _again(
        self, tasks: Sequence[DataFileTask], lost: Sequence[FileGroup], done: Collection[str]
    ) -> list[DataFileTask]:
        """Find what takes the place of lost file groups: the data files of their partitions, and their own.

        Their own count, too, for the table may have got another partition spec in between.
        """
        keys = {group.key for group in lost}
        own = {path for group in lost for path in group.paths}
        paths = [(task, task.data_file.file_path) for task in tasks]
        return [task for task, path in paths if path in own or (self._key(task) in keys and path not in done)]

    def _group(self, number: int, files: SelectedFiles, sizes: SizeRules) -> FileGroup:
        partitions = {partition_of(task.data_file) for task in files.tasks}
        first, size = files.tasks[0].data_file, size_of(files.tasks)
        is_same = len(partitions) == 1 and first.spec_id == self._spec_id
        return FileGroup(
            number,
            files.key,
            self._spec_id,
            first.partition if is_same else None,
            files.tasks,
            sizes.expected_output_files(finer(size) if files.is_finer else size),
            sizes.write_max_file_size,
            files.reason,
            any(sizes.is_due(task) for task in files.tasks),
            files.worth,
        )

    def _job_key(self, group: FileGroup) -> int:
        value = {"bytes": group.input_size, "files": len(group.tasks)}.get(self._job_order.partition("-")[0], 0)
        return -value if self._job_order.endswith("desc") else value

    def _check_formats(self, group: FileGroup) -> None:
        for task in group.tasks:
            for file in (task.data_file, *task.position_deletes, *task.equality_deletes):
                if file.file_format != FileFormat.PARQUET:
                    self._refuse(f"{file.file_path} is of format {file.file_format.value} and not Parquet: {USE_SPARK}")

    def _refuse(self, why: str) -> None:
        raise InvalidInputError(f"Cannot rewrite data files of {display_name(self._table)}, because {why}")


def nothing_in(table: Table, why: str) -> str:
    """Say that there is nothing to rewrite in a table at all."""
    return f"Nothing to rewrite in {display_name(table)}: {why}."
