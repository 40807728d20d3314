"""Boundaries: the strictly increasing keys that split the sampled distribution of a column into buckets.

The bucket of a key is the number of boundaries not above it: a key equal to a boundary belongs to the bucket above.
NaN and NULL have the two buckets after all values: the number of boundaries plus the state ``NAN`` or ``NULL``::

    boundaries         10            20            30
    keys        ... 9  |  10 ... 19  |  20 ... 29  |  30 ...   NaN   NULL
    buckets       0    |      1      |      2      |     3      4     5

Source: equi-depth histograms, with the heavy values of compressed histograms (V. Poosala and others, "Improved
Histograms for Selectivity Estimation of Range Predicates", SIGMOD 1996).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_zorder.layout.keys import NULL, VALUE, KeyColumn

MAX_BOUNDARIES = 65_536


@dataclass(frozen=True, eq=False)
class Boundaries:
    """Boundaries of one column: strictly increasing keys.

    Examples
    --------
    >>> boundaries = Boundaries(np.array([10, 20, 30]))
    >>> boundaries.size, boundaries.buckets
    (3, 6)
    """

    keys: npt.NDArray[np.int64] | pa.LargeBinaryArray

    @property
    def size(self) -> int:
        """Number of boundaries; there is one more bucket of values."""
        return len(self.keys)

    @property
    def buckets(self) -> int:
        """Number of buckets, those of NaN and NULL included."""
        return self.size + 3

    def bucket_of(self, column: KeyColumn) -> npt.NDArray[np.int64]:
        """Return the bucket of every row.

        Examples
        --------
        >>> column = KeyColumn(np.array([9, 10, 0]), np.array([0, 0, NULL], np.uint8))
        >>> Boundaries(np.array([10, 20, 30])).bucket_of(column)
        array([0, 1, 5])
        """
        if isinstance(self.keys, np.ndarray):
            found = np.searchsorted(self.keys, column.keys, side="right").astype(np.int64)
        elif self.size == 0:
            found = np.zeros(column.rows, np.int64)
        else:
            # pyarrow has search_sorted only from version 26, which lacks Python 3.10; bytes compare unsigned here.
            ordered = self.keys.to_numpy(zero_copy_only=False)
            rows = pc.fill_null(column.keys, b"").to_numpy(zero_copy_only=False)
            found = np.searchsorted(ordered, rows, side="right").astype(np.int64)
        others = np.flatnonzero(column.states != VALUE)
        found[others] = self.size + column.states[others].astype(np.int64)
        return found

    def positions(
        self, column: KeyColumn, bits: int, *, descending: bool = False, nulls_first: bool = False
    ) -> npt.NDArray[np.int64]:
        """Return the position of every bucket: the scaled share of sampled rows in the buckets before it.

        position(bucket) = min(2^bits - 1, floor(2^bits x rows before / all rows)), in integers; at least one row is
        needed. Positions are weighted by rows, so a heavy value takes one wide bucket. NaN and NULL come last by
        default; ``descending`` reverses all buckets except NULL's.

        Examples
        --------
        >>> column = KeyColumn(np.array([1, 1, 1, 5, 9, 9, 9, 9]), np.zeros(8, np.uint8))
        >>> boundaries = Boundaries(np.array([5, 9]))
        >>> boundaries.positions(column, bits=3), boundaries.positions(column, bits=3, descending=True)
        (array([0, 3, 4, 7, 7]), array([5, 4, 0, 0, 7]))
        """
        null = self.size + NULL
        order = np.arange(null)[:: -1 if descending else 1]
        order = np.concatenate(([null], order) if nulls_first else (order, [null]))
        rows = np.bincount(self.bucket_of(column), minlength=self.buckets)[order]
        before = (np.cumsum(rows) - rows).astype(np.int64)
        positions = np.empty(self.buckets, np.int64)
        positions[order] = np.minimum((1 << bits) - 1, (before << bits) // column.rows)
        return positions


def find_boundaries(column: KeyColumn, maximum: int) -> Boundaries:
    """Return at most ``maximum`` boundaries of a column's sampled keys, or twice the number of heavy keys.

    With at most ``maximum`` distinct keys, every key has its own bucket. Otherwise boundaries are the keys at evenly
    spaced ranks, and a heavy key, with at least 1/maximum of the values, has its own bucket.

    Examples
    --------
    >>> keys = np.arange(1000)
    >>> find_boundaries(KeyColumn(keys, np.zeros(1000, np.uint8)), 3).keys
    array([250, 500, 750])
    """
    values = column.values
    if isinstance(values, np.ndarray):
        distinct, counts = np.unique(values, return_counts=True)
        return Boundaries(distinct[_chosen(counts.astype(np.int64), maximum)])
    counted = pc.value_counts(values)
    order = pc.sort_indices(counted.field("values"))
    counts = counted.field("counts").take(order).to_numpy(zero_copy_only=False)
    return Boundaries(counted.field("values").take(order).filter(pa.array(_chosen(counts, maximum))))


def _chosen(counts: npt.NDArray[np.int64], maximum: int) -> npt.NDArray[np.bool_]:
    """Choose among the distinct keys in order, given how many values each one holds."""
    distinct = len(counts)
    rows = int(counts.sum())
    chosen = np.zeros(distinct, np.bool_)
    if distinct <= maximum:
        chosen[1:] = True
        return chosen
    heavy = np.flatnonzero(counts * maximum >= rows)
    chosen[heavy] = True
    # The boundary at the next key keeps that key out of the heavy one's bucket.
    chosen[heavy[heavy + 1 < distinct] + 1] = True
    chosen[0] = False
    ranks = max(0, maximum - int(chosen.sum()))
    at = (np.arange(1, ranks + 1, dtype=np.int64) * rows) // (ranks + 1)
    chosen[np.searchsorted(np.cumsum(counts), at, side="right")] = True
    chosen[0] = False
    return chosen
