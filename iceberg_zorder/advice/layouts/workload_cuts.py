"""Cuts from the workload: files that are cut where the queries of the half that chooses read least."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from iceberg_zorder.advice.judged_queries import JudgedQuery, by_shape
from iceberg_zorder.advice.layouts.candidates import (
    MOST_COLUMNS,
    ExpectedFiles,
    Fold,
    cut_groups,
    layout_request,
    tried_columns,
)
from iceberg_zorder.advice.sampled_table import SampledTable
from iceberg_zorder.advice.simulated_files import RankedBoxes, SimulatedFiles, files_met
from iceberg_zorder.layout.box_tree import Split
from iceberg_zorder.layout.curve import MAX_POSITION_BITS
from iceberg_zorder.layout.fit import LayoutRequest, fit
from iceberg_zorder.layout.grow import WORKLOAD_SHARE, WORKLOAD_TOLERANCE, grow
from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.workload.boxes.position_boxes import query_boxes

_MOST_TRIED = 12
"""Of so many columns some are chosen."""
_FOLDS = 10
"""Each part is judged by what was cut for nine tenths of the queries, which read of it about what they do of all."""
_ROWS_TO_CHOOSE_BY, _FILES_TO_CHOOSE_BY = 32_768, 64


@dataclass(frozen=True, eq=False)
class WorkloadCuts:
    """Files that are cut for queries.

    Parameters
    ----------
    columns : tuple of int
        The places of the columns that they are cut by, one at least.
    queries : tuple of JudgedQuery
        The queries.
    folds : tuple of Fold
        The same for a part of the queries each.
    """

    columns: tuple[int, ...]
    queries: tuple[JudgedQuery, ...]
    folds: tuple[Fold, ...] = ()

    @property
    def kind(self) -> str:
        """``workload``."""
        return "workload"

    def text(self, table: SampledTable) -> str:
        """Write it like a sort order."""
        return f"workload({', '.join(table.columns[place].name for place in self.columns)})"

    def files(self, table: SampledTable, expected_files: ExpectedFiles) -> SimulatedFiles:
        """Fit a layout to the rows of each group and the queries that may find rows in it, as a rewrite does.

        Which queries may is told by the bounds of the group, where a rewrite goes by its partition: another query
        reads none of it whatever its cuts.
        """
        columns = [table.columns[place] for place in self.columns]
        groups = SimulatedFiles.of(table, table.groups)
        met = files_met(groups, RankedBoxes.of(table, self.queries))
        place_of = {group: place for place, group in enumerate(np.unique(table.groups).tolist())}

        def fitted(group: int, sample: Sample, files: int) -> Layout:
            wanted = np.flatnonzero(met[:, place_of[group]]).tolist()
            weighted = [(self.queries[place].boxes, self.queries[place].weight) for place in wanted]
            request = layout_request(files, size_tolerance=WORKLOAD_TOLERANCE)
            return fit(columns, sample, request, lambda uncut: query_boxes(weighted, uncut.columns), WORKLOAD_SHARE)

        return cut_groups(table, self.columns, expected_files, fitted)


def workload_cuts(
    table: SampledTable, queries: Sequence[JudgedQuery], files: int, coming_again: Container[str] = ()
) -> Iterator[WorkloadCuts]:
    """Choose columns for queries, and cut by them.

    What is cut for queries reads less for them than for others. So that it is chosen for what it is worth, each tenth
    of the queries is judged by what was cut for the other nine, which know less than what is cut for all. The columns
    are chosen by all of them, once: what queries make of a few columns is far less than what they make of the cuts.
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
    """Choose the columns that a tree over all rows, whatever their groups, splits most often for the queries."""
    rows = table.thinned(_ROWS_TO_CHOOSE_BY)
    found = []
    for place in tried_columns(table, queries, _MOST_TRIED):
        sample = rows.of_columns([place])
        layout = fit([table.columns[place]], sample, LayoutRequest(1))
        found += [(place, column, layout.positions(sample)[0]) for column in layout.columns]
    if not found:
        return None
    wanted = query_boxes([(query.boxes, query.weight) for query in queries], [column for _, column, _ in found])
    tree = grow(
        [positions for _, _, positions in found],
        MAX_POSITION_BITS,
        min(files, _FILES_TO_CHOOSE_BY),
        tolerance=WORKLOAD_TOLERANCE,
        weights=[1.0] * len(found),
        workload=wanted,
        workload_share=1.0,
    )
    splits = Counter(found[node.column][0] for node in tree.nodes if isinstance(node, Split))
    chosen = tuple(place for place, _ in splits.most_common(MOST_COLUMNS))
    return WorkloadCuts(chosen, tuple(queries)) if chosen else None
