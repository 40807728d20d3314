"""Write the new files of file groups: read all rows of a group once, then sort and write the rows of each file."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
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
from iceberg_zorder.pyiceberg.files import READ, DataFileTask, FileGroup, Progress, SampledGroup, delete_files, silent
from iceberg_zorder.pyiceberg.partitions import Partitions
from iceberg_zorder.pyiceberg.plan.sort_order import ResolvedSortOrder
from iceberg_zorder.pyiceberg.read.projection import field_paths, file_fields
from iceberg_zorder.pyiceberg.read.reader import BATCH_BYTES, Reader, Rows
from iceberg_zorder.pyiceberg.row_lineage import stored_schema
from iceberg_zorder.pyiceberg.write.file_writer import FileSettings, FileWriter, row_group_size
from iceberg_zorder.rewrite.options import SMALLEST_MEMORY_LIMIT
from iceberg_zorder.sort.bucket_sorter import BucketSorter, PrefixColumns
from iceberg_zorder.sort.codecs import Codecs, leaf
from iceberg_zorder.sort.memory_budget import LargeValuesError, MemoryBudget
from iceberg_zorder.sort.routing import Router
from iceberg_zorder.sort.spill import Spill, parted
from iceberg_zorder.sort.threads import ReadAhead, StoppedError, Turns, available_cores, run_together

# Spilled rows take at most about this many times the bytes of their files. Measured with zstd: TPC-H's lineitem 1.65,
# orders 1.54, customer 1.52, partsupp 1.48, events with random keys 1.5, rows that hardly differ 0.92. Measured with
# Snappy: 0.75 to 1.32.
_SPILLED_BYTES_PER_FILE_BYTE = 1.75
_MOST_RANGES = 256
_BATCH_LIMIT_DIVISOR = 24
"""All threads' batches have at most 1/24 of the budget's limit in files; in memory several times that, beside it."""
_Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RewriteContext:
    """What all file groups of a rewrite share."""

    table: Table
    order: ResolvedSortOrder
    budget: MemoryBudget
    spill_directory: str | None = None  # for rows above the memory limit; None is the directory of temporary files
    progress: Progress = silent
    threads: int = 1  # for one file group, or for all in `rewrite_groups`
    stopped: Event = field(default_factory=Event)  # when set, every file group stops


def rewrite_group(context: RewriteContext, group: FileGroup, layout: Layout) -> list[DataFile]:
    """Rewrite a file group without committing it; one with too large values is repeated alone, with one thread."""
    budget = context.budget
    try:
        return _rewrite_group_within(context, group, layout, budget.limit // available_cores())
    except LargeValuesError:
        with budget.alone:
            return _rewrite_group_within(
                replace(context, threads=1), group, layout, max(2 * budget.limit, SMALLEST_MEMORY_LIMIT)
            )


def _rewrite_group_within(context: RewriteContext, group: FileGroup, layout: Layout, largest: int) -> list[DataFile]:
    """Rewrite a file group; a value has at most ``largest`` bytes, and a decoded batch at most twice as many."""
    budget = context.budget
    batch_bytes = min(BATCH_BYTES, budget.limit // (_BATCH_LIMIT_DIVISOR * context.threads))
    reader = Reader(
        context.table,
        list(group.tasks),
        stored_schema(context.table),
        keep_dictionaries=True,
        budget=budget,
        batch_bytes=batch_bytes,
    )
    codecs = Codecs(reader.schema)
    rewrite = _GroupRewrite(context, group, layout, reader)
    with Spill(budget, codecs, context.spill_directory, rewrite.ranges) as spill, closing(reader):
        if rewrite.expected_size > budget.limit:
            spill.check_space(rewrite.expected_size)
        rewrite.read(spill, codecs, largest)
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
        prefix = context.order.prefix
        self.prefix = PrefixColumns(prefix, context.order.prefix_orders, tuple(self._paths[: len(prefix)]))
        """The columns that the rows of a file are sorted by first."""
        spec = context.table.specs()[group.spec_id]
        self._partitions = (
            Partitions(spec, context.table.schema(), reader.schema)
            if context.order.partition or group.partition is None
            else None
        )
        self.expected_size = int(group.input_size * _SPILLED_BYTES_PER_FILE_BYTE)
        """Estimated bytes of the rows while they are in memory or spilled."""

    @property
    def ranges(self) -> int:
        """The number of index ranges that the rows of a new file are split into, so that each sort fits in memory."""
        limit = self._context.budget.limit
        if self.expected_size <= limit or self._context.order.prefix or not isinstance(self._layout.cuts, BoxTree):
            return 1
        # Each thread needs memory for a range, a copy of it, and a row group.
        wanted = 4 * self._context.threads * self.expected_size // (limit * self._layout.files)
        return min(_MOST_RANGES, 1 << wanted.bit_length(), 1 << self._index_bits)

    @property
    def _index_bits(self) -> int:
        return self._layout.bits * (len(self._layout.columns) - self._layout.leading)

    def read(self, spill: Spill, codecs: Codecs, largest: int) -> None:
        """Read all rows, and add each to the bucket of its new file."""
        streams = _split_into_streams(self._group.tasks, self._context.threads)
        router, turns = Router(self._layout, self._group.rows), Turns(len(streams))

        def read_stream(place: int) -> None:
            flushes = 0
            try:
                stream = self._rows(streams[place], 2 * largest)
                # If there are fewer streams than threads, a spare thread reads ahead.
                with ReadAhead(stream, ahead=1) if len(streams) < self._context.threads else closing(stream) as batches:
                    for task, rows in batches:
                        self._check_running()
                        slots, index = self._route(router, task, rows, spill.ranges)
                        columns = codecs.encoded(rows.batch)
                        check_value_sizes(codecs, rows.batch.schema, largest)
                        parts = parted(columns, index, slots, spill.ranges)
                        with turns.turn(place):
                            spill.add(parts)
                            self._rows_read += rows.batch.num_rows
                        if spill.flushes > flushes:
                            flushes = spill.flushes
                            del parts, rows, columns
                            # Arrow keeps freed memory per thread, and only the same thread could use it again.
                            pa.default_memory_pool().release_unused()
            finally:
                turns.leave(place)

        run_together(len(streams), read_stream, self._stopped.set)
        spill.complete()

    def _rows(self, tasks: list[DataFileTask], most: int) -> Generator[tuple[DataFileTask, Rows], None, None]:
        for task in tasks:
            for rows in self._reader.rows(task, None, None, most):
                yield task, rows
            self._context.progress(READ, task.data_file.record_count, task.data_file.file_size_in_bytes)

    def _route(self, router: Router, task: DataFileTask, rows: Rows, ranges: int) -> tuple[_Longs, _Longs]:
        """Return the slot of every row (bucket * ranges + range in the bucket), and its index."""
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
        """Sort and write the new files in parallel."""
        writers = {number: self._writer(number, sorter.row_group_rows, codecs) for number in sorted(spill.buckets)}
        self._writers = [*writers.values()]
        files = write_buckets(spill, sorter, writers, self._context.threads, self._check_running, self._stopped.set)
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
        roll_at = self._group.max_output_file_size
        if self._layout.files >= self._group.expected_output_files:
            # The layout has all planned files already: start an extra file only if one is a whole row group too large.
            roll_at += row_group_size(self._table)
        settings = FileSettings(
            spec_id=self._group.spec_id,
            partition=Record() if record is None else record,
            name=f"{file:05d}-{partition}",
            roll_at=roll_at,
            row_group_rows=row_group_rows,
            row_width=codecs.width,
            row_size=self._group.input_size / max(1, self._group.rows),
            large=codecs.large,
        )
        return FileWriter(self._table, stored_schema(self._table), settings, self._on_row_group)

    def _on_row_group(self, stage: str, rows: int, size: int) -> None:
        """Report a written row group as progress; raises StoppedError once the rewrite is stopped."""
        self._check_running()
        self._context.progress(stage, rows, size)

    def _check_running(self) -> None:
        if self._stopped.is_set() or self._context.stopped.is_set():
            raise StoppedError


def write_buckets(
    spill: Spill,
    sorter: BucketSorter,
    writers: Mapping[int, FileWriter],
    threads: int,
    check_running: Callable[[], None],
    stop: Callable[[], None],
) -> list[DataFile]:
    """Sort and write the rows of buckets, each by its writer; returns the files in the order of the writers.

    Each thread takes the next bucket that no other has taken. ``check_running`` raises if the work is to end, and
    ``stop`` is called if a thread fails.
    """
    waiting, lock = iter(writers.items()), Lock()

    def write_files(_: int) -> None:
        while True:
            with lock:
                number, writer = next(waiting, (None, None))
            if number is None or writer is None:
                return
            check_running()
            sorter.write_bucket(spill, number, writer)
            writer.close()

    run_together(min(threads, max(1, len(writers))), write_files, stop)
    return [file for writer in writers.values() for file in writer.files]


def check_value_sizes(codecs: Codecs, schema: pa.Schema, largest: int) -> None:
    """Raise LargeValuesError if a value has more than ``largest`` bytes."""
    place, size = max(codecs.large.items(), key=itemgetter(1), default=(0, 0))
    if size > largest:
        raise LargeValuesError(
            f"column '{schema.names[place]}' holds a value of {size:,} bytes, which memory-limit-bytes of {largest:,} "
            f"cannot hold: raise it to {2 * size:,}"
        )


def _split_into_streams(tasks: Sequence[DataFileTask], streams: int) -> list[list[DataFileTask]]:
    """Split data files into at most ``streams`` lists; each file goes to the list with the fewest bytes so far."""
    dealt: list[list[DataFileTask]] = [[] for _ in range(min(streams, len(tasks)))]
    sizes = [0] * len(dealt)
    for task in tasks:
        least = sizes.index(min(sizes))
        dealt[least].append(task)
        sizes[least] += max(1, task.data_file.file_size_in_bytes)
    return dealt


def rewrite_groups(
    context: RewriteContext,
    groups: Sequence[SampledGroup],
    most: int,
    should_continue: Callable[[], bool],
) -> Generator[tuple[SampledGroup, list[DataFile] | Exception], None, None]:
    """Rewrite at most ``most`` file groups at a time, and yield each with its new files or its error.

    Running file groups share the threads of the context. ``should_continue`` is called before each file group begins.
    Closing the generator stops the file groups that run, and deletes their new files.
    """
    waiting, running = deque(groups), dict[Future[list[DataFile]], tuple[SampledGroup, int]]()
    with ThreadPoolExecutor(min(most, max(1, len(groups))), "iceberg-zorder-group") as pool:
        try:
            while True:
                # Start file groups while there are threads for the next one.
                while waiting and len(running) < most:
                    # One thread for each new file, but at least an equal share of all threads.
                    wanted = max(waiting[0].group.expected_output_files, context.threads // len(groups), 1)
                    share = min(context.threads, wanted)
                    if sum(busy for _, busy in running.values()) + share > context.threads or not should_continue():
                        break
                    each = waiting.popleft()
                    shared = replace(context, threads=share)
                    running[pool.submit(rewrite_group, shared, each.group, each.layout)] = each, share
                if not running:
                    return
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in sorted(finished, key=lambda done: running[done][0].group.index):
                    sampled, _ = running.pop(future)
                    error = future.exception()
                    if error is not None and not isinstance(error, Exception):
                        raise error
                    yield sampled, error or future.result()
        finally:
            context.stopped.set()
            for future in running:
                # Wait for the file group, and delete its files; a failed one has deleted its own.
                if not future.exception():
                    delete_files(context.table, [file.file_path for file in future.result()])
