"""Encodings of columns in memory: whole numbers in few bytes, few strings as numbers, short offsets."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_zorder.sort.memory_budget import bytes_up_to


def leaf(batch: pa.RecordBatch, path: Sequence[int]) -> pa.Array:
    """Return a column of a batch, or a field of a struct; NULL where a struct around it is NULL.

    Examples
    --------
    >>> rows = pa.RecordBatch.from_pylist([{"a": {"b": 1}}, {"a": None}])
    >>> leaf(rows, [0, 0]).to_pylist()
    [1, None]
    """
    array = batch.column(path[0])
    return pc.struct_field(array, list(path[1:])) if len(path) > 1 else array


def type_at(schema: pa.Schema, path: Sequence[int]) -> pa.DataType:
    """Return the type of a column, or of a field of a struct.

    Examples
    --------
    >>> type_at(pa.schema([("a", pa.struct([("b", pa.int64())]))]), [0, 0])
    DataType(int64)
    """
    kind = schema.field(path[0]).type
    for place in path[1:]:
        kind = kind.field(place).type
    return kind


def without_views(schema: pa.Schema) -> pa.Schema:
    """Return a schema with strings and binaries in place of their views, from which Arrow cannot take rows.

    Examples
    --------
    >>> view = pa.schema([pa.field("s", pa.struct([("v", pa.string_view())]), metadata={"PARQUET:field_id": "1"})])
    >>> plain = without_views(view)
    >>> plain.field("s").type, plain.field("s").metadata
    (StructType(struct<v: string>), {b'PARQUET:field_id': b'1'})
    """
    return pa.schema([_field_without_views(field) for field in schema], schema.metadata)


def _field_without_views(field: pa.Field) -> pa.Field:
    kind = field.type
    if pa.types.is_string_view(kind):
        return field.with_type(pa.string())
    if pa.types.is_binary_view(kind):
        return field.with_type(pa.binary())
    if pa.types.is_struct(kind):
        return field.with_type(pa.struct([_field_without_views(each) for each in kind]))
    if pa.types.is_map(kind):
        return field.with_type(pa.map_(_field_without_views(kind.key_field), _field_without_views(kind.item_field)))
    if pa.types.is_large_list(kind):
        return field.with_type(pa.large_list(_field_without_views(kind.value_field)))
    if pa.types.is_list(kind):
        return field.with_type(pa.list_(_field_without_views(kind.value_field)))
    return field


_LARGEST_DICTIONARY = 32_767
_MAX_LONG_PRECISION = 18
_MOST_SHORT_BYTES = (1 << 31) - 1
_NUMBER_BYTES = 4
_LARGE = 1024 * 1024
_INTEGERS = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}


class Codecs:
    """Encodes the columns of a schema, whose strings may be dictionaries, for several threads.

    Examples
    --------
    >>> from decimal import Decimal
    >>> schema = pa.schema([("price", pa.decimal128(9, 2))])
    >>> codecs = Codecs(schema)
    >>> (held,) = codecs.encoded(pa.record_batch([pa.array([Decimal("-1.25"), None], pa.decimal128(9, 2))], schema))
    >>> held.type, held.to_pylist(), codecs.decoded(0, held).to_pylist(), codecs.width
    (DataType(int8), [-125, None], [Decimal('-1.25'), None], 17)
    """

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._codecs = [_codec(field.type) for field in schema]
        self._rows = self._bytes = 0
        self._held = [0] * len(self._codecs)
        self.large = dict[int, int]()
        """The bytes of the largest value of each column, by its number; only of columns with values above 1 MiB."""
        self._lock = threading.Lock()

    @property
    def width(self) -> int:
        """Average bytes of an unencoded row, over the rows encoded so far; at least 1."""
        return max(1, -(-self._bytes // max(1, self._rows)))

    @property
    def largest_share(self) -> float:
        """Share of the encoded bytes that the largest column takes, in (0, 1]."""
        return max(self._held, default=1) / max(1, sum(self._held)) or 1.0

    def encoded(self, batch: pa.RecordBatch) -> list[pa.Array]:
        """Encode the columns of a batch; the encoding depends on earlier batches."""
        columns = [codec.encoded(column) for codec, column in zip(self._codecs, batch.columns, strict=True)]
        widest = {
            place: int(np.max(self._codecs[place].widths(column, column.type)))
            for place, column in enumerate(columns)
            if column.nbytes > _LARGE
        }
        with self._lock:
            for place, width in widest.items():
                if width > max(_LARGE, self.large.get(place, 0)):
                    self.large[place] = width
            self._rows += batch.num_rows
            self._bytes += batch.nbytes
            self._held = [held + column.nbytes for held, column in zip(self._held, columns, strict=True)]
        return columns

    def joined(self, place: int, parts: Sequence[pa.Array]) -> pa.Array:
        """Join parts of a column; numbers get the widest type of the parts."""
        if all(pa.types.is_integer(part.type) for part in parts):
            widest = max((part.type for part in parts), key=lambda kind: kind.bit_width)
            return pa.concat_arrays([part.cast(widest) for part in parts])
        return pa.concat_arrays([self.decoded(place, part) for part in parts])

    def decoded(self, place: int, column: pa.Array) -> pa.Array:
        """Decode a column."""
        found = self._codecs[place].finished(column, self._schema.field(place).type)
        return found.dictionary_decode() if pa.types.is_dictionary(found.type) else found

    def finished(self, columns: Sequence[pa.Array]) -> pa.RecordBatch:
        """Decode all columns for writing; strings may stay dictionaries."""
        arrays = [
            codec.finished(column, field.type)
            for codec, column, field in zip(self._codecs, columns, self._schema, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, self._schema.names)

    def widths(self, columns: Sequence[pa.Array]) -> npt.NDArray[np.int64]:
        """Return the bytes of each row after :meth:`finished`."""
        widths = np.zeros(len(columns[0]) if columns else 0, np.int64)
        for codec, column, field in zip(self._codecs, columns, self._schema, strict=True):
            widths += codec.widths(column, field.type)
        return widths


def _codec(kind: pa.DataType) -> Plain:
    if pa.types.is_decimal128(kind) and kind.precision <= _MAX_LONG_PRECISION:
        return ShortDecimals()
    if pa.types.is_signed_integer(kind) or pa.types.is_temporal(kind):
        return Integers(kind.bit_width)
    if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        return Texts()
    return Plain()


class Plain:
    """Holds values as they are."""

    def encoded(self, column: pa.Array) -> pa.Array:
        """Return the values encoded."""
        return column

    def finished(self, column: pa.Array, kind: pa.DataType) -> pa.Array:  # noqa: ARG002
        """Return values of a type, maybe as a dictionary; unencoded values are returned as they are."""
        return column

    def widths(self, column: pa.Array, kind: pa.DataType) -> npt.NDArray[np.int64] | int:  # noqa: ARG002
        """Return the bytes of each value after :meth:`finished`, or one number for all."""
        return np.diff(bytes_up_to(column, np.arange(len(column) + 1)))


class Integers(Plain):
    """Holds integers, dates and times in as many bytes as the largest value so far needs."""

    def __init__(self, width: int) -> None:
        self._whole = _INTEGERS[width]
        self._width = 8

    def encoded(self, column: pa.Array) -> pa.Array:
        """Drop high bytes that only repeat the sign."""
        column = column.view(self._whole)
        found = pc.min_max(column)
        low, high, width = found["min"].as_py(), found["max"].as_py(), self._width
        if low is not None:
            least = max(each.bit_length() if each >= 0 else (~each).bit_length() for each in (low, high)) + 1
            width = next(each for each in _INTEGERS if each >= max(least, width))
            # Another thread may set a smaller one.
            self._width = width
        # Values under NULL may be too large.
        return column.cast(_INTEGERS[width], safe=False)

    def finished(self, column: pa.Array, kind: pa.DataType) -> pa.Array:
        """Restore the dropped bytes."""
        return column if column.type == kind else column.cast(self._whole).view(kind)

    def widths(self, column: pa.Array, kind: pa.DataType) -> int:  # noqa: ARG002
        """Return the bytes of a value of the type."""
        return int(kind.bit_width) // 8


class ShortDecimals(Integers):
    """Holds decimals of up to 18 digits as their unscaled value."""

    def __init__(self) -> None:
        super().__init__(64)

    def encoded(self, column: pa.Array) -> pa.Array:
        """Return the low 64 bits of each value, encoded as integers."""
        words = np.frombuffer(column.buffers()[1], np.int64)[2 * column.offset : 2 * (column.offset + len(column))]
        mask = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
        return super().encoded(pa.array(words[0::2].copy(), mask=mask))

    def finished(self, column: pa.Array, kind: pa.DataType) -> pa.Array:
        """Restore the high 64 bits, which repeat the sign."""
        if column.type == kind:
            return column
        if column.offset:
            column = pa.concat_arrays([column, column.slice(0, 0)])
        validity, values = column.cast(pa.int64()).buffers()
        low = np.frombuffer(values, np.int64)[: len(column)]
        words = np.empty((len(column), 2), np.int64)
        words[:, 0] = low
        words[:, 1] = low >> 63
        return pa.Array.from_buffers(kind, len(column), [validity if column.null_count else None, pa.py_buffer(words)])


class Texts(Plain):
    """Holds strings with short offsets, or few distinct strings as numbers in the order of their arrival."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._sorted: tuple[pa.Array, pa.Array] | None = None
        self._last = threading.local()
        self._lock = threading.Lock()

    def encoded(self, column: pa.Array) -> pa.Array:
        """Return a dictionary's entries as numbers of this codec; as plain strings if there are too many."""
        if not pa.types.is_dictionary(column.type):
            return _with_short_offsets(column)
        last = getattr(self._last, "found", None)
        if last is None or not last[0].equals(column.dictionary):
            numbers = self._numbered(column.dictionary)
            if numbers is None:
                return _with_short_offsets(column.dictionary_decode().cast(pa.large_string()))
            last = self._last.found = column.dictionary, numbers
        return last[1].take(column.indices)

    def _numbered(self, entries: pa.Array) -> pa.Array | None:
        """Return the number of each dictionary entry; None if there are too many entries."""
        with self._lock:
            values = entries.to_pylist()
            new = [value for value in values if value is not None and value not in self._numbers]
            if len(self._numbers) + len(new) > _LARGEST_DICTIONARY:
                return None
            for value in new:
                self._numbers.setdefault(value, len(self._numbers))
            width = 8 if len(self._numbers) <= 1 << 7 else 16
            return pa.array([None if value is None else self._numbers[value] for value in values], _INTEGERS[width])

    def finished(self, column: pa.Array, kind: pa.DataType) -> pa.Array:
        """Return numbers as a dictionary with sorted values."""
        if not pa.types.is_integer(column.type):
            return column.cast(kind)
        places, values = self._all(kind)
        return pa.DictionaryArray.from_arrays(places.take(column), values)

    def widths(self, column: pa.Array, kind: pa.DataType) -> npt.NDArray[np.int64] | int:
        """Return the bytes of each value; for numbers, the width of a dictionary's number."""
        return _NUMBER_BYTES if pa.types.is_integer(column.type) else super().widths(column, kind)

    def _all(self, kind: pa.DataType) -> tuple[pa.Array, pa.Array]:
        """Return each number's place among the sorted values, and these values."""
        with self._lock:
            if self._sorted is None or len(self._sorted[0]) != len(self._numbers):
                values = sorted(self._numbers)
                places = np.empty(len(values), np.int32)
                places[[self._numbers[value] for value in values]] = np.arange(len(values))
                self._sorted = pa.array(places), pa.array(values, kind)
            return self._sorted


def _with_short_offsets(column: pa.Array) -> pa.Array:
    if column.nbytes > _MOST_SHORT_BYTES:
        return column
    return column.cast(pa.string() if pa.types.is_large_string(column.type) else pa.binary())
