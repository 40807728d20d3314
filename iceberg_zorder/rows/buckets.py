"""Rows divided by the file that they go to, and by ranges of their order there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from iceberg_zorder.rows.sizes import bytes_up_to

_Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Part:
    """Some rows of a bucket: their columns, encoded, and their indexes, and where the rows of each range end."""

    number: int
    rows: pa.RecordBatch
    ends: tuple[int, ...]

    def slice(self, start: int, length: int) -> Part:
        """Take some rows."""
        ends = tuple(min(max(end - start, 0), length) for end in self.ends)
        return Part(self.number, self.rows.slice(start, length), ends)

    def of_range(self, place: int) -> pa.RecordBatch:
        """Take the rows of a range."""
        start = self.ends[place - 1] if place else 0
        return self.rows.slice(start, self.ends[place] - start)

    @property
    def sizes(self) -> list[int]:
        """Tell how many bytes the rows of each range take."""
        size = self.rows.nbytes
        if len(self.ends) == 1:
            return [size]
        ends = np.array(self.ends, np.int64)
        counted = sum((bytes_up_to(column, ends) for column in self.rows.columns), np.zeros(len(ends), np.int64))
        # What is not counted, as the marks of NULL, is divided as the rest is.
        shares = np.rint(counted * (size / max(1, int(counted[-1])))).astype(np.int64)
        found: list[int] = np.diff(shares, prepend=0).tolist()
        return found


class Bucket:
    """Rows of one file, in so many ranges, and the path that they are flushed to."""

    def __init__(self, path: Path, ranges: int) -> None:
        self.path = path
        self.parts: list[Part] = []
        self.small = 0  # how many of the last parts are
        self.in_memory = 0
        self.size_of_range = [0] * ranges
        self.rows_of_range = [0] * ranges
        self.streams: list[list[int]] = [[] for _ in range(ranges)]  # where they start on disk

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return sum(self.rows_of_range)

    @property
    def size(self) -> int:
        """How many bytes they take, in memory and on disk together."""
        return sum(self.size_of_range)

    @property
    def is_spilled(self) -> bool:
        """Whether any rows are on disk."""
        return any(self.streams)


def parted(columns: Sequence[pa.Array], index: _Longs, slots: _Longs, ranges: int = 1) -> list[Part]:
    """Copy the rows of every bucket, because a part of a batch would keep all of it in memory.

    Examples
    --------
    >>> parts = parted([pa.array([10, 11, 12])], np.array([3, 1, 2]), np.array([5, 2, 4]), ranges=2)
    >>> [(part.number, part.rows.column(0).to_pylist(), part.ends) for part in parts]
    [(1, [11], (1, 1)), (2, [12, 10], (1, 2))]
    """
    rows = pa.RecordBatch.from_arrays([*columns, pa.array(index)], [str(place) for place in range(len(columns) + 1)])
    small: npt.NDArray[Any] = slots.astype(np.uint16) if int(slots.max(initial=0)) < 1 << 16 else slots
    order = np.argsort(small, kind="stable")
    counts = np.bincount(slots, minlength=1)
    counts = np.append(counts, np.zeros(-len(counts) % ranges, counts.dtype)).reshape(-1, ranges)
    present = np.flatnonzero(counts.sum(axis=1))
    ends = np.cumsum(counts[present], axis=1)
    if len(present) == 1 and (ranges == 1 or rows.num_rows == 1):
        return [Part(int(present[0]), rows, tuple(ends[0].tolist()))]
    if ranges > 1:
        rows = pa.RecordBatch.from_arrays([column.take(pa.array(order)) for column in rows.columns], schema=rows.schema)
        starts = [0, *np.cumsum(ends[:, -1]).tolist()]
        return [
            Part(number, rows.slice(start, of[-1]), tuple(of))
            for number, start, of in zip(present.tolist(), starts, ends.tolist(), strict=False)
        ]
    places = [pa.array(each) for each in np.split(order, np.cumsum(ends[:-1, -1]))]
    # One column after the other: it stays in the processor's cache while each part takes its rows.
    taken = [[column.take(each) for each in places] for column in rows.columns]
    return [
        Part(number, pa.RecordBatch.from_arrays([column[place] for column in taken], schema=rows.schema), tuple(of))
        for place, (number, of) in enumerate(zip(present.tolist(), ends.tolist(), strict=True))
    ]
