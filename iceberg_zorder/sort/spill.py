"""Hold rows by their new file: in memory within the budget, the rest on disk.

Each bucket of rows has one file on disk: Arrow IPC streams with LZ4 compression, one for each range and flush. While
rows are added, all buckets are flushed when the budget is used up, because memory freed bucket by bucket is too
fragmented for the next batches. Later, only the largest buckets are flushed.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import ipc

from iceberg_zorder.errors import InvalidInputError, RewriteFailedError
from iceberg_zorder.sort.codecs import Codecs
from iceberg_zorder.sort.memory_budget import MemoryBudget, bytes_up_to, cuts

_Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Part:
    """Some rows of a bucket: encoded columns, indexes, and the end of each range."""

    number: int
    rows: pa.RecordBatch
    ends: tuple[int, ...]

    def slice(self, start: int, length: int) -> Part:
        """Return ``length`` rows from ``start``."""
        ends = tuple(min(max(end - start, 0), length) for end in self.ends)
        return Part(self.number, self.rows.slice(start, length), ends)

    def of_range(self, place: int) -> pa.RecordBatch:
        """Return the rows of a range."""
        start = self.ends[place - 1] if place else 0
        return self.rows.slice(start, self.ends[place] - start)

    @property
    def sizes(self) -> list[int]:
        """Return how many bytes the rows of each range take."""
        size = self.rows.nbytes
        if len(self.ends) == 1:
            return [size]
        ends = np.array(self.ends, np.int64)
        counted = sum((bytes_up_to(column, ends) for column in self.rows.columns), np.zeros(len(ends), np.int64))
        # Uncounted bytes, such as validity bits, are divided in proportion.
        shares = np.rint(counted * (size / max(1, int(counted[-1])))).astype(np.int64)
        found: list[int] = np.diff(shares, prepend=0).tolist()
        return found


class Bucket:
    """The rows of one file in ranges, with the path that they are flushed to."""

    def __init__(self, path: Path, ranges: int) -> None:
        self.path = path
        self.parts: list[Part] = []
        self.small = 0  # number of small parts at the end
        self.rows = 0
        self.size = 0  # bytes of the rows, in memory and on disk together
        self.size_of_range = [0] * ranges
        self.in_memory = 0  # bytes of them
        self.streams: list[list[int]] = [[] for _ in range(ranges)]  # where they start on disk


def parted(columns: Sequence[pa.Array], index: _Longs, slots: _Longs, ranges: int = 1) -> list[Part]:
    """Copy the rows of every bucket, because a slice would keep the whole batch in memory.

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


_ADVICE = "name a directory on a larger disk with the option spill-directory, or raise memory-limit-bytes"
_SMALL_PART = 64 * 1024
_MANY_PARTS = 64
_READ_SHARE = 16
"""Divisor of the limit for the size of pieces read from disk."""


class Spill:
    """Buckets of rows within a budget that may be shared; a context manager that deletes its files.

    Thread-safe. Each bucket is divided into ranges that can be read one by one.
    """

    def __init__(
        self, budget: MemoryBudget, codecs: Codecs, directory: str | Path | None = None, ranges: int = 1
    ) -> None:
        self.budget = budget
        self.ranges = ranges
        self.flushes = 0
        self.buckets: dict[int, Bucket] = {}
        """The buckets that have rows, by number."""
        self.home: Path | None = None
        """The directory of the files; None before the first flush."""
        self.in_memory = 0
        """The bytes of rows in memory that can be flushed."""
        self._directory = directory
        self._created = 0
        self._wanted: set[int] = set()
        self._is_complete = False
        self._codecs = codecs
        self._lock = threading.RLock()
        self._held = ExitStack()

    def __enter__(self) -> Spill:
        self.directory.mkdir(parents=True, exist_ok=True)
        self._held.enter_context(self.budget.holding(self))
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()
        with self._lock:
            for bucket in self.buckets.values():
                self.budget.give_back(bucket.in_memory)
            self.buckets.clear()
        if self.home:
            shutil.rmtree(self.home, ignore_errors=True)

    @property
    def directory(self) -> Path:
        """The directory in which :attr:`home` is created."""
        return Path(self._directory or tempfile.gettempdir())

    def check_space(self, size: int) -> None:
        """Check that the disk has room for ``size`` bytes."""
        free = shutil.disk_usage(self.directory).free
        if size > free:
            raise RewriteFailedError(
                f"Cannot spill about {size:,} bytes of rows, because {self.directory} has {free:,} bytes left: "
                f"{_ADVICE}"
            )

    def add(self, parts: Sequence[Part]) -> None:
        """Add rows that :func:`iceberg_zorder.sort.spill.parted` returned; flush others to make room."""
        # Where a part is a large share of the budget, its rows take turns.
        pieces = (
            part if length == part.rows.num_rows else part.slice(start, length)
            for part in parts
            for start, length in cuts(part.rows, self.budget.limit // 4)
        )
        for piece in pieces:
            sizes = piece.sizes
            size = sum(sizes)
            while not self.budget.take_if_room(size):
                if not self.budget.make_room(size):
                    self.budget.take(size)
                    break
            with self._lock:
                if piece.number not in self.buckets:
                    self._created += 1
                    self.buckets[piece.number] = Bucket(Path(str(self._created)), self.ranges)
                bucket = self.buckets[piece.number]
                bucket.parts.append(piece)
                bucket.rows += piece.rows.num_rows
                bucket.size += size
                bucket.size_of_range = [sum(each) for each in zip(bucket.size_of_range, sizes, strict=True)]
                bucket.in_memory += size
                self.in_memory += size
                bucket.small = bucket.small + 1 if size < _SMALL_PART else 0
                if bucket.small == _MANY_PARTS:
                    bucket.parts[-_MANY_PARTS:] = [self._joined(bucket.parts[-_MANY_PARTS:])]
                    bucket.small = 0
            if not self.budget.has_room_for(0):
                # A part that is larger than the budget does not wait for the next one.
                self.make_room(0)

    def complete(self) -> None:
        """Mark that all rows were added."""
        if self.ranges > 1:
            self.make_room(0)
        self._is_complete = True

    def make_room(self, size: int) -> None:
        """Flush buckets to make room for ``size`` bytes: all of them while rows are added, later the largest."""
        with self._lock:
            if not self._is_complete:
                for number in self.buckets:
                    self.flush(number)
                # What freed parts leave is for parts only; batches that are read next would take memory beside it.
                pa.default_memory_pool().release_unused()
            while self.in_memory and not self.budget.has_room_for(size):
                held = [number for number, bucket in self.buckets.items() if bucket.in_memory]
                self.flush(max(held, key=lambda n: (n not in self._wanted, self.buckets[n].in_memory)))

    def make_room_for(self, number: int, need: Callable[[Bucket], int]) -> bool:
        """Make room to start work with a bucket, or wait briefly; return False if that is impossible."""
        with self._lock:
            # It is flushed after all others.
            self._wanted.add(number)
            bucket = self.buckets[number]
            size = need(bucket)
            if size + bucket.in_memory > self.budget.limit:
                return False
        return self.budget.make_room(size)

    def flush(self, number: int) -> None:
        """Write a bucket's rows to disk."""
        with self._lock:
            bucket = self.buckets[number]
            if not bucket.parts:
                return
            try:
                self._write(bucket)
            except OSError as error:
                raise RewriteFailedError(
                    f"Cannot spill {bucket.in_memory:,} bytes of rows to {self.directory}, because {error}; it has "
                    f"{shutil.disk_usage(self.directory).free:,} bytes left: {_ADVICE}"
                ) from error
            self.flushes += 1
            self.in_memory -= bucket.in_memory
            self.budget.give_back(bucket.in_memory)
            bucket.parts, bucket.small, bucket.in_memory = [], 0, 0

    def _write(self, bucket: Bucket) -> None:
        if self.home is None:
            self.home = Path(tempfile.mkdtemp(prefix="iceberg-zorder-", dir=self._directory))
        written: list[list[int]] = []
        with pa.OSFile(str(self.home / bucket.path), "ab") as sink:
            for place in range(self.ranges):
                parts = [rows for part in bucket.parts if (rows := part.of_range(place)).num_rows]
                if self.ranges > 1 and parts:
                    parts = [self._concatenated(parts)]
                written.append([])
                for schema, alike in groupby(parts, lambda part: part.schema):
                    written[-1].append(sink.tell())
                    with ipc.new_stream(sink, schema, options=ipc.IpcWriteOptions(compression="lz4")) as writer:
                        for each in alike:
                            # They are read as they are written, and what is read is not counted.
                            for start, length in cuts(each, self.budget.limit // _READ_SHARE):
                                writer.write_batch(each.slice(start, length))
        # What was written in part is not looked at: another file group may go on without the one that ends of this.
        for streams, new in zip(bucket.streams, written, strict=True):
            streams += new

    def _joined(self, parts: Sequence[Part]) -> Part:
        by_range = [self._concatenated([part.of_range(place) for part in parts]) for place in range(self.ranges)]
        ends = tuple(accumulate(rows.num_rows for rows in by_range))
        return Part(parts[0].number, self._concatenated(by_range), ends)

    def _concatenated(self, parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
        if all(part.schema.equals(parts[0].schema) for part in parts):
            return pa.concat_batches(parts)
        *columns, index = zip(*(part.columns for part in parts), strict=True)
        columns = [self._codecs.joined(place, each) for place, each in enumerate(columns)]
        return pa.RecordBatch.from_arrays([*columns, pa.concat_arrays(index)], parts[0].schema.names)

    def start_work(self, number: int, need: Callable[[Bucket], int]) -> AbstractContextManager[Bucket] | None:
        """Remove a bucket, if the budget has room for the memory of its work; release both on exit."""
        with self._lock:
            size = need(self.buckets[number])
            return self._work(self.pop(number), size) if self.budget.start_work(size) else None

    @contextmanager
    def _work(self, bucket: Bucket, size: int) -> Iterator[Bucket]:
        try:
            yield bucket
        finally:
            self.drop(bucket)
            self.budget.end_work(size)

    def pop(self, number: int) -> Bucket:
        """Remove a bucket and return it; then read its rows and call :meth:`drop`."""
        with self._lock:
            bucket = self.buckets.pop(number)
            self._wanted.discard(number)
            self.in_memory -= bucket.in_memory
            return bucket

    def read(self, bucket: Bucket, place: int | None = None) -> Iterator[tuple[list[pa.Array], npt.NDArray[np.int64]]]:
        """Yield the rows of a bucket that was taken out, in pieces: encoded columns and indexes.

        Without ``place``, all ranges are read in order; rows within a range are in the order of their addition.
        """
        for each in range(self.ranges) if place is None else [place]:
            if bucket.streams[each] and self.home:
                with pa.OSFile(str(self.home / bucket.path), "rb") as source:
                    for start in bucket.streams[each]:
                        source.seek(start)
                        for batch in ipc.open_stream(source):
                            yield batch.columns[:-1], batch.columns[-1].to_numpy()
            for part in bucket.parts:
                if (rows := part.of_range(each)).num_rows:
                    yield rows.columns[:-1], rows.columns[-1].to_numpy()

    def drop(self, bucket: Bucket) -> None:
        """Release the rows of a bucket that was taken out."""
        self.budget.give_back(bucket.in_memory)
        bucket.parts, bucket.in_memory = [], 0
        if self.home:
            (self.home / bucket.path).unlink(missing_ok=True)


def check_directory(directory: str) -> None:
    """Check that files can be written to a directory, or to the one in which it would be created."""
    found = Path(directory).absolute()
    try:
        while not found.exists() and found != found.parent:
            found = found.parent
        with tempfile.TemporaryFile(dir=found) as file:
            file.write(b"1")
    except OSError as error:
        raise InvalidInputError(
            f"Cannot set spill-directory to '{directory}', because no file can be written there: {error}"
        ) from error
