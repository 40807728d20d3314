"""The memory budget: the bytes of rows in memory, and their limit; rows above it go to disk."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from iceberg_zorder.errors import RewriteFailedError

_Longs = npt.NDArray[np.int64]


def bytes_up_to(column: pa.Array, ends: _Longs) -> _Longs:
    """Return the bytes of the values before each place, without validity bits.

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
    """Cut rows into pieces of at most ``most`` bytes, or of one larger row.

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


_LOOK_AGAIN_SECONDS = 0.1


class LargeValuesError(RewriteFailedError):
    """Values are too large for parallel threads, or for one thread with all the memory."""


class Holder(Protocol):
    """Holds rows in memory that can be written to disk instead."""

    @property
    def in_memory(self) -> int:
        """Bytes of rows in memory."""

    def make_room(self, size: int) -> None:
        """Write rows to disk until the budget has room for so many bytes, or none is left in memory."""


class MemoryBudget:
    """Counts the bytes of rows in memory, up to a limit, for all threads and file groups of a rewrite.

    Examples
    --------
    >>> budget = MemoryBudget(100)
    >>> budget.take(70)
    >>> budget.give_back(20)
    >>> budget.used, budget.peak, budget.take_if_room(51)
    (50, 70, False)
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self.peak = 0
        self.alone = threading.Lock()
        """Lock for threads with values that are too large for parallel threads."""
        self._in_work = 0
        self._holders: list[Holder] = []
        self._changed = threading.Condition(threading.RLock())

    def take(self, size: int) -> None:
        """Count more bytes."""
        with self._changed:
            self.used += size
            self.peak = max(self.peak, self.used)

    def give_back(self, size: int) -> None:
        """Count fewer bytes."""
        with self._changed:
            self.used -= size
            self._changed.notify_all()

    def has_room_for(self, size: int) -> bool:
        """Return whether ``size`` more bytes are within the limit."""
        return self.used + size <= self.limit

    def take_if_room(self, size: int) -> bool:
        """Count more bytes if they are within the limit; return whether they are."""
        with self._changed:
            if not self.has_room_for(size):
                return False
            self.used += size
            self.peak = max(self.peak, self.used)
            return True

    def start_work(self, size: int) -> bool:
        """Count bytes as :meth:`take_if_room`, for work that never waits, so that others can wait for its end."""
        with self._changed:
            if not self.take_if_room(size):
                return False
            self._in_work += size
            return True

    def end_work(self, size: int) -> None:
        """Give the bytes of finished work back."""
        with self._changed:
            self._in_work -= size
            self.give_back(size)

    @contextmanager
    def holding(self, holder: Holder) -> Iterator[None]:
        """Register a holder during a block; its rows are written to disk when memory is needed."""
        with self._changed:
            self._holders.append(holder)
        try:
            yield
        finally:
            with self._changed:
                self._holders.remove(holder)

    def make_room(self, size: int) -> bool:
        """Make room for ``size`` bytes by flushing the largest holder, or by waiting for work to end."""
        with self._changed:
            if self.has_room_for(size):
                return True
            largest = max(self._holders, key=lambda holder: holder.in_memory, default=None)
            if largest is None or not largest.in_memory:
                return self._in_work > 0 and (self._changed.wait(_LOOK_AGAIN_SECONDS) or True)
        largest.make_room(size)
        return True
