"""Ranges of a column's keys, with NaN and NULL behind all values, as buckets have them.

An edge stands before a key, ``(VALUE, key)``; before all values, ``(VALUE,)``; before NaN, ``(NAN,)``; before NULL,
``(NULL,)``; or behind everything, ``(END,)``. Tuples compare as edges do::

    (VALUE,)   (VALUE, 3)   (VALUE, 7)   (NAN,)   (NULL,)   (END,)
       | ... 2     | 3 ... 6    | 7 ...     |  NaN   |  NULL   |
"""

from __future__ import annotations

from dataclasses import dataclass

from iceberg_zorder.layout.keys import NAN, NULL, VALUE

END = 3

Edge = tuple[int] | tuple[int, int | bytes]
"""A state, and maybe a key of it."""


@dataclass(frozen=True)
class KeyRange:
    """Rows from an edge up to another.

    Parameters
    ----------
    start, stop : tuple
        The edges; there is nothing in the range unless the first is the smaller one.

    Examples
    --------
    >>> low, high = KeyRange((VALUE,), (VALUE, 7)), KeyRange((VALUE, 3), (NULL,))
    >>> low.met(high)
    KeyRange(start=(0, 3), stop=(0, 7))
    >>> low.hull(NULLS) == EVERYTHING, low.met(NULLS).is_empty
    (True, True)
    """

    start: Edge
    stop: Edge

    @property
    def is_empty(self) -> bool:
        """Whether nothing is in it."""
        return self.start >= self.stop

    def met(self, other: KeyRange) -> KeyRange:
        """Find what is in both."""
        return KeyRange(max(self.start, other.start), min(self.stop, other.stop))

    def hull(self, other: KeyRange) -> KeyRange:
        """Find the narrowest range that holds both, neither of them empty."""
        return KeyRange(min(self.start, other.start), max(self.stop, other.stop))


EVERYTHING = KeyRange((VALUE,), (END,))
NOT_NULL = KeyRange((VALUE,), (NULL,))
NANS = KeyRange((NAN,), (NULL,))
NULLS = KeyRange((NULL,), (END,))
NOT_NAN = (KeyRange((VALUE,), (NAN,)), NULLS)
