"""Positions: where the buckets of a column stand in its sampled distribution."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def bucket_positions(buckets: npt.NDArray[np.int64], count: int, bits: int) -> npt.NDArray[np.int64]:
    """Map every bucket to the share of sampled rows strictly below it, scaled.

    position(bucket) = min(2^bits - 1, floor(2^bits x rows below / all rows)), in integers. Weighted by rows, so a heavy
    value takes one wide bucket.

    Parameters
    ----------
    buckets : ndarray of int64, shape (rows,)
        Buckets of all sampled rows, those of NaN and NULL included; at least one row.
    count : int
        Number of buckets.
    bits : int
        Bits of a position, in [1, 16].

    Returns
    -------
    ndarray of int64, shape (count,)
        Positions in [0, 2^bits), not decreasing.

    Examples
    --------
    >>> bucket_positions(np.array([0, 0, 0, 1, 2, 2, 2, 2]), count=4, bits=3)
    array([0, 3, 4, 7])
    """
    below = np.concatenate(([0], np.cumsum(np.bincount(buckets, minlength=count))[:-1])).astype(np.int64)
    positions: npt.NDArray[np.int64] = np.minimum((1 << bits) - 1, (below << bits) // len(buckets))
    return positions
