"""Choose the columns that files are best cut by for a workload."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from iceberg_zorder.layout.box_tree import Positions, Split
from iceberg_zorder.layout.grow import grow
from iceberg_zorder.layout.growth.extents import Extents
from iceberg_zorder.layout.growth.query_boxes import QueryBoxes
from iceberg_zorder.layout.growth.query_costs import QueryCosts

MOST_COLUMNS = 4
"""So many columns are chosen at most, unless told."""

MOST_CANDIDATES = 12
"""So many columns are chosen among at most."""

_FILES = 64
"""Files at most of the trees that columns are chosen by."""


def choose_columns(
    positions: Positions, bits: int, files: int, *, tolerance: float, workload: QueryBoxes, most: int = MOST_COLUMNS
) -> list[int]:
    """Choose the columns that files are best cut by for a workload.

    Trees are grown, of 64 files at most. The column without which the queries read least goes, as long as there are
    more than wanted, or they read no more without it.

    Parameters
    ----------
    positions : sequence of ndarray of int64
        Positions of the sampled rows, one array per column, in [0, 2^bits).
    bits : int
        Bits of a position, in [0, 16].
    files : int
        Wanted number of files, at least 1.
    tolerance : float
        How far a file's share of the sampled rows may lie from the mean, in [0, 1).
    workload : QueryBoxes
        What queries want of the columns.
    most : int
        The most columns to choose, at least 1.

    Returns
    -------
    list of int
        Places of columns, the one without which queries would read most first, and of equal ones the first. None where
        no query is spared any row.

    Examples
    --------
    >>> x, y = (axis.ravel() for axis in np.meshgrid(np.arange(8) * 8192, np.arange(8) * 8192))
    >>> lower, upper = np.array([[0, 0], [0, 8192]]), np.array([[65535, 65535], [0, 8192]])
    >>> workload = QueryBoxes(lower, upper, np.array([0, 1]), np.array([9.0, 1.0]))
    >>> choose_columns([x, y], 16, 4, tolerance=0.5, workload=workload)
    [1]
    """
    if not len(positions) or not len(positions[0]):
        return []
    below = [np.concatenate(([0], np.cumsum(np.bincount(column, minlength=1 << bits)))) for column in positions]
    costs = QueryCosts(below, workload, Extents(below, [1.0] * len(below)), share=1.0, leading=0)

    def read(columns: Sequence[int]) -> tuple[float, list[int]]:
        """Find how many rows queries read when files are cut by some of the columns, and those that any is cut by."""
        tree = grow(
            [positions[column] for column in columns],
            bits,
            min(files, _FILES),
            tolerance=tolerance,
            weights=[1.0] * len(columns),
            workload=workload.of_columns(columns),
            workload_share=1.0,
        )
        leaf = tree.leaf([positions[column] for column in columns]) if len(columns) else np.zeros_like(positions[0])
        rows, lows, highs = _boxes(leaf, positions)
        split = sorted({columns[node.column] for node in tree.nodes if isinstance(node, Split)})
        return math.fsum(rows * costs.of(lows, highs, np.ones(len(rows), np.int64))), split

    least, columns = read(range(len(positions)))
    while columns:
        without = {column: read([other for other in columns if other != column]) for column in columns}
        needless = min(columns, key=lambda column: (without[column][0], -column))
        if len(columns) <= most and without[needless][0] > least:
            return sorted(columns, key=lambda column: -without[column][0])
        least, columns = without[needless]
    return []


def _boxes(
    leaf: npt.NDArray[np.int64], positions: Positions
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint16], npt.NDArray[np.uint16]]:
    """Find the rows of all leaves that have any, and their smallest and largest positions by column."""
    order = np.argsort(leaf, kind="stable")
    starts = np.flatnonzero(np.diff(leaf[order], prepend=-1))
    table = np.stack(positions).astype(np.uint16)[:, order]
    rows = np.diff(starts, append=len(order))
    return rows, np.minimum.reduceat(table, starts, axis=1), np.maximum.reduceat(table, starts, axis=1)
