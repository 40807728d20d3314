"""Choose the columns of a rewrite that names none by the queries of its workload."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from pyiceberg.table.snapshots import Snapshot

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.choice.workload_columns import WorkloadPart, choose_columns
from iceberg_zorder.layout.curve import ZORDER
from iceberg_zorder.layout.cuts import EVEN
from iceberg_zorder.layout.fit import LayoutRequest, fit
from iceberg_zorder.layout.keys import joined_keys
from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.pyiceberg.display import display_name
from iceberg_zorder.pyiceberg.file_groups import FileGroup
from iceberg_zorder.pyiceberg.plan.choice.candidates import candidate_columns
from iceberg_zorder.pyiceberg.plan.choice.last_order import last_sort_order, names_other_fields
from iceberg_zorder.pyiceberg.plan.group_scans import group_scans
from iceberg_zorder.pyiceberg.plan.plan_request import PlanRequest
from iceberg_zorder.pyiceberg.plan.planner import Plan
from iceberg_zorder.pyiceberg.plan.row_order import RowOrder
from iceberg_zorder.pyiceberg.plan.sampling import DrawnSample, SampleContext, draw_samples, told_failures
from iceberg_zorder.pyiceberg.plan.selection.selection import SelectedFiles
from iceberg_zorder.pyiceberg.scan.history import snapshots_to
from iceberg_zorder.pyiceberg.scan.requested_workload import RequestedWorkload
from iceberg_zorder.request.metrics_check import FIX
from iceberg_zorder.request.rewrite_messages import by_no_column, why_by_no_column
from iceberg_zorder.request.sort_order import SortOrder, parse_sort_order
from iceberg_zorder.rows.memory_budget import MemoryBudget
from iceberg_zorder.upkeep.settled import WORKLOAD

_LOG = logging.getLogger(__name__)
_MOST_ROWS = 50_000
"""Sampled rows that columns are chosen by, at most."""
_MOST_PARTS = 16
"""File groups that they are chosen by, at most."""


def chosen_columns(request: PlanRequest, snapshot: Snapshot) -> str | Plan:
    """Choose the columns of a rewrite that names none.

    Those of the newest rewrite for the same queries are taken, so that the next one has nothing to do. Without one, a
    sample is read of the columns that the queries filter by, of all files that may be rewritten.

    Parameters
    ----------
    request : PlanRequest
        The rewrite, which has a workload and no sort order.
    snapshot : pyiceberg.table.snapshots.Snapshot
        The snapshot that is planned on.

    Returns
    -------
    str or Plan
        The columns, as a sort order has them; or the plan of a rewrite of nothing, which says why.

    Raises
    ------
    InvalidInputError
        When the request cannot be honoured, or the queries filter by no column that files could be skipped by.
    RewriteFailedError
        When the sample cannot be read.
    """
    assert request.workload is not None  # noqa: S101
    name = display_name(request.table)
    kept = _kept(request, snapshot, request.workload)
    if kept is not None:
        _LOG.info("Rewrites of %s go on by the columns that its workload has chosen: %s", name, kept)
        return kept
    table, options = request.table, request.options
    needs_bounds = options.layout.metrics_check != FIX
    candidates = candidate_columns(table, request.workload, request.output_spec, needs_bounds=needs_bounds)
    if not candidates:
        raise InvalidInputError(
            f"Cannot rewrite data files of {name}, because no columns are named, and the queries of the workload "
            "filter by none that files could be skipped by"
        )
    order = request.resolved(SortOrder(ZORDER, candidates))
    plan = request.planner(of_all=True).plan(snapshot, order=order)
    if not plan.groups:
        return replace(plan, order=None)
    chosen = _chosen(request, plan.order or order, plan.groups, request.workload)
    if not chosen:
        left = tuple(SelectedFiles(group.key, group.tasks, by_no_column()) for group in plan.groups)
        return replace(plan, groups=(), left=(*plan.left, *left), message=why_by_no_column(name), order=None)
    text = SortOrder(ZORDER, chosen).text
    _LOG.info("The workload of %s has chosen its columns: %s, of %s candidates", name, text, len(candidates))
    return text


def _kept(request: PlanRequest, snapshot: Snapshot, workload: RequestedWorkload) -> str | None:
    """Find the sort order of the newest rewrite for the same queries, if the table still has its columns."""
    snapshots = reversed(snapshots_to(request.table, snapshot))
    last = next((each for each in snapshots if each.is_rewrite and each.summary.get(WORKLOAD) == workload.key), None)
    # The same text asks for something else once a name has moved to another field.
    if last is None or names_other_fields(request.table, workload.names, last):
        return None
    try:
        # Adaptive cuts take the curve that is tighter, and summaries tell which that was: zorder was asked for.
        order = replace(parse_sort_order(last_sort_order(request.table, last, "rewrite")), curve=ZORDER)
        request.resolved(order)
    except InvalidInputError as error:
        _LOG.info("The workload of %s chooses columns anew: %s", display_name(request.table), error)
        return None
    return order.text


def _chosen(
    request: PlanRequest, order: RowOrder, groups: Sequence[FileGroup], workload: RequestedWorkload
) -> tuple[tuple[str, ...], ...]:
    """Sample file groups, and choose among the columns that they are ordered by.

    Each is cut by itself, for the queries that may find rows in it: what partitions do needs no column.
    """
    options = request.options.layout
    drawn = _that_matter(_drawn(request, order, groups), workload)
    if not drawn:
        return ()
    places = range(len(order.partition), len(order.all))
    samples = [
        Sample(tuple(each.fitted.columns[place] for place in places)).evenly(_MOST_ROWS // len(drawn)) for each in drawn
    ]
    joined = Sample(tuple(joined_keys(columns) for columns in zip(*(each.columns for each in samples), strict=True)))
    layout = fit(order.columns, joined, LayoutRequest(1, EVEN, boundaries=options.boundaries))
    parts = [
        WorkloadPart(
            layout.positions(sample),
            # Small files are to be gathered by the columns that would serve if they were cut.
            max(2, each.scan.group.expected_output_files),
            workload.of_layout(layout, each.scan.group.like),
        )
        for each, sample in zip(drawn, samples, strict=True)
    ]
    chosen = choose_columns(parts, layout.bits, tolerance=options.size_tolerance, most=options.workload_columns)
    return tuple(layout.columns[place].column.parts for place in chosen)


def _drawn(request: PlanRequest, order: RowOrder, groups: Sequence[FileGroup]) -> list[DrawnSample]:
    """Draw the samples that layouts would be fitted to."""
    options = request.options
    budget = MemoryBudget(options.memory_limit // 2)
    with told_failures(request.table):
        context = SampleContext(request.table, order, options.layout, budget=budget)
        return draw_samples(context, group_scans(groups, options.layout))


def _that_matter(drawn: Sequence[DrawnSample], workload: RequestedWorkload) -> list[DrawnSample]:
    """Take the file groups of which queries ask for most rows, in an order that every engine finds."""
    weighted = [(each, workload.weight_in(each.scan.group.like) * each.scan.group.rows) for each in drawn]
    asked = [(each, weight) for each, weight in weighted if weight > 0 and each.fitted.rows]
    asked.sort(key=lambda pair: (-pair[1], min(pair[0].scan.group.paths)))
    return [each for each, _ in asked[:_MOST_PARTS]]
