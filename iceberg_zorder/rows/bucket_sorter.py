"""Put the rows of a bucket in order, and hand them on as row groups, whether or not they fit into memory together.

Rows that do not are split by ranges of their keys into smaller buckets, and those again, until each fits or all of its
rows are alike in every key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.rows.codecs import Codecs
from iceberg_zorder.rows.memory_budget import MemoryBudget
from iceberg_zorder.rows.nested import leaf
from iceberg_zorder.rows.sorting import SortKey, sort_keys, sort_permutation, split
from iceberg_zorder.rows.spill import Bucket, Spill


class RowGroupSink(Protocol):
    """Takes rows in order, a row group at a time."""

    @property
    def row_group_rows(self) -> int:
        """How many rows the next row group is to have."""

    def write(self, batches: list[pa.RecordBatch]) -> None:
        """Take the rows of a row group."""


@dataclass(frozen=True)
class PrefixColumns:
    """The columns that rows are sorted by before their index.

    Parameters
    ----------
    columns : tuple of ClusteringColumn
        Their names and types.
    orders : tuple of (bool, bool)
        For each of them whether larger values, and whether NULL, come first.
    paths : tuple of tuple of int
        For each of them the place of its column in the rows, then those of the fields inside it.
    """

    columns: tuple[ClusteringColumn, ...] = ()
    orders: tuple[tuple[bool, bool], ...] = ()
    paths: tuple[tuple[int, ...], ...] = ()

    @property
    def places(self) -> list[int]:
        """The columns of the rows that they are in."""
        return sorted({path[0] for path in self.paths})


class BucketSorter:
    """Sorts buckets by the prefix, and by the index that rows are held with.

    Parameters
    ----------
    codecs : Codecs
        How the rows' columns are encoded.
    prefix : PrefixColumns
        The columns to sort by first.
    budget : MemoryBudget
        Bounds the rows in memory; a row group takes a quarter of it at most.
    """

    def __init__(self, codecs: Codecs, prefix: PrefixColumns, budget: MemoryBudget) -> None:
        self._codecs = codecs
        self._prefix = prefix
        self._budget = budget

    @property
    def row_group_rows(self) -> int:
        """How many rows a row group may have."""
        return max(1, self._row_group_bytes // self._codecs.width)

    @property
    def _row_group_bytes(self) -> int:
        return self._budget.limit // 4

    def need(self, bucket: Bucket) -> int:
        """Tell how many bytes sorting takes, beside what the rows take already: one column more, and a row group."""
        row_group = min(bucket.rows * self._codecs.width, self._row_group_bytes)
        return bucket.size - bucket.in_memory + int(bucket.size * self._codecs.largest_share) + row_group

    def write(self, spill: Spill, bucket: Bucket, sink: RowGroupSink) -> None:
        """Write the rows of a bucket that was taken out of a spill; what this needs must be counted before."""
        parts = list(spill.read(bucket))
        index = np.concatenate([part for _, part in parts])
        by_column = [[columns[place] for columns, _ in parts] for place in range(len(self._codecs))]
        del parts
        spill.drop(bucket)
        for place in self._prefix.places:
            by_column[place] = [self._codecs.joined(place, by_column[place])]
        order = pa.array(sort_permutation(self._keys([each[0] if each else None for each in by_column], index)))
        columns = []
        for place, each in enumerate(by_column):
            # One column after the other: it stays in the processor's cache, and no more than one is there twice.
            columns.append(self._codecs.joined(place, each).take(order))
            each.clear()
        start = 0
        while start < len(order):
            rows = min(len(order) - start, sink.row_group_rows)
            sink.write([self._codecs.finished([column.slice(start, rows) for column in columns])])
            start += rows

    def write_in_ranges(self, spill: Spill, bucket: Bucket, sink: RowGroupSink) -> None:
        """Write the rows of a bucket, taken out of a spill, that have no room in memory together."""
        count = max(2, -(-2 * self.need(bucket) // self._budget.limit))
        ranges = split((self._keys(*part) for part in spill.read(bucket)), count)
        if ranges is None:
            self._write_alike(spill, bucket, sink)
            return
        with Spill(self._budget, self._codecs, spill.home or spill.directory) as pieces:
            for columns, index in spill.read(bucket):
                pieces.add(columns, index, ranges.of(self._keys(columns, index)))
            spill.drop(bucket)
            for number in pieces.buckets:
                self._write_piece(pieces, number, sink)

    def _write_piece(self, pieces: Spill, number: int, sink: RowGroupSink) -> None:
        need = self.need(pieces.bucket(number))
        fits = pieces.make_room(need, keep=number)
        piece = pieces.pop(number)
        if not fits:
            pieces.flush_all()
            self.write_in_ranges(pieces, piece, sink)
            return
        self._budget.take(need)
        try:
            self.write(pieces, piece, sink)
        finally:
            self._budget.give_back(need)

    def _write_alike(self, spill: Spill, bucket: Bucket, sink: RowGroupSink) -> None:
        """Write rows that are alike in every key, in any order."""
        waiting: list[pa.RecordBatch] = []
        for columns, _ in spill.read(bucket):
            waiting.append(self._codecs.finished(columns))
            if sum(batch.num_rows for batch in waiting) >= sink.row_group_rows:
                sink.write(waiting)
                waiting = []
        sink.write(waiting)
        spill.drop(bucket)

    def _keys(self, columns: Sequence[pa.Array | None], index: npt.NDArray[np.int64]) -> list[SortKey]:
        """Find the keys that rows are sorted by; of the columns those of the prefix are looked at."""
        if not self._prefix.columns:
            return [SortKey(index)]
        places = self._prefix.places
        decoded = [self._codecs.decoded(place, columns[place]) for place in places]
        rows = pa.RecordBatch.from_arrays(decoded, [str(place) for place in places])
        values = [leaf(rows, (places.index(place), *inner)) for place, *inner in self._prefix.paths]
        return sort_keys(self._prefix.columns, self._prefix.orders, values, index)
