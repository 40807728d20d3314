"""Tables and queries: every column as integers that order as its values do, every query as boxes of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Rng = np.random.Generator
Keys = npt.NDArray[np.int64]

NULL = 1 << 62
"""Stands for NULL in a column, above all values."""

LEAST, MOST = -(1 << 61), (1 << 61)
"""Ends of ranges that are open."""

Box = Mapping[str, tuple[int, int]]
"""By column the least and the largest key that a query wants, both included; NULL twice for IS NULL."""

Query = tuple[Box, ...]
"""A row matches if any of the boxes holds it."""

ROW = "row_number"
"""The column of a stored table that tells where its rows stood."""

BEGIN = 1_750_000_000
"""When the times of tables that are made up begin, in seconds since 1970: stored times have the bits of today's."""


@dataclass(frozen=True)
class Table:
    """A table and its workload.

    Parameters
    ----------
    keys : dict of str to ndarray of int64, shape (rows,)
        The columns.
    draw : callable
        Draws one query of the workload.
    times, days : sequence of str
        Columns of seconds since :data:`BEGIN`, and of days since 1970.
    texts : mapping of str to sequence of str
        Columns of ranks, and the texts in order.
    """

    keys: dict[str, Keys]
    draw: Callable[[Rng], Query]
    times: Sequence[str] = ()
    days: Sequence[str] = ()
    texts: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def stored(self) -> pa.Table:
        """Make the table as one would store it, with the numbers of its rows: the type of a column decides on its bits.

        Examples
        --------
        >>> table = Table({"a": np.array([1, 0, NULL])}, lambda _: (), texts={"a": ["x", "y"]})
        >>> table.stored().to_pydict()
        {'a': ['y', 'x', None], 'row_number': [0, 1, 2]}
        """
        columns = {name: self._values(name, column) for name, column in self.keys.items()}
        return pa.table({**columns, ROW: np.arange(len(next(iter(self.keys.values()))))})

    def _values(self, name: str, column: Keys) -> pa.Array[Any]:
        keys = pa.array(column, mask=column == NULL)
        if name in self.times:
            return pc.multiply(pc.add(keys, BEGIN), 1_000_000).cast(pa.timestamp("us", "UTC"))
        if name in self.days:
            return keys.cast(pa.int32()).cast(pa.date32())
        return pa.array(self.texts[name]).take(keys) if name in self.texts else keys

    def queries(self, count: int, seed: int) -> list[Query]:
        """Draw queries; others by another seed."""
        rng = np.random.default_rng(seed)
        return [self.draw(rng) for _ in range(count)]

    def unforeseen(self, count: int, seed: int) -> list[Query]:
        """Draw queries that have nothing to do with the workload, on the columns that it filters on.

        Half of them filter on one column, half on two: by a value of some row, or by a range of a hundredth to a
        tenth of the rows around it.
        """
        rng = np.random.default_rng(seed)
        names = sorted({name for query in self.queries(400, seed) for box in query for name in box})
        ordered = {name: np.sort(self.keys[name][self.keys[name] != NULL]) for name in names}
        found: list[Query] = []
        while len(found) < count:
            chosen = rng.choice(names, min(len(names), int(rng.integers(1, 3))), replace=False)
            found.append(({str(name): _around(rng, ordered[str(name)]) for name in chosen},))
        return found


@dataclass(frozen=True)
class Pair:
    """A table and a workload by name.

    Parameters
    ----------
    name : str
        Its name.
    about : str
        What is filtered on.
    make : callable
        From a number of rows, and a directory for what generators leave, to the table.
    """

    name: str
    about: str
    make: Callable[[int, Path], Table]


def _around(rng: Rng, ordered: Keys) -> tuple[int, int]:
    place = int(rng.integers(len(ordered)))
    if rng.random() < 0.5:
        return int(ordered[place]), int(ordered[place])
    width = int(len(ordered) * 10 ** rng.uniform(-2, -1))
    return int(ordered[place]), int(ordered[min(len(ordered) - 1, place + width)])


def equal(value: int) -> tuple[int, int]:
    """Make the range of one value.

    Examples
    --------
    >>> equal(7)
    (7, 7)
    """
    return int(value), int(value)
