"""Cuts: a box tree that follows the data, each leaf one file; or even cuts of the curve.

::

    a < 21845 ?
    |-- yes: b < 40000 ?
    |        |-- yes: file 0
    |        `-- no:  file 1
    `-- no:  files 2 and 3      a box that cannot be split, shared out evenly
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

ADAPTIVE = "adaptive"


Positions = Sequence[npt.NDArray[np.int64]]


@dataclass(frozen=True)
class Split:
    """An inner node: rows whose position in an active column lies below ``start``, at least 1, go left."""

    column: int
    start: int


@dataclass(frozen=True)
class Leaf:
    """A box with its number of files: more than one if its rows cannot be split.

    The edges are the smallest and largest sampled position in every column; 0 and 2^bits - 1 without a sampled row.
    """

    files: int
    lower: tuple[int, ...]
    upper: tuple[int, ...]


@dataclass(frozen=True)
class BoxTree:
    """A tree of splits whose leaves are files, in preorder: a split, its left side, its right side.

    Examples
    --------
    >>> tree = BoxTree((Split(0, 10), Leaf(1, (0,), (9,)), Leaf(2, (10,), (10,))))
    >>> tree.files
    3
    >>> positions = [np.array([3, 10, 10, 10])]
    >>> tree.leaf(positions)
    array([0, 1, 1, 1])
    >>> tree.file(tree.leaf(positions), tie_breakers=np.array([7, 7, 8, -1]))
    array([0, 2, 1, 2])
    """

    nodes: tuple[Split | Leaf, ...]

    @cached_property
    def leaves(self) -> tuple[Leaf, ...]:
        """The leaves, left to right."""
        return tuple(node for node in self.nodes if isinstance(node, Leaf))

    @property
    def files(self) -> int:
        """How many files there are."""
        return sum(leaf.files for leaf in self.leaves)

    def leaf(self, positions: Positions) -> npt.NDArray[np.int64]:
        """Return the leaf of every row."""
        columns, starts, rights, numbers = self._arrays
        rows = len(positions[0]) if len(positions) else 0
        node = np.zeros(rows, np.int64)
        walking = np.arange(rows) if isinstance(self.nodes[0], Split) else np.empty(0, np.int64)
        table = np.stack(positions) if len(positions) else np.empty((0, 0), np.int64)
        while len(walking):
            at = node[walking]
            left = table[columns[at], walking] < starts[at]
            node[walking] = np.where(left, at + 1, rights[at])
            walking = walking[columns[node[walking]] >= 0]
        return numbers[node]

    def file(self, leaf: npt.NDArray[np.int64], tie_breakers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the file of every row, given its leaf; tie breakers spread rows over the files of a leaf."""
        files = np.array([each.files for each in self.leaves], np.int64)
        first = np.cumsum(files) - files
        found: npt.NDArray[np.int64] = first[leaf] + tie_breakers % files[leaf]
        return found

    def rescaled(
        self, column: int, positions: npt.NDArray[np.int64], leaf: npt.NDArray[np.int64], bits: int
    ) -> npt.NDArray[np.int64]:
        """Rescale the positions of one column to the boxes of the rows' leaves; positions outside are clamped.

        floor((p - lower) * 2^bits / (upper - lower + 1)), in [0, 2^bits), p being the position moved into the box.

        Examples
        --------
        >>> tree = BoxTree((Leaf(1, (4,), (7,)),))
        >>> tree.rescaled(0, np.array([3, 4, 5, 6, 7, 8]), np.zeros(6, int), bits=4)
        array([ 0,  0,  4,  8, 12, 12])
        """
        lower = np.array([each.lower[column] for each in self.leaves], np.int64)[leaf]
        upper = np.array([each.upper[column] for each in self.leaves], np.int64)[leaf]
        stretched: npt.NDArray[np.int64] = (np.clip(positions, lower, upper) - lower << bits) // (upper - lower + 1)
        return stretched

    @cached_property
    def _arrays(self) -> tuple[npt.NDArray[np.int64], ...]:
        """By node: its column (-1 for a leaf), its start, its right side, the number of its leaf."""
        count = len(self.nodes)
        columns = np.full(count, -1, np.int64)
        starts, rights, numbers = (np.zeros(count, np.int64) for _ in range(3))
        waiting: list[int] = []
        leaves = 0
        for place, node in enumerate(self.nodes):
            if isinstance(node, Split):
                columns[place], starts[place] = node.column, node.start
                waiting.append(place)
            else:
                numbers[place] = leaves
                leaves += 1
                if waiting:
                    rights[waiting.pop()] = place + 1
        return columns, starts, rights, numbers


EVEN = "even"


@dataclass(frozen=True)
class EvenCuts:
    """Files of equal counts along the curve, by the first index of every file but the first, strictly increasing.

    Examples
    --------
    >>> EvenCuts((10, 20)).file(np.array([9, 10, 19, 20]))
    array([0, 1, 1, 2])
    """

    starts: tuple[int, ...]

    @property
    def files(self) -> int:
        """How many files there are."""
        return len(self.starts) + 1

    def file(self, index: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the files of rows."""
        return np.searchsorted(np.array(self.starts, np.int64), index, side="right").astype(np.int64)


def even_cuts(index: npt.NDArray[np.int64], files: int) -> EvenCuts:
    """Cut a sample into files of equal counts, between distinct indexes only.

    A cut within equal indexes moves to the nearer end of their run, so many equal indexes may leave fewer files.

    Examples
    --------
    >>> even_cuts(np.arange(100), files=4).starts
    (25, 50, 75)
    >>> even_cuts(np.array([1, 5, 5, 5, 5, 5, 9]), files=3).starts
    (5, 9)
    """
    rows = len(index)
    starts: list[int] = []
    if rows == 0:
        return EvenCuts(())
    ranks = (np.arange(1, files, dtype=np.int64) * rows) // files
    values = index[ranks]
    lows = np.searchsorted(index, values, side="left")
    highs = np.searchsorted(index, values, side="right")
    for rank, low, high in zip(ranks.tolist(), lows.tolist(), highs.tolist(), strict=True):
        if low > 0 and (high == rows or rank - low <= high - rank):
            candidate = int(index[low])
        elif high < rows:
            candidate = int(index[high])
        else:
            continue
        if not starts or candidate > starts[-1]:
            starts.append(candidate)
    return EvenCuts(tuple(starts))
