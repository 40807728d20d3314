"""Cut files that are too large for one file group into several.

A set of files above the limit is halved in the column, and at the place, that files of the fewest bytes span; each half
has a third of the bytes at least, if there is such a place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from iceberg_zorder.report.data_files import ColumnBounds, DataFiles
from iceberg_zorder.report.ranks import Kept, dense_ranks

_NEAR = 3
_Array = npt.NDArray[np.int64]


def cut_groups(
    files: DataFiles, bound: int, kept: Sequence[Kept | None], weights: Sequence[float]
) -> list[npt.NDArray[np.int64]]:
    """Cut files into file groups.

    Parameters
    ----------
    files : DataFiles
        The files, at least one.
    bound : int
        The bytes that a group may have, at least 1. A larger file is a group by itself.
    kept : sequence of (callable or None)
        For each column, what new lower/upper bounds keep of a key; None where it is all.
    weights : sequence of float
        For each column, what it counts, 0 or more. Columns of weight 0 are not cut in.

    Returns
    -------
    list of ndarray of int64
        The places of the files of each group, ascending.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from iceberg_zorder.layout.columns import ClusteringColumn
    >>> from iceberg_zorder.layout.keys import encode
    >>> ends = [encode(pa.array(each), "long") for each in ([0, 50, 8, 58], [9, 59, 19, 69])]
    >>> bounds = ColumnBounds(ClusteringColumn(("a",), "long"), *ends, np.ones(4))
    >>> files = DataFiles(np.zeros(4, int), np.full(4, 100), np.full(4, 100), (bounds,))
    >>> [each.tolist() for each in cut_groups(files, 200, [None], [1.0])]
    [[0, 2], [1, 3]]
    """
    sizes = files.sizes.astype(np.int64)
    each = zip(files.columns, kept, weights, strict=True)
    columns = [_extents(bounds, cut) for bounds, cut, weight in each if weight > 0]
    found, parts = [], [np.arange(files.count)]
    while parts:
        part = parts.pop()
        if len(part) < 2 or sizes[part].sum() <= bound:
            found.append(part)
        else:
            parts += [np.sort(half) for half in _halves(part, sizes, columns or [(0 * sizes, 0 * sizes)])[::-1]]
    return found


def _halves(files: _Array, sizes: _Array, columns: Sequence[tuple[_Array, _Array]]) -> tuple[_Array, _Array]:
    """Halve two files or more; of equal places, take the one that halves the bytes best, and then the first."""
    best, found = None, (files[:1], files[1:])
    for lower, upper in columns:
        order = files[np.argsort(lower[files] + upper[files], kind="stable")]
        ends = np.cumsum(sizes[order])
        halves = np.minimum(ends[:-1], ends[-1] - ends[:-1])
        spanning = _spanning(order, sizes, lower, upper)
        is_near = _NEAR * halves >= ends[-1]
        if not is_near.any():
            is_near, spanning = halves >= 0, np.full(len(halves), np.iinfo(np.int64).max)
        least = spanning[is_near].min()
        place = int(np.argmax(np.where(is_near & (spanning == least), halves, -1)))
        rank = (-int(least), int(halves[place]))
        if best is None or rank > best:
            best, found = rank, (order[: place + 1], order[place + 1 :])
    return found


def _spanning(order: _Array, sizes: _Array, lower: _Array, upper: _Array) -> _Array:
    """For each place between files, half way between their middles, the bytes that span it."""
    middles = lower[order] + upper[order]
    places = middles[:-1] + middles[1:]
    wide = order[lower[order] < upper[order]]
    return _bytes_up_to(4 * lower[wide], sizes[wide], places, "left") - _bytes_up_to(
        4 * upper[wide], sizes[wide], places, "right"
    )


def _bytes_up_to(values: _Array, sizes: _Array, places: _Array, side: Literal["left", "right"]) -> _Array:
    order = np.argsort(values, kind="stable")
    sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes[order])])
    found: _Array = sums[np.searchsorted(values[order], places, side)]
    return found


def _extents(bounds: ColumnBounds, kept: Kept | None) -> tuple[_Array, _Array]:
    """Rank the bounds of a column: a file without values lies above all values, one without bounds spans everything."""
    lower, upper = dense_ranks([bounds.lower, bounds.upper], kept)
    # Without any bounds there is width, too, or else cuts in that column would seem to cost nothing.
    above = 1 + max(int(lower.max(initial=0)), int(upper.max(initial=0)))
    lower = np.where(bounds.bounded, lower, np.where(bounds.has_values, 0, above))
    # Of damaged bounds the lower one may be the larger.
    return lower, np.maximum(lower, np.where(bounds.bounded, upper, above))
