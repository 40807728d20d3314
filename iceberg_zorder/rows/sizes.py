"""How many bytes some rows of a column take, found without copying them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_Longs = npt.NDArray[np.int64]


def bytes_up_to(column: pa.Array, ends: _Longs) -> _Longs:
    """Tell how many bytes the values take that come before some places; what marks NULL is not counted.

    Examples
    --------
    >>> bytes_up_to(pa.array(["a", "bcd", None]), np.array([0, 1, 2, 3]))
    array([ 0,  5, 12, 16])
    """
    kind, found = column.type, np.zeros(len(ends), np.int64)
    if isinstance(column, pa.ExtensionArray):
        return bytes_up_to(column.storage, ends)
    if not len(column) or pa.types.is_null(kind):
        return found
    if pa.types.is_dictionary(kind):
        return bytes_up_to(column.indices, ends)
    if pa.types.is_struct(kind):
        return sum((bytes_up_to(column.field(place), ends) for place in range(kind.num_fields)), found)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind):
        offsets = column.offsets.to_numpy().astype(np.int64, copy=False)
        first, width = int(offsets[0]), column.offsets.type.bit_width // 8
        values = column.values.slice(first, int(offsets[-1]) - first)
        found += width * ends + bytes_up_to(values, offsets[ends] - first)
        return found
    if pa.types.is_binary(kind) or pa.types.is_string(kind):
        return _of_text(column, np.dtype(np.int32), ends)
    if pa.types.is_large_binary(kind) or pa.types.is_large_string(kind):
        return _of_text(column, np.dtype(np.int64), ends)
    try:
        found += ends * kind.bit_width // 8
    except ValueError:  # it has no fixed width
        found += ends * column.nbytes // len(column)
    return found


def cuts(rows: pa.RecordBatch, most: int) -> Iterator[tuple[int, int]]:
    """Cut rows into pieces of so many bytes at most, or of one row that is larger.

    Examples
    --------
    >>> list(cuts(pa.record_batch({"a": pa.array([b"a", b"b" * 9, b"c", b"d"])}), 10))
    [(0, 1), (1, 1), (2, 2)]
    """
    if rows.nbytes <= most:
        yield 0, rows.num_rows
        return
    places = np.arange(rows.num_rows + 1)
    ends = sum((bytes_up_to(column, places) for column in rows.columns), np.zeros(len(places), np.int64))
    start = 0
    while start < rows.num_rows:
        end = max(start + 1, int(np.searchsorted(ends, ends[start] + most, side="right")) - 1)
        yield start, end - start
        start = end


def _of_text(column: pa.Array, kind: np.dtype[np.signedinteger], ends: _Longs) -> _Longs:
    offsets = np.frombuffer(column.buffers()[1], kind)[column.offset : column.offset + len(column) + 1]
    found: _Longs = offsets[ends] - np.int64(offsets[0]) + kind.itemsize * ends
    return found
