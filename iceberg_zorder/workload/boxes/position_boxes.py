"""Boxes over keys as boxes over the positions of a layout."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from iceberg_zorder.layout.boundaries import Boundaries
from iceberg_zorder.layout.growth.query_boxes import QueryBoxes
from iceberg_zorder.layout.keys import NAN, VALUE, KeyColumn
from iceberg_zorder.layout.layout import LayoutColumn
from iceberg_zorder.workload.boxes.box import Box
from iceberg_zorder.workload.boxes.key_ranges import END, Edge, KeyRange


def query_boxes(queries: Iterable[tuple[Sequence[Box], float]], columns: Sequence[LayoutColumn]) -> QueryBoxes:
    """Put what queries want into the positions of a layout.

    Parameters
    ----------
    queries : iterable of (sequence of Box, float)
        What each asks for, with its weight; one that asks for nothing is left out.
    columns : sequence of LayoutColumn
        The active columns of a layout.

    Returns
    -------
    QueryBoxes
        The boxes of the queries, one after the other.

    Examples
    --------
    >>> from iceberg_zorder.layout.columns import ClusteringColumn
    >>> boundaries = Boundaries(np.array([10, 20, 30]))
    >>> column = LayoutColumn(0, ClusteringColumn(("a",), "long"), boundaries, np.array([0, 16, 32, 48, 60, 62]))
    >>> below = Box.of({("a",): KeyRange((VALUE,), (VALUE, 20))})
    >>> found = query_boxes([((), 9.0), ((below, Box(())), 2.0)], [column])
    >>> found.lower.tolist(), found.upper.tolist(), found.query.tolist(), found.weights.tolist()
    ([[0, 0]], [[16, 62]], [0, 0], [2.0])
    """
    wanted = [(boxes, weight) for boxes, weight in queries if boxes]
    found = [position_box(box, columns) for boxes, _ in wanted for box in boxes]
    edges = np.array(found, np.int64).reshape(len(found), len(columns), 2)
    query = np.repeat(np.arange(len(wanted)), [len(boxes) for boxes, _ in wanted])
    return QueryBoxes(edges[:, :, 0].T, edges[:, :, 1].T, query, np.array([weight for _, weight in wanted]))


def position_box(box: Box, columns: Sequence[LayoutColumn]) -> npt.NDArray[np.int64]:
    """Find the positions that the rows in a box may have.

    Parameters
    ----------
    box : Box
        Over keys; columns that the layout does not have do not count.
    columns : sequence of LayoutColumn
        The active columns of a layout.

    Returns
    -------
    ndarray of int64, shape (columns, 2)
        Of each column the lowest and the highest position, both included.

    Examples
    --------
    >>> from iceberg_zorder.layout.columns import ClusteringColumn
    >>> boundaries = Boundaries(np.array([10, 20, 30]))
    >>> column = LayoutColumn(0, ClusteringColumn(("a",), "long"), boundaries, np.array([0, 16, 32, 48, 60, 62]))
    >>> position_box(Box.of({("a",): KeyRange((VALUE, 10), (VALUE, 20))}), [column]).tolist()
    [[16, 16]]
    >>> position_box(Box.of({("b",): KeyRange((VALUE, 10), (VALUE, 20))}), [column]).tolist()
    [[0, 62]]
    """
    found = np.empty((len(columns), 2), np.int64)
    for place, each in enumerate(columns):
        low, high = bucket_range(box.range(each.column.parts), each.boundaries)
        # In a column that is sorted downwards they fall.
        positions = each.positions[low : high + 1]
        found[place] = positions.min(), positions.max()
    return found


def bucket_range(keys: KeyRange, boundaries: Boundaries) -> tuple[int, int]:
    """Find the lowest and the highest bucket of a range of keys, which is not empty, both included.

    The keys need not be cut as those of the boundaries are, see :func:`iceberg_zorder.layout.sample.sampled_bytes`.

    Examples
    --------
    >>> boundaries = Boundaries(np.array([10, 20, 30]))
    >>> [bucket_range(KeyRange((VALUE, low), (VALUE, 20)), boundaries) for low in (9, 10)]
    [(0, 1), (1, 1)]
    >>> bucket_range(KeyRange((VALUE, 25), (NAN,)), boundaries), bucket_range(KeyRange((NAN,), (END,)), boundaries)
    ((2, 3), (4, 5))
    """
    low = _bucket(keys.start, boundaries)
    if len(keys.stop) == 1:
        return low, _bucket(keys.stop, boundaries) - 1
    # The key just below a stop has as many boundaries at or below it as there are below the stop.
    return low, _count(boundaries, keys.stop[1], "left")


def _bucket(edge: Edge, boundaries: Boundaries) -> int:
    """Find the bucket that begins at an edge, or that the key behind it is in."""
    if len(edge) == 2:
        return _count(boundaries, edge[1], "right")
    return {VALUE: 0, NAN: boundaries.nan_bucket, END: boundaries.buckets}.get(edge[0], boundaries.null_bucket)


def _count(boundaries: Boundaries, key: int | bytes, side: str) -> int:
    """Count the boundaries below a key, or not above it."""
    if side == "left" and boundaries.size:
        ordered = boundaries.keys
        ordered = ordered if isinstance(ordered, np.ndarray) else ordered.to_numpy(zero_copy_only=False)
        # A key of bytes may end in zeros, which an array of bytes would leave out.
        wanted = np.array([key], ordered.dtype)
        return int(np.searchsorted(ordered, wanted, side="left")[0])
    keys = np.array([key]) if isinstance(key, int) else pa.array([key], pa.large_binary())
    return int(boundaries.bucket_of(KeyColumn(keys, np.array([VALUE], np.uint8)))[0])
