"""Rewrite one file group by its layout: every row is read once, held with the rows of its file, sorted and written."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field, replace
from operator import itemgetter
from threading import Event, Lock

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.typedef import Record

from iceberg_zorder.errors import RewriteFailedError
from iceberg_zorder.layout.box_tree import BoxTree
from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.pyiceberg.file_groups import DataFileTask, FileGroup
from iceberg_zorder.pyiceberg.partitions import Partitions
from iceberg_zorder.pyiceberg.plan.row_order import RowOrder
from iceberg_zorder.pyiceberg.progress import READ, Progress, silent
from iceberg_zorder.pyiceberg.read.projection import field_paths, file_fields
from iceberg_zorder.pyiceberg.read.reader import BATCH_BYTES, Reader, Rows
from iceberg_zorder.pyiceberg.write.file_writer import FileSettings, FileWriter, delete_files
from iceberg_zorder.pyiceberg.write.parquet_settings import row_group_size
from iceberg_zorder.request.rewrite_options import SMALLEST_MEMORY_LIMIT
from iceberg_zorder.rows.bucket_sorter import BucketSorter, PrefixColumns
from iceberg_zorder.rows.buckets import parted
from iceberg_zorder.rows.codecs import Codecs
from iceberg_zorder.rows.memory_budget import LargeValuesError, MemoryBudget
from iceberg_zorder.rows.nested import leaf
from iceberg_zorder.rows.read_ahead import ReadAhead
from iceberg_zorder.rows.routing import Router
from iceberg_zorder.rows.spill import Spill
from iceberg_zorder.rows.threads import StoppedError, Turns, available_cores, run_together

# What is spilled takes at most about so many times the room that it has in files: TPC-H's lineitem 1.65 times, orders
# 1.54, customer 1.52 and partsupp 1.48, events with random keys 1.5, and rows that hardly differ 0.92 times the room of
# files in zstd; of files in Snappy 0.75 to 1.32 times.
_INFLATION = 1.75
_MOST_RANGES = 256
_AHEAD = 1
_BATCHES = 24
"""Batches of every thread have room beside the budget; they are several times as large in memory as in files."""
_Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RewriteContext:
    """What all file groups of a rewrite share."""

    table: Table
    order: RowOrder
    budget: MemoryBudget
    spill_directory: str | None = None  # for rows that have no room in memory, by default that of temporary files
    progress: Progress = silent
    threads: int = 1  # of each file group
    stopped: Event = field(default_factory=Event)  # has all file groups end when it is set
    write_id: str = ""  # what the names of new files have in common


def rewrite_group(context: RewriteContext, group: FileGroup, layout: Layout) -> list[DataFile]:
    """Rewrite a file group; nothing is committed."""
    budget = context.budget
    try:
        return _rewritten(context, group, layout, budget.limit // available_cores())
    except LargeValuesError:
        with budget.alone:
            return _rewritten(replace(context, threads=1), group, layout, max(2 * budget.limit, SMALLEST_MEMORY_LIMIT))


def _rewritten(context: RewriteContext, group: FileGroup, layout: Layout, most: int) -> list[DataFile]:
    """Rewrite a file group whose values have so many bytes at most, and what is decoded at once twice as many."""
    budget = context.budget
    batch_bytes = min(BATCH_BYTES, budget.limit // (_BATCHES * context.threads))
    reader = Reader(context.table, list(group.tasks), keep_dictionaries=True, budget=budget, batch_bytes=batch_bytes)
    codecs = Codecs(reader.schema)
    rewrite = _GroupRewrite(context, group, layout, reader)
    with Spill(budget, codecs, context.spill_directory, rewrite.ranges) as spill, closing(reader):
        if rewrite.expected_size > budget.limit:
            spill.check_space(rewrite.expected_size)
        rewrite.read(spill, codecs, most)
        reader.close()
        try:
            return rewrite.write(spill, BucketSorter(codecs, rewrite.prefix, budget), codecs)
        except BaseException:
            rewrite.delete()
            raise


class _GroupRewrite:
    """The steps of rewriting one file group: read all rows, then sort and write the rows of each file."""

    def __init__(self, context: RewriteContext, group: FileGroup, layout: Layout, reader: Reader) -> None:
        self._context = context
        self._table = context.table
        self._group = group
        self._layout = layout
        self._reader = reader
        self._stopped = Event()
        self._writers: list[FileWriter] = []
        self._rows_read = 0
        paths = field_paths(file_fields(reader.schema, None))
        self._paths = [paths[field_id] for field_id in context.order.field_ids]
        spec = context.table.specs()[group.spec_id]
        self._partitions = (
            Partitions(spec, context.table.schema(), reader.schema)
            if context.order.partition or group.partition is None
            else None
        )
        self.expected_size = int(group.input_size * _INFLATION)
        """About how many bytes the rows take while they are held."""

    @property
    def prefix(self) -> PrefixColumns:
        """The columns that the rows of a file are sorted by first."""
        order = self._context.order
        return PrefixColumns(order.prefix, order.prefix_orders, tuple(self._paths[: len(order.prefix)]))

    @property
    def ranges(self) -> int:
        """Into how many ranges of their indexes the rows of each file are divided, so that few are sorted at a time."""
        limit = self._context.budget.limit
        if self.expected_size <= limit or self._context.order.prefix or not isinstance(self._layout.cuts, BoxTree):
            return 1
        # So many that every thread has room for a range, for its copy, and for a row group.
        wanted = 4 * self._context.threads * self.expected_size // (limit * self._layout.files)
        return min(_MOST_RANGES, 1 << wanted.bit_length(), 1 << self._index_bits)

    @property
    def _index_bits(self) -> int:
        return self._layout.bits * (len(self._layout.columns) - self._layout.leading)

    def read(self, spill: Spill, codecs: Codecs, most: int) -> None:
        """Read all rows, and hold each with those of its file."""
        streams = _dealt(self._group.tasks, self._context.threads)
        router, turns = Router(self._layout, self._group.rows), Turns(len(streams))

        def read_stream(place: int) -> None:
            flushes = 0
            try:
                with self._batches(streams[place], len(streams), 2 * most) as batches:
                    for task, rows in batches:
                        self._check_running()
                        slots, index = self._routed(router, task, rows, spill.ranges)
                        columns = codecs.encoded(rows.batch)
                        _check_values(codecs, rows.batch.schema, most)
                        parts = parted(columns, index, slots, spill.ranges)
                        with turns.turn(place):
                            spill.add(parts)
                            self._rows_read += rows.batch.num_rows
                        if spill.flushes > flushes:
                            flushes = spill.flushes
                            del parts, rows, columns
                            # Each thread has memory of its own, and what it leaves is for its next parts only.
                            pa.default_memory_pool().release_unused()
            finally:
                turns.leave(place)

        run_together(len(streams), read_stream, self._stopped.set)
        spill.complete()

    def _batches(
        self, tasks: list[DataFileTask], streams: int, most: int
    ) -> AbstractContextManager[Iterator[tuple[DataFileTask, Rows]]]:
        """Read some data files, ahead where there are threads to spare."""
        rows = self._rows(tasks, most)
        return ReadAhead(rows, _AHEAD) if streams < self._context.threads else closing(rows)

    def _rows(self, tasks: list[DataFileTask], most: int) -> Generator[tuple[DataFileTask, Rows], None, None]:
        for task in tasks:
            for rows in self._reader.rows(task, None, None, most):
                yield task, rows
            self._context.progress(READ, task.data_file.record_count, task.data_file.file_size_in_bytes)

    def _routed(self, router: Router, task: DataFileTask, rows: Rows, ranges: int) -> tuple[_Longs, _Longs]:
        """Find the bucket of every row, times the ranges, plus its range there; and its index."""
        transformed = self._partitions.transformed(rows.batch) if self._partitions else []
        keys = self._partitions.keys(transformed) if self._partitions and self._context.order.partition else []
        columns = [*keys, *(leaf(rows.batch, path) for path in self._paths)]
        bucket, index = router.route(columns, task.data_file.file_path, rows.positions)
        if self._partitions and self._group.partition is None:
            bucket += self._partitions.number(transformed, rows.batch.num_rows) * self._layout.files
        if ranges == 1:
            return bucket, index
        return bucket * ranges + (index >> self._index_bits - (ranges.bit_length() - 1)), index

    def write(self, spill: Spill, sorter: BucketSorter, codecs: Codecs) -> list[DataFile]:
        """Sort and write the rows of one file after the other, in several threads while there is room."""
        numbers = spill.buckets
        self._writers = [self._writer(number, sorter.row_group_rows, codecs) for number in numbers]
        waiting = iter(zip(numbers, self._writers, strict=True))
        lock = Lock()

        def write_files(_: int) -> None:
            while True:
                with lock:
                    number, writer = next(waiting, (None, None))
                if number is None or writer is None:
                    return
                self._check_running()
                sorter.write_bucket(spill, number, writer)
                writer.close()

        run_together(min(self._context.threads, max(1, len(numbers))), write_files, self._stopped.set)
        files = [file for writer in self._writers for file in writer.files]
        rows = sum(file.record_count for file in files)
        if rows != self._rows_read:
            raise RewriteFailedError(
                f"Cannot rewrite {len(self._group.tasks)} data files, because the new files have {rows:,} rows, and "
                f"{self._rows_read:,} were read"
            )
        return files

    def delete(self) -> None:
        """Delete the files that were written."""
        for writer in self._writers:
            writer.abort()
        delete_files(self._table, [path for writer in self._writers for path in writer.paths])

    def _writer(self, number: int, row_group_rows: int, codecs: Codecs) -> FileWriter:
        partition, file = divmod(number, self._layout.files)
        record = self._group.partition
        if self._partitions and record is None:
            record = self._partitions.records[partition]
        settings = FileSettings(
            spec_id=self._group.spec_id,
            partition=Record() if record is None else record,
            name=f"{file:05d}-{partition}",
            write_id=self._context.write_id,
            roll_at=self._roll_at(),
            row_group_rows=row_group_rows,
            row_width=codecs.width,
            row_size=self._group.input_size / max(1, self._group.rows),
            large=codecs.large,
        )
        return FileWriter(self._table, settings, self._written)

    def _written(self, stage: str, rows: int, size: int) -> None:
        """Pass on that a row group was written, unless no more is to be."""
        self._check_running()
        self._context.progress(stage, rows, size)

    def _check_running(self) -> None:
        if self._stopped.is_set() or self._context.stopped.is_set():
            raise StoppedError

    def _roll_at(self) -> int:
        """Tell at which length another file is started: only where there are fewer files than planned."""
        size = self._group.max_output_file_size
        if self._layout.files < self._group.expected_output_files:
            return size
        return size + row_group_size(self._table)


def _check_values(codecs: Codecs, schema: pa.Schema, most: int) -> None:
    """Refuse values that have no room."""
    place, size = max(codecs.large.items(), key=itemgetter(1), default=(0, 0))
    if size > most:
        raise LargeValuesError(
            f"column '{schema.names[place]}' holds a value of {size:,} bytes, which memory-limit-bytes of {most:,} "
            f"cannot hold: raise it to {size:,}"
        )


def _dealt(tasks: Sequence[DataFileTask], streams: int) -> list[list[DataFileTask]]:
    """Deal data files to so many streams at most, each to the one that has the fewest bytes so far."""
    dealt: list[list[DataFileTask]] = [[] for _ in range(min(streams, len(tasks)))]
    sizes = [0] * len(dealt)
    for task in tasks:
        least = sizes.index(min(sizes))
        dealt[least].append(task)
        sizes[least] += max(1, task.data_file.file_size_in_bytes)
    return dealt
