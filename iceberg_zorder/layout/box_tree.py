"""The box tree: cuts that follow the data, each leaf one box in the space of the positions.

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
    """An inner node: rows whose position in a column lies below ``start`` go left.

    Parameters
    ----------
    column : int
        Place of the column among the active ones.
    start : int
        The first position on the right side, at least 1.
    """

    column: int
    start: int


@dataclass(frozen=True)
class Leaf:
    """A box, and the files that its rows go to.

    Parameters
    ----------
    files : int
        Number of files, at least 1; more than one where rows are too alike to be told apart.
    lower, upper : tuple of int
        The smallest and largest sampled position in every column, both included; (0, 2^bits - 1) without a sampled row.
    """

    files: int
    lower: tuple[int, ...]
    upper: tuple[int, ...]


@dataclass(frozen=True)
class BoxTree:
    """A tree of splits whose leaves are files.

    Parameters
    ----------
    nodes : tuple of Split and Leaf
        The nodes in preorder: a split, its left side, its right side. One whole tree.

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

    @property
    def needs_tie_breakers(self) -> bool:
        """Whether some leaf has more than one file."""
        return self.files > len(self.leaves)

    def leaf(self, positions: Positions) -> npt.NDArray[np.int64]:
        """Find the leaf of every row.

        Parameters
        ----------
        positions : sequence of ndarray of int64
            One array per active column, with one position per row.

        Returns
        -------
        ndarray of int64
            Numbers of leaves, left to right.
        """
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
        """Find the file of every row.

        Parameters
        ----------
        leaf : ndarray of int64
            The rows' leaves.
        tie_breakers : ndarray of int64
            Numbers that spread the rows of a leaf over its files, by their remainder; they must depend on the row
            alone.

        Returns
        -------
        ndarray of int64
            Files in [0, files).
        """
        files = np.array([each.files for each in self.leaves], np.int64)
        first = np.cumsum(files) - files
        found: npt.NDArray[np.int64] = first[leaf] + tie_breakers % files[leaf]
        return found

    def rescaled(
        self, column: int, positions: npt.NDArray[np.int64], leaf: npt.NDArray[np.int64], bits: int
    ) -> npt.NDArray[np.int64]:
        """Stretch the positions of one column over the boxes of the rows' leaves.

        Parameters
        ----------
        column : int
            Place of the column among the active ones.
        positions : ndarray of int64
            The rows' positions in it.
        leaf : ndarray of int64
            The rows' leaves.
        bits : int
            Bits of a position.

        Returns
        -------
        ndarray of int64
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
