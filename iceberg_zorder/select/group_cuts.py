"""Split file groups that are too large: cut each in the column in which the fewest bytes span the cut."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from iceberg_zorder.metrics.data_files import ColumnBounds, DataFiles, Kept, dense_ranks

_Array = npt.NDArray[np.int64]


def cut_groups(
    files: DataFiles, most_bytes: int, most_files: int, kept: Sequence[Kept | None], weights: Sequence[float]
) -> list[npt.NDArray[np.int64]]:
    """Cut files into groups of so much at most, a larger file being one by itself; returns places, ascending.

    A part that needs n groups is cut where n // 2 of them end, so that 10 TiB at 1 TiB are 10 groups, and not 16 as by
    halves. For each column, ``kept`` is what new lower/upper bounds keep of a key, and ``weights`` what it counts:
    columns of weight 0 are not cut in.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from iceberg_zorder.layout.columns import ClusteringColumn
    >>> from iceberg_zorder.layout.keys import encode
    >>> ends = [encode(pa.array(each), "long") for each in ([0, 50, 8, 58], [9, 59, 19, 69])]
    >>> bounds = ColumnBounds(ClusteringColumn(("a",), "long"), *ends, np.ones(4))
    >>> files = DataFiles(np.zeros(4, int), np.full(4, 100), np.full(4, 100), (bounds,))
    >>> [each.tolist() for each in cut_groups(files, 200, 9, [None], [1.0])]
    [[0, 2], [1, 3]]
    """
    each = zip(files.columns, kept, weights, strict=True)
    columns = [_extents(bounds, cut) for bounds, cut, weight in each if weight > 0] or [np.zeros((2, files.count), int)]
    found, parts = [], [np.arange(files.count)]
    while parts:
        part = parts.pop()
        size = int(files.sizes[part].sum())
        count = max(-(-size // most_bytes), -(-len(part) // most_files))
        if len(part) < 2 or count < 2:
            found.append(part)
        else:
            # Divided first: the product would overflow in Java.
            cuts = (_cut(part, files.sizes, size // count * (count // 2), *ends) for ends in columns)
            _, first, second = min(cuts, key=lambda cut: cut[0])
            parts += [second, first]
    return found


def _cut(part: _Array, sizes: _Array, size: int, lower: _Array, upper: _Array) -> tuple[int, _Array, _Array]:
    """Cut two files or more after about ``size`` bytes, by their middles; also returns the bytes that span the cut."""
    order = part[np.argsort(lower[part] + upper[part], kind="stable")]
    ends = np.cumsum(sizes[order])
    count = 1 + int(np.argmin(np.abs(ends[:-1] - size)))
    place = int((lower + upper)[order[count - 1 : count + 1]].sum())
    spanning = sizes[part][(4 * lower[part] < place) & (place < 4 * upper[part])]
    return int(spanning.sum()), np.sort(order[:count]), np.sort(order[count:])


def _extents(bounds: ColumnBounds, kept: Kept | None) -> npt.NDArray[np.int64]:
    """Rank the bounds of a column: a file without values lies above all values, one without bounds spans everything."""
    lower, upper = dense_ranks([bounds.lower, bounds.upper], kept)
    # Without any bounds there is width, too, or else cuts in that column would seem to cost nothing.
    above = 1 + max(int(lower.max(initial=0)), int(upper.max(initial=0)))
    lower = np.where(bounds.bounded, lower, np.where(bounds.has_values, 0, above))
    # Of damaged bounds the lower one may be the larger.
    return np.stack([lower, np.maximum(lower, np.where(bounds.bounded, upper, above))])
