"""Fit the layouts of file groups to samples, as Spark fits them, and leave what is not predicted to gain by them."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from iceberg_zorder.layout.fit import fit
from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.pyiceberg.display import display_name
from iceberg_zorder.pyiceberg.file_groups import FileGroup
from iceberg_zorder.pyiceberg.kept_bounds import KeptBounds
from iceberg_zorder.pyiceberg.plan.sampling import DrawnSample, SampleContext, draw_samples, group_scans
from iceberg_zorder.pyiceberg.plan.scan_fractions import MeasuredGroup, ScanFractions
from iceberg_zorder.pyiceberg.progress import silent
from iceberg_zorder.report.scan_prediction import SampledGroup
from iceberg_zorder.request.metrics_check import CheckedMetrics
from iceberg_zorder.request.rewrite_messages import reads_less, reads_no_more
from iceberg_zorder.sample.sampled_row_groups import LARGEST_CLUSTER_EFFECT, cluster_effect

_LOG = logging.getLogger(__name__)


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
    """Into how many files a group may be laid out that would not gain as it was planned.

    Examples
    --------
    >>> list(MoreFiles(1, False).than(1, 5)), list(MoreFiles(2, False).than(1, 5)), list(MoreFiles(0, False).than(1, 5))
    ([2, 4, 5], [2], [])
    """

    share: int  # one for each so many of its data files, at most; 0 for no more than planned
    is_by_size: bool  # whether few files are worth a rewrite whatever filters read

    def than(self, files: int, of: int) -> Iterator[int]:
        """Double a number of files, up to the most that come of so many."""
        most = of // self.share if self.share else 0
        while files < most:
            files = min(2 * files, most)
            yield files


AS_PLANNED = MoreFiles(0, False)
"""No more than planned."""


@dataclass(frozen=True, eq=False)
class PlannedLayout:
    """The layout of a file group, and what it is predicted to be worth.

    By column, the predicted scan fraction of ``column = value`` is the share of the group's new files, in bytes, whose
    lower/upper bounds will not rule it out, on average over the values of the rows, in [0, 1]; a column without a value
    is left out. Beside it stands the same of its data files as they are, and what both are computed from.
    """

    layout: Layout
    scan_fractions: Mapping[str, float]
    scan_fractions_before: Mapping[str, float]
    measured: MeasuredGroup


@dataclass(frozen=True, eq=False)
class FittedGroup:
    """A file group, of as many files as its layout makes, with that and the sample that it was fitted to.

    The means are the scan fractions of today and as predicted, on average; None if no sampled row has a value.
    """

    group: FileGroup
    planned: PlannedLayout
    sampled: SampledGroup
    means: tuple[float, float] | None
    is_by_size: bool  # whether few files are worth a rewrite whatever filters read

    @property
    def gains(self) -> bool:
        """Whether it is predicted that filters read less of it, or of few files no more; or nothing is known."""
        return self.is_read_less or self.is_gathered

    @property
    def is_read_less(self) -> bool:
        """Whether it is predicted that filters read less of it, or nothing is known."""
        return self.means is None or reads_less(*self.means)

    @property
    def is_gathered(self) -> bool:
        """Whether it becomes few files, and filters are predicted to read no more, or do not count."""
        are_few = makes_few(len(self.group.tasks), self.planned.layout.files)
        return are_few and (self.is_by_size or self.means is None or reads_no_more(*self.means))


class FittedGroups(NamedTuple):
    """The file groups that could be read, in the order of the plan; what measures them; columns of weak bounds."""

    groups: tuple[FittedGroup, ...]
    measure: ScanFractions
    metrics: CheckedMetrics


def fit_layouts(context: SampleContext, groups: Sequence[FileGroup], more: MoreFiles = AS_PLANNED) -> FittedGroups:
    """Sample every file group, fit its layout, and predict what it is worth by as many rows more."""
    order = context.order
    scans = group_scans(groups, context.options)
    drawn = [*_drawn(context, draw_samples(context, scans, 2))]
    kept = KeptBounds.of(context.table, order.named)
    first = len(order.all) - len(order.named)
    weak = kept.weak(context.table, lambda place: (sample.key_pool(layout, first + place) for sample, layout in drawn))
    metrics = CheckedMetrics(context.options.metrics_check, tuple(weak))
    lengths = context.kept_of_samples.sampled_lengths(scans[0].most)
    measure = ScanFractions(context.table, order, kept.fixed(metrics.fixes), lengths, context.workload)
    fitted = tuple(_fitted(context, measure, *each, more) for each in drawn)
    for column in order.named:
        alike = sum(column.name in each.planned.layout.left_out for each in fitted)
        if 0 < alike < len(fitted):
            _LOG.info(
                "Left clustering column %s of %s out in %s of %s file groups: it has one value only there",
                *(column.name, display_name(context.table), alike, len(fitted)),
            )
    return FittedGroups(fitted, measure, metrics)


def _drawn(context: SampleContext, samples: list[DrawnSample]) -> Iterator[tuple[DrawnSample, Layout]]:
    """Fit layouts, and draw again where row groups turn out to be clusters."""
    for sample in samples:
        layout = _layout(context, sample, sample.scan.group.expected_output_files)
        if not _is_of_clusters(sample, layout):
            yield sample, layout
            continue
        scan = sample.scan.of_clusters(context.options.sample_seed)
        for denser in draw_samples(replace(context, progress=silent), [scan], 2):
            yield denser, _layout(context, denser, scan.group.expected_output_files)


def _fitted(
    context: SampleContext, measure: ScanFractions, sample: DrawnSample, layout: Layout, more: MoreFiles
) -> FittedGroup:
    group = sample.scan.group
    sampled = SampledGroup(layout, sample.fitted, sample.held_out, group.rows, group.input_size)
    measured = measure.group(sampled, group)
    before = measure.before([measured])

    def tried() -> FittedGroup:
        means = measure.means([measured])
        planned = PlannedLayout(sampled.layout, measure.predicted([measured]), before, measured)
        known = None if means[0] is None or means[1] is None else (means[0], means[1])
        return FittedGroup(group, planned, sampled, known, more.is_by_size)

    found = [tried()]
    for files in more.than(group.expected_output_files, len(group.tasks)):
        if found[-1].is_read_less:
            break
        sampled = replace(sampled, layout=_layout(context, sample, files))
        measured = measure.planned_anew(measured, sampled, group)
        group = replace(group, expected_output_files=files)
        found.append(tried())
    if found[-1].is_read_less:
        return found[-1]
    # What is rewritten whatever is gained gets the files that were planned.
    if group.is_due:
        return found[0]
    best = min(found, key=lambda each: each.means[1] if each.means else 0.0)
    return next((each for each in found if each.is_gathered), best)


def _layout(context: SampleContext, sample: DrawnSample, files: int) -> Layout:
    request = context.order.layout_request(context.options, files)
    if context.workload is None:
        return fit(context.order.all, sample.fitted, request)
    asked = context.workload.asked_of(sample.scan.group.like, context.options.workload_share)
    return fit(context.order.all, sample.fitted, request, asked.boxes_in, asked.share)


def _is_of_clusters(sample: DrawnSample, layout: Layout) -> bool:
    """Tell whether the row groups that were read turn out to be clusters, so that more of them must be read."""
    if not sample.fitted.rows or sample.scan.row_groups is None:
        return False
    files = layout.file(sample.fitted)
    return cluster_effect(files, sample.row_groups, layout.files) > LARGEST_CLUSTER_EFFECT
