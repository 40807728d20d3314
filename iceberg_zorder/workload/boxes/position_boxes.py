"""Boxes over keys as boxes over the positions of a layout."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

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
    edges = position_boxes([box for boxes, _ in wanted for box in boxes], columns)
    query = np.repeat(np.arange(len(wanted)), [len(boxes) for boxes, _ in wanted])
    return QueryBoxes(edges[:, :, 0], edges[:, :, 1], query, np.array([weight for _, weight in wanted]))


def position_boxes(boxes: Sequence[Box], columns: Sequence[LayoutColumn]) -> npt.NDArray[np.int64]:
    """Find the positions that the rows in boxes may have.

    Examples
    --------
    >>> from iceberg_zorder.layout.columns import ClusteringColumn
    >>> boundaries = Boundaries(np.array([10, 20, 30]))
    >>> column = LayoutColumn(0, ClusteringColumn(("a",), "long"), boundaries, np.array([0, 16, 32, 48, 60, 62]))
    >>> boxes = [Box.of({(name,): KeyRange((VALUE, 10), (VALUE, 20))}) for name in "ab"]
    >>> position_boxes(boxes, [column]).tolist()
    [[[16, 16], [0, 62]]]
    """
    found = np.empty((len(columns), len(boxes), 2), np.int64)
    for place, each in enumerate(columns) if boxes else ():
        low, high = bucket_ranges([box.range(each.column.parts) for box in boxes], each.boundaries)
        # In a column that is sorted downwards they fall. The last one is there for ranges that end with the buckets.
        positions, slices = np.append(each.positions, 0), np.stack([low, high + 1], axis=1).ravel()
        found[place, :, 0] = np.minimum.reduceat(positions, slices)[::2]
        found[place, :, 1] = np.maximum.reduceat(positions, slices)[::2]
    return found


def bucket_ranges(
    ranges: Sequence[KeyRange], boundaries: Boundaries
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Find the lowest and the highest bucket of ranges of keys, which are not empty, both included.

    The keys need not be cut as those of the boundaries are, see :func:`iceberg_zorder.layout.sample.sampled_bytes`.

    Examples
    --------
    >>> boundaries = Boundaries(np.array([10, 20, 30]))
    >>> of_values = [KeyRange((VALUE, low), (VALUE, 20)) for low in (9, 10)]
    >>> bucket_ranges([*of_values, KeyRange((VALUE, 25), (NAN,)), KeyRange((NAN,), (END,))], boundaries)
    (array([0, 1, 2, 4]), array([1, 1, 3, 5]))
    """
    low = _buckets([each.start for each in ranges], boundaries, "right")
    # The key just below a stop has as many boundaries at or below it as there are below the stop.
    high = _buckets([each.stop for each in ranges], boundaries, "left")
    are_keys = np.array([len(each.stop) == 2 for each in ranges], np.bool_)
    return low, np.where(are_keys, high, high - 1)


def value_ranges(
    ranges: Sequence[KeyRange], values: Boundaries, kept: Callable[[bytes], bytes] | None = None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Find which of some values are in ranges of keys: the place of the first one, and of the last one.

    A range that is between two values has its first one behind its last one.

    Examples
    --------
    >>> values = Boundaries(np.array([10, 20, 30]))
    >>> of_values = [KeyRange((VALUE, low), (VALUE, 21)) for low in (9, 20, 21)]
    >>> value_ranges([*of_values, KeyRange((VALUE,), (END,)), KeyRange((NAN,), (END,))], values)
    (array([0, 1, 2, 0, 3]), array([1, 1, 1, 2, 2]))
    """
    starts = [each.start for each in ranges]
    if kept is not None:
        starts = [
            (edge[0], kept(edge[1])) if len(edge) == 2 and isinstance(edge[1], bytes) else edge for edge in starts
        ]
    first, after = (_places(edges, values) for edges in (starts, [each.stop for each in ranges]))
    return first, after - 1


def _places(edges: Sequence[Edge], values: Boundaries) -> npt.NDArray[np.int64]:
    """Count the values before edges."""
    found = np.array([0 if edge == (VALUE,) else values.size for edge in edges], np.int64)
    places = [place for place, edge in enumerate(edges) if len(edge) == 2]
    if places and values.size:
        found[places] = _counts(values, [edge[1] for edge in edges if len(edge) == 2], "left")
    return found


def _buckets(edges: Sequence[Edge], boundaries: Boundaries, side: str) -> npt.NDArray[np.int64]:
    """Find the buckets that begin at edges, or of edges at keys how many boundaries lie below, or not above."""
    of_state = {VALUE: 0, NAN: boundaries.nan_bucket, END: boundaries.buckets}
    found = np.array([of_state.get(edge[0], boundaries.null_bucket) for edge in edges], np.int64)
    places = [place for place, edge in enumerate(edges) if len(edge) == 2]
    if places:
        found[places] = _counts(boundaries, [edge[1] for edge in edges if len(edge) == 2], side)
    return found


def _counts(boundaries: Boundaries, keys: Sequence[int | bytes], side: str) -> npt.NDArray[np.int64]:
    """Count the boundaries below keys, or not above them."""
    if side == "left" and boundaries.size:
        ordered = boundaries.keys
        ordered = ordered if isinstance(ordered, np.ndarray) else ordered.to_numpy(zero_copy_only=False)
        # A key of bytes may end in zeros, which an array of bytes would leave out.
        return np.searchsorted(ordered, np.array(keys, ordered.dtype), side="left").astype(np.int64)
    of_bytes = isinstance(keys[0], bytes)
    column = pa.array(keys, pa.large_binary()) if of_bytes else np.array(keys, np.int64)
    return boundaries.bucket_of(KeyColumn(column, np.full(len(keys), VALUE, np.uint8)))
