"""Sort the rows of a bucket within the memory budget, and write them as row groups.

Rows that do not fit into memory are split by key ranges into smaller buckets, repeatedly, until each bucket fits or all
of its keys are equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.keys import NAN, NULL, VALUE, encode
from iceberg_zorder.sort.codecs import Codecs, leaf
from iceberg_zorder.sort.memory_budget import MemoryBudget
from iceberg_zorder.sort.spill import Bucket, Spill, parted

_Longs = npt.NDArray[np.int64]
_SAMPLED = 4096


@dataclass(frozen=True, eq=False)
class SortKey:
    """A sort key with a value for every row, ascending or descending."""

    values: _Longs | pa.LargeBinaryArray
    descending: bool = False


@dataclass(frozen=True)
class Range:
    """A split of rows by one key: the start values of all ranges but the first."""

    key: int
    starts: tuple[Any, ...]
    descending: bool

    def of(self, keys: Sequence[SortKey]) -> _Longs:
        """Return the ranges of rows, in the order of the sort."""
        values = keys[self.key].values
        if isinstance(values, np.ndarray):
            found = np.searchsorted(np.array(self.starts, np.int64), values, side="right")
        else:
            starts = np.array([*self.starts, None], object)[:-1]
            found = np.searchsorted(starts, values.to_numpy(zero_copy_only=False), side="right")
        return (len(self.starts) - found if self.descending else found).astype(np.int64)


def sort_keys(
    prefix: Sequence[ClusteringColumn],
    orders: Sequence[tuple[bool, bool]],
    columns: Sequence[pa.Array],
    index: _Longs,
) -> list[SortKey]:
    """Return the keys of rows."""
    keys = []
    for column, (descending, nulls_first), array in zip(prefix, orders, columns, strict=True):
        encoded = encode(array, column.type)
        rank = np.zeros(3, np.int64)
        rank[VALUE], rank[NAN], rank[NULL] = 1, 0 if descending else 2, -1 if nulls_first else 3
        keys.append(SortKey(rank[encoded.states]))
        if isinstance(encoded.keys, np.ndarray):
            keys.append(SortKey(np.where(encoded.states == VALUE, encoded.keys, 0), descending))
        else:
            keys.append(SortKey(pc.if_else(pa.array(encoded.states == VALUE), encoded.keys, b""), descending))
    return [*keys, SortKey(index)]


def sort_permutation(keys: Sequence[SortKey]) -> _Longs:
    """Return the places of rows in the order of their keys; rows with equal keys keep their order.

    Neighbouring rows of data files often have values in common, so files are smaller for it.

    Examples
    --------
    >>> sort_permutation([SortKey(np.array([1, 2, 2]), descending=True), SortKey(np.array([0, 7, 3]))])
    array([2, 1, 0])
    """
    if len(keys) == 1 and isinstance(keys[0].values, np.ndarray):
        return np.argsort(keys[0].values, kind="stable")
    return np.lexsort([_ranks(key) for key in reversed(keys)])


def _ranks(key: SortKey) -> _Longs:
    if isinstance(key.values, np.ndarray):
        return ~key.values if key.descending else key.values
    order = "descending" if key.descending else "ascending"
    ranks: _Longs = pc.rank(key.values, sort_keys=order, tiebreaker="dense").to_numpy().astype(np.int64)
    return ranks


def split(parts: Iterable[Sequence[SortKey]], pieces: int) -> Range | None:
    """Return a split of rows into about ``pieces`` pieces; None if all keys are equal.

    Examples
    --------
    >>> split([[SortKey(np.array([5, 5, 5]))], [SortKey(np.array([5, 5, 9]))]], pieces=2)
    Range(key=0, starts=(6,), descending=False)
    """
    lows: list[Any] = []
    highs: list[Any] = []
    samples: list[list[Any]] = []
    descending: list[bool] = []
    for keys in parts:
        for place, key in enumerate(keys):
            low, high = _extremes(key)
            step = max(1, len(key.values) // _SAMPLED)
            sampled = (
                key.values[::step].tolist() if isinstance(key.values, np.ndarray) else key.values[::step].to_pylist()
            )
            if place == len(lows):
                lows.append(low)
                highs.append(high)
                samples.append(sampled)
                descending.append(key.descending)
            else:
                lows[place], highs[place] = min(lows[place], low), max(highs[place], high)
                samples[place] += sampled
    for place, (low, high) in enumerate(zip(lows, highs, strict=True)):
        if low < high:
            ordered = sorted(samples[place])
            starts = {ordered[len(ordered) * piece // pieces] for piece in range(1, pieces)} - {low}
            return Range(place, tuple(sorted(starts)) or (_successor(low),), descending[place])
    return None


def _extremes(key: SortKey) -> tuple[Any, Any]:
    if isinstance(key.values, np.ndarray):
        return int(key.values.min()), int(key.values.max())
    found = pc.min_max(key.values)
    return found["min"].as_py(), found["max"].as_py()


def _successor(value: Any) -> Any:
    return value + 1 if isinstance(value, int) else value + b"\0"


_MOST_PIECES = 256
"""Most pieces of one split; each has its own file."""


class RowGroupSink(Protocol):
    """Receives sorted rows, one row group at a time."""

    @property
    def row_group_rows(self) -> int:
        """Number of rows of the next row group."""

    def write(self, batches: list[pa.RecordBatch]) -> None:
        """Write the rows of one row group."""


@dataclass(frozen=True)
class PrefixColumns:
    """The columns that rows are sorted by before their index.

    Orders are pairs (descending, NULLS FIRST). Paths have the place of a column, then the places of the fields inside.
    """

    columns: tuple[ClusteringColumn, ...] = ()
    orders: tuple[tuple[bool, bool], ...] = ()
    paths: tuple[tuple[int, ...], ...] = ()

    @property
    def places(self) -> list[int]:
        """The numbers of their top-level columns, ascending."""
        return sorted({path[0] for path in self.paths})


class BucketSorter:
    """Sorts buckets by prefix columns, then by the curve index; a row group takes 1/4 of the memory limit."""

    def __init__(self, codecs: Codecs, prefix: PrefixColumns, budget: MemoryBudget) -> None:
        self._codecs = codecs
        self._prefix = prefix
        self._budget = budget
        self._row_group_bytes = budget.limit // 4

    @property
    def row_group_rows(self) -> int:
        """The maximum number of rows of a row group."""
        return max(1, self._row_group_bytes // self._codecs.width)

    def need(self, bucket: Bucket) -> int:
        """Return the extra bytes that sorting a bucket takes, besides its rows in memory.

        A range of the rows is copied, unless it is the whole bucket. Sorting needs one more column, or a row group.
        """
        # Large rows may be adjacent, so a range of few rows may be the largest.
        size = max(bucket.size_of_range)
        row_group = min(max(bucket.size, bucket.rows * self._codecs.width), self._row_group_bytes)
        copied = size if len(bucket.size_of_range) > 1 else size - bucket.in_memory
        return copied + max(int(size * self._codecs.largest_share), row_group)

    def _sort(self, parts: list[tuple[list[pa.Array], npt.NDArray[np.int64]]], row_group: _RowGroup) -> None:
        """Add rows in order to a row group, and to the next when it is full."""
        if not parts:
            return
        index = np.concatenate([part for _, part in parts])
        by_column = [list(each) for each in zip(*(columns for columns, _ in parts), strict=True)]
        parts.clear()
        columns = []
        for place, each in enumerate(by_column):
            # Column by column, so that at most one column is copied at a time.
            columns.append(self._codecs.joined(place, each))
            each.clear()
        if not self._prefix.columns and index.min() == index.max():
            # Rows that are to stay as they are need no copy.
            for start, end in row_group.cuts(self._codecs.widths(columns)):
                row_group.add(self._codecs.finished([column.slice(start, end - start) for column in columns]))
            return
        order = sort_permutation(self._keys(columns, index))
        del index
        for start, end in row_group.cuts(self._codecs.widths(columns)[order]):
            rows = pa.array(order[start:end])
            row_group.add(self._codecs.finished([column.take(rows) for column in columns]))

    def write_in_ranges(self, spill: Spill, bucket: Bucket, sink: RowGroupSink) -> None:
        """Write the rows of a bucket that does not fit into memory."""
        count = min(_MOST_PIECES, max(2, -(-2 * max(self.need(bucket), bucket.size) // self._budget.limit)))
        ranges = split((self._keys(*part) for part in spill.read(bucket)), count)
        if ranges is None:
            self._write_alike(spill, bucket, sink)
            return
        with Spill(self._budget, self._codecs, spill.home or spill.directory) as pieces:
            for columns, index in spill.read(bucket):
                pieces.add(parted(columns, index, ranges.of(self._keys(columns, index))))
            pieces.complete()
            spill.drop(bucket)
            for number in sorted(pieces.buckets):
                self.write_bucket(pieces, number, sink)

    def write_bucket(self, spill: Spill, number: int, sink: RowGroupSink) -> None:
        """Write the rows of a bucket of a complete spill, in ranges if they do not fit into memory."""
        while not (work := spill.start_work(number, self.need)):
            if not spill.make_room_for(number, self.need):
                spill.flush(number)
                self.write_in_ranges(spill, spill.pop(number), sink)
                return
        row_group = _RowGroup(sink, self._row_group_bytes)
        with work as bucket:
            for place in range(spill.ranges):
                parts = list(spill.read(bucket, place))
                if place == spill.ranges - 1:
                    bucket.parts.clear()
                self._sort(parts, row_group)
            row_group.write()

    def _write_alike(self, spill: Spill, bucket: Bucket, sink: RowGroupSink) -> None:
        """Write rows whose keys are all equal, in any order."""
        row_group = _RowGroup(sink, self._row_group_bytes)
        for columns, _ in spill.read(bucket):
            for start, end in row_group.cuts(self._codecs.widths(columns)):
                row_group.add(self._codecs.finished([column.slice(start, end - start) for column in columns]))
        row_group.write()
        spill.drop(bucket)

    def _keys(self, columns: Sequence[pa.Array | None], index: npt.NDArray[np.int64]) -> list[SortKey]:
        """Return the sort keys of rows: the prefix columns, then the index."""
        if not self._prefix.columns:
            return [SortKey(index)]
        places = self._prefix.places
        decoded = [self._codecs.decoded(place, columns[place]) for place in places]
        rows = pa.RecordBatch.from_arrays(decoded, [str(place) for place in places])
        values = [leaf(rows, (places.index(place), *inner)) for place, *inner in self._prefix.paths]
        return sort_keys(self._prefix.columns, self._prefix.orders, values, index)


class _RowGroup:
    """Collects rows into row groups of at most ``most_bytes``, or of one larger row."""

    def __init__(self, sink: RowGroupSink, most_bytes: int) -> None:
        self._sink = sink
        self._most_bytes = most_bytes
        self._batches: list[pa.RecordBatch] = []
        self._rows = 0
        self._bytes = 0

    def cuts(self, widths: npt.NDArray[np.int64]) -> Iterator[tuple[int, int]]:
        """Yield the start and the end of the rows to add next, given the bytes of each row."""
        ends = np.cumsum(widths)
        start = before = 0
        while start < len(ends):
            room = self._most_bytes - self._bytes
            end = int(np.searchsorted(ends, before + room, side="right"))
            if end == start and self._rows:
                self.write()
                continue
            end = max(start + 1, min(end, start + self._sink.row_group_rows - self._rows))
            self._bytes += int(ends[end - 1]) - before
            yield start, end
            start, before = end, int(ends[end - 1])

    def add(self, batch: pa.RecordBatch) -> None:
        """Add rows, and write the row group if it is full."""
        self._batches.append(batch)
        self._rows += batch.num_rows
        if self._rows >= self._sink.row_group_rows or self._bytes >= self._most_bytes:
            self.write()

    def write(self) -> None:
        """Write the collected rows, and begin a new row group."""
        batches, self._batches, self._rows, self._bytes = self._batches, [], 0, 0
        self._sink.write(batches)
