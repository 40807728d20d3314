"""What a tree is grown by: the costs of boxes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Ends:
    """Where ranges of a column begin or are over.

    Parameters
    ----------
    starts : ndarray of int64
        The first positions of ranges, and the first ones after them; they may repeat.
    weights : ndarray of float64
        The weight of each.
    """

    starts: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float64]


class Costs(Protocol):
    """The costs of boxes that are still to be cut into files."""

    def inside(self, lows: npt.NDArray[np.uint16], highs: npt.NDArray[np.uint16]) -> Costs:
        """Return what costs boxes inside of a box by as much, but for what is the same for all of them.

        Parameters
        ----------
        lows, highs : ndarray of uint16, shape (columns,)
            The smallest and largest positions in the box by active column, the leading ones included.
        """
        ...

    def ends(self, column: int) -> Ends:
        """List ends of ranges in an active column, where a split serves queries."""
        ...

    def of(
        self, lows: npt.NDArray[np.uint16], highs: npt.NDArray[np.uint16], files: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64]:
        """Find the costs of boxes by one row of theirs.

        Parameters
        ----------
        lows, highs : ndarray of uint16, shape (clustering columns, boxes)
            The smallest and largest positions.
        files : ndarray of int64, shape (boxes,)
            How many files each is to be cut into, at least 1.

        Returns
        -------
        ndarray of float64, shape (boxes,)
            At least 0.
        """
        ...
