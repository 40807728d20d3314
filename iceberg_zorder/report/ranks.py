"""Ranks of keys: integers that compare as the keys do, whatever the type."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_zorder.layout.keys import VALUE, KeyColumn

Kept = Callable[[bytes], bytes]
"""What lower/upper bounds keep of a key of bytes."""


def dense_ranks(columns: Sequence[KeyColumn], kept: Kept | None = None) -> list[npt.NDArray[np.int64]]:
    """Rank the values of columns of one type together.

    Examples
    --------
    >>> from iceberg_zorder.layout.keys import encode
    >>> [each.tolist() for each in dense_ranks([encode(pa.array([7, None, 3]), "long"), encode(pa.array([5]), "long")])]
    [[2, -1, 0], [1]]
    """
    states = np.concatenate([column.states for column in columns])
    values: pa.Array = pa.concat_arrays([_values(column, kept) for column in columns])
    ranks = np.full(len(states), -1, np.int64)
    if len(values):
        ranks[states == VALUE] = pc.rank(values, tiebreaker="dense").to_numpy().astype(np.int64) - 1
    ends = np.cumsum([column.rows for column in columns])
    return np.split(ranks, ends[:-1])


def distinct_keys(
    columns: Sequence[KeyColumn], kept: Kept | None = None
) -> npt.NDArray[np.int64] | pa.LargeBinaryArray:
    """List the values that :func:`dense_ranks` ranks, by their ranks.

    Examples
    --------
    >>> from iceberg_zorder.layout.keys import encode
    >>> distinct_keys([encode(pa.array([7, None, 3]), "long"), encode(pa.array([5, 7]), "long")])
    array([3, 5, 7])
    """
    values: pa.Array = pa.concat_arrays([_values(column, kept) for column in columns]).unique().sort()
    return values.to_numpy() if pa.types.is_int64(values.type) else values


def _values(column: KeyColumn, kept: Kept | None) -> pa.Array:
    values = column.values
    if isinstance(values, np.ndarray):
        return pa.array(values, pa.int64())
    return values if kept is None else pa.array([kept(each.as_py()) for each in values], pa.large_binary())
