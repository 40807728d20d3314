"""Fit the layout of each file group to its sample, as Spark does, and drop groups that are not predicted to gain."""

from __future__ import annotations

import logging
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pyiceberg.table import Table

from iceberg_zorder.layout.fit import cut, uncut
from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.metrics.history import SnapshotFacts, expected_seconds
from iceberg_zorder.metrics.scan_fraction import LaidOutSample
from iceberg_zorder.pyiceberg.bounds import KeptBounds
from iceberg_zorder.pyiceberg.files import (
    PLAN,
    DataFileTask,
    FileGroup,
    PartitionFiles,
    Progress,
    SampledGroup,
    display_name,
    left_files,
    silent,
)
from iceberg_zorder.pyiceberg.listing.listing import snapshots_to
from iceberg_zorder.pyiceberg.plan.rewrite_plan import RewritePlan, SampledPlan, planned_snapshot
from iceberg_zorder.pyiceberg.plan.rewrite_spec import ResolvedSpec, order_of_groups
from iceberg_zorder.pyiceberg.plan.sampling import (
    DrawnSample,
    Failed,
    SampleContext,
    draw_samples,
    group_scans,
    reraised,
)
from iceberg_zorder.pyiceberg.plan.scan_measure import (
    ScanMeasure,
    column_scans,
    sampled_group,
    scan_measure,
    table_files,
    values_outside,
    with_left,
    workload_scan,
)
from iceberg_zorder.rewrite.messages import (
    Reason,
    above_limit,
    left_out,
    one_file_each,
    other_layout,
    who_pays,
    why_nothing_of,
)
from iceberg_zorder.rewrite.metrics_check import MetricsFindings
from iceberg_zorder.sample.sampled_row_groups import LARGEST_CLUSTER_EFFECT, cluster_effect
from iceberg_zorder.sort.memory_budget import MemoryBudget

_LOG = logging.getLogger(__name__)


def sample_plan(
    table: Table,
    resolved: ResolvedSpec,
    plan: RewritePlan,
    progress: Progress,
    budget: MemoryBudget,
    failed: Failed = reraised,
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
        return plan.sampled()
    options, order = resolved.options, order_of_groups(table, resolved, plan.groups)
    context = SampleContext(table, order, options.layout, progress, failed, budget, workload=resolved.workload)
    fitted, measure, metrics = fit_layouts(context, plan.groups, plan.left_tasks)
    is_asked_for = options.rewrite_all or math.isinf(options.max_scan_ratio)
    chosen, left = list[SampledGroup](), list[PartitionFiles]()
    for each in fitted:
        if is_asked_for or each.group.must_rewrite or each.gains:
            chosen.append(each)
        else:
            left.append(left_files(each.group, _no_gain(each, measure.over)))
    plan = plan.unsampled(groups=tuple(each.group for each in chosen), left=(*plan.left, *left))
    if left and not chosen:
        counts = Counter(each.reason for each in left for _ in each.tasks)
        plan = replace(plan, message=why_nothing_of(plan.table, counts) + plan.limit_message)
    measure = with_left(measure, plan.left_tasks)
    snapshots = snapshots_to(table, planned_snapshot(table, plan))
    sampled = plan.sampled(
        sampled_groups=tuple(chosen),
        measure=measure,
        # Without a file group, no metrics mode is set.
        metrics=metrics if chosen else metrics.without_fixes(),
        scans=column_scans(measure, chosen),
        before=table_files(measure, [each.today for each in chosen]),
        after=table_files(measure, [each.planned for each in chosen]),
        expected_seconds=expected_seconds(snapshots, sum(each.group.input_size for each in chosen)),
        workload=workload_scan(measure, chosen),
    )
    is_all = options.rewrite_all
    warnings = _warnings(sampled, measure, snapshots, rewrite_all=is_all) if chosen else sampled.metrics.warnings
    for warning in warnings:
        if warning not in sampled.metrics.intended:
            _LOG.warning("%s", warning)
    return replace(sampled, warnings=tuple(warnings))


def _no_gain(sampled: SampledGroup, over: str) -> Reason:
    today, after = sampled.costs or (0.0, 0.0)
    return Reason("no-gain", {"before": round(today), "predicted": round(after), "over": over})


def _warnings(
    plan: SampledPlan, measure: ScanMeasure, snapshots: Sequence[SnapshotFacts], *, rewrite_all: bool
) -> list[str]:
    """Return the plan's warnings, one sentence each."""
    order = measure.order
    layouts = [each.layout for each in plan.sampled_groups]
    alike = [each.name for each in order.named if all(each.name in layout.left_out for layout in layouts)]
    warnings = left_out(plan.table, order.ignored, alike)
    if plan.before and plan.after:
        if plan.target and not plan.left_tasks:
            groups = [(each.partition_path, each.expected_output_files, each.input_size) for each in plan.groups]
            warnings += one_file_each(groups, plan.target.size)
        warnings += who_pays(plan.scans, plan.before, plan.after, measure.open_cost)
    warnings += above_limit(_sampled_costs(plan.sampled_groups))
    warnings += [*plan.metrics.warnings, *plan.metrics.intended]
    last = next((each for each in reversed(snapshots) if each.is_layout), None)
    files = sum(group.data_files_count for group in plan.groups)
    # If the summary has no total, count the files that may match the filter.
    total = snapshots[-1].summary.get("total-data-files", "") if snapshots else ""
    all_files = int(total) if total.isdecimal() else files + sum(each.data_files_count for each in plan.left)
    # With rewrite-all the change of layout is intended.
    is_intended = files == all_files and rewrite_all
    if last and not is_intended and not last.is_by(order.sort_order):
        warnings.append(other_layout(plan.table, last.sort_order, order.sort_order, files, all_files))
    return warnings


def _sampled_costs(groups: Sequence[SampledGroup]) -> Iterator[tuple[Reason, float]]:
    """Yield for each partition that is rewritten for its costs the reason, and the cost after it by the sample."""
    saved = defaultdict[str, float](float)
    reasons = dict[str, Reason]()
    for each in groups:
        reason = next((reason for reason in each.group.reasons if reason.code == "scan-ratio"), None)
        if reason and each.costs:
            reasons[each.group.partition_path] = reason
            saved[each.group.partition_path] += each.costs[0] - each.costs[1]
    for path, reason in reasons.items():
        yield reason, reason.parameters["before"] - saved[path]


def fit_layouts(
    context: SampleContext, groups: Sequence[FileGroup], left: Sequence[DataFileTask] = ()
) -> tuple[list[SampledGroup], ScanMeasure, MetricsFindings]:
    """Sample every file group, fit its layout, and predict its gain with as many held-out rows.

    Returns the readable groups in order, what they were measured by, and the columns whose bounds are missing or too
    short.
    """
    order = context.order
    scans = group_scans(groups, context.options)
    drawn = [*_drawn(context, draw_samples(context, scans, 2))]
    kept = KeptBounds.of(context.table, order.named)
    first = len(order.all) - len(order.named)
    weak = kept.weak(context.table, lambda place: (sample.key_pool(layout, first + place) for sample, layout in drawn))
    metrics = MetricsFindings(context.options.metrics_check, tuple(weak))
    lengths = context.sampled_lengths(scans[0].most)
    measure = scan_measure(context.table, order, kept.fixed(metrics.fixes), lengths, context.workload)
    outside = {} if context.workload else values_outside(measure, groups, left)
    fitted = [
        sampled_group(measure, sample.scan.group, _laid_out(sample, layout), outside.get(sample.scan.group.index))
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
    asked = context.workload.asked_of(group.example, context.options.workload_share)
    return cut(layout, sample.fitted, request, asked.boxes_in, asked.share)
