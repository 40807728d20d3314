"""Layouts that the cuts from a workload are held against.

Qd-tree: Z. Yang and others, "Qd-tree: learning data layouts for big data analytics", SIGMOD 2020, section 4, greedy.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.kdtree import kd_tree_files
from benchmarks.workloads.measure import Files
from benchmarks.workloads.tables import NULL, Keys, Query
from iceberg_zorder.layout.boundaries import find_boundaries
from iceberg_zorder.layout.curve import position_bits
from iceberg_zorder.layout.fit import grow
from iceberg_zorder.layout.keys import NULL as NULL_STATE
from iceberg_zorder.layout.keys import KeyColumn

SAMPLE_SEED = 17
TOLERANCE = 0.25
_BOUNDARIES = 4096
LEAST_FILE = 0.75
"""How small a Qd-tree's files may be, of the mean."""


def filtered(queries: Sequence[Query]) -> list[str]:
    """Name the columns that queries filter on."""
    return sorted({name for query in queries for box in query for name in box})


def key_column(keys: Keys) -> KeyColumn:
    """Make what layouts are fitted to."""
    return KeyColumn(np.where(keys == NULL, 0, keys), np.where(keys == NULL, np.uint8(NULL_STATE), np.uint8(0)))


def sampled(keys: dict[str, Keys], rows: int) -> dict[str, Keys]:
    """Take rows of a table by chance."""
    total = len(next(iter(keys.values())))
    chosen = np.random.default_rng(SAMPLE_SEED).permutation(total)[:rows]
    return {name: column[chosen] for name, column in keys.items()}


class ByColumns:
    """Layouts by columns alone, as they are grown without a workload.

    Parameters
    ----------
    keys : dict of str to ndarray of int64
        All rows.
    sample : dict of str to ndarray of int64
        Those that layouts are grown on.
    """

    def __init__(self, keys: dict[str, Keys], sample: dict[str, Keys]) -> None:
        self._buckets = {}
        for name, sampled_keys in sample.items():
            of_sample = key_column(sampled_keys)
            boundaries = find_boundaries(of_sample, _BOUNDARIES)
            of_all = boundaries.bucket_of(key_column(keys[name]))
            self._buckets[name] = boundaries, of_sample, of_all

    def file(self, columns: Sequence[str], weights: Sequence[float], files: int) -> Files:
        """Lay the table out, and find the file of every row."""
        bits = position_bits(len(columns))
        of_sample, of_all = [], []
        for name in columns:
            boundaries, sampled, all_rows = self._buckets[name]
            positions = boundaries.positions(sampled, bits)
            of_sample.append(positions[boundaries.bucket_of(sampled)])
            of_all.append(positions[all_rows])
        tree = grow(of_sample, bits, files, tolerance=TOLERANCE, weights=weights)
        return tree.file(tree.leaf(of_all), np.arange(len(of_all[0])))


def weightings(columns: int) -> Iterator[tuple[float, ...]]:
    """List the weights of 1, 2 and 4 that differ by more than a factor, equal ones aside.

    Examples
    --------
    >>> list(weightings(2))
    [(1.0, 2.0), (1.0, 4.0), (2.0, 1.0), (4.0, 1.0)]
    """
    for each in itertools.product((1.0, 2.0, 4.0), repeat=columns):
        if min(each) == 1.0 < max(each):
            yield each


def k_d_tree(keys: dict[str, Keys], columns: Sequence[str], files: int) -> Files:
    """Cut all rows evenly, by the column whose ranks spread most."""
    return kd_tree_files([keys[name] for name in columns], files)


@dataclass(frozen=True)
class _Cut:
    gain: int
    column: str
    start: int


class QdTree:
    """A greedy Qd-tree: cuts at the ends of the training queries' ranges that let them skip most rows.

    Parameters
    ----------
    sample : dict of str to ndarray of int64
        The rows that it is grown on.
    queries : sequence of Query
        The training queries.
    files : int
        Files that it may have on average; a leaf has no less than 0.75 of the rows of one.
    """

    def __init__(self, sample: dict[str, Keys], queries: Sequence[Query], files: int) -> None:
        self._sample = sample
        self._boxes = [(number, box) for number, query in enumerate(queries) for box in query]
        self._least = LEAST_FILE * len(next(iter(sample.values()))) / files
        self._ends = {name: self._ends_of(name) for name in filtered(queries)}
        self._splits: list[tuple[_Cut, int] | None] = []
        self._grow(np.arange(len(next(iter(sample.values())))), list(range(len(self._boxes))))

    def _ends_of(self, name: str) -> list[int]:
        ranges = [box[name] for _, box in self._boxes if name in box]
        return sorted({low for low, _ in ranges} | {high + 1 for _, high in ranges})

    def _grow(self, rows: npt.NDArray[np.int64], alive: list[int]) -> None:
        cut = self._best(rows, alive) if len(rows) >= 2 * self._least else None
        place = len(self._splits)
        self._splits.append(None)
        if cut is None:
            return
        left = self._sample[cut.column][rows] < cut.start
        self._grow(rows[left], [b for b in alive if not self._is_above(b, cut)])
        self._splits[place] = cut, len(self._splits)
        self._grow(rows[~left], [b for b in alive if not self._is_below(b, cut)])

    def _is_above(self, box: int, cut: _Cut) -> bool:
        wanted = self._boxes[box][1].get(cut.column)
        return wanted is not None and wanted[0] >= cut.start

    def _is_below(self, box: int, cut: _Cut) -> bool:
        wanted = self._boxes[box][1].get(cut.column)
        return wanted is not None and wanted[1] < cut.start

    def _best(self, rows: npt.NDArray[np.int64], alive: list[int]) -> _Cut | None:
        best: _Cut | None = None
        queries = len({self._boxes[box][0] for box in alive})
        for name, ends in self._ends.items():
            ordered = np.sort(self._sample[name][rows])
            for start in ends:
                count = int(np.searchsorted(ordered, start))
                if count < self._least or len(rows) - count < self._least:
                    continue
                cut = _Cut(0, name, start)
                left = {self._boxes[box][0] for box in alive if not self._is_above(box, cut)}
                right = {self._boxes[box][0] for box in alive if not self._is_below(box, cut)}
                gain = count * (queries - len(left)) + (len(rows) - count) * (queries - len(right))
                if gain > (best.gain if best else 0):
                    best = _Cut(gain, name, start)
        return best

    def file(self, keys: dict[str, Keys]) -> tuple[Files, int]:
        """Find the leaf of every row, and how many there are."""
        found = np.zeros(len(next(iter(keys.values()))), np.int64)
        leaves = 0
        waiting = [(0, np.arange(len(found)))]
        while waiting:
            node, rows = waiting.pop()
            split = self._splits[node]
            if split is None:
                found[rows] = leaves
                leaves += 1
                continue
            cut, right = split
            left = keys[cut.column][rows] < cut.start
            waiting += [(right, rows[~left]), (node + 1, rows[left])]
        return found, leaves
