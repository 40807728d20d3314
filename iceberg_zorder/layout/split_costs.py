"""The cost of splitting a box: by the extents of its halves, or by the queries of a workload that read them.

The expected share of a box that a query reads, once the box is cut into f files, is the product over its columns of
min(1, s + 1/n). Here s is the share of the box that the query asks for in this column, and n the number of slices of
the column. The f slices are allotted by doublings, each to the column where it saves most. Ends of ranges are candidate
splits.

Two rules prevent overfitting to the queries. First, a value that only one query asks for says little about the next
query's value. It counts as drawn from the rows: the query reads a box in proportion to the box's rows, and the value
gives no candidate split. Second, a share of the cost comes from extents, for queries outside the workload.

Every operation on doubles is a comparison, a halving, an addition, a product or one division, in a fixed order with
ties to the first, so that Java's ``QueryCosts`` computes the same bit for bit: terms are added up by :func:`folded`.

Sources: Z. Yang and others, "Qd-tree: learning data layouts for big data analytics", SIGMOD 2020, for cuts at the ends
of queries; I. J. Good, "The population frequencies of species and the estimation of population parameters", Biometrika
40, 1953, for values seen once as a measure of those unseen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt


class Ends(NamedTuple):
    """Starts of a column's ranges and the positions after them, with weights; positions may repeat."""

    starts: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float64]


class Costs(Protocol):
    """The costs of boxes that are still to be cut into files."""

    def inside(self, lows: npt.NDArray[np.uint16], highs: npt.NDArray[np.uint16]) -> Costs:
        """Return equivalent costs for boxes inside a box; a cost that all of them share may be left out."""
        ...

    def ends(self, column: int) -> Ends:
        """Return the ends of ranges in an active column, where a split serves queries."""
        ...

    def of(
        self, lows: npt.NDArray[np.uint16], highs: npt.NDArray[np.uint16], files: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64]:
        """Return the cost of each box per row, at least 0, once it is cut into ``files`` files."""
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
        """Return self, because the costs inside a box are equal."""
        return self

    def ends(self, column: int) -> Ends:  # noqa: ARG002
        """Return no ends."""
        return Ends(np.empty(0, np.int64), np.empty(0))

    def of(
        self, lows: npt.NDArray[np.uint16], highs: npt.NDArray[np.uint16], files: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64]:
        """Return the costs of boxes."""
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


@dataclass(frozen=True)
class QueryBoxes:
    """The boxes of a workload's queries.

    A row matches a query if any of the query's boxes holds it.

    Parameters
    ----------
    lower, upper : ndarray of int64, shape (columns, boxes)
        By active column, the lowest and highest position of a box, both included, in [0, 2^bits); 0 and 2^bits - 1
        without a limit. A box whose lower position is above its upper one is empty.
    query : ndarray of int64, shape (boxes,)
        The query of each box, in [0, queries).
    weights : ndarray of float64, shape (queries,)
        Frequency of each query, in [0, inf).

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
        """Return the boxes in some of the columns, in that order."""
        places = list(columns)
        return QueryBoxes(self.lower[places], self.upper[places], self.query, self.weights)


Doubles = npt.NDArray[np.float64]


def folded(terms: Doubles) -> Doubles:
    """Add up the rows of a table: every eighth one in turn, and then the later half of the eight sums onto the earlier.

    Examples
    --------
    >>> folded(np.array([[1.0], [2.0], [4.0]]))
    array([7.])
    """
    sums = np.zeros((8, terms.shape[1]))
    for start in range(0, len(terms), 8):
        block = terms[start : start + 8]
        sums[: len(block)] += block
    sums[:4] += sums[4:]
    sums[:2] += sums[2:4]
    total: Doubles = sums[0] + sums[1]
    return total


@dataclass(frozen=True)
class _Wanted:
    """Boxes of queries as numbers of sampled rows below; arrays of shape (columns, boxes) and (boxes,)."""

    low: Doubles
    high: Doubles
    drawn: npt.NDArray[np.bool_]
    starts: npt.NDArray[np.int64]
    """First positions of boxes."""
    ends: npt.NDArray[np.int64]
    """First positions after boxes."""
    weights: Doubles

    def only(self, boxes: npt.NDArray[np.int64]) -> _Wanted:
        return _Wanted(
            self.low.take(boxes, axis=1),
            self.high.take(boxes, axis=1),
            self.drawn.take(boxes, axis=1),
            self.starts.take(boxes, axis=1),
            self.ends.take(boxes, axis=1),
            self.weights.take(boxes),
        )


@dataclass(frozen=True)
class _Part:
    """Shares of the cut boxes that queries ask for in one column, and the shares that they read."""

    boxes: npt.NDArray[np.int64]
    share: Doubles
    read: Doubles
    slice: Doubles


class QueryCosts:
    """Costs boxes by the queries that touch them.

    Parameters
    ----------
    below : sequence of ndarray of int64, each of shape (2^bits + 1,)
        By active column and position, the sampled rows below it; at least one row.
    boxes : QueryBoxes
        Boxes of the queries. Boxes without a sampled row, or with all of them by the clustering columns, do not count.
    extents : Extents
        Costs for queries outside the workload.
    share : float
        Share of all queries that the workload represents, in [0, 1].
    leading : int
        Number of leading columns, by which boxes are not cut.

    Examples
    --------
    >>> below = [np.arange(17), np.arange(17)]
    >>> boxes = QueryBoxes(np.array([[0], [4]]), np.array([[15], [7]]), np.array([0]), np.array([1.0]))
    >>> costs = QueryCosts(below, boxes, Extents(below, [1.0, 1.0]), share=1.0, leading=0)
    >>> lows, highs = np.array([[0, 0], [0, 0]], np.uint16), np.array([[15, 15], [15, 3]], np.uint16)
    >>> costs.inside(lows[:, 0], highs[:, 0]).of(lows, highs, np.array([4, 4]))
    array([0.5, 0. ])
    """

    def __init__(
        self, below: Sequence[npt.NDArray[np.int64]], boxes: QueryBoxes, extents: Extents, *, share: float, leading: int
    ) -> None:
        self._below = [column.astype(np.float64) for column in below]
        self._rows = float(below[0][-1])
        self._leading = leading
        self._extents = extents
        self._unforeseen = (1.0 - share) / (self._rows * (len(below) - leading))
        wanted = _merged(self._counted(boxes))
        # An accumulation adds one after the other.
        self.weight = float(np.cumsum(wanted.weights)[-1]) if len(wanted.weights) else 0.0
        """Total frequency of the queries that count; costs are per query."""
        self._wanted = replace(wanted, weights=wanted.weights * (share / (self.weight or 1.0)))
        self._cut = self._cut_by(np.zeros((len(below), 1)), np.full((len(below), 1), self._rows))

    @property
    def are_any(self) -> bool:
        """Whether any box of a query counts."""
        return len(self._wanted.weights) > 0

    def _counted(self, boxes: QueryBoxes) -> _Wanted:
        """Return the boxes that count, with the flags of values drawn from the rows."""
        starts, ends = boxes.lower, np.maximum(boxes.lower, boxes.upper + 1)
        low, high = (
            np.stack([column[edge] for column, edge in zip(self._below, edges, strict=True)])
            for edges in (starts, ends)
        )
        shared = boxes.weights / np.maximum(1, np.bincount(boxes.query, minlength=len(boxes.weights)))
        weights = shared[boxes.query]
        is_some = (low < high).all(axis=0)
        is_all = ((low == 0.0) & (high == self._rows))[self._leading :].all(axis=0)
        kept = np.flatnonzero(is_some & ~is_all & (weights > 0.0))
        wanted = _Wanted(low, high, np.zeros(low.shape, np.bool_), starts, ends, weights).only(kept)
        drawn = _drawn(wanted, boxes.query[kept], boxes.weights, self._leading)
        return replace(
            wanted,
            low=np.where(drawn, 0.0, wanted.low),
            high=np.where(drawn, self._rows, wanted.high),
            drawn=drawn,
        )

    def _cut_by(self, low: Doubles, high: Doubles) -> npt.NDArray[np.bool_]:
        """Return, by column and query box, whether cutting a box by the column can reduce what the query reads."""
        wanted = self._wanted
        return wanted.drawn | (wanted.low > low) | (wanted.high < high)

    def inside(self, lows: npt.NDArray[np.uint16], highs: npt.NDArray[np.uint16]) -> QueryCosts:
        """Keep the queries that touch a box, and that some cut of it can serve."""
        low, high = (
            np.array([[column[edge]] for column, edge in zip(self._below, edges.tolist(), strict=True)])
            for edges in (lows, (highs.astype(np.int64) + 1))
        )
        touched = (np.minimum(self._wanted.high, high) > np.maximum(self._wanted.low, low)).all(axis=0)
        cut = self._cut_by(low, high)
        kept = np.flatnonzero(touched & cut[self._leading :].any(axis=0))
        narrowed = object.__new__(QueryCosts)
        narrowed.__dict__.update(self.__dict__, _wanted=self._wanted.only(kept), _cut=cut.take(kept, axis=1))
        return narrowed

    def ends(self, column: int) -> Ends:
        """Return the ends of queries in a column: first the starts, then the stops."""
        boxes = self._cut[column] & ~self._wanted.drawn[column]
        starts, ends = self._wanted.starts[column][boxes], self._wanted.ends[column][boxes]
        return Ends(np.concatenate((starts, ends)), np.tile(self._wanted.weights[boxes], 2))

    def of(self, lows: npt.NDArray[np.uint16], highs: npt.NDArray[np.uint16], files: npt.NDArray[np.int64]) -> Doubles:
        """Return the costs of boxes, in shares of the queries."""
        read = np.repeat(self._wanted.weights[:, None], len(files), axis=1)
        parts = [
            self._part(column, low, high, read) for column, (low, high) in enumerate(zip(lows, highs, strict=True))
        ]
        _deal(read, [part for part in parts if len(part.boxes)], files)
        costs: Doubles = folded(read) + self._unforeseen * self._extents.of(lows, highs, files)
        return costs

    def _part(self, place: int, lows: npt.NDArray[np.uint16], highs: npt.NDArray[np.uint16], read: Doubles) -> _Part:
        """Return the shares that queries ask for in one column; set ``read`` to 0 for untouched boxes."""
        column = self._leading + place
        boxes = np.flatnonzero(self._cut[column])
        low, high = self._below[column][lows], self._below[column][highs.astype(np.int64) + 1]
        wanted_low, wanted_high = (each[column, boxes, None] for each in (self._wanted.low, self._wanted.high))
        inside = np.maximum(0.0, np.minimum(wanted_high, high) - np.maximum(wanted_low, low))
        drawn = self._wanted.drawn[column, boxes]
        extents = high - low
        touched = (inside > 0.0).astype(np.float64)
        touched[drawn] = extents * (1.0 / self._rows)
        read[boxes] *= touched
        inside[drawn] = 0.0
        return _Part(boxes, inside * (1.0 / extents), np.ones(inside.shape), np.ones(len(lows)))


def _deal(read: Doubles, parts: Sequence[_Part], files: npt.NDArray[np.int64]) -> None:
    """Allot slices to columns until there are as many as files; update ``read``."""
    left = files.astype(np.float64)
    while parts and (dealing := left > 1.0).any():
        step = np.where(left >= 2.0, 2.0, np.where(dealing, left, 1.0))
        tried = []
        for part in parts:
            slices = part.slice / step
            of_column = np.minimum(1.0, part.share + slices)
            before = read[part.boxes]
            after = before / part.read * of_column
            tried.append((slices, of_column, after, folded(before - after)))
        chosen = np.array([saved for *_, saved in tried]).argmax(axis=0)
        for place, (part, (slices, of_column, after, _)) in enumerate(zip(parts, tried, strict=True)):
            here = dealing & (chosen == place)
            if not here.any():
                continue
            np.copyto(part.slice, slices, where=here)
            np.copyto(part.read, of_column, where=here)
            read[part.boxes] = np.where(here, after, read[part.boxes])
        left /= step


def _drawn(wanted: _Wanted, query: npt.NDArray[np.int64], weights: Doubles, leading: int) -> npt.NDArray[np.bool_]:
    """Return which boxes ask for a single position of a clustering column that no other query asks for.

    The query must be less than twice as frequent as the rarest query; a more frequent query repeats itself.
    """
    drawn = np.zeros(wanted.low.shape, np.bool_)
    least = weights[query].min(initial=np.inf)
    for column in range(leading, len(drawn)):
        single = np.flatnonzero(wanted.ends[column] - wanted.starts[column] == 1)
        queries: dict[int, set[int]] = {}
        for position, number in zip(wanted.starts[column, single].tolist(), query[single].tolist(), strict=True):
            queries.setdefault(position, set()).add(number)
        for box in single.tolist():
            of_value = queries[int(wanted.starts[column, box])]
            drawn[column, box] = len(of_value) == 1 and weights[query[box]] < 2.0 * least
    return drawn


def _merged(wanted: _Wanted) -> _Wanted:
    """Merge equal boxes, in order of first appearance, and add their weights in order."""
    weights: dict[bytes, float] = {}
    first = []
    same = np.concatenate((wanted.low, wanted.high, wanted.drawn)).T
    for box, (what, weight) in enumerate(zip(np.ascontiguousarray(same), wanted.weights.tolist(), strict=True)):
        key = what.tobytes()
        if key not in weights:
            first.append(box)
        weights[key] = weights.get(key, 0.0) + weight
    return replace(wanted.only(np.array(first, np.int64)), weights=np.array(list(weights.values()), np.float64))
