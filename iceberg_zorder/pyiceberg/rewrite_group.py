"""Rewrite one file group by its layout: every row is read once, held with the rows of its file, sorted and written."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass

from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.typedef import Record

from iceberg_zorder.errors import RewriteFailedError
from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.pyiceberg.file_groups import DataFileTask, FileGroup
from iceberg_zorder.pyiceberg.partitions import Partitions
from iceberg_zorder.pyiceberg.plan.row_order import RowOrder
from iceberg_zorder.pyiceberg.progress import READ, Progress, silent
from iceberg_zorder.pyiceberg.read.file_fields import field_paths, file_fields
from iceberg_zorder.pyiceberg.read.reader import Reader, Rows
from iceberg_zorder.pyiceberg.write.file_writer import FileSettings, FileWriter, delete_files
from iceberg_zorder.pyiceberg.write.parquet_settings import row_group_size
from iceberg_zorder.rows.bucket_sorter import BucketSorter, PrefixColumns
from iceberg_zorder.rows.codecs import Codecs
from iceberg_zorder.rows.memory_budget import MemoryBudget
from iceberg_zorder.rows.nested import leaf
from iceberg_zorder.rows.read_ahead import ReadAhead
from iceberg_zorder.rows.routing import Router
from iceberg_zorder.rows.spill import Bucket, Spill

# What is spilled takes at most about so many times the room that it has in files: TPC-H's lineitem 1.65 times, orders
# 1.54, customer 1.52 and partsupp 1.48, events with random keys 1.5, and rows that hardly differ 0.92 times the room of
# files in zstd; of files in Snappy 0.75 to 1.32 times.
_INFLATION = 1.75
_WRITERS = 2
_AHEAD = 1


@dataclass(frozen=True, eq=False)
class RewriteContext:
    """What all file groups of a rewrite share.

    Parameters
    ----------
    table : pyiceberg.table.Table
        The table.
    order : RowOrder
        The columns that the layouts were fitted to.
    budget : MemoryBudget
        Bounds the rows in memory.
    spill_directory : str or None, optional
        Where rows are held that have no room in memory, by default where temporary files are.
    progress : Progress, optional
        Told of every file that was read, and of every row group that was written.
    """

    table: Table
    order: RowOrder
    budget: MemoryBudget
    spill_directory: str | None = None
    progress: Progress = silent


def rewrite_group(context: RewriteContext, group: FileGroup, layout: Layout) -> list[DataFile]:
    """Rewrite a file group; nothing is committed.

    Parameters
    ----------
    context : RewriteContext
        The table, and how its rows come.
    group : FileGroup
        The file group.
    layout : Layout
        Its layout.

    Returns
    -------
    list of pyiceberg.manifest.DataFile
        The new data files, which the caller owns. Whatever goes wrong, or interrupts, the files are deleted.
    """
    budget = context.budget
    reader = Reader(context.table, list(group.tasks), keep_dictionaries=True, budget=budget)
    codecs = Codecs(reader.schema)
    with Spill(budget, codecs, context.spill_directory) as spill, closing(reader):
        expected = int(group.input_size * _INFLATION)
        if expected > budget.limit:
            spill.check_space(expected)
        rewrite = _GroupRewrite(context, group, layout, reader)
        rewrite.read(spill, codecs)
        reader.close()
        try:
            return rewrite.write(spill, BucketSorter(codecs, rewrite.prefix, budget), codecs.width)
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

    @property
    def prefix(self) -> PrefixColumns:
        """The columns that the rows of a file are sorted by first."""
        order = self._context.order
        return PrefixColumns(order.prefix, order.prefix_orders, tuple(self._paths[: len(order.prefix)]))

    def read(self, spill: Spill, codecs: Codecs) -> None:
        """Read all rows, and hold each with those of its file."""
        router = Router(self._layout)
        with ReadAhead(self._rows(), _AHEAD) as ahead:
            for task, rows in ahead:
                transformed = self._partitions.transformed(rows.batch) if self._partitions else []
                keys = self._partitions.keys(transformed) if self._partitions and self._context.order.partition else []
                columns = [*keys, *(leaf(rows.batch, path) for path in self._paths)]
                file, index = router.route(columns, task.data_file.file_path, rows.positions)
                if self._partitions and self._group.partition is None:
                    number = self._partitions.number(transformed, rows.batch.num_rows)
                    file = number * self._layout.files + file
                spill.add(codecs.encoded(rows.batch), index, file)
                self._rows_read += rows.batch.num_rows

    def _rows(self) -> Generator[tuple[DataFileTask, Rows], None, None]:
        for task in self._group.tasks:
            for rows in self._reader.rows(task):
                yield task, rows
            self._context.progress(READ, task.data_file.record_count, task.data_file.file_size_in_bytes)

    def write(self, spill: Spill, sorter: BucketSorter, row_width: int) -> list[DataFile]:
        """Sort and write the rows of one file after the other, of two at a time while there is room for both."""
        running: set[Future[None]] = set()
        with ThreadPoolExecutor(_WRITERS, "iceberg-zorder-write") as pool:
            for number in spill.buckets:
                need = sorter.need(spill.bucket(number))
                while running and (len(running) == _WRITERS or not spill.make_room(need, keep=number)):
                    running = _unfinished(running)
                fits = spill.make_room(need, keep=number)
                writer = self._writer(number, sorter.row_group_rows, row_width)
                bucket = spill.pop(number)
                if fits:
                    spill.budget.take(need)
                    running.add(pool.submit(_write_bucket, sorter, spill, bucket, writer, need))
                else:
                    spill.flush_all()
                    sorter.write_in_ranges(spill, bucket, writer)
                    writer.close()
            while running:
                running = _unfinished(running)
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

    def _writer(self, number: int, row_group_rows: int, row_width: int) -> FileWriter:
        partition, file = divmod(number, self._layout.files)
        record = self._group.partition
        if self._partitions and record is None:
            record = self._partitions.records[partition]
        settings = FileSettings(
            spec_id=self._group.spec_id,
            partition=Record() if record is None else record,
            name=f"{file:05d}-{partition}",
            roll_at=self._roll_at(),
            row_group_rows=row_group_rows,
            row_width=row_width,
            row_size=self._group.input_size / max(1, self._group.rows),
        )
        writer = FileWriter(self._table, settings, self._context.progress)
        self._writers.append(writer)
        return writer

    def _roll_at(self) -> int:
        """Tell at which length another file is started: only where there are fewer files than planned."""
        size = self._group.max_output_file_size
        if self._layout.files < self._group.expected_output_files:
            return size
        return size + row_group_size(self._table)


def _write_bucket(sorter: BucketSorter, spill: Spill, bucket: Bucket, writer: FileWriter, need: int) -> None:
    """Write one file; the memory that this needs was counted before."""
    try:
        sorter.write(spill, bucket, writer)
        writer.close()
    finally:
        spill.budget.give_back(need)


def _unfinished(running: set[Future[None]]) -> set[Future[None]]:
    """Wait until one is finished, and raise what went wrong with it."""
    done, rest = wait(running, return_when=FIRST_COMPLETED)
    for future in done:
        future.result()
    return rest
