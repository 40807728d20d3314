"""Columns in a smaller form while they are held: few strings as numbers, short decimals as one number, not two."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

_LARGEST_DICTIONARY = 32_767
_MAX_LONG_PRECISION = 18


def codec(kind: pa.DataType) -> Plain:
    """Find how to hold a column of a type.

    Examples
    --------
    >>> from decimal import Decimal
    >>> kind = pa.decimal128(9, 2)
    >>> encoded = codec(kind).encoded(pa.array([Decimal("-1.25"), None], kind))
    >>> encoded.to_pylist(), codec(kind).decoded(encoded, kind).to_pylist()
    ([-125, None], [Decimal('-1.25'), None])
    """
    if pa.types.is_decimal128(kind) and kind.precision <= _MAX_LONG_PRECISION:
        return ShortDecimal()
    return Dictionary() if pa.types.is_large_string(kind) else Plain()


class Plain:
    """Holds values as they are."""

    def encoded(self, column: pa.Array) -> pa.Array:
        """Make values smaller."""
        return column

    def decoded(self, column: pa.Array, kind: pa.DataType) -> pa.Array:  # noqa: ARG002
        """Make them values of a type again; what is not encoded stays."""
        return column

    def attached(self, column: pa.Array, kind: pa.DataType) -> pa.Array:
        """Make them what can be written; what is not encoded stays."""
        return self.decoded(column, kind)


class ShortDecimal(Plain):
    """Holds decimals of up to 18 digits as their unscaled value, eight bytes instead of sixteen."""

    def encoded(self, column: pa.Array) -> pa.Array:
        """Take the lower of the two words of every value."""
        words = np.frombuffer(column.buffers()[1], np.int64)[2 * column.offset : 2 * (column.offset + len(column))]
        mask = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
        return pa.array(words[0::2].copy(), mask=mask)

    def decoded(self, column: pa.Array, kind: pa.DataType) -> pa.Array:
        """Put the upper word, which repeats the sign, beside the lower one."""
        if column.type == kind:
            return column
        if column.offset:
            column = pa.concat_arrays([column, column.slice(0, 0)])
        validity, values = column.buffers()
        low = np.frombuffer(values, np.int64)[: len(column)]
        words = np.empty((len(column), 2), np.int64)
        words[:, 0] = low
        words[:, 1] = low >> 63
        return pa.Array.from_buffers(kind, len(column), [validity if column.null_count else None, pa.py_buffer(words)])


class Dictionary(Plain):
    """The different strings of a column, numbered in the order in which they come, as long as they are few."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._values: pa.Array | None = None
        self._last: tuple[pa.Array, pa.Array] | None = None

    def encoded(self, column: pa.Array) -> pa.Array:
        """Replace a dictionary's numbers by those of this one, or by the values where there are too many."""
        if not pa.types.is_dictionary(column.type):
            return column
        entries = column.dictionary
        if self._last is None or not self._last[0].equals(entries):
            new = [value for value in entries.to_pylist() if value is not None and value not in self._numbers]
            if len(self._numbers) + len(new) > _LARGEST_DICTIONARY:
                return column.dictionary_decode().cast(pa.large_string())
            for value in new:
                self._numbers.setdefault(value, len(self._numbers))
            numbers = [None if value is None else self._numbers[value] for value in entries.to_pylist()]
            self._last = (entries, pa.array(numbers, pa.int16()))
        return self._last[1].take(column.indices)

    def decoded(self, column: pa.Array, kind: pa.DataType) -> pa.Array:
        """Replace numbers by the values; what is no number stays."""
        return column if column.type == kind else self._all(kind).take(column)

    def attached(self, column: pa.Array, kind: pa.DataType) -> pa.Array:
        """Make numbers a dictionary; what is no number stays."""
        if column.type == kind:
            return column
        return pa.DictionaryArray.from_arrays(column.cast(pa.int32()), self._all(kind))

    def _all(self, kind: pa.DataType) -> pa.Array:
        if self._values is None or len(self._values) != len(self._numbers):
            self._values = pa.array(list(self._numbers), kind)
        return self._values
