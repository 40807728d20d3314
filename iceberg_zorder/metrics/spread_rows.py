"""Made-up rows of data files, spread evenly between the bounds of each file.

Without reading rows, a file's rows are assumed to be spread evenly between its lower and upper bounds, independently in
each column. A layout fitted to such rows shows what a rewrite can attain, and their values serve as filters. If columns
are correlated within files, a layout of the real rows is tighter.

The rows lie at the points of an additive recurrence. In d dimensions its steps are the powers 1 to d of 1/r, where r
solves x^(d+1) = x + 1 (M. Roberts, The Unreasonable Effectiveness of Quasirandom Sequences, 2018). It fills a box
evenly however many rows are drawn, and needs no seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from iceberg_zorder.layout.keys import NULL, VALUE, KeyColumn
from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.metrics.data_files import ColumnBounds, DataFiles

_ROWS_OF_A_FILE = 200
_LEAST_ROWS, _MOST_ROWS = 20_000, 40_000
_ROOT_STEPS = 64
_MOST_NUMBERS = 1 << 48
_FRACTION_BITS = 48
_LARGEST_FLOATS = {"float": float(np.finfo(np.float32).max), "double": float(np.finfo(np.float64).max)}
_Floats = npt.NDArray[np.floating[Any]]
_MAX_LONG = np.int64(np.iinfo(np.int64).max)


def rows_for(files: int) -> int:
    """Return the number of rows to spread for a table of ``files`` files, present or predicted.

    Examples
    --------
    >>> rows_for(3), rows_for(300), rows_for(30_000)
    (20000, 40000, 40000)
    """
    return min(max(_ROWS_OF_A_FILE * files, _LEAST_ROWS), _MOST_ROWS)


def spread_rows(files: DataFiles, rows: int) -> tuple[Sample, npt.NDArray[np.int64]]:
    """Spread about ``rows`` rows between the bounds of data files; returns their values, and the file of each.

    A file with rows gets one at least. A file without bounds has the range of all files. As large a share of a file's
    rows is NULL as in the file.

    Examples
    --------
    >>> from iceberg_zorder.layout.columns import ClusteringColumn
    >>> from iceberg_zorder.layout.keys import encode
    >>> lower, upper = (encode(pa.array(each), "long") for each in ([0, 100], [99, 199]))
    >>> bounds = ColumnBounds(ClusteringColumn(("a",), "long"), lower, upper, np.ones(2))
    >>> sample, places = spread_rows(DataFiles(np.zeros(2, int), np.array([30, 50]), np.ones(2, int), (bounds,)), 8)
    >>> places.tolist(), sample.columns[0].keys.tolist()
    ([0, 0, 0, 1, 1, 1, 1, 1], [25, 0, 76, 151, 127, 102, 178, 153])
    """
    ends = np.floor(np.cumsum(files.rows) * (rows / max(1.0, float(files.rows.sum()))) + 0.5).astype(np.int64)
    places = np.repeat(np.arange(files.count), np.maximum(np.diff(ends, prepend=0), files.rows > 0))
    steps = _steps(len(files.columns) + 1)
    numbers = np.arange(len(places))
    # The last dimension tells which rows have no value.
    fractions = [(0.5 + (numbers + 1) * step) % 1.0 for step in steps]
    columns = tuple(
        _spread(bounds, places, each, fractions[-1]) for bounds, each in zip(files.columns, fractions, strict=False)
    )
    return Sample(columns), places


def middles(bounds: ColumnBounds) -> KeyColumn:
    """Return the value in the middle between the bounds of each file.

    Examples
    --------
    >>> from iceberg_zorder.layout.columns import ClusteringColumn
    >>> from iceberg_zorder.layout.keys import encode
    >>> lower, upper = (encode(pa.array(each), "long") for each in ([0, 100], [98, 100]))
    >>> middles(ColumnBounds(ClusteringColumn(("a",), "long"), lower, upper, np.ones(2))).keys.tolist()
    [49, 100]
    """
    files = len(bounds.valued)
    return _spread(bounds, np.arange(files), np.full(files, 0.5), np.zeros(files))


def _steps(dimensions: int) -> list[float]:
    """Compute the steps of the recurrence, by Newton's method on x^(d+1) - x - 1 from 2."""
    root = 2.0
    for _ in range(_ROOT_STEPS):
        power = 1.0
        for _ in range(dimensions):
            power *= root
        root -= (power * root - root - 1) / ((dimensions + 1) * power - 1)
    steps, step = [], 1.0
    for _ in range(dimensions):
        step /= root
        steps.append(step)
    return steps


def _spread(
    bounds: ColumnBounds,
    places: npt.NDArray[np.int64],
    fractions: _Floats,
    value_fractions: _Floats,
) -> KeyColumn:
    bounded = bounds.bounded
    has_value = value_fractions < bounds.valued[places]
    if isinstance(bounds.lower.keys, np.ndarray):
        keys = _spread_longs(bounds, bounded, places, fractions)
    else:
        keys = _spread_bytes(bounds, bounded, places, fractions)
    return KeyColumn(keys, np.where(has_value & bounded.any(), np.uint8(VALUE), np.uint8(NULL)))


def _spread_longs(
    bounds: ColumnBounds,
    bounded: npt.NDArray[np.bool_],
    places: npt.NDArray[np.int64],
    fractions: _Floats,
) -> npt.NDArray[np.int64]:
    lower, upper = bounds.lower.keys, bounds.upper.keys
    if not bounded.any():
        return np.zeros(len(places), np.int64)
    lower = np.where(bounded, lower, lower[bounded].min())[places]
    upper = np.where(bounded, upper, upper[bounded].max())[places]
    if bounds.column.type in _LARGEST_FLOATS:
        # Infinite bounds cannot be interpolated.
        most = _LARGEST_FLOATS[bounds.column.type]
        first, last = (np.clip(_doubles(each), -most, most) for each in (lower, upper))
        with np.errstate(over="ignore"):
            values = first * (1 - fractions) + last * fractions
        bits = (values + 0.0).view(np.int64)
        keys = np.where(bits >= 0, bits, bits ^ _MAX_LONG)
    else:
        width = upper.view(np.uint64) - lower.view(np.uint64)
        # A width of 2^64 - 1 rounds up to 2^64 as a double; the limit keeps the offset within 64 bits.
        offset = np.minimum(np.floor(width.astype(np.float64) * fractions + fractions), np.float64(2**63) * 1.9999)
        keys = (lower.view(np.uint64) + offset.astype(np.uint64)).view(np.int64)
    return np.minimum(np.maximum(keys, lower), upper)


def _doubles(keys: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    return np.where(keys >= 0, keys, keys ^ _MAX_LONG).view(np.float64)


def _spread_bytes(
    bounds: ColumnBounds,
    bounded: npt.NDArray[np.bool_],
    places: npt.NDArray[np.int64],
    fractions: _Floats,
) -> pa.LargeBinaryArray:
    lower, upper = (pa.array(keys.keys, pa.large_binary()).to_pylist() for keys in (bounds.lower, bounds.upper))
    known = np.flatnonzero(bounded).tolist()
    least = min((lower[place] for place in known), default=b"")
    most = max((upper[place] for place in known), default=b"")
    ends = [
        (low, high) if is_known else (least, most) for low, high, is_known in zip(lower, upper, bounded, strict=True)
    ]
    if bounds.column.type not in ("string", "binary"):
        shares = zip(places.tolist(), fractions.tolist(), strict=True)
        return pa.array([_between_numbers(ends[place], share) for place, share in shares], pa.large_binary())
    digits = _Digits.from_values([each for pair in ends for each in pair], _common_prefix(least, most))
    return pa.array(digits.between(ends, places, fractions), pa.large_binary())


def _between_numbers(ends: tuple[bytes, bytes], share: float) -> bytes:
    """Interpolate between two values of equal length, read as unsigned numbers."""
    width = max(map(len, ends))
    first, last = (int.from_bytes(each.ljust(width, b"\0"), "big") for each in ends)
    return (first + ((last - first) * int(share * (1 << _FRACTION_BITS)) >> _FRACTION_BITS)).to_bytes(width, "big")


def _common_prefix(lower: bytes, upper: bytes) -> int:
    length = min(len(lower), len(upper))
    return next((place for place in range(length) if lower[place] != upper[place]), length)


@dataclass(frozen=True)
class _Digits:
    """Reads bytes as the digits of a number.

    PostgreSQL estimates ranges of text so (``convert_string_to_scalar``).
    """

    lowest: int  # the smallest byte that occurs; it is the digit 0
    base: int  # the number of digits, 2 or more: from the smallest to the largest byte that occurs
    count: int  # the number of digits that are used

    @staticmethod
    def from_values(values: Sequence[bytes], prefix: int) -> _Digits:
        """Return the digits of values, after a prefix that they share."""
        found = set().union(*(value[prefix:] for value in values))
        lowest, highest = min(found, default=0), max(found, default=0)
        base = max(2, highest - lowest + 1)
        count = 1
        while base ** (count + 1) <= _MOST_NUMBERS:
            count += 1
        return _Digits(lowest, base, count)

    def between(
        self, ends: Sequence[tuple[bytes, bytes]], places: npt.NDArray[np.int64], fractions: _Floats
    ) -> list[bytes]:
        """Interpolate for each row between the two values at its place."""
        prefixes = [_common_prefix(*pair) for pair in ends]
        firsts, lasts = (
            np.array([self._number(pair[side][prefix:]) for pair, prefix in zip(ends, prefixes, strict=True)], np.int64)
            for side in (0, 1)
        )
        # Doubles have all of these numbers, which are below 2^53.
        numbers = firsts[places] + ((lasts - firsts)[places] * fractions).astype(np.int64)
        digits = np.empty((len(places), self.count), np.uint8)
        for place in reversed(range(self.count)):
            numbers, digits[:, place] = np.divmod(numbers, self.base)
        texts = (digits + np.uint8(self.lowest)).tobytes()
        starts = [lower[:prefix] for (lower, _), prefix in zip(ends, prefixes, strict=True)]
        interpolated = []
        for row, place in enumerate(places.tolist()):
            lower, upper = ends[place]
            text = starts[place] + texts[row * self.count : (row + 1) * self.count]
            interpolated.append(lower if lower == upper else min(max(lower, text), upper))
        return interpolated

    def _number(self, text: bytes) -> int:
        number = 0
        for place in range(self.count):
            digit = text[place] - self.lowest if place < len(text) else 0
            number = number * self.base + min(max(digit, 0), self.base - 1)
        return number
