"""What a tree is grown by, the costs of boxes; here for queries that nobody knows: what is left of their extents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt


class Ends(NamedTuple):
    """First positions of ranges of a column, and first ones after them, which may repeat, with the weight of each."""

    starts: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float64]


class Costs(Protocol):
    """The costs of boxes that are still to be cut into files."""

    def inside(self, lows: npt.NDArray[np.uint16], highs: npt.NDArray[np.uint16]) -> Costs:
        """Return what costs boxes inside of a box, given by active column, by as much but for what all cost alike."""
        ...

    def ends(self, column: int) -> Ends:
        """List ends of ranges in an active column, where a split serves queries."""
        ...

    def of(
        self, lows: npt.NDArray[np.uint16], highs: npt.NDArray[np.uint16], files: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64]:
        """Find the costs, at least 0, by one row of each box, given by clustering column, that is cut into files."""
        ...


class Extents:
    """Costs boxes by their extents, in weighted sampled rows.

    A box that is still to be cut into f files costs what is left of its extents when they are halved, the largest
    first, until f files are reached (as water fills a vessel from the deepest point). An extent is the number of all
    sampled rows between the smallest and the largest position in the box, both included, so that a heavy value counts
    with its whole mass.

    Parameters
    ----------
    below : sequence of ndarray of int64, each of shape (2^bits + 1,)
        By clustering column and position, the sampled rows below it.
    weights : sequence of float
        Weights of these columns, positive.

    Examples
    --------
    >>> extents = Extents([np.arange(17), np.arange(17)], [1.0, 1.0])
    >>> lows, highs = np.array([[0], [0]], np.uint16), np.array([[15], [7]], np.uint16)
    >>> extents.of(lows, highs, np.array([4]))
    array([12.])
    """

    def __init__(self, below: Sequence[npt.NDArray[np.int64]], weights: Sequence[float]) -> None:
        self._below = below
        self._weights = weights

    def inside(self, lows: npt.NDArray[np.uint16], highs: npt.NDArray[np.uint16]) -> Extents:  # noqa: ARG002
        """Return these costs: inside of a box they are the same."""
        return self

    def ends(self, column: int) -> Ends:  # noqa: ARG002
        """Return no ends: nobody knows any."""
        return Ends(np.empty(0, np.int64), np.empty(0))

    def of(
        self, lows: npt.NDArray[np.uint16], highs: npt.NDArray[np.uint16], files: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64]:
        """Find the costs of boxes."""
        left = np.stack(
            [
                weight * (below[high.astype(np.int64) + 1] - below[low])
                for weight, below, low, high in zip(self._weights, self._below, lows, highs, strict=True)
            ]
        )
        f = files.astype(np.float64)
        boxes = np.arange(len(f))
        while (cutting := f >= 2.0).any():
            largest = left.argmax(axis=0)
            left[largest[cutting], boxes[cutting]] /= 2.0
            f[cutting] /= 2.0
        left[left.argmax(axis=0), boxes] /= f
        # An accumulation adds one after the other.
        total: npt.NDArray[np.float64] = np.add.accumulate(left)[-1]
        return total
