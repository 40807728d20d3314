"""Observe what a table needs, for maintenance, from its metadata alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH

from iceberg_zorder.maintain.notes import Notes
from iceberg_zorder.maintain.observation import Arrivals, FileGroupNeed, Observation, TableName
from iceberg_zorder.maintain.policy.settings import TableSettings
from iceberg_zorder.metrics.file_sizes import FileSizes
from iceberg_zorder.metrics.history import REPLACE, SnapshotFacts
from iceberg_zorder.pyiceberg.catalog import renewed
from iceberg_zorder.pyiceberg.files import FileGroup, size_of
from iceberg_zorder.pyiceberg.listing.listing import snapshots_to
from iceberg_zorder.pyiceberg.listing.requested_workload import RequestedWorkload
from iceberg_zorder.pyiceberg.plan.planner import plan_spec
from iceberg_zorder.pyiceberg.plan.rewrite_plan import RewritePlan, planned_snapshot
from iceberg_zorder.pyiceberg.plan.rewrite_spec import ResolvedSpec, RewriteSpec
from iceberg_zorder.pyiceberg.plan.selection import size_rules
from iceberg_zorder.pyiceberg.reporting.new_layout import spec_of
from iceberg_zorder.pyiceberg.reporting.report import report
from iceberg_zorder.rewrite.options import rewrite_options

_NOT_WORTH = "its queries would not save enough within pays-within"


def observe(
    table: Table, name: TableName, settings: TableSettings, now: datetime, queries: float | None = None
) -> tuple[Observation, RewritePlan]:
    """Observe a table; returns the observation and the plan behind it."""
    with renewed(table):
        resolved, asked = plan_spec(table, spec_of(table, settings, now))
        needs = _needs(table, resolved, asked)
        plan, groups = (asked, needs) if queries is None else _worthwhile(table, asked, needs, queries)
    snapshots = snapshots_to(table, planned_snapshot(table, plan))
    is_main = settings.branch in (None, MAIN_BRANCH)
    remembered = Notes.of(table.properties).last_rewrite_ms if is_main else None
    last_ms, come = _since_last_rewrite(snapshots, remembered)
    parts = [*(group.tasks for group in plan.groups), *(files.tasks for files in plan.left)]
    tasks = [task for part in parts for task in part]
    least = 0 if plan.target is None else size_rules(table, resolved.options, plan.target).sizes.least
    observation = Observation(
        name,
        plan.snapshot_id,
        last_ms,
        len(tasks),
        size_of(tasks),
        sum(task.data_file.file_size_in_bytes < least for task in tasks),
        arrivals(come),
        groups,
        plan.message or (_NOT_WORTH if plan.groups else None),
        bool(groups) and _pays(table, plan, settings.triggers.scan_ratio),
        None if settings.triggers.depth is None else _depth(table, plan.spec),
        max_scan_ratio=resolved.options.max_scan_ratio,
    )
    return observation, plan


def _worthwhile(
    table: Table, asked: RewritePlan, needs: tuple[FileGroupNeed, ...], queries: float
) -> tuple[RewritePlan, tuple[FileGroupNeed, ...]]:
    """Return the file groups that pay within a number of queries; if none does, those that sizes and deletes demand.

    The second plan is needed because a group may mix small files with files that are rewritten for gain.
    """
    groups = worthwhile(needs, queries)
    if len(groups) == len(needs) or any(each.is_for_reads for each in groups):
        return asked, groups
    resolved, plan = _planned_by(table, asked, "Infinity")
    return plan, worthwhile(_needs(table, resolved, plan), queries)


def _planned_by(table: Table, plan: RewritePlan, max_scan_ratio: str) -> tuple[ResolvedSpec, RewritePlan]:
    """Plan with another ``max-scan-ratio``."""
    options = {**plan.spec.options, "max-scan-ratio": max_scan_ratio}
    return plan_spec(table, replace(plan.spec, options=options))


def worthwhile(groups: Sequence[FileGroupNeed], queries: float) -> tuple[FileGroupNeed, ...]:
    """Drop file groups that are rewritten only for gain and do not pay within a number of queries.

    As in OReO (SIGMOD 2024, arXiv 2405.04984), queries must earn back the cost of a rewrite: a group pays once they
    have saved twice its bytes, which a rewrite reads and writes.

    Examples
    --------
    >>> def group(index, worth, is_for_reads):
    ...     return FileGroupNeed(index, 1, 100, worth, False, "", is_for_reads)
    >>> groups = [group(1, 0.01, True), group(2, 0.02, True), group(3, 0.0, False)]
    >>> [each.index for each in worthwhile(groups, 100)]
    [2, 3]
    """
    return tuple(each for each in groups if not each.is_for_reads or each.saved_bytes * queries >= 2 * each.size)


def _since_last_rewrite(
    snapshots: Sequence[SnapshotFacts], remembered: int | None
) -> tuple[int | None, Sequence[SnapshotFacts]]:
    """Return the time of our newest rewrite in milliseconds since 1970, and the snapshots after it."""
    last = next((each for each in reversed(snapshots) if each.is_rewrite), None)
    if last is not None:
        return last.timestamp_ms, snapshots[snapshots.index(last) + 1 :]
    # If older snapshots are kept but this one is missing, the branch was rolled back.
    is_expired = remembered is not None and all(each.timestamp_ms > remembered for each in snapshots[:1])
    return (remembered if is_expired else None), snapshots


def formats(groups: Iterable[FileGroup]) -> set[str]:
    """Return the file formats of file groups, including their delete files."""
    tasks = [task for group in groups for task in group.tasks]
    files = [file for task in tasks for file in (task.data_file, *task.position_deletes, *task.equality_deletes)]
    return {file.file_format.value for file in files}


def _pays(table: Table, plan: RewritePlan, ratio: float | None) -> bool:
    """Return whether a plan with another ``max-scan-ratio`` has file groups; None keeps the plan's."""
    if ratio in (None, rewrite_options(plan.spec.options).max_scan_ratio) or not plan.groups:
        return bool(plan.groups)
    return bool(_planned_by(table, plan, str(ratio))[1].groups)


def _depth(table: Table, spec: RewriteSpec) -> float | None:
    return report(table, spec.sort_order, where=spec.where, branch=spec.branch).average_depth


def arrivals(snapshots: Sequence[SnapshotFacts]) -> Arrivals:
    """Return the sums of the snapshots' changes, without rewrites.

    Examples
    --------
    >>> summary = {"added-data-files": "3", "added-files-size": "900", "added-position-deletes": "7"}
    >>> arrivals([SnapshotFacts(1, 0, "append", summary), SnapshotFacts(2, 0, "replace", summary)])
    Arrivals(commits=1, data_files=3, data_bytes=900, position_delete_files=0, position_deletes=7, \
equality_delete_files=0, equality_deletes=0)
    """
    come = [each for each in snapshots if each.operation != REPLACE]

    def total(*keys: str) -> int:
        return sum(each.count(key) for each in come for key in keys)

    return Arrivals(
        len(come),
        total("added-data-files"),
        total("added-files-size"),
        total("added-position-delete-files", "added-dvs"),
        total("added-position-deletes"),
        total("added-equality-delete-files"),
        total("added-equality-deletes"),
    )


def _needs(table: Table, resolved: ResolvedSpec, plan: RewritePlan) -> tuple[FileGroupNeed, ...]:
    if plan.target is None:
        return ()
    sizes = size_rules(table, resolved.options, plan.target).sizes
    return tuple(_need(group, sizes, resolved.workload) for group in plan.groups)


def _need(group: FileGroup, sizes: FileSizes, workload: RequestedWorkload | None) -> FileGroupNeed:
    worth = group.saved_bytes_per_byte
    if workload is not None:
        # Savings cannot exceed reads.
        worth = min(worth, workload.mean([workload.read_of([task.data_file for task in group.tasks])]) or 0.0)
    file_sizes = [task.data_file.file_size_in_bytes for task in group.tasks]
    is_for_reads = not group.must_rewrite and any(sizes.least <= size <= sizes.most for size in file_sizes)
    figures = len(group.tasks), group.input_size, worth, group.must_rewrite
    return FileGroupNeed(group.index, *figures, group.reason, is_for_reads)
