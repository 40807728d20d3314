"""How many bytes of rows are in memory, and how many there may be; what has no room is written to disk."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from iceberg_zorder.errors import RewriteFailedError

_LOOK_AGAIN_SECONDS = 0.1


class LargeValuesError(RewriteFailedError):
    """Values that are too large for threads side by side, or for one that has all the memory."""


class Holder(Protocol):
    """Holds rows in memory that can be written to disk instead."""

    @property
    def in_memory(self) -> int:
        """How many bytes of rows are held."""

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
        """Is held by whoever reads and writes values that are too large for threads side by side."""
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
        """Tell whether so many more bytes are within the limit."""
        return self.used + size <= self.limit

    def take_if_room(self, size: int) -> bool:
        """Count more bytes if they are within the limit, and tell so."""
        with self._changed:
            if not self.has_room_for(size):
                return False
            self.used += size
            self.peak = max(self.peak, self.used)
            return True

    def start_work(self, size: int) -> bool:
        """Do the same for work that waits for nothing else, so that others may wait for its end."""
        with self._changed:
            if not self.take_if_room(size):
                return False
            self._in_work += size
            return True

    def end_work(self, size: int) -> None:
        """Count the bytes of some work no longer."""
        with self._changed:
            self._in_work -= size
            self.give_back(size)

    @contextmanager
    def holding(self, holder: Holder) -> Iterator[None]:
        """While a block runs, have a holder's rows written to disk when someone needs the room."""
        with self._changed:
            self._holders.append(holder)
        try:
            yield
        finally:
            with self._changed:
                self._holders.remove(holder)

    def make_room(self, size: int) -> bool:
        """Have what is largest written to disk to have room for so many bytes, or wait a while for work to end."""
        with self._changed:
            if self.has_room_for(size):
                return True
            largest = max(self._holders, key=lambda holder: holder.in_memory, default=None)
            if largest is None or not largest.in_memory:
                return self._in_work > 0 and (self._changed.wait(_LOOK_AGAIN_SECONDS) or True)
        largest.make_room(size)
        return True
