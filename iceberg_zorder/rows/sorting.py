"""Sort rows by the columns of a prefix and then by their index, and split too many of them by ranges of these keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.keys import NAN, NULL, VALUE, encode

_Longs = npt.NDArray[np.int64]
_SAMPLED = 4096


@dataclass(frozen=True, eq=False)
class SortKey:
    """One of the keys that rows are sorted by, a value for every row; larger ones come first if it is descending."""

    values: _Longs | pa.LargeBinaryArray
    descending: bool = False


@dataclass(frozen=True)
class Range:
    """How rows are split: by the key at a place, whose ranges start, but for the first, at some values of it."""

    key: int
    starts: tuple[Any, ...]
    descending: bool

    def of(self, keys: Sequence[SortKey]) -> _Longs:
        """Find the ranges of rows, in the order of the sort."""
        values = keys[self.key].values
        if isinstance(values, np.ndarray):
            found = np.searchsorted(np.array(self.starts, np.int64), values, side="right")
        else:
            starts = np.array([*self.starts, None], object)[:-1]
            found = np.searchsorted(starts, values.to_numpy(zero_copy_only=False), side="right")
        return (len(self.starts) - found if self.descending else found).astype(np.int64)


def sort_keys(
    prefix: Sequence[ClusteringColumn],
    orders: Sequence[tuple[bool, bool]],
    columns: Sequence[pa.Array],
    index: _Longs,
) -> list[SortKey]:
    """Find the keys of rows."""
    keys = []
    for column, (descending, nulls_first), array in zip(prefix, orders, columns, strict=True):
        encoded = encode(array, column.type)
        rank = np.zeros(3, np.int64)
        rank[VALUE], rank[NAN], rank[NULL] = 1, 0 if descending else 2, -1 if nulls_first else 3
        keys.append(SortKey(rank[encoded.states]))
        if isinstance(encoded.keys, np.ndarray):
            keys.append(SortKey(np.where(encoded.states == VALUE, encoded.keys, 0), descending))
        else:
            keys.append(SortKey(pc.if_else(pa.array(encoded.states == VALUE), encoded.keys, b""), descending))
    return [*keys, SortKey(index)]


def sort_permutation(keys: Sequence[SortKey]) -> _Longs:
    """Find the places of rows in the order of their keys.

    Examples
    --------
    >>> sort_permutation([SortKey(np.array([1, 2, 2]), descending=True), SortKey(np.array([0, 7, 3]))])
    array([2, 1, 0])
    """
    if len(keys) == 1 and isinstance(keys[0].values, np.ndarray):
        return np.argsort(keys[0].values)
    return np.lexsort([_ranks(key) for key in reversed(keys)])


def _ranks(key: SortKey) -> _Longs:
    if isinstance(key.values, np.ndarray):
        return ~key.values if key.descending else key.values
    order = "descending" if key.descending else "ascending"
    ranks: _Longs = pc.rank(key.values, sort_keys=order, tiebreaker="dense").to_numpy().astype(np.int64)
    return ranks


def split(parts: Iterable[Sequence[SortKey]], pieces: int) -> Range | None:
    """Find how to split rows into about so many pieces.

    Examples
    --------
    >>> split([[SortKey(np.array([5, 5, 5]))], [SortKey(np.array([5, 5, 9]))]], pieces=2)
    Range(key=0, starts=(6,), descending=False)
    """
    lows: list[Any] = []
    highs: list[Any] = []
    samples: list[list[Any]] = []
    descending: list[bool] = []
    for keys in parts:
        for place, key in enumerate(keys):
            low, high = _extremes(key)
            step = max(1, len(key.values) // _SAMPLED)
            sampled = (
                key.values[::step].tolist() if isinstance(key.values, np.ndarray) else key.values[::step].to_pylist()
            )
            if place == len(lows):
                lows.append(low)
                highs.append(high)
                samples.append(sampled)
                descending.append(key.descending)
            else:
                lows[place], highs[place] = min(lows[place], low), max(highs[place], high)
                samples[place] += sampled
    for place, (low, high) in enumerate(zip(lows, highs, strict=True)):
        if low < high:
            ordered = sorted(samples[place])
            starts = {ordered[len(ordered) * piece // pieces] for piece in range(1, pieces)} - {low}
            return Range(place, tuple(sorted(starts)) or (_successor(low),), descending[place])
    return None


def _extremes(key: SortKey) -> tuple[Any, Any]:
    if isinstance(key.values, np.ndarray):
        return int(key.values.min()), int(key.values.max())
    found = pc.min_max(key.values)
    return found["min"].as_py(), found["max"].as_py()


def _successor(value: Any) -> Any:
    return value + 1 if isinstance(value, int) else value + b"\0"
