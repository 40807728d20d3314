"""Hold rows by the file that they go to: in memory as far as a budget allows, the rest on disk.

Every bucket of rows has a file of its own on disk, a sequence of Arrow IPC streams compressed by LZ4, one for each time
that it was flushed. While rows are added, all buckets are flushed when the budget is used up: memory that is freed one
bucket at a time has holes that no batch fits in. When room is made for one bucket, the largest others are flushed.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import ipc

from iceberg_zorder.errors import InvalidInputError, RewriteFailedError
from iceberg_zorder.rows.codecs import Codecs
from iceberg_zorder.rows.memory_budget import MemoryBudget

_ADVICE = "name a directory on a larger disk with the option spill-directory, or raise memory-limit-bytes"
_SMALL_PART = 64 * 1024
_MANY_PARTS = 64


class Bucket:
    """Rows of one file.

    Parameters
    ----------
    path : pathlib.Path
        Where it is flushed to.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.parts: list[pa.RecordBatch] = []
        self.small = 0  # how many of the last parts are
        self.in_memory = 0
        self.size = 0
        self.rows = 0
        self.is_spilled = False


class Spill:
    """Buckets of rows, within a budget; a context manager that leaves nothing on disk.

    Parameters
    ----------
    budget : MemoryBudget
        The budget, which may be shared.
    codecs : Codecs
        How the columns of the rows are encoded.
    directory : str or pathlib.Path, optional
        Where to put the files; by default where temporary files are put.
    """

    def __init__(self, budget: MemoryBudget, codecs: Codecs, directory: str | Path | None = None) -> None:
        self.budget = budget
        self.flushes = 0
        self._directory = directory
        self._home: Path | None = None
        self._buckets: dict[int, Bucket] = {}
        self._created = 0
        self._codecs = codecs

    def __enter__(self) -> Spill:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for bucket in self._buckets.values():
            self.budget.give_back(bucket.in_memory)
        self._buckets.clear()
        if self._home:
            shutil.rmtree(self._home, ignore_errors=True)

    @property
    def home(self) -> Path | None:
        """Where the files are, if there are any."""
        return self._home

    @property
    def buckets(self) -> list[int]:
        """The numbers of the buckets that have rows."""
        return sorted(self._buckets)

    def bucket(self, number: int) -> Bucket:
        """Tell what is known of a bucket."""
        return self._buckets[number]

    @property
    def directory(self) -> Path:
        """Where the directory of the files is put."""
        return Path(self._directory or tempfile.gettempdir())

    def check_space(self, size: int) -> None:
        """Check that so many bytes can be spilled, as far as can be told beforehand.

        Raises
        ------
        RewriteFailedError
            When there is no room for them.
        """
        free = shutil.disk_usage(self.directory).free
        if size > free:
            raise RewriteFailedError(
                f"Cannot spill about {size:,} bytes of rows, because {self.directory} has {free:,} bytes left: "
                f"{_ADVICE}"
            )

    def add(self, columns: Sequence[pa.Array], index: npt.NDArray[np.int64], numbers: npt.NDArray[np.int64]) -> None:
        """Add rows.

        Parameters
        ----------
        columns : sequence of pyarrow.Array
            Their columns, encoded.
        index : ndarray of int64
            Their indexes.
        numbers : ndarray of int64
            Their buckets.
        """
        names = [str(place) for place in range(len(columns) + 1)]
        rows = pa.RecordBatch.from_arrays([*columns, pa.array(index)], names)
        # Where a batch is a large part of the budget, its parts take turns.
        step = max(1, rows.num_rows // max(1, -(-4 * rows.nbytes // self.budget.limit)))
        for start in range(0, rows.num_rows, step):
            whole = step >= rows.num_rows
            some = rows if whole else rows.slice(start, step)
            size = some.nbytes
            if not self.budget.has_room_for(size):
                self.flush_all()
            for number, part in _parted(some, numbers[start : start + step], is_owned=whole):
                self._add(number, part)

    def _add(self, number: int, part: pa.RecordBatch) -> None:
        if number not in self._buckets:
            self._created += 1
            self._buckets[number] = Bucket(Path(str(self._created)))
        bucket = self._buckets[number]
        bucket.parts.append(part)
        size = part.nbytes
        bucket.in_memory += size
        bucket.size += size
        bucket.rows += part.num_rows
        self.budget.take(size)
        bucket.small = bucket.small + 1 if size < _SMALL_PART else 0
        if bucket.small == _MANY_PARTS:
            bucket.parts[-_MANY_PARTS:] = [self._concatenated(bucket.parts[-_MANY_PARTS:])]
            bucket.small = 0

    def make_room(self, size: int, *, keep: int) -> bool:
        """Flush buckets until there is room for so many bytes; flush none, and tell so, if it cannot be."""
        others = sum(bucket.in_memory for number, bucket in self._buckets.items() if number != keep)
        if not self.budget.has_room_for(size - others):
            return False
        while not self.budget.has_room_for(size) and self._flush_largest(keep):
            pass
        return True

    def flush_all(self) -> None:
        """Write all rows to disk."""
        for number in self._buckets:
            self.flush(number)
        # What freed parts leave is for parts only; batches that are read next would take memory beside it.
        pa.default_memory_pool().release_unused()

    def _flush_largest(self, keep: int) -> bool:
        number = max(
            (each for each in self._buckets if each != keep), key=lambda n: self._buckets[n].in_memory, default=None
        )
        if number is None or not self._buckets[number].in_memory:
            return False
        self.flush(number)
        return True

    def flush(self, number: int) -> None:
        """Write a bucket's rows to disk."""
        bucket = self._buckets[number]
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
        self.budget.give_back(bucket.in_memory)
        bucket.parts, bucket.small, bucket.in_memory, bucket.is_spilled = [], 0, 0, True

    def _write(self, bucket: Bucket) -> None:
        if self._home is None:
            self._home = Path(tempfile.mkdtemp(prefix="iceberg-zorder-", dir=self._directory))
        with pa.OSFile(str(self._home / bucket.path), "ab") as sink:
            for schema, parts in groupby(bucket.parts, lambda part: part.schema):
                with ipc.new_stream(sink, schema, options=ipc.IpcWriteOptions(compression="lz4")) as writer:
                    for part in parts:
                        writer.write_batch(part)

    def _concatenated(self, parts: list[pa.RecordBatch]) -> pa.RecordBatch:
        if all(part.schema.equals(parts[0].schema) for part in parts):
            return pa.concat_batches(parts)
        *columns, index = zip(*(part.columns for part in parts), strict=True)
        columns = [self._codecs.joined(place, each) for place, each in enumerate(columns)]
        return pa.RecordBatch.from_arrays([*columns, pa.concat_arrays(index)], parts[0].schema.names)

    def pop(self, number: int) -> Bucket:
        """Take a bucket out; its rows are to be read, and then :meth:`drop` be called."""
        return self._buckets.pop(number)

    def read(self, bucket: Bucket) -> Iterator[tuple[list[pa.Array], npt.NDArray[np.int64]]]:
        """Read the rows of a bucket that was taken out, some at a time: the columns, encoded, and the indexes."""
        for batch in self._parts(bucket):
            *columns, index = batch.columns
            yield columns, index.to_numpy()

    def _parts(self, bucket: Bucket) -> Iterator[pa.RecordBatch]:
        yield from bucket.parts
        if bucket.is_spilled and self._home:
            with pa.OSFile(str(self._home / bucket.path), "rb") as source:
                while source.tell() < source.size():
                    yield from ipc.open_stream(source)

    def drop(self, bucket: Bucket) -> None:
        """Forget the rows of a bucket that was taken out."""
        self.budget.give_back(bucket.in_memory)
        bucket.parts, bucket.in_memory = [], 0
        if bucket.is_spilled and self._home:
            (self._home / bucket.path).unlink(missing_ok=True)


def check_directory(directory: str) -> None:
    """Check that files can be written to a directory, which is made if it is not there.

    Parameters
    ----------
    directory : str
        The directory.

    Raises
    ------
    InvalidInputError
        When they cannot.
    """
    try:
        Path(directory).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory) as file:
            file.write(b"1")
    except OSError as error:
        raise InvalidInputError(
            f"Cannot set spill-directory to '{directory}', because no file can be written there: {error}"
        ) from error


def _parted(
    rows: pa.RecordBatch, numbers: npt.NDArray[np.int64], *, is_owned: bool
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Copy the rows of every bucket, because a part of a batch would keep all of it in memory."""
    highest = int(numbers.max(initial=0))
    small: npt.NDArray[Any] = numbers.astype(np.uint16) if highest < 1 << 16 else numbers
    order = np.argsort(small, kind="stable")
    counts = np.bincount(numbers, minlength=1)
    present = np.flatnonzero(counts)
    ends = np.cumsum(counts[present])
    if len(present) == 1 and is_owned:
        yield int(present[0]), rows
        return
    parts = [pa.array(each) for each in np.split(order, ends[:-1])]
    # One column after the other: it stays in the processor's cache while each part takes its rows.
    columns = [[column.take(part) for part in parts] for column in rows.columns]
    for place, number in enumerate(present.tolist()):
        yield number, pa.RecordBatch.from_arrays([column[place] for column in columns], schema=rows.schema)
