"""How many bytes of rows are in memory, and how many there may be."""

from __future__ import annotations

import threading


class MemoryBudget:
    """Counts the bytes of rows in memory.

    Parameters
    ----------
    limit : int
        How many there may be.

    Examples
    --------
    >>> budget = MemoryBudget(100)
    >>> budget.take(70)
    >>> budget.give_back(20)
    >>> budget.used, budget.peak, budget.has_room_for(51)
    (50, 70, False)
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self.peak = 0
        self._lock = threading.Lock()

    def take(self, size: int) -> None:
        """Count more bytes."""
        with self._lock:
            self.used += size
            self.peak = max(self.peak, self.used)

    def give_back(self, size: int) -> None:
        """Count fewer bytes."""
        with self._lock:
            self.used -= size

    def has_room_for(self, size: int) -> bool:
        """Tell whether so many more bytes are within the limit."""
        return self.used + size <= self.limit
