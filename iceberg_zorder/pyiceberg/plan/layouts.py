"""Fit the layouts of file groups to samples, as Spark fits them, and predict what they are worth."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from pyiceberg.table import Table

from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.fit import LayoutRequest, fit
from iceberg_zorder.layout.keys import VALUE, KeyColumn
from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.pyiceberg.display import display_name
from iceberg_zorder.pyiceberg.file_groups import FileGroup
from iceberg_zorder.pyiceberg.plan.group_scans import group_scans
from iceberg_zorder.pyiceberg.plan.row_order import RowOrder
from iceberg_zorder.pyiceberg.plan.sampling import DrawnSample, SampleContext, draw_samples, kept_length
from iceberg_zorder.pyiceberg.progress import silent
from iceberg_zorder.report.scan_prediction import SampledGroup, scan_prediction
from iceberg_zorder.sample.sampled_row_groups import LARGEST_CLUSTER_EFFECT, cluster_effect

_LOG = logging.getLogger(__name__)
_CODINGS = {True: "utf-8", False: "latin-1"}
"""By whether a column is text: in Latin-1 one byte is one character, which serves for binary columns."""


@dataclass(frozen=True, eq=False)
class PlannedLayout:
    """The layout of a file group, and what it is predicted to be worth.

    Parameters
    ----------
    layout : Layout
        The layout.
    scan_fractions : Mapping of str to float
        By column, the predicted scan fraction of ``column = value``: the share of the group's new files, in bytes,
        whose lower/upper bounds will not rule it out, on average over the values of the rows. In [0, 1]; a column
        without a value is left out.
    """

    layout: Layout
    scan_fractions: Mapping[str, float]


def fit_layouts(context: SampleContext, groups: Sequence[FileGroup]) -> list[tuple[FileGroup, Layout]]:
    """Sample every file group, fit its layout, and warn of columns by which no file can be skipped.

    Parameters
    ----------
    context : SampleContext
        The table, and how it is sampled.
    groups : sequence of FileGroup
        The file groups of a plan.

    Returns
    -------
    list of (FileGroup, Layout)
        The file groups that could be read, in the same order, and the layouts that the Spark engine fits to the same
        snapshot.
    """
    return [(sample.scan.group, layout) for sample, layout in _fitted(context, groups, 1)]


def predict_layouts(
    context: SampleContext, groups: Sequence[FileGroup]
) -> tuple[tuple[PlannedLayout, ...], Mapping[str, float]]:
    """Fit the layouts that :func:`fit_layouts` fits, and predict scan fractions by as many rows more.

    Parameters
    ----------
    context : SampleContext
        As for :func:`fit_layouts`; it raises where a file group cannot be read.
    groups : sequence of FileGroup
        At least one.

    Returns
    -------
    layouts : tuple of PlannedLayout
        One of each file group.
    scan_fractions : Mapping of str to float
        By column, that among the new files of all groups.
    """
    sampled = [
        SampledGroup(layout, sample.fitted, sample.held_out, sample.scan.group.rows, sample.scan.group.input_size)
        for sample, layout in _fitted(context, groups, 2)
    ]
    table, order = context.table, context.order
    return (
        tuple(PlannedLayout(each.layout, _scan_fractions(table, order, [each])) for each in sampled),
        _scan_fractions(table, order, sampled),
    )


def _scan_fractions(table: Table, order: RowOrder, groups: Sequence[SampledGroup]) -> Mapping[str, float]:
    """Predict by column; those without a value are left out."""
    found = {
        column.name: scan_prediction(groups, place, _cut_to_bounds(table, column))
        for place, column in enumerate(order.named, len(order.partition))
    }
    return {name: fraction for name, fraction in found.items() if fraction is not None}


def _cut_to_bounds(table: Table, column: ClusteringColumn) -> Callable[[bytes], bytes] | None:
    """Make what cuts a key to what the table's bounds keep of it; None if they keep all."""
    length = kept_length(table, column)
    if length is None:
        return None
    coding = _CODINGS[column.type == "string"]
    return lambda key: key.decode(coding, errors="replace")[:length].encode(coding)


def _fitted(context: SampleContext, groups: Sequence[FileGroup], samples: int) -> list[tuple[DrawnSample, Layout]]:
    table, order = context.table, context.order
    fitted = []
    for sample in draw_samples(context, group_scans(groups, context.options), samples):
        layout = _layout(context, sample)
        if not _is_of_clusters(sample, layout):
            fitted.append((sample, layout))
            continue
        scan = sample.scan.of_clusters(context.options.sample_seed)
        again = draw_samples(replace(context, progress=silent), [scan], samples)
        fitted += [(denser, _layout(context, denser)) for denser in again]
    _warn_of_truncated_bounds(table, order, [sample.fitted for sample, _ in fitted])
    _log_left_out(table, order.named, [layout for _, layout in fitted])
    return fitted


def _layout(context: SampleContext, sample: DrawnSample) -> Layout:
    order, options = context.order, context.options
    wanted = LayoutRequest(
        sample.scan.group.expected_output_files,
        options.cuts,
        order.curve,
        order.leading_orders,
        options.boundaries,
        options.size_tolerance,
        order.weights,
    )
    return fit(order.all, sample.fitted, wanted)


def _is_of_clusters(sample: DrawnSample, layout: Layout) -> bool:
    """Tell whether the row groups that were read turn out to be clusters, so that more of them must be read."""
    if not sample.fitted.rows or sample.scan.row_groups is None:
        return False
    files = layout.file(sample.fitted)
    return cluster_effect(files, sample.row_groups, layout.files) > LARGEST_CLUSTER_EFFECT


def _warn_of_truncated_bounds(table: Table, order: RowOrder, samples: Sequence[Sample]) -> None:
    for place, column in enumerate(order.named, len(order.partition)):
        length = kept_length(table, column)
        if length is None:
            continue
        if _begin_alike([sample.columns[place] for sample in samples], length, column.type == "string"):
            _LOG.warning(
                "All sampled values of clustering column %s of %s begin with the same %s characters, and the table "
                "keeps only so many of its lower/upper bounds: no file can be skipped by it. ALTER TABLE ... SET "
                "TBLPROPERTIES ('write.metadata.metrics.column.%s' = 'full') and rewrite again.",
                column.name,
                display_name(table),
                length,
                ".".join(column.parts),
            )


def _begin_alike(columns: Sequence[KeyColumn], length: int, text: bool) -> bool:
    beginnings: set[str] = set()
    longer = False
    for column in columns:
        for key, state in zip(column.keys, column.states.tolist(), strict=True):
            if state == VALUE:
                # A key that was cut in a character has more characters before it than are compared.
                value = key.as_py().decode(_CODINGS[text], errors="replace")
                longer |= len(value) > length
                beginnings.add(value[:length])
                if len(beginnings) > 1:
                    return False
    return longer


def _log_left_out(table: Table, columns: Sequence[ClusteringColumn], layouts: Sequence[Layout]) -> None:
    for column in columns:
        groups = sum(column.name in layout.left_out for layout in layouts)
        if groups and groups == len(layouts):
            _LOG.warning(
                "Left clustering column %s of %s out: it has one value only, only NULLs, or long values that begin "
                "alike",
                column.name,
                display_name(table),
            )
        elif groups:
            _LOG.info(
                "Left clustering column %s of %s out in %s of %s file groups: it has one value only there",
                column.name,
                display_name(table),
                groups,
                len(layouts),
            )
