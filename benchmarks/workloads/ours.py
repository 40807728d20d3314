"""The layout that is held against others: cuts from a workload, by the columns that it chooses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.workloads.baselines import filtered, key_column
from benchmarks.workloads.measure import Files
from benchmarks.workloads.tables import Keys, Query
from iceberg_zorder.advice.workload_cuts import choose_columns
from iceberg_zorder.layout.boundaries import Boundaries, find_boundaries
from iceberg_zorder.layout.box_tree import BoxTree
from iceberg_zorder.layout.curve import MAX_POSITION_BITS, position_bits
from iceberg_zorder.layout.fit import WORKLOAD_TOLERANCE, grow
from iceberg_zorder.layout.split_costs import QueryBoxes

_BOUNDARIES = 4096


class _Column:
    """One column: from keys to positions, as the sample has them."""

    def __init__(self, sample: Keys, bits: int) -> None:
        keys = key_column(sample)
        self._boundaries: Boundaries = find_boundaries(keys, _BOUNDARIES)
        self._positions = self._boundaries.positions(keys, bits)
        self.sampled = self._positions[self._boundaries.bucket_of(keys)]

    def of(self, keys: Keys) -> npt.NDArray[np.int64]:
        positions: npt.NDArray[np.int64] = self._positions[self._boundaries.bucket_of(key_column(keys))]
        return positions


def query_boxes(columns: dict[str, _Column], bits: int, queries: Sequence[Query]) -> QueryBoxes:
    """Put queries into positions, each of weight 1."""
    boxes = [(number, box) for number, query in enumerate(queries) for box in query]
    lower = np.zeros((len(columns), len(boxes)), np.int64)
    upper = np.full((len(columns), len(boxes)), (1 << bits) - 1)
    for place, (name, column) in enumerate(columns.items()):
        at = [number for number, (_, box) in enumerate(boxes) if name in box]
        ranges = np.array([boxes[number][1][name] for number in at], np.int64).reshape(-1, 2)
        lower[place, at], upper[place, at] = column.of(ranges[:, 0]), column.of(ranges[:, 1])
    return QueryBoxes(lower, upper, np.array([number for number, _ in boxes]), np.ones(len(queries)))


@dataclass(frozen=True, eq=False)
class Grown:
    """What a tree is grown of.

    Parameters
    ----------
    positions : list of ndarray of int64, shape (rows,)
        Of the columns that the queries choose, in [0, 2^bits).
    bits : int
        The bits of a position.
    workload : QueryBoxes
        What the queries want of them.
    """

    positions: list[npt.NDArray[np.int64]]
    bits: int
    workload: QueryBoxes

    def tree(self, files: int) -> BoxTree:
        """Grow it."""
        return grow(
            self.positions,
            self.bits,
            files,
            tolerance=WORKLOAD_TOLERANCE,
            weights=[1.0] * len(self.positions),
            workload=self.workload,
        )


def to_grow(sample: dict[str, Keys], queries: Sequence[Query], files: int) -> Grown:
    """Find what the tree of some files is grown of."""
    return _grown(*_chosen(sample, queries, files), queries)


def _chosen(sample: dict[str, Keys], queries: Sequence[Query], files: int) -> tuple[dict[str, _Column], int]:
    """Let queries choose columns, and find how many bits positions have then."""
    names = filtered(queries)
    fine = {name: _Column(sample[name], MAX_POSITION_BITS) for name in names}
    sampled = [column.sampled for column in fine.values()]
    chosen = choose_columns(sampled, query_boxes(fine, MAX_POSITION_BITS, queries), files)
    bits = position_bits(len(chosen))
    return {names[place]: _Column(sample[names[place]], bits) for place in chosen}, bits


def _grown(columns: dict[str, _Column], bits: int, queries: Sequence[Query]) -> Grown:
    return Grown([column.sampled for column in columns.values()], bits, query_boxes(columns, bits, queries))


def from_workload(
    keys: dict[str, Keys], sample: dict[str, Keys], queries: Sequence[Query], files: int
) -> tuple[Files, list[str]]:
    """Lay a table out for training queries.

    Returns
    -------
    ndarray of int64
        The file of every row.
    list of str
        The columns by which they are cut.
    """
    columns, bits = _chosen(sample, queries, files)
    tree = _grown(columns, bits, queries).tree(files)
    of_all = [column.of(keys[name]) for name, column in columns.items()]
    return tree.file(tree.leaf(of_all), np.arange(len(of_all[0]))), list(columns)
