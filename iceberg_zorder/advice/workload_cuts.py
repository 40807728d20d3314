"""Candidates that are cut for a workload: the cuts minimise what the choosing queries read."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from iceberg_zorder.advice.candidates import (
    MOST_COLUMNS,
    Fold,
    cut_groups,
    layout_request,
    tried_columns,
)
from iceberg_zorder.advice.compression import ExpectedFiles, Places
from iceberg_zorder.advice.judged_queries import JudgedQuery, by_shape
from iceberg_zorder.advice.sampled_table import SampledTable
from iceberg_zorder.advice.simulated_files import RankedBoxes, SimulatedFiles, files_met
from iceberg_zorder.layout.box_tree import Positions, Split
from iceberg_zorder.layout.curve import MAX_POSITION_BITS
from iceberg_zorder.layout.fit import WORKLOAD_SHARE, WORKLOAD_TOLERANCE, LayoutRequest, fit, grow
from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.layout.split_costs import Extents, QueryBoxes, QueryCosts
from iceberg_zorder.workload.boxes import Box, query_boxes

_MOST_TRIED = 12
"""Number of columns to choose from."""
_FOLDS = 10
"""Number of folds: each tenth of the queries is judged by cuts for the other nine tenths."""
_ROWS_TO_CHOOSE_BY, _FILES_TO_CHOOSE_BY = 32_768, 64
_MOST_BOXES = 640
"""About how many boxes of queries files are cut for; of a query's boxes, evenly spread ones are taken."""


@dataclass(frozen=True, eq=False)
class WorkloadCuts:
    """A layout that is cut for queries."""

    columns: tuple[int, ...]  # places of the clustering columns, at least one
    queries: tuple[JudgedQuery, ...]
    folds: tuple[Fold, ...] = ()  # layouts that are cut for part of the queries

    @property
    def kind(self) -> str:
        """``workload``."""
        return "workload"

    def text(self, table: SampledTable) -> str:
        """Return the layout's name, ``workload(a, b)``."""
        return f"workload({', '.join(table.columns[place].name for place in self.columns)})"

    def placed(
        self, table: SampledTable, expected_files: ExpectedFiles, *, in_order: bool = False
    ) -> tuple[Places, Places]:
        """Fit a layout to each group's rows and to the queries that may match them, as a rewrite does.

        The group's bounds rule queries out here, where a rewrite uses the partition; both leave out only queries that
        read none of the group.
        """
        columns = [table.columns[place] for place in self.columns]
        groups = SimulatedFiles.of(table, table.groups)
        met = files_met(groups, RankedBoxes.of(table, self.queries))
        place_of = {group: place for place, group in enumerate(np.unique(table.groups).tolist())}

        def fitted(group: int, sample: Sample, files: int) -> Layout:
            wanted = np.flatnonzero(met[:, place_of[group]]).tolist()
            weighted = _asked([self.queries[place] for place in wanted])
            request = layout_request(files, size_tolerance=WORKLOAD_TOLERANCE)
            return fit(columns, sample, request, lambda uncut: query_boxes(weighted, uncut.columns), WORKLOAD_SHARE)

        return cut_groups(table, self.columns, expected_files, fitted, in_order=in_order)


def workload_cuts(
    table: SampledTable, queries: Sequence[JudgedQuery], files: int, coming_again: Container[str] = ()
) -> Iterator[WorkloadCuts]:
    """Choose columns for queries, and cut by them.

    Cuts favour the queries that they were made for, so the candidate is cross-validated: each tenth of the queries is
    judged by cuts for the other nine tenths. The columns are chosen once by all queries, because a few columns hardly
    overfit.
    """
    whole = _cut_for(table, queries, files)
    if whole is None or len(queries) < 2:
        return
    ordered = by_shape(queries)
    place_of = {query.filter: place for place, query in enumerate(queries)}
    count = min(_FOLDS, len(queries))
    folds = []
    for part in range(count):
        seen = tuple(
            query for place, query in enumerate(ordered) if place % count != part or query.filter in coming_again
        )
        unseen = np.array([place_of[query.filter] for query in ordered[part::count]], np.int64)
        folds.append(Fold(WorkloadCuts(whole.columns, seen), unseen))
    yield WorkloadCuts(whole.columns, whole.queries, tuple(folds))


def _cut_for(table: SampledTable, queries: Sequence[JudgedQuery], files: int) -> WorkloadCuts | None:
    """Choose the columns over all rows together, ignoring groups."""
    rows = table.thinned(_ROWS_TO_CHOOSE_BY)
    tried = []
    for place in tried_columns(table, queries, _MOST_TRIED):
        sample = rows.of_columns([place])
        layout = fit([table.columns[place]], sample, LayoutRequest(1))
        tried += [(place, column, layout.positions(sample)[0]) for column in layout.columns]
    if not tried:
        return None
    wanted = query_boxes(_asked(queries), [column for _, column, _ in tried])
    chosen = choose_columns([positions for _, _, positions in tried], wanted, files)
    return WorkloadCuts(tuple(tried[place][0] for place in chosen), tuple(queries)) if chosen else None


def _asked(queries: Sequence[JudgedQuery]) -> list[tuple[tuple[Box, ...], float]]:
    """Return the boxes to cut for, with the weights of their queries.

    Examples
    --------
    >>> queries = [JudgedQuery(f"a = {number}", 1.0, (Box(()),) * 900, ()) for number in range(2)]
    >>> [(len(boxes), weight) for boxes, weight in _asked(queries)]
    [(300, 1.0), (300, 1.0)]
    """
    is_few = sum(len(query.boxes) for query in queries) <= _MOST_BOXES
    most = _MOST_BOXES if is_few else max(1, _MOST_BOXES // len(queries))
    return [(query.boxes[:: max(1, -(-len(query.boxes) // most))], query.weight) for query in queries]


def choose_columns(positions: Positions, workload: QueryBoxes, files: int) -> list[int]:
    """Return the columns, at most four, whose cuts suit a workload best.

    Backward elimination: the column without which the queries read least is dropped, as long as more than four remain
    or the queries read no more without it.

    Examples
    --------
    >>> x, y = (axis.ravel() for axis in np.meshgrid(np.arange(8) * 8192, np.arange(8) * 8192))
    >>> lower, upper = np.array([[0, 0], [0, 8192]]), np.array([[65535, 65535], [0, 8192]])
    >>> choose_columns([x, y], QueryBoxes(lower, upper, np.array([0, 1]), np.array([9.0, 1.0])), 4)
    [1]
    """
    below = [np.cumsum(np.bincount(each + 1, minlength=(1 << MAX_POSITION_BITS) + 1)) for each in positions]
    costs = QueryCosts(below, workload, Extents(below, [1.0] * len(below)), share=1.0, leading=0)
    if not costs.are_any:
        return []

    def read(columns: Sequence[int]) -> tuple[float, list[int]]:
        """Return how many rows queries read with cuts by these columns, and the columns that are really cut."""
        tree = grow(
            [positions[column] for column in columns],
            MAX_POSITION_BITS,
            min(files, _FILES_TO_CHOOSE_BY),
            tolerance=WORKLOAD_TOLERANCE,
            weights=[1.0] * len(columns),
            workload=workload.of_columns(columns),
            workload_share=1.0,
        )
        leaf = tree.leaf([positions[column] for column in columns]) if columns else np.zeros_like(positions[0])
        order = np.argsort(leaf, kind="stable")
        starts = np.flatnonzero(np.diff(leaf[order], prepend=-1))
        rows, ordered = np.diff(starts, append=len(order)), np.stack(positions).astype(np.uint16)[:, order]
        lows, highs = (each.reduceat(ordered, starts, axis=1) for each in (np.minimum, np.maximum))
        rows_read = rows * costs.of(lows, highs, np.ones(len(rows), np.int64)) * costs.weight
        return float(rows_read.sum()), sorted({columns[node.column] for node in tree.nodes if isinstance(node, Split)})

    least, chosen = read(range(len(positions)))
    while chosen:
        without = {column: read([other for other in chosen if other != column]) for column in chosen}
        needless = min(chosen, key=lambda column: (without[column][0], -column))
        if len(chosen) <= MOST_COLUMNS and without[needless][0] > least:
            return sorted(chosen, key=lambda column: -without[column][0])
        least, chosen = without[needless]
    return []
