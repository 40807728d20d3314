"""Positions: where the buckets of a column stand in its sampled distribution."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def bucket_positions(
    buckets: npt.NDArray[np.int64], count: int, bits: int, *, descending: bool = False, nulls_first: bool = False
) -> npt.NDArray[np.int64]:
    """Map every bucket to the share of sampled rows in the buckets before it, scaled.

    position(bucket) = min(2^bits - 1, floor(2^bits x rows before / all rows)), in integers. Weighted by rows, so a
    heavy value takes one wide bucket. The buckets come in their own order, NaN and NULL last, unless asked otherwise.

    Parameters
    ----------
    buckets : ndarray of int64, shape (rows,)
        Buckets of all sampled rows, those of NaN and NULL included; at least one row.
    count : int
        Number of buckets, at least 1; the last one is that of NULL.
    bits : int
        Bits of a position, in [1, 16].
    descending : bool
        Whether the buckets come in reverse, that of NULL aside.
    nulls_first : bool
        Whether the bucket of NULL comes before all others.

    Returns
    -------
    ndarray of int64, shape (count,)
        Positions in [0, 2^bits), not decreasing in the order of the buckets.

    Examples
    --------
    >>> bucket_positions(np.array([0, 0, 0, 1, 2, 2, 2, 2]), count=4, bits=3)
    array([0, 3, 4, 7])
    >>> bucket_positions(np.array([0, 0, 0, 1, 2, 2, 2, 2]), count=4, bits=3, descending=True)
    array([5, 4, 0, 7])
    """
    order = np.arange(count - 1)[:: -1 if descending else 1]
    order = np.concatenate(([count - 1], order) if nulls_first else (order, [count - 1]))
    rows = np.bincount(buckets, minlength=count)[order]
    before = (np.cumsum(rows) - rows).astype(np.int64)
    positions = np.empty(count, np.int64)
    positions[order] = np.minimum((1 << bits) - 1, (before << bits) // len(buckets))
    return positions
