"""Choose the columns that files are best cut by for a workload."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from iceberg_zorder.layout.box_tree import Positions, Split
from iceberg_zorder.layout.grow import grow
from iceberg_zorder.layout.growth.extents import Extents
from iceberg_zorder.layout.growth.query_boxes import QueryBoxes
from iceberg_zorder.layout.growth.query_costs import QueryCosts

_FILES = 64
"""Files at most of the trees that columns are chosen by."""


@dataclass(frozen=True, eq=False)
class WorkloadPart:
    """Rows that are cut by themselves, as those of a partition.

    Parameters
    ----------
    positions : sequence of ndarray of int64
        Positions of the sampled rows, one array per column, in [0, 2^bits).
    files : int
        Wanted number of files, at least 1.
    workload : QueryBoxes
        What those queries want of the columns that may find rows in the part.
    """

    positions: Positions
    files: int
    workload: QueryBoxes

    @property
    def has_rows(self) -> bool:
        """Whether there are rows, and columns."""
        return len(self.positions) > 0 and len(self.positions[0]) > 0


def choose_columns(parts: Sequence[WorkloadPart], bits: int, *, tolerance: float, most: int = 4) -> list[int]:
    """Choose the columns that files are best cut by for a workload.

    Trees are grown in each part, of 64 files at most. The column without which the queries read least of all parts
    goes, as long as there are more than wanted, or they read no more without it.

    Examples
    --------
    >>> x, y = (axis.ravel() for axis in np.meshgrid(np.arange(8) * 8192, np.arange(8) * 8192))
    >>> lower, upper = np.array([[0, 0], [0, 8192]]), np.array([[65535, 65535], [0, 8192]])
    >>> workload = QueryBoxes(lower, upper, np.array([0, 1]), np.array([9.0, 1.0]))
    >>> choose_columns([WorkloadPart([x, y], 4, workload)], 16, tolerance=0.5)
    [1]
    """
    with_rows = [_Part(each, bits, tolerance) for each in parts if each.has_rows]
    # What all queries read however it is cut is no reason for a column.
    counted = [each for each in with_rows if each.costs.are_any]

    def read(columns: Sequence[int]) -> tuple[float, list[int]]:
        """Find how many rows queries read when files are cut by some of the columns, and those that any is cut by."""
        found = [part.read(columns) for part in counted]
        split = sorted(set().union(*(columns for _, columns in found)))
        return math.fsum(each for rows, _ in found for each in rows), split

    if not counted:
        return []
    least, columns = read(range(len(counted[0].part.positions)))
    while columns:
        without = {column: read([other for other in columns if other != column]) for column in columns}
        needless = min(columns, key=lambda column: (without[column][0], -column))
        if len(columns) <= most and without[needless][0] > least:
            return sorted(columns, key=lambda column: -without[column][0])
        least, columns = without[needless]
    return []


class _Part:
    """A part, and what its queries pay."""

    def __init__(self, part: WorkloadPart, bits: int, tolerance: float) -> None:
        self.part, self._bits, self._tolerance = part, bits, tolerance
        below = [np.concatenate(([0], np.cumsum(np.bincount(each, minlength=1 << bits)))) for each in part.positions]
        extents = Extents(below, [1.0] * len(below))
        self.costs = QueryCosts(below, part.workload, extents, share=1.0, leading=0)

    def read(self, columns: Sequence[int]) -> tuple[list[float], set[int]]:
        """Find the rows that queries read of each file when some of the columns cut them, and those that do."""
        positions, workload = self.part.positions, self.part.workload
        tree = grow(
            [positions[column] for column in columns],
            self._bits,
            min(self.part.files, _FILES),
            tolerance=self._tolerance,
            weights=[1.0] * len(columns),
            workload=workload.of_columns(columns),
            workload_share=1.0,
        )
        leaf = tree.leaf([positions[column] for column in columns]) if len(columns) else np.zeros_like(positions[0])
        rows, lows, highs = _boxes(leaf, positions)
        read = rows * self.costs.of(lows, highs, np.ones(len(rows), np.int64)) * self.costs.weight
        return read.tolist(), {columns[node.column] for node in tree.nodes if isinstance(node, Split)}


def _boxes(
    leaf: npt.NDArray[np.int64], positions: Positions
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint16], npt.NDArray[np.uint16]]:
    """Find the rows of all leaves that have any, and their smallest and largest positions by column."""
    order = np.argsort(leaf, kind="stable")
    starts = np.flatnonzero(np.diff(leaf[order], prepend=-1))
    table = np.stack(positions).astype(np.uint16)[:, order]
    rows = np.diff(starts, append=len(order))
    return rows, np.minimum.reduceat(table, starts, axis=1), np.maximum.reduceat(table, starts, axis=1)
