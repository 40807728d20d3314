"""Lookup of rows that equal deleted rows, also for very many deleted rows.

Rows are looked up by a 64-bit hash, and compared value by value if the hash matches. For a single number of at most 64
bits, the hash is unique and no comparison is needed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_Bools = npt.NDArray[np.bool_]
_Hashes = npt.NDArray[np.uint64]
_Longs = npt.NDArray[np.int64]

_NULL = np.uint64(0x9E3779B97F4A7C15)
_BYTES_AT_A_TIME = 1024 * 1024
_WEIGHTS = np.random.default_rng(0).integers(0, 1 << 64, 1024, np.uint64) | np.uint64(1)
_LAST_BYTES = np.array([0, *((1 << 8 * count) - 1 for count in range(1, 9))], np.uint64)
"""Masks of a word's first bytes, by their number."""


class EqualRows:
    """Rows to compare others with; NULL equals NULL, and NaN equals NaN.

    ``newest`` has for each row the highest data sequence number of data files that it is deleted from.

    Examples
    --------
    >>> rows = EqualRows([pa.array([1, 2, 2, None])], np.array([5, 5, 9, 9]))
    >>> rows.contain([pa.array([None, 2, 3])], 5).tolist(), rows.contain([pa.array([None, 1])], 6).tolist()
    ([True, True, False], [True, False])
    """

    def __init__(self, columns: Sequence[pa.Array], newest: _Longs) -> None:
        columns = [comparable(column) for column in columns]
        hashes = _hashes(columns)
        order = np.lexsort((-newest, hashes))
        hashes, newest = hashes[order], newest[order]
        self._is_exact = len(columns) == 1 and _is_number(columns[0]) and not columns[0].null_count
        if not self._is_exact:
            columns = [column.take(pa.array(order)) for column in columns]
        again = np.flatnonzero(hashes[1:] == hashes[:-1]) + 1
        if not self._is_exact:
            again = again[_same(columns, again, columns, again - 1)]
        if len(again):
            # Of equal rows the one that reaches farthest comes first, and is enough.
            kept = np.ones(len(hashes), np.bool_)
            kept[again] = False
            hashes, newest = hashes[kept], newest[kept]
            if not self._is_exact:
                columns = [column.filter(pa.array(kept)) for column in columns]
        self._hashes = hashes
        alike = not len(newest) or newest.min() == newest.max()
        self._newest = newest[:1].copy() if alike else newest
        self._columns = [] if self._is_exact else columns
        # Hashes are evenly spread, so that a table by their first bits finds each at once, or a few places before.
        bits = max(1, len(hashes).bit_length())
        self._shift = np.uint64(64 - bits)
        starts = np.arange((1 << bits), dtype=np.uint64) << self._shift
        self._starts = np.searchsorted(hashes, starts).astype(np.int32 if len(hashes) < 1 << 31 else np.int64)

    @property
    def nbytes(self) -> int:
        """Bytes of memory that these rows take."""
        tables = self._hashes.nbytes + self._starts.nbytes + self._newest.nbytes
        return int(tables + sum(column.nbytes for column in self._columns))

    def contain(self, columns: Sequence[pa.Array], sequence_number: int) -> _Bools:
        """Return which rows of a data file are among these."""
        columns = [comparable(column) for column in columns]
        gone = np.zeros(len(columns[0]), np.bool_)
        if not len(self._hashes) or (len(self._newest) == 1 and self._newest[0] < sequence_number):
            return gone
        hashes = _hashes(columns)
        rows = np.arange(len(hashes))
        if self._is_exact and columns[0].null_count:
            rows = np.flatnonzero(columns[0].is_valid().to_numpy(zero_copy_only=False))
        places = self._first_places(hashes[rows])
        while len(rows):
            # Different rows may share a hash: they follow each other.
            found = self._hashes[np.minimum(places, len(self._hashes) - 1)] == hashes[rows]
            found &= places < len(self._hashes)
            rows, places = rows[found], places[found]
            reached = np.ones(len(rows), np.bool_)
            if len(self._newest) > 1:
                reached = self._newest[places] >= sequence_number
            if self._is_exact:
                gone[rows[reached]] = True
                return gone
            gone[rows[reached & _same(columns, rows, self._columns, places)]] = True
            places = places + 1
        return gone

    def _first_places(self, hashes: _Hashes) -> _Longs:
        """Return the place of the first stored hash that is not below each given hash."""
        places: _Longs = self._starts[hashes >> self._shift].astype(np.int64)
        last = len(self._hashes) - 1
        below = np.arange(len(places))
        while True:
            at = places[below]
            below = below[(self._hashes[np.minimum(at, last)] < hashes[below]) & (at <= last)]
            if not len(below):
                return places
            places[below] += 1


def comparable(column: pa.Array) -> pa.Array:
    """Return a column that Arrow can compare: without dictionaries and extensions, floats as bits, all NaN equal."""
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_floating(column.type):
        nan = pc.is_nan(column)
        column = pc.if_else(nan, pa.scalar(float("nan"), column.type), column)
        return column.view(pa.int32() if column.type.bit_width == 32 else pa.int64())
    return column


def _same(columns: Sequence[pa.Array], rows: _Longs, others: Sequence[pa.Array], other_rows: _Longs) -> _Bools:
    """Compare rows one by one."""
    same = np.ones(len(rows), np.bool_)
    for column, other in zip(columns, others, strict=True):
        left, right = column.take(pa.array(rows)), other.take(pa.array(other_rows))
        equal = pc.fill_null(pc.equal(left, right), False)
        both_null = pc.and_(left.is_null(), right.is_null())
        same &= pc.or_(equal, both_null).to_numpy(zero_copy_only=False)
    return same


def _is_number(column: pa.Array) -> bool:
    kind = column.type
    return bool(pa.types.is_integer(kind) or pa.types.is_temporal(kind) or pa.types.is_boolean(kind))


def _hashes(columns: Sequence[pa.Array]) -> _Hashes:
    """Hash rows; equal rows have the same hash, and so have few others."""
    hashes = np.zeros(len(columns[0]), np.uint64)
    with np.errstate(over="ignore"):
        for column in columns:
            words = _words(column)
            if column.null_count:
                words = np.where(column.is_null().to_numpy(zero_copy_only=False), _NULL, words)
            hashes = _mixed(hashes * np.uint64(0xC2B2AE3D27D4EB4F) + words)
    return hashes


def _mixed(words: _Hashes) -> _Hashes:
    """Spread differences over all bits; no two words become the same.

    Source: SplitMix64, G. Steele, D. Lea, C. Flood: Fast splittable pseudorandom number generators, 2014.
    """
    words = (words ^ words >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ words >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    mixed: _Hashes = words ^ words >> np.uint64(31)
    return mixed


def _words(column: pa.Array) -> _Hashes:
    """Return each value as one 64-bit word; a number is its own word."""
    kind = column.type
    if pa.types.is_temporal(kind):
        column = column.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    if _is_number(column):
        numbers: _Longs = pc.fill_null(column.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
        return numbers.view(np.uint64)
    if pa.types.is_decimal(kind):
        pairs = np.frombuffer(column.buffers()[1], np.uint64)[2 * column.offset : 2 * (column.offset + len(column))]
        words: _Hashes = _mixed(pairs[0::2]) + pairs[1::2]
        return words
    if pa.types.is_fixed_size_binary(kind):
        column = column.cast(pa.binary())
    return _hashed_bytes(column.cast(pa.large_binary()))


def _hashed_bytes(column: pa.LargeBinaryArray) -> _Hashes:
    found = np.zeros(len(column), np.uint64)
    _, offsets_buffer, buffer = column.buffers()
    if not len(column) or buffer is None:
        return found
    offsets = np.frombuffer(offsets_buffer, np.int64)[column.offset : column.offset + len(column) + 1]
    content = np.frombuffer(buffer, np.uint8)
    start = 0
    while start < len(column):
        most = offsets[start] + _BYTES_AT_A_TIME
        end = max(start + 1, int(np.searchsorted(offsets, most, side="right")) - 1)
        some = content[offsets[start] : offsets[end]]
        found[start:end] = _sums(some, offsets[start : end + 1] - offsets[start])
        start = end
    return found


def _sums(content: npt.NDArray[np.uint8], offsets: _Longs) -> _Hashes:
    """Return the sum of each value's words, weighted by their place."""
    lengths = np.diff(offsets)
    sums = lengths.astype(np.uint64)
    counts = -(-lengths // 8)
    filled = np.flatnonzero(counts)
    if not len(filled):
        return sums
    counts = counts[filled]
    ends = np.cumsum(counts)
    place = np.arange(ends[-1]) - np.repeat(ends - counts, counts)
    # A word may begin at any byte, and the last one end behind the value.
    padded = np.concatenate([content, np.zeros(8, np.uint8)])
    anywhere = np.ndarray(len(content) + 1, "<u8", padded, strides=(1,))
    words = anywhere[np.repeat(offsets[:-1][filled], counts) + 8 * place]
    words[ends - 1] &= _LAST_BYTES[lengths[filled] - 8 * (counts - 1)]
    weights = _WEIGHTS[place % len(_WEIGHTS)] * (2 * (place // len(_WEIGHTS)) + 1).astype(np.uint64)
    sums[filled] += np.add.reduceat(_mixed(words) * weights, ends - counts)
    return sums
