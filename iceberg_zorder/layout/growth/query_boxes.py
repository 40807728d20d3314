"""What queries want, as boxes in the space of the positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class QueryBoxes:
    """The boxes of a workload's queries.

    A row matches a query if any of the query's boxes holds it.

    Parameters
    ----------
    lower, upper : ndarray of int64, shape (columns, boxes)
        By active column, the lowest and the highest position that a box wants, both included, in [0, 2^bits); 0 and
        2^bits - 1 where it wants all. A box with a lower above its upper position wants nothing.
    query : ndarray of int64, shape (boxes,)
        The query of each box, in [0, queries).
    weights : ndarray of float64, shape (queries,)
        How often each query is asked, in [0, inf).

    Examples
    --------
    >>> lower, upper = np.array([[3, 0], [0, 5]]), np.array([[3, 15], [15, 9]])
    >>> boxes = QueryBoxes(lower, upper, np.array([0, 0]), np.array([2.0]))
    >>> boxes.of_columns([1]).lower.tolist()
    [[0, 5]]
    """

    lower: npt.NDArray[np.int64]
    upper: npt.NDArray[np.int64]
    query: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float64]

    def of_columns(self, columns: Sequence[int]) -> QueryBoxes:
        """Return what the queries want of some of the columns, in that order."""
        places = list(columns)
        return QueryBoxes(self.lower[places], self.upper[places], self.query, self.weights)
