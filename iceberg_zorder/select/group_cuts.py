"""Split file groups that are too large: cut each in the column in which the fewest bytes span the cut."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from iceberg_zorder.layout.keys import Beginning
from iceberg_zorder.metrics.data_files import ColumnBounds, DataFiles, dense_ranks

_Array = npt.NDArray[np.int64]
_MOST_ROWS = 2**32
"""Of a file; more are a mistake of its writer, and products with ranks must stay below 2^63."""


def cut_groups(
    files: DataFiles,
    chosen: _Array,
    most_bytes: int,
    most_files: int,
    kept: Sequence[Beginning | None],
    weights: Sequence[float],
) -> list[tuple[_Array, list[int]]]:
    """Cut chosen files into groups of so much at most, a larger file being one by itself.

    A part that needs n groups is cut where n // 2 of them end, so that 10 TiB at 1 TiB are 10 groups, and not 16 as by
    halves.

    Parameters
    ----------
    files : DataFiles
        All files of the partition.
    chosen : array of int
        The places of the files to cut, at least one, ascending.
    most_bytes, most_files : int
        The limits of a group.
    kept : sequence
        For each column, what new lower/upper bounds keep of a key.
    weights : sequence of float
        For each column, what it counts; columns of weight 0 are not cut in.

    Returns
    -------
    list of (array of int, list of int)
        The places of each group, ascending, and for each column the share of the partition's rows that lie between the
        bounds of the group, in thousandths from 1 to 1,000. The rows of each file are spread evenly over the ranks
        between its bounds, in integers: no float differs between engines.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from iceberg_zorder.layout.columns import ClusteringColumn
    >>> from iceberg_zorder.layout.keys import encode
    >>> ends = [encode(pa.array(each), "long") for each in ([0, 50, 8, 58], [9, 59, 19, 69])]
    >>> bounds = ColumnBounds(ClusteringColumn(("a",), "long"), *ends, np.ones(4))
    >>> files = DataFiles(np.zeros(4, int), np.full(4, 100), np.full(4, 100), (bounds,))
    >>> [(places.tolist(), extents) for places, extents in cut_groups(files, np.arange(4), 200, 9, [None], [1.0])]
    [([0, 2], [500]), ([1, 3], [500])]
    """
    columns = [_extents(*each) for each in zip(files.columns, kept, strict=True)]
    rows = [np.where(bounds.has_values, np.minimum(files.rows, _MOST_ROWS), 0) for bounds in files.columns]
    counting = [ends for ends, weight in zip(columns, weights, strict=True) if weight > 0]
    found, parts = [], [chosen]
    while parts:
        part = parts.pop()
        size = int(files.sizes[part].sum())
        count = max(-(-size // most_bytes), -(-len(part) // most_files))
        if len(part) < 2 or count < 2:
            found.append((part, [_extent(part, *of_column) for of_column in zip(rows, columns, strict=True)]))
        else:
            # Divided first: the product would overflow in Java.
            first_size = size // count * (count // 2)
            nowhere = [np.zeros((2, files.count), int)]
            cuts = (_cut(part, files.sizes, first_size, *ends) for ends in counting or nowhere)
            _, first, second = min(cuts, key=lambda cut: cut[0])
            parts += [second, first]
    return found


def _extent(part: _Array, rows: _Array, ends: _Array) -> int:
    """Return the share of all rows that lie between the bounds of some files, in thousandths, rounded up."""
    lower, upper = ends
    inside = np.minimum(upper, upper[part].max()) - np.maximum(lower, lower[part].min())
    width = upper - lower
    # Rows of one value are inside together, or not at all.
    between = np.where(width > 0, rows * np.maximum(inside, 0) // np.maximum(width, 1), np.where(inside >= 0, rows, 0))
    whole = int(rows.sum())
    return max(1, -(-1_000 * int(between.sum()) // whole)) if whole else 1_000


def _cut(part: _Array, sizes: _Array, size: int, lower: _Array, upper: _Array) -> tuple[int, _Array, _Array]:
    """Cut two files or more after about ``size`` bytes, by their middles; also returns the bytes that span the cut."""
    order = part[np.argsort(lower[part] + upper[part], kind="stable")]
    ends = np.cumsum(sizes[order])
    count = 1 + int(np.argmin(np.abs(ends[:-1] - size)))
    place = int((lower + upper)[order[count - 1 : count + 1]].sum())
    spanning = sizes[part][(4 * lower[part] < place) & (place < 4 * upper[part])]
    return int(spanning.sum()), np.sort(order[:count]), np.sort(order[count:])


def _extents(bounds: ColumnBounds, kept: Beginning | None) -> npt.NDArray[np.int64]:
    """Rank the bounds of a column: a file without values lies above all values, one without bounds spans everything."""
    lower, upper = dense_ranks([bounds.lower, bounds.upper], kept)
    # Without any bounds there is width, too, or else cuts in that column would seem to cost nothing.
    above = 1 + max(int(lower.max(initial=0)), int(upper.max(initial=0)))
    lower = np.where(bounds.bounded, lower, np.where(bounds.has_values, 0, above))
    # Of damaged bounds the lower one may be the larger.
    return np.stack([lower, np.maximum(lower, np.where(bounds.bounded, upper, above))])
