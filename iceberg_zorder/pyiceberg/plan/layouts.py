"""Fit the layout of each file group to its sample, as Spark does, and drop groups that are not predicted to gain."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

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
from iceberg_zorder.metrics.scan_fraction import BoundedRows, LaidOutSample, scan_fraction_of_groups
from iceberg_zorder.pyiceberg.bounds import KeptBounds
from iceberg_zorder.pyiceberg.files import (
    PLAN,
    BytesRead,
    FileGroup,
    GroupResult,
    Progress,
    SampledGroup,
    display_name,
    joined_file,
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
from iceberg_zorder.pyiceberg.plan.selection import OPTION, PROPERTY
from iceberg_zorder.pyiceberg.plan.sort_order import ResolvedSortOrder
from iceberg_zorder.rewrite.messages import (
    COLUMNS,
    QUERIES,
    Reason,
    gains_and_losses,
    left_out,
    other_layout,
    reads_less,
    reads_no_more,
    why_nothing,
)
from iceberg_zorder.rewrite.metrics_check import MetricsFindings
from iceberg_zorder.rewrite.result import ColumnScan, PredicateScan, WorkloadScan
from iceberg_zorder.sample.sampled_row_groups import LARGEST_CLUSTER_EFFECT, cluster_effect
from iceberg_zorder.sort.memory_budget import MemoryBudget

_LOG = logging.getLogger(__name__)


class ScanFractions:
    """Measures file groups of one plan, all by the same function.

    The sampled keys of columns are cut to some bytes, and bounds with them, as ``lengths`` says. With a workload,
    groups are judged by its queries instead of by equality with values of the columns.
    """

    def __init__(
        self,
        table: Table,
        order: ResolvedSortOrder,
        kept: KeptBounds,
        lengths: Sequence[int | None],
        workload: RequestedWorkload | None = None,
    ) -> None:
        self.workload = workload
        self._order = order
        self.kept = kept
        self.lengths = tuple(lengths)
        self.fields = [table.schema().find_field(each) for each in order.field_ids]
        """The columns in the table's schema as it is now."""
        self.over = QUERIES if workload else COLUMNS
        """What scan fractions are averaged over, for messages."""

    def files(self, files: Sequence[DataFile]) -> DataFiles:
        """Describe data files by their manifest entries."""
        return file_arrays(files, self.fields, self._order.named, lengths=self.lengths)

    def group(self, group: FileGroup, sample: LaidOutSample) -> SampledGroup:
        """Measure a group by its sample and its data files."""
        files = [task.data_file for task in group.tasks]
        looked_for = sample.held_out if sample.held_out.rows else sample.fitted
        values = Sample(looked_for.columns[len(self._order.partition) :])
        today = self.files(files)
        found = SampledGroup(group, sample.layout, values, today, today)
        if self.workload:
            found = replace(found, read_today=self.workload.read_of(files), may_find=self.workload.may_find(files))
        return self.with_layout(replace(found, scan_fractions_before=self.before([found])), sample)

    def with_layout(self, measured: SampledGroup, sample: LaidOutSample, files: int | None = None) -> SampledGroup:
        """Take a layout for another one of the same group, of so many files if another number is expected."""
        group, planned, read = measured.group, self.planned_files(sample), None
        if files is not None:
            group = replace(group, expected_output_files=files)
        if self.workload and measured.may_find is not None:
            new = new_data_files(planned, self.fields, [group.like])
            size, found = self.workload.read_of(new, are_placed=group.like is not None)
            read = BytesRead(size, np.where(measured.may_find, found, 0))
        laid_out = replace(measured, group=group, layout=sample.layout, planned=planned, read_planned=read)
        predicted = self.predicted([laid_out])
        before, after = self._order.mean(measured.scan_fractions_before), self._order.mean(predicted)
        if scan := self.workload_scan([laid_out]):
            before, after = scan.before, scan.predicted
        means = None if before is None or after is None else (before, after)
        return replace(laid_out, scan_fractions=predicted, means=means, gains=means is None or reads_less(*means))

    def result(self, sampled: SampledGroup, files: Sequence[DataFile]) -> GroupResult:
        """Measure the new files of a group."""
        read = self.workload.read_of(files) if self.workload else None
        return GroupResult(sampled, tuple(files), self.files(files), read)

    def planned_files(self, group: LaidOutSample) -> DataFiles:
        """Describe the files that a layout is predicted to make; of one that was fitted to no row nothing is known."""
        if not group.fitted.rows:
            return _unknown(group, self._order.named)
        found = new_files({0: group}, self._order.all)
        columns = zip(found.columns[len(self._order.partition) :], self.kept.are_kept, strict=True)
        bounded = tuple(each if is_kept else _unbounded(each) for each, is_kept in columns)
        return DataFiles(found.partitions, found.rows, found.sizes, bounded)

    def means(self, groups: Sequence[SampledGroup]) -> tuple[float | None, float | None]:
        """Average over the workload's queries, or over the columns by their weights: before, and as predicted."""
        scan = self.workload_scan(groups)
        if scan is not None:
            return scan.before, scan.predicted
        return self._order.mean(self.before(groups)), self._order.mean(self.predicted(groups))

    def workload_scan(self, groups: Sequence[SampledGroup], results: Sequence[GroupResult] = ()) -> WorkloadScan | None:
        """Tell what the queries of the workload read of groups, and of their new files; None without one."""
        if self.workload is None:
            return None
        reads = (
            [each.read_today for each in groups],
            [each.read_planned for each in groups],
            [each.read for each in results],
        )
        return WorkloadScan(len(self.workload.queries), *map(self.workload.mean, reads))

    def column_scans(
        self, groups: Sequence[SampledGroup], results: Sequence[GroupResult] = ()
    ) -> tuple[ColumnScan, ...]:
        """Give the scan fractions of file groups by column: before, predicted, and actual if files are written."""
        before, predicted, actual = self.before(groups), self.predicted(groups), self.actual(results)
        names = [column.name for column in self._order.named if column.name in before]
        return tuple(ColumnScan(name, before[name], predicted.get(name), actual.get(name)) for name in names)

    def before(self, groups: Sequence[SampledGroup]) -> dict[str, float]:
        """Measure, by column, among the data files of today."""
        return self._measured([(each, each.today) for each in groups])

    def predicted(self, groups: Sequence[SampledGroup]) -> dict[str, float]:
        """Predict by column; without bounds every file is read."""
        found = self._measured([(each, each.planned) for each in groups], self.kept.cuts)
        kept = {column.name for column, is_kept in zip(self._order.named, self.kept.are_kept, strict=True) if is_kept}
        return {name: fraction if name in kept else 1.0 for name, fraction in found.items()}

    def actual(self, results: Sequence[GroupResult]) -> dict[str, float]:
        """Measure, by column, among the files that were written."""
        return self._measured([(each.sampled, each.written) for each in results])

    def _measured(
        self,
        groups: Sequence[tuple[SampledGroup, DataFiles]],
        kept: Sequence[Callable[[bytes], bytes] | None] | None = None,
    ) -> dict[str, float]:
        """Measure, by column, among data files of file groups; columns without a value are left out.

        Where their bounds are not truncated yet, ``kept`` tells for each column what is kept of a key.
        """
        found = {}
        for place, column in enumerate(self._order.named):
            bounded = [
                BoundedRows(files.columns[place], files.sizes, group.values.columns[place], group.group.rows)
                for group, files in groups
            ]
            fraction = scan_fraction_of_groups(bounded, kept[place] if kept else None)
            if fraction is not None:
                found[column.name] = fraction
        return found


def predicate_scan(
    text: str,
    listing: Listing,
    groups: Sequence[FileGroup],
    sampled: Sequence[SampledGroup],
    fields: Sequence[NestedField],
) -> PredicateScan:
    """Measure what a condition reads of file groups, and predict it of their new files once they are sampled."""
    files = [task.data_file for group in groups for task in group.tasks]
    before = _share([(file.file_size_in_bytes, listing.may_match(file)) for file in files])
    new: list[tuple[int, bool]] = []
    for each in sampled:
        read = new_files_read(listing, each.planned, fields, [each.group.like])
        # What data files hold together, those hold that are made of them.
        together = joined_file([task.data_file for task in each.group.tasks], listing.kept_fields)
        read &= listing.values_may_match(together)
        new += zip(each.planned.sizes.tolist(), read.tolist(), strict=True)
    return PredicateScan(text, before, _share(new))


def _share(files: Sequence[tuple[int, bool]]) -> float | None:
    total = sum(size for size, _ in files)
    return sum(size for size, is_read in files if is_read) / total if total else None


def _unbounded(bounds: ColumnBounds) -> ColumnBounds:
    """Take the bounds away, and leave how many values there are."""
    lower, upper = (KeyColumn(each.keys, np.full(each.rows, NULL, np.uint8)) for each in (bounds.lower, bounds.upper))
    return ColumnBounds(bounds.column, lower, upper, bounds.valued)


def _unknown(group: LaidOutSample, columns: Sequence[ClusteringColumn]) -> DataFiles:
    """Describe a file group as a file that every filter reads."""
    state = np.array([NULL], np.uint8)
    bounds = []
    for column in columns:
        keys = np.zeros(1, np.int64) if domain(column.type) == "long" else pa.array([b""], pa.large_binary())
        bounds.append(ColumnBounds(column, KeyColumn(keys, state), KeyColumn(keys, state), np.ones(1)))
    one = np.zeros(1, np.int64)
    return DataFiles(one, one + group.rows, one + group.size, tuple(bounds))


def makes_few(files: int, new_files: int) -> bool:
    """Tell whether new files are so much fewer that this is worth a rewrite, if filters read no more: half as many.

    Examples
    --------
    >>> makes_few(5, 2), makes_few(5, 3)
    (True, False)
    """
    return 2 * new_files <= files


@dataclass(frozen=True)
class MoreFiles:
    """Into how many files a group may be laid out that would not gain as it was planned."""

    share: int  # one for each so many of its data files, at most; 0 for no more than planned
    is_by_size: bool  # whether few files are worth a rewrite whatever filters read


AS_PLANNED = MoreFiles(0, False)
"""No more than planned."""


def fit_plan(
    work: ResolvedSpec, plan: RewritePlan, progress: Progress, budget: MemoryBudget, failed: Failed = reraised
) -> SampledPlan:
    """Sample the file groups of a plan, unless it is sampled, and leave those that would not gain, unless they are due.

    Those that cannot be read, and are told of, are no longer in it. What its user should know is logged, but for what
    is set only if it is executed.
    """
    if plan.groups:
        progress(PLAN, sum(group.rows for group in plan.groups), sum(group.input_size for group in plan.groups))
    if isinstance(plan, SampledPlan):
        return plan
    if not plan.groups:
        return _sampled(plan, (), ())
    options, order = work.options, order_of_groups(work, plan.groups)
    context = SampleContext(work.table, order, options.layout, progress, failed, budget, workload=work.workload)
    is_given = plan.target is not None and plan.target.source in (OPTION, PROPERTY)
    share = 0 if options.rewrite_all else 2 if is_given else 1
    more = MoreFiles(share, math.isinf(options.max_scan_ratio))
    fitted, measure, metrics = fit_layouts(context, plan.groups, more)
    chosen, left = list[SampledGroup](), list[SampledGroup]()
    for each in fitted:
        (chosen if options.rewrite_all or each.group.must_rewrite or each.gains else left).append(each)
    if left and not chosen:
        before, predicted = measure.means(left)
        said = why_nothing(plan.table, len(left), before or 0.0, predicted or 0.0, over=measure.over)
        plan = replace(plan, message=said + plan.limit_message)
    snapshots = snapshots_to(work.table, planned_snapshot(work.table, plan))
    found = replace(
        _sampled(plan, chosen, [_not_gaining(each, measure.over) for each in left]),
        order=order,
        kept=measure.kept,
        lengths=measure.lengths,
        # Without a file group nothing is done about the columns whose bounds do not serve.
        metrics=metrics if chosen else metrics.without_fixes(),
        scan_fractions=measure.predicted(chosen),
        scan_fractions_before=measure.before(chosen),
        expected_seconds=expected_seconds(snapshots, sum(each.group.input_size for each in chosen)),
        workload=measure.workload_scan(chosen),
    )
    warnings = _warnings(work, found, measure, snapshots) if chosen else found.metrics.warnings
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
    )


def _not_gaining(sampled: SampledGroup, over: str) -> FileGroup:
    before, predicted = sampled.means or (0.0, 0.0)
    why = Reason("no-gain", {"before": before, "predicted": predicted, "over": over})
    return replace(sampled.group, reasons=(why,))


def _warnings(
    work: ResolvedSpec, plan: SampledPlan, measure: ScanFractions, snapshots: Sequence[SnapshotFacts]
) -> list[str]:
    """Say what the user should know, in sentences."""
    assert plan.order is not None  # noqa: S101
    order, rewrite_all = plan.order, work.options.rewrite_all
    layouts = [each.layout for each in plan.sampled_groups]
    alike = [each.name for each in order.named if all(each.name in layout.left_out for layout in layouts)]
    found = left_out(plan.table, order.ignored, alike)
    before, predicted = measure.means(plan.sampled_groups)
    if before is not None and predicted is not None:
        by_column, means = (plan.scan_fractions_before, plan.scan_fractions), (before, predicted)
        found += gains_and_losses(*by_column, means, rewrite_all=rewrite_all, over=measure.over)
    found += [*plan.metrics.warnings, *plan.metrics.intended]
    last = next((each for each in reversed(snapshots) if each.is_layout), None)
    files = sum(group.data_files_count for group in plan.groups)
    # Where the snapshot does not tell how many there are, those count that the filter leaves.
    total = snapshots[-1].summary.get("total-data-files", "") if snapshots else ""
    all_files = int(total) if total.isdecimal() else files + sum(each.data_files_count for each in plan.left)
    # Who rewrites everything on purpose knows of it.
    is_asked_for = files == all_files and rewrite_all
    if last and not is_asked_for and not last.is_by(order.sort_order):
        found.append(other_layout(plan.table, last.sort_order, order.sort_order, files, all_files))
    return found


def fit_layouts(
    context: SampleContext, groups: Sequence[FileGroup], more: MoreFiles = AS_PLANNED
) -> tuple[list[SampledGroup], ScanFractions, MetricsFindings]:
    """Sample every file group, fit its layout, and predict what it is worth by as many rows more.

    Returns the groups that could be read, in order, what measures them, and the columns whose bounds do not serve.
    """
    order = context.order
    scans = group_scans(groups, context.options)
    drawn = [*_drawn(context, draw_samples(context, scans, 2))]
    kept = KeptBounds.of(context.table, order.named)
    first = len(order.all) - len(order.named)
    weak = kept.weak(context.table, lambda place: (sample.key_pool(layout, first + place) for sample, layout in drawn))
    metrics = MetricsFindings(context.options.metrics_check, tuple(weak))
    lengths = context.sampled_lengths(scans[0].most)
    measure = ScanFractions(context.table, order, kept.fixed(metrics.fixes), lengths, context.workload)
    fitted = [_fitted(context, measure, *each, more) for each in drawn]
    for column in order.named:
        alike = sum(column.name in each.layout.left_out for each in fitted)
        if 0 < alike < len(fitted):
            _LOG.info(
                "Left clustering column %s of %s out in %s of %s file groups: it has one value only there",
                *(column.name, display_name(context.table), alike, len(fitted)),
            )
    return fitted, measure, metrics


def _drawn(context: SampleContext, samples: list[DrawnSample]) -> Iterator[tuple[DrawnSample, Layout]]:
    """Fit layouts, and draw again where row groups turn out to be clusters."""
    for sample in samples:
        layout = _layout(context, sample, sample.scan.group.expected_output_files)
        is_part = sample.scan.row_groups is not None and sample.fitted.rows > 0
        files = layout.file(sample.fitted) if is_part else None
        if files is None or cluster_effect(files, sample.row_groups, layout.files) <= LARGEST_CLUSTER_EFFECT:
            yield sample, layout
            continue
        scan = sample.scan.of_clusters(context.options.sample_seed)
        for denser in draw_samples(replace(context, progress=silent), [scan], 2):
            yield denser, _layout(context, denser, scan.group.expected_output_files)


def _fitted(
    context: SampleContext, measure: ScanFractions, drawn: DrawnSample, layout: Layout, more: MoreFiles
) -> SampledGroup:
    """Measure a group by its layout; where filters would read no less, by layouts of more files, and take the best."""
    group = drawn.scan.group
    sample = LaidOutSample(layout, drawn.fitted, drawn.held_out, group.rows, group.input_size)
    found = [measure.group(group, sample)]
    files = group.expected_output_files
    most = group.data_files_count // more.share if more.share else 0
    while files < most and not found[-1].gains:
        files = min(2 * files, most)
        sample = replace(sample, layout=_cut(context, drawn, layout, files))
        found.append(measure.with_layout(found[0], sample, files))
    if found[-1].gains:
        return found[-1]
    compacted = [replace(each, gains=_gains_by_compaction(each, more)) for each in found]
    # What is rewritten whatever is gained gets the files that were planned.
    if group.must_rewrite:
        return compacted[0]
    best = min(compacted, key=lambda each: each.means[1] if each.means else 0.0)
    return next((each for each in compacted if each.gains), best)


def _gains_by_compaction(sampled: SampledGroup, more: MoreFiles) -> bool:
    """Tell whether a group becomes few files, and filters are predicted to read no more, or do not count."""
    are_few = makes_few(sampled.group.data_files_count, sampled.layout.files)
    return are_few and (more.is_by_size or sampled.means is None or reads_no_more(*sampled.means))


def _layout(context: SampleContext, sample: DrawnSample, files: int) -> Layout:
    request = context.order.layout_request(context.options, files)
    return _cut(context, sample, uncut(context.order.all, sample.fitted, request), files)


def _cut(context: SampleContext, sample: DrawnSample, layout: Layout, files: int) -> Layout:
    request = context.order.layout_request(context.options, files)
    if context.workload is None:
        return cut(layout, sample.fitted, request)
    asked = context.workload.asked_of(sample.scan.group.like, context.options.workload_share)
    return cut(layout, sample.fitted, request, asked.boxes_in, asked.share)
