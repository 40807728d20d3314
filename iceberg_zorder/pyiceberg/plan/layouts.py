"""Fit the layout of each file group to its sample, as Spark does, and drop groups that are not predicted to gain."""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.types import NestedField

from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.fit import cut, uncut
from iceberg_zorder.layout.keys import NULL, KeyColumn, domain
from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.metrics.attainable import new_files
from iceberg_zorder.metrics.data_files import ColumnBounds, DataFiles
from iceberg_zorder.metrics.history import SnapshotFacts, expected_seconds
from iceberg_zorder.metrics.scan_cost import mean_cost, open_cost, planning_cost, scan_cost
from iceberg_zorder.metrics.scan_fraction import BoundedRows, FilterRead, LaidOutSample, filter_read
from iceberg_zorder.metrics.spread_rows import rows_for, spread_rows
from iceberg_zorder.pyiceberg.bounds import KeptBounds
from iceberg_zorder.pyiceberg.files import (
    PLAN,
    BytesRead,
    DataFileTask,
    FileGroup,
    GroupResult,
    Progress,
    SampledGroup,
    by_partition,
    display_name,
    joined_file,
    partition_of,
    silent,
)
from iceberg_zorder.pyiceberg.listing.listing import Listing, file_arrays, new_data_files, new_files_read, snapshots_to
from iceberg_zorder.pyiceberg.listing.requested_workload import RequestedWorkload
from iceberg_zorder.pyiceberg.plan.planner import order_of_groups
from iceberg_zorder.pyiceberg.plan.rewrite_plan import RewritePlan, SampledPlan, planned_snapshot
from iceberg_zorder.pyiceberg.plan.rewrite_spec import ResolvedSpec
from iceberg_zorder.pyiceberg.plan.sampling import (
    DrawnSample,
    Failed,
    SampleContext,
    draw_samples,
    group_scans,
    reraised,
)
from iceberg_zorder.pyiceberg.plan.sort_order import ResolvedSortOrder
from iceberg_zorder.rewrite.messages import (
    COLUMNS,
    QUERIES,
    Reason,
    costs_less,
    left_out,
    one_file_each,
    other_layout,
    who_pays,
    why_nothing_of,
    words,
)
from iceberg_zorder.rewrite.metrics_check import MetricsFindings
from iceberg_zorder.rewrite.result import ColumnScan, PredicateScan, TableFiles, WorkloadScan
from iceberg_zorder.sample.sampled_row_groups import LARGEST_CLUSTER_EFFECT, cluster_effect
from iceberg_zorder.select.gain import rows_to_spread
from iceberg_zorder.sort.memory_budget import MemoryBudget

_LOG = logging.getLogger(__name__)


class _Values(NamedTuple):
    """Made-up rows, for values that filters look for, and how many rows of data files they stand for."""

    sample: Sample
    rows: int


class ScanFractions:
    """Measures and predicts the reads of a plan's file groups, together with the files that the plan leaves.

    Sampled keys and bounds are cut to ``lengths`` bytes. A workload replaces the filters ``column = value``.
    """

    def __init__(
        self,
        table: Table,
        order: ResolvedSortOrder,
        kept: KeptBounds,
        lengths: Sequence[int | None],
        workload: RequestedWorkload | None = None,
        left: Sequence[DataFileTask] = (),
    ) -> None:
        self.workload = workload
        self._order = order
        self.kept = kept
        self.lengths = tuple(lengths)
        self.fields = [table.schema().find_field(each) for each in order.field_ids]
        """The columns in the table's current schema."""
        self.over = QUERIES if workload else COLUMNS
        """The set that scan fractions are averaged over, for messages."""
        self._open_cost = open_cost(table.properties)
        # Rows are spread over files in an order that is equal in both engines.
        files = sorted((task.data_file for task in left), key=lambda file: file.file_path)
        self._left = self.files(files) if files else None
        self._left_rows = Sample(())
        if self._left is not None:
            self._left_rows = spread_rows(self._left, rows_for(len(files)))[0]
        self._read_of_left = workload.read_of(files) if workload and files else None

    def files(self, files: Sequence[DataFile]) -> DataFiles:
        """Return data files as arrays, from their manifest entries."""
        return file_arrays(files, self.fields, self._order.named, lengths=self.lengths)

    def group(self, group: FileGroup, sample: LaidOutSample, others: _Values | None = None) -> SampledGroup:
        """Return a group with its measures, from its sample and data files.

        Filters look for the values of the group, and to judge the gain also for those of ``others``: the rows of its
        partition outside of it, as the choice of files did.
        """
        files = [task.data_file for task in group.tasks]
        looked_for = sample.held_out if sample.held_out.rows else sample.fitted
        values = Sample(looked_for.columns[len(self._order.partition) :])
        today, planned = self.files(files), self.planned_files(sample)
        measured = SampledGroup(group, sample.layout, values, today, planned)
        if self.workload:
            new = new_data_files(planned, self.fields, [group.like])
            found = self.workload.read_of(new, are_placed=group.like is not None)
            may_find = self.workload.may_find(files)
            planned_read = BytesRead(found.all, *(np.where(may_find, each, 0) for each in (found.read, found.files)))
            measured = replace(measured, read_today=self.workload.read_of(files), read_planned=planned_read)
        before, predicted = self.before([measured]), self.predicted([measured])
        all_before, all_predicted = before, predicted
        if others is not None:
            all_before = self._measured([(measured, today)], others=others)
            all_predicted = self._measured([(measured, planned)], self.kept.cuts, others)
        costs = self._costs(measured, all_before, all_predicted)
        return replace(
            measured,
            scan_fractions=fractions(predicted),
            scan_fractions_before=fractions(before),
            costs=costs,
            gains=costs is None or costs_less(*costs),
        )

    def result(self, sampled: SampledGroup, files: Sequence[DataFile]) -> GroupResult:
        """Measure the new files of a group."""
        read = self.workload.read_of(files) if self.workload else None
        return GroupResult(sampled, tuple(files), self.files(files), read)

    def planned_files(self, group: LaidOutSample) -> DataFiles:
        """Return the predicted new files; without bounds if the layout was fitted to no row."""
        if not group.fitted.rows:
            return _unknown(group, self._order.named)
        found = new_files({0: group}, self._order.all)
        columns = zip(found.columns[len(self._order.partition) :], self.kept.are_kept, strict=True)
        bounded = tuple(each if is_kept else _unbounded(each) for each, is_kept in columns)
        return DataFiles(found.partitions, found.rows, found.sizes, bounded)

    def _costs(
        self, group: SampledGroup, before: Mapping[str, FilterRead], predicted: Mapping[str, FilterRead]
    ) -> tuple[float, float] | None:
        """Return what a filter costs on average in a group's files today, and in its new files; None if unknown."""
        if self.workload:
            reads = [
                self.workload.mean_cost([each], self._open_cost) for each in (group.read_today, group.read_planned)
            ]
            counts = group.today.count, group.planned.count
            today, after = (
                None if read is None else read + planning_cost(count, self._open_cost)
                for read, count in zip(reads, counts, strict=True)
            )
            return None if today is None or after is None else (today, after)
        names = [name for name in before if name in predicted]
        if not names:
            return None
        old, new = (
            [
                scan_cost(found[name].fraction * files.bytes, found[name].files, files.count, self._open_cost)
                for name in names
            ]
            for found, files in ((before, group.today), (predicted, group.planned))
        )
        weight_of = dict(zip((each.name for each in self._order.named), self._order.named_weights, strict=True))
        weights = [weight_of[name] for name in names]
        return mean_cost(old, weights), mean_cost(new, weights)

    def values_outside(self, groups: Sequence[FileGroup], left: Iterable[DataFileTask]) -> dict[int, _Values]:
        """Spread the rows of each group's partition outside of the group; given are the other files of the table.

        Returns them by the group's index. Groups of several partitions, and those that are all of theirs, have none.
        """
        tasks = [*(task for each in groups for task in each.tasks), *left]
        # Rows are spread over files in an order that is equal in both engines.
        files = sorted((task.data_file for task in tasks), key=lambda file: file.file_path)
        places_of, partition = by_partition(files), {}
        for group in groups:
            keys = {partition_of(task.data_file) for task in group.tasks}
            if len(keys) == 1 and len(places_of[key := keys.pop()]) > len(group.tasks):
                partition[group.index] = key
        distinct = [*dict.fromkeys(partition.values())]
        spread = {}
        for key, rows in zip(distinct, rows_to_spread([len(places_of[each]) for each in distinct]), strict=True):
            described = self.files([files[place] for place in places_of[key]])
            spread[key] = described, *spread_rows(described, rows)
        outside = {}
        for group in groups:
            if (found := partition.get(group.index)) is not None:
                described, sample, places = spread[found]
                mine = {task.data_file.file_path for task in group.tasks}
                is_outside = np.array([files[place].file_path not in mine for place in places_of[found]], np.bool_)
                values = sample.take(np.flatnonzero(is_outside[places]))
                outside[group.index] = _Values(values, int(described.rows[is_outside].sum()))
        return outside

    def workload_scan(self, groups: Sequence[SampledGroup], results: Sequence[GroupResult] = ()) -> WorkloadScan | None:
        """Return the workload's reads of the table before and after; None without a workload."""
        if self.workload is None:
            return None
        reads = (
            [each.read_today for each in groups],
            [each.read_planned for each in groups],
            [each.read for each in results],
        )
        means = (self.workload.mean([*each, self._read_of_left] if each else ()) for each in reads)
        return WorkloadScan(len(self.workload.queries), *means)

    def column_scans(
        self, groups: Sequence[SampledGroup], results: Sequence[GroupResult] = ()
    ) -> tuple[ColumnScan, ...]:
        """Return the reads of the table by column: before, predicted, and actual if files were written."""
        found = self.before(groups), self.predicted(groups), self.actual(results)
        names = [column.name for column in self._order.named if column.name in found[0]]
        reads = ((name, [each.get(name) for each in found]) for name in names)
        return tuple(
            ColumnScan(
                name,
                *(None if each is None else each.fraction for each in of),
                *(None if each is None else each.files for each in of),
            )
            for name, of in reads
        )

    def table_files(self, groups: Iterable[DataFiles]) -> TableFiles:
        """Count the files of the table, given those of its file groups."""
        all_files = [*groups, *([] if self._left is None else [self._left])]
        return TableFiles(sum(each.count for each in all_files), sum(each.bytes for each in all_files))

    def before(self, groups: Sequence[SampledGroup]) -> dict[str, FilterRead]:
        """Measure today's data files, by column."""
        return self._measured([(each, each.today) for each in groups])

    def predicted(self, groups: Sequence[SampledGroup]) -> dict[str, FilterRead]:
        """Predict the new files, by column; files without bounds are always read."""
        return self._measured([(each, each.planned) for each in groups], self.kept.cuts)

    def actual(self, results: Sequence[GroupResult]) -> dict[str, FilterRead]:
        """Measure the written files, by column."""
        return self._measured([(each.sampled, each.written) for each in results])

    def _measured(
        self,
        groups: Sequence[tuple[SampledGroup, DataFiles]],
        kept: Sequence[Callable[[bytes], bytes] | None] | None = None,
        others: _Values | None = None,
    ) -> dict[str, FilterRead]:
        """Measure data files of groups together with the files that are left, by column with values.

        ``kept`` truncates bounds that are not truncated yet, by column. The values of ``others`` are looked for, too.
        """
        found = {}
        for place, column in enumerate(self._order.named):
            bounded = [
                BoundedRows(files.columns[place], files.sizes, group.values.columns[place], group.group.rows)
                for group, files in groups
            ]
            if self._left is not None and groups:
                of_left = self._left.columns[place], self._left.sizes, self._left_rows.columns[place]
                bounded.append(BoundedRows(*of_left, int(self._left.rows.sum())))
            if others is not None:
                none = np.zeros(0, np.int64)
                bounds = groups[0][1].columns[place].take(none)
                bounded.append(BoundedRows(bounds, none, others.sample.columns[place], others.rows))
            read = filter_read(bounded, kept[place] if kept else None)
            if read is not None:
                found[column.name] = read
        return found


def fractions(found: Mapping[str, FilterRead]) -> dict[str, float]:
    """Return the scan fractions only."""
    return {name: read.fraction for name, read in found.items()}


def predicate_scan(
    text: str,
    listing: Listing,
    groups: Sequence[FileGroup],
    sampled: Sequence[SampledGroup],
    fields: Sequence[NestedField],
) -> PredicateScan:
    """Return the share of file groups that a condition reads today, and of their new files if sampled."""
    files = [task.data_file for group in groups for task in group.tasks]
    before = _share([(file.file_size_in_bytes, listing.may_match(file)) for file in files])
    new: list[tuple[int, bool]] = []
    for each in sampled:
        read = new_files_read(listing, each.planned, fields, [each.group.like])
        # The new files hold the values of all old files together.
        together = joined_file([task.data_file for task in each.group.tasks], listing.kept_fields)
        read &= listing.values_may_match(together)
        new += zip(each.planned.sizes.tolist(), read.tolist(), strict=True)
    return PredicateScan(text, before, _share(new))


def _share(files: Sequence[tuple[int, bool]]) -> float | None:
    total = sum(size for size, _ in files)
    return sum(size for size, is_read in files if is_read) / total if total else None


def _unbounded(bounds: ColumnBounds) -> ColumnBounds:
    """Return bounds that are unknown, with the counts of values."""
    lower, upper = (KeyColumn(each.keys, np.full(each.rows, NULL, np.uint8)) for each in (bounds.lower, bounds.upper))
    return ColumnBounds(bounds.column, lower, upper, bounds.valued)


def _unknown(group: LaidOutSample, columns: Sequence[ClusteringColumn]) -> DataFiles:
    """Return a file group as one file that every filter reads."""
    state = np.array([NULL], np.uint8)
    bounds = []
    for column in columns:
        keys = np.zeros(1, np.int64) if domain(column.type) == "long" else pa.array([b""], pa.large_binary())
        bounds.append(ColumnBounds(column, KeyColumn(keys, state), KeyColumn(keys, state), np.ones(1)))
    one = np.zeros(1, np.int64)
    return DataFiles(one, one + group.rows, one + group.size, tuple(bounds))


def fit_plan(
    work: ResolvedSpec, plan: RewritePlan, progress: Progress, budget: MemoryBudget, failed: Failed = reraised
) -> SampledPlan:
    """Sample the file groups of a plan, unless sampled, and leave those without gain, unless they must be rewritten.

    Groups that cannot be read are reported to ``failed`` and dropped. Warnings are logged, except about metrics modes
    that only an execution sets.
    """
    if plan.groups:
        progress(PLAN, sum(group.rows for group in plan.groups), sum(group.input_size for group in plan.groups))
    if isinstance(plan, SampledPlan):
        return plan
    if not plan.groups:
        return _sampled(plan, (), ())
    options, order = work.options, order_of_groups(work, plan.groups)
    context = SampleContext(work.table, order, options.layout, progress, failed, budget, workload=work.workload)
    fitted, measure, metrics = fit_layouts(context, plan.groups, plan.left_tasks)
    is_asked_for = options.rewrite_all or math.isinf(options.max_scan_ratio)
    chosen, left = list[SampledGroup](), list[SampledGroup]()
    for each in fitted:
        (chosen if is_asked_for or each.group.must_rewrite or each.gains else left).append(each)
    if left and not chosen:
        found_left = Counter(words(_why_left(each, measure.over)) for each in left for _ in each.group.tasks)
        plan = replace(plan, message=why_nothing_of(plan.table, found_left) + plan.limit_message)
    snapshots = snapshots_to(work.table, planned_snapshot(work.table, plan))
    found = _sampled(plan, chosen, [replace(each.group, reasons=_why_left(each, measure.over)) for each in left])
    measure = ScanFractions(work.table, order, measure.kept, measure.lengths, work.workload, found.left_tasks)
    found = replace(
        found,
        order=order,
        kept=measure.kept,
        lengths=measure.lengths,
        # Without a file group, no metrics mode is set.
        metrics=metrics if chosen else metrics.without_fixes(),
        scans=measure.column_scans(chosen) if chosen else (),
        before=measure.table_files(each.today for each in chosen) if chosen else None,
        after=measure.table_files(each.planned for each in chosen) if chosen else None,
        expected_seconds=expected_seconds(snapshots, sum(each.group.input_size for each in chosen)),
        workload=measure.workload_scan(chosen),
    )
    warnings = _warnings(work, found, snapshots) if chosen else found.metrics.warnings
    for warning in warnings:
        if warning not in found.metrics.intended:
            _LOG.warning("%s", warning)
    return replace(found, warnings=tuple(warnings))


def _sampled(plan: RewritePlan, chosen: Sequence[SampledGroup], left: Sequence[FileGroup]) -> SampledPlan:
    return SampledPlan(
        plan.table,
        plan.table_uuid,
        plan.snapshot_id,
        plan.schema_id,
        plan.spec_id,
        plan.spec,
        tuple(each.group for each in chosen),
        (*plan.left, *left),
        plan.message,
        plan.target,
        tuple(chosen),
        rest=plan.rest,
    )


def _why_left(sampled: SampledGroup, over: str) -> tuple[Reason]:
    today, after = sampled.costs or (0.0, 0.0)
    return (Reason("no-gain", {"before": round(today), "predicted": round(after), "over": over}),)


def _warnings(work: ResolvedSpec, plan: SampledPlan, snapshots: Sequence[SnapshotFacts]) -> list[str]:
    """Return the plan's warnings, one sentence each."""
    assert plan.order is not None  # noqa: S101
    order, rewrite_all = plan.order, work.options.rewrite_all
    layouts = [each.layout for each in plan.sampled_groups]
    alike = [each.name for each in order.named if all(each.name in layout.left_out for layout in layouts)]
    found = left_out(plan.table, order.ignored, alike)
    if plan.before and plan.after:
        if plan.target and not plan.left_tasks:
            groups = [(each.partition_path, each.expected_output_files, each.input_size) for each in plan.groups]
            found += one_file_each(groups, plan.target.size)
        found += who_pays(plan.scans, plan.before, plan.after, open_cost(work.table.properties))
    found += [*plan.metrics.warnings, *plan.metrics.intended]
    last = next((each for each in reversed(snapshots) if each.is_layout), None)
    files = sum(group.data_files_count for group in plan.groups)
    # If the summary has no total, count the files that may match the filter.
    total = snapshots[-1].summary.get("total-data-files", "") if snapshots else ""
    all_files = int(total) if total.isdecimal() else files + sum(each.data_files_count for each in plan.left)
    # With rewrite-all the change of layout is intended.
    is_asked_for = files == all_files and rewrite_all
    if last and not is_asked_for and not last.is_by(order.sort_order):
        found.append(other_layout(plan.table, last.sort_order, order.sort_order, files, all_files))
    return found


def fit_layouts(
    context: SampleContext, groups: Sequence[FileGroup], left: Sequence[DataFileTask] = ()
) -> tuple[list[SampledGroup], ScanFractions, MetricsFindings]:
    """Sample every file group, fit its layout, and predict its gain with as many held-out rows.

    Returns the readable groups in order, their measurement, and the columns whose bounds are missing or too short.
    """
    order = context.order
    scans = group_scans(groups, context.options)
    drawn = [*_drawn(context, draw_samples(context, scans, 2))]
    kept = KeptBounds.of(context.table, order.named)
    first = len(order.all) - len(order.named)
    weak = kept.weak(context.table, lambda place: (sample.key_pool(layout, first + place) for sample, layout in drawn))
    metrics = MetricsFindings(context.options.metrics_check, tuple(weak))
    lengths = context.sampled_lengths(scans[0].most)
    judged_by = kept.fixed(metrics.fixes), lengths, context.workload
    measure = ScanFractions(context.table, order, *judged_by)
    outside = {} if context.workload else measure.values_outside(groups, left)
    fitted = [
        measure.group(sample.scan.group, _laid_out(sample, layout), outside.get(sample.scan.group.index))
        for sample, layout in drawn
    ]
    for column in order.named:
        alike = sum(column.name in each.layout.left_out for each in fitted)
        if 0 < alike < len(fitted):
            _LOG.info(
                "Ignored clustering column %s of %s in %s of %s file groups, because it has only one value there",
                *(column.name, display_name(context.table), alike, len(fitted)),
            )
    return fitted, measure, metrics


def _drawn(context: SampleContext, samples: list[DrawnSample]) -> Iterator[tuple[DrawnSample, Layout]]:
    """Fit layouts; sample again if row groups turn out to be clusters."""
    for sample in samples:
        layout = _layout(context, sample)
        is_part = sample.scan.row_groups is not None and sample.fitted.rows > 0
        files = layout.file(sample.fitted) if is_part else None
        if files is None or cluster_effect(files, sample.row_groups, layout.files) <= LARGEST_CLUSTER_EFFECT:
            yield sample, layout
            continue
        scan = sample.scan.of_clusters(context.options.sample_seed)
        for denser in draw_samples(replace(context, progress=silent), [scan], 2):
            yield denser, _layout(context, denser)


def _laid_out(sample: DrawnSample, layout: Layout) -> LaidOutSample:
    group = sample.scan.group
    return LaidOutSample(layout, sample.fitted, sample.held_out, group.rows, group.input_size, layout.files)


def _layout(context: SampleContext, sample: DrawnSample) -> Layout:
    group = sample.scan.group
    request = context.order.layout_request(context.options, group.expected_output_files, group.extents)
    layout = uncut(context.order.all, sample.fitted, request)
    if context.workload is None:
        return cut(layout, sample.fitted, request)
    asked = context.workload.asked_of(group.like, context.options.workload_share)
    return cut(layout, sample.fitted, request, asked.boxes_in, asked.share)
