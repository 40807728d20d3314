"""Compute the file and the curve index of every row by a layout, with lookup tables where possible.

::

    value --search--> bucket --table--> cell of its column's splits --sum--> cell of the space --table--> leaf
                      bucket, leaf --table--> share of the index
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_zorder.layout.box_tree import BoxTree, Split
from iceberg_zorder.layout.curve import HILBERT, hilbert_index, spread
from iceberg_zorder.layout.keys import NULL, encode
from iceberg_zorder.layout.layout import Layout, LayoutColumn
from iceberg_zorder.sample.sampled_row_groups import row_hashes

_LARGEST_TABLE = 1 << 22
_RANGE_BITS = 18
# Arrays of this many numbers stay in the processor's cache, and need no new pages.
_ROWS_AT_A_TIME = 8192
_Longs = npt.NDArray[np.int64]


class Router:
    """Routes rows to their files; builds no large tables for few rows.

    Examples
    --------
    >>> from iceberg_zorder.layout.columns import ClusteringColumn
    >>> from iceberg_zorder.layout.fit import LayoutRequest, fit
    >>> from iceberg_zorder.layout.sample import Sample
    >>> values = pa.array(range(8))
    >>> layout = fit([ClusteringColumn(("a",), "long")], Sample((encode(values, "long"),)), LayoutRequest(files=2))
    >>> file, index = Router(layout).route([values], "file:/a.parquet", np.arange(8))
    >>> file
    array([0, 0, 0, 0, 1, 1, 1, 1])
    """

    def __init__(self, layout: Layout, rows: int = 1 << _RANGE_BITS) -> None:
        self._layout = layout
        bits = min(_RANGE_BITS, rows.bit_length())
        tree = layout.cuts if isinstance(layout.cuts, BoxTree) else None
        self._cells = None if tree is None else _cells(layout, tree)
        self._searches = [_Search(column, bits) for column in layout.columns]
        self._shares = [self._share(place, column) for place, column in enumerate(layout.columns)]

    def route(self, columns: Sequence[pa.Array], path: str, positions: _Longs) -> tuple[_Longs, _Longs]:
        """Return the files and the indexes of some rows of a data file."""
        rows = len(positions)
        file, index = np.empty(rows, np.int64), np.empty(rows, np.int64)
        for start in range(0, rows, _ROWS_AT_A_TIME):
            end = min(rows, start + _ROWS_AT_A_TIME)
            some = [column.slice(start, end - start) for column in columns]
            file[start:end], index[start:end] = self._route(some, path, positions[start:end])
        return file, index

    def _route(self, columns: Sequence[pa.Array], path: str, positions: _Longs) -> tuple[_Longs, _Longs]:
        rows, cuts, active = len(positions), self._layout.cuts, self._layout.columns
        buckets = [
            search.buckets(columns[column.ordinal]) for search, column in zip(self._searches, active, strict=True)
        ]
        if not isinstance(cuts, BoxTree):
            index = self._index(buckets, None, rows)
            return cuts.file(index), index
        if not buckets:
            leaf = np.zeros(rows, np.int64)
        elif self._cells:
            shares, leaves = self._cells
            cell = np.zeros(rows, np.int64)
            for share, bucket in zip(shares, buckets, strict=True):
                cell += share[bucket]
            leaf = leaves[cell]
        else:
            leaf = cuts.leaf([column.positions[bucket] for column, bucket in zip(active, buckets, strict=True)])
        # Without a box of several files no row is hashed.
        file = cuts.file(leaf, row_hashes(path, positions)) if cuts.files > len(cuts.leaves) else leaf
        return file, self._index(buckets, leaf, rows)

    def _share(self, place: int, column: LayoutColumn) -> _Longs | None:
        """Return a column's share of the index by bucket, and with a tree by leaf and bucket; None without a table."""
        layout, curved = self._layout, len(self._layout.columns) - self._layout.leading
        if not isinstance(layout.cuts, BoxTree):
            if place < layout.leading:
                return column.positions << layout.bits * (len(layout.columns) - 1 - place)
            return spread(column.positions, place - layout.leading, curved, layout.bits)
        if place < layout.leading or len(layout.cuts.leaves) * column.boundaries.buckets > _LARGEST_TABLE:
            return None
        leaves = np.arange(len(layout.cuts.leaves)).repeat(column.boundaries.buckets)
        return self._share_in_leaf(place, leaves, np.tile(column.positions, len(layout.cuts.leaves)))

    def _share_in_leaf(self, place: int, leaf: _Longs, positions: _Longs) -> _Longs:
        layout = self._layout
        assert isinstance(layout.cuts, BoxTree)  # noqa: S101
        stretched = layout.cuts.rescaled(place, positions, leaf, layout.bits)
        return spread(stretched, place - layout.leading, len(layout.columns) - layout.leading, layout.bits)

    def _index(self, buckets: list[_Longs], leaf: _Longs | None, rows: int) -> _Longs:
        layout = self._layout
        index, curved = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
        for place, (column, bucket, share) in enumerate(zip(layout.columns, buckets, self._shares, strict=True)):
            if leaf is None:
                part = share[bucket]  # type: ignore[index]
                if place < layout.leading:
                    index |= part
                    continue
            elif place < layout.leading:
                continue
            elif share is None:
                part = self._share_in_leaf(place, leaf, column.positions[bucket])
            else:
                part = share[leaf * column.boundaries.buckets + bucket]
            curved |= part
        if layout.curve == HILBERT and len(layout.columns) > layout.leading:
            curved = hilbert_index(curved, len(layout.columns) - layout.leading, layout.bits)
        return index | curved


def _cells(layout: Layout, tree: BoxTree) -> tuple[list[_Longs], _Longs] | None:
    """Return the summand of each column's buckets in a row's cell number, and the leaf of each cell."""
    starts = [
        np.unique([node.start for node in tree.nodes if isinstance(node, Split) and node.column == place] + [0])
        for place in range(len(layout.columns))
    ]
    if not starts or math.prod(len(each) for each in starts) > _LARGEST_TABLE:
        return None
    corners = [each.ravel() for each in np.meshgrid(*starts, indexing="ij")]
    shares, stride = [], len(corners[0])
    for column, each in zip(layout.columns, starts, strict=True):
        stride //= len(each)
        shares.append((np.searchsorted(each, column.positions, side="right") - 1) * stride)
    return shares, tree.leaf([corner.astype(np.int64) for corner in corners])


class _Search:
    """Returns the buckets of one column's values."""

    def __init__(self, column: LayoutColumn, range_bits: int) -> None:
        self._type = column.column.type
        self._boundaries = column.boundaries
        keys = column.boundaries.keys
        self._table = _RangeTable(keys, range_bits) if isinstance(keys, np.ndarray) and len(keys) else None

    def buckets(self, array: pa.Array) -> _Longs:
        """Return the buckets of values; a dictionary is searched once for each entry."""
        if pa.types.is_dictionary(array.type):
            of_entries = self.buckets(array.dictionary)
            codes: _Longs = pc.fill_null(array.indices, len(of_entries)).to_numpy(zero_copy_only=False)
            return np.append(of_entries, self._boundaries.size + NULL)[codes]
        column = encode(array, self._type)
        if self._table and isinstance(column.keys, np.ndarray):
            found = self._table.find(column.keys)
        elif isinstance(column.keys, np.ndarray) or not self._boundaries.size or not hasattr(pc, "search_sorted"):
            return self._boundaries.bucket_of(column)
        else:
            found = pc.search_sorted(self._boundaries.keys, column.keys, side="right").to_numpy(zero_copy_only=False)
            found = found.astype(np.int64)
        if column.states.any():
            others = np.flatnonzero(column.states)
            found[others] = self._boundaries.size + column.states[others].astype(np.int64)
        return found


class _RangeTable:
    """Counts the boundaries not above a key, by a table of equal ranges and a search within ranges that hold one.

    Most ranges hold no boundary, so the table has their answer.
    """

    def __init__(self, boundaries: _Longs, bits: int = _RANGE_BITS) -> None:
        low, high = int(boundaries[0]), int(boundaries[-1])
        self._boundaries = boundaries
        self._base = np.int64(max(low - 1, -(2**63)))
        self._high = np.int64(high)
        self._shift = np.uint64(max(0, (high - int(self._base)).bit_length() - bits))
        count = ((high - int(self._base)) >> int(self._shift)) + 1
        starts = ((np.arange(count + 1, dtype=np.uint64) << self._shift) + self._base.view(np.uint64)).view(np.int64)
        if starts[-1] < starts[0]:
            starts[-1] = np.iinfo(np.int64).max
        before = np.searchsorted(boundaries, starts, side="left").astype(np.int64)
        at_start = np.searchsorted(boundaries, starts[:-1], side="right").astype(np.int64)
        self._answers = at_start
        ends = before[1:]
        ends[-1] = len(boundaries)
        self._is_open = None if not self._shift else at_start != ends

    def find(self, keys: _Longs) -> _Longs:
        offsets = np.clip(keys, self._base, self._high).view(np.uint64) - self._base.view(np.uint64)
        ranges = (offsets >> self._shift).view(np.int64)
        found: _Longs = self._answers[ranges]
        if self._is_open is not None:
            rest = np.flatnonzero(self._is_open[ranges])
            if len(rest):
                found[rest] = np.searchsorted(self._boundaries, keys[rest], side="right")
        return found
