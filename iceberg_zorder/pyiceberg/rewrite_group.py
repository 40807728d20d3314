"""Rewrite one file group by its layout: every row is read once, held with the rows of its file, sorted and written."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.typedef import Record

from iceberg_zorder.errors import RewriteFailedError
from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.pyiceberg.file_groups import DataFileTask, FileGroup
from iceberg_zorder.pyiceberg.partitions import Partitions
from iceberg_zorder.pyiceberg.plan.row_order import RowOrder
from iceberg_zorder.pyiceberg.progress import READ, Progress, silent
from iceberg_zorder.pyiceberg.read.deletes import field_paths
from iceberg_zorder.pyiceberg.read.projection import file_fields, leaf
from iceberg_zorder.pyiceberg.read.reader import Reader, Rows
from iceberg_zorder.pyiceberg.write.file_writer import FileWriter, delete_files, row_group_size
from iceberg_zorder.rows.codecs import Codecs
from iceberg_zorder.rows.memory_budget import MemoryBudget
from iceberg_zorder.rows.read_ahead import Ahead
from iceberg_zorder.rows.routing import Router
from iceberg_zorder.rows.sorting import SortKey, sort_keys, sort_permutation, split
from iceberg_zorder.rows.spill import Bucket, Spill

# What is spilled takes at most about so many times the room that it has in files: TPC-H's lineitem 1.65 times, orders
# 1.54, customer 1.52 and partsupp 1.48, events with random keys 1.5, and rows that hardly differ 0.92 times the room of
# files in zstd; of files in Snappy 0.75 to 1.32 times.
_INFLATION = 1.75
_WRITERS = 2
_AHEAD = 1


def rewrite_group(
    table: Table,
    group: FileGroup,
    layout: Layout,
    order: RowOrder,
    budget: MemoryBudget,
    progress: Progress = silent,
    *,
    spill_directory: str | None = None,
) -> list[DataFile]:
    """Rewrite a file group; nothing is committed.

    Parameters
    ----------
    table : pyiceberg.table.Table
        The table.
    group : FileGroup
        The file group.
    layout : Layout
        Its layout.
    order : RowOrder
        The columns that the layout was fitted to.
    budget : MemoryBudget
        Bounds the rows in memory.
    progress : Progress, optional
        Told of every file that was read, and of every row group that was written.
    spill_directory : str, optional
        Where rows are held that have no room in memory, by default where temporary files are.

    Returns
    -------
    list of pyiceberg.manifest.DataFile
        The new data files, which the caller owns. Whatever goes wrong, or interrupts, the files are deleted.
    """
    reader = Reader(table, list(group.tasks), keep_dictionaries=True, budget=budget)
    codecs = Codecs(reader.schema)
    with Spill(budget, codecs, spill_directory) as spill, closing(reader):
        expected = int(group.input_size * _INFLATION)
        if expected > spill.budget.limit:
            spill.check_space(expected)
        rewrite = _Rewrite(table, group, layout, order, reader, codecs, spill, progress)
        rewrite.read()
        reader.close()
        try:
            return rewrite.write()
        except BaseException:
            rewrite.delete()
            raise


class _Rewrite:
    """The steps of rewriting one file group."""

    def __init__(
        self,
        table: Table,
        group: FileGroup,
        layout: Layout,
        order: RowOrder,
        reader: Reader,
        codecs: Codecs,
        spill: Spill,
        progress: Progress,
    ) -> None:
        self._table = table
        self._group = group
        self._layout = layout
        self._order = order
        self._reader = reader
        self._codecs = codecs
        self._spill = spill
        self._progress = progress
        self._writers: list[FileWriter] = []
        self._rows_read = 0
        paths = field_paths(file_fields(reader.schema, None))
        self._paths = [paths[field_id] for field_id in order.field_ids]
        spec = table.specs()[group.spec_id]
        self._partitions = (
            Partitions(spec, table.schema(), reader.schema) if order.partition or group.partition is None else None
        )

    def read(self) -> None:
        """Read all rows, and hold each with those of its file."""
        router = Router(self._layout)
        with Ahead(self._rows(), _AHEAD) as ahead:
            for task, rows in ahead:
                transformed = self._partitions.transformed(rows.batch) if self._partitions else []
                keys = self._partitions.keys(transformed) if self._partitions and self._order.partition else []
                columns = [*keys, *(leaf(rows.batch, path) for path in self._paths)]
                file, index = router.route(columns, task.data_file.file_path, rows.positions)
                if self._partitions and self._group.partition is None:
                    number = self._partitions.number(transformed, rows.batch.num_rows)
                    file = number * self._layout.files + file
                self._spill.add(self._codecs.encoded(rows.batch), index, file)
                self._rows_read += rows.batch.num_rows

    def _rows(self) -> Generator[tuple[DataFileTask, Rows], None, None]:
        for task in self._group.tasks:
            for rows in self._reader.rows(task):
                yield task, rows
            self._progress(READ, task.data_file.record_count, task.data_file.file_size_in_bytes)

    def write(self) -> list[DataFile]:
        """Sort and write the rows of one file after the other, of two at a time while there is room for both."""
        running: set[Future[None]] = set()
        with ThreadPoolExecutor(_WRITERS, "iceberg-zorder-write") as pool:
            for number in self._spill.buckets:
                need = self._need(self._spill.bucket(number))
                while running and (len(running) == _WRITERS or not self._spill.make_room(need, keep=number)):
                    running = _unfinished(running)
                fits = self._spill.make_room(need, keep=number)
                writer = self._writer(number)
                bucket = self._spill.pop(number)
                if fits:
                    self._spill.budget.take(need)
                    running.add(pool.submit(self._write_bucket, writer, bucket, need))
                else:
                    self._spill.flush_all()
                    self._write_large(writer, bucket)
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

    def _need(self, bucket: Bucket) -> int:
        """Tell how much memory sorting takes, beside what the rows take already: one column more, and a row group."""
        row_group = min(bucket.rows * self._codecs.width, self._row_group_bytes)
        return bucket.size - bucket.in_memory + int(bucket.size * self._codecs.largest_share) + row_group

    @property
    def _row_group_bytes(self) -> int:
        return self._spill.budget.limit // 4

    def _writer(self, number: int) -> FileWriter:
        partition, file = divmod(number, self._layout.files)
        record = self._group.partition
        if self._partitions and record is None:
            record = self._partitions.records[partition]
        writer = FileWriter(
            self._table,
            self._group.spec_id,
            Record() if record is None else record,
            f"{file:05d}-{partition}",
            roll_at=self._roll_at(),
            row_group_rows=max(1, self._row_group_bytes // self._codecs.width),
            width=self._codecs.width,
            row_size=self._group.input_size / max(1, self._group.rows),
            progress=self._progress,
        )
        self._writers.append(writer)
        return writer

    def _roll_at(self) -> int:
        """Tell at which length another file is started: only where there are fewer files than planned."""
        size = self._group.max_output_file_size
        if self._layout.files < self._group.expected_output_files:
            return size
        return size + row_group_size(self._table)

    def _write_bucket(self, writer: FileWriter, bucket: Bucket, need: int) -> None:
        """Write one file; the memory that this needs was counted before."""
        try:
            self._write_piece(writer, bucket)
            writer.close()
        finally:
            self._spill.budget.give_back(need)

    def _write_piece(self, writer: FileWriter, bucket: Bucket) -> None:
        parts = list(self._spill.read(bucket))
        index = np.concatenate([part for _, part in parts])
        by_column = [[columns[place] for columns, _ in parts] for place in range(len(self._codecs))]
        del parts
        self._spill.drop(bucket)
        for place in self._prefix_places:
            by_column[place] = [self._codecs.joined(place, by_column[place])]
        order = pa.array(
            sort_permutation(self._keys({place: by_column[place][0] for place in self._prefix_places}, index))
        )
        columns = []
        for place, each in enumerate(by_column):
            # One column after the other: it stays in the processor's cache, and no more than one is there twice.
            columns.append(self._codecs.joined(place, each).take(order))
            each.clear()
        start = 0
        while start < len(order):
            rows = min(len(order) - start, writer.row_group_rows)
            writer.write([self._codecs.finished([column.slice(start, rows) for column in columns])])
            start += rows

    def _write_large(self, writer: FileWriter, bucket: Bucket) -> None:
        """Write rows that have no room in memory together: split by ranges of their keys, in order."""
        pieces = max(2, -(-2 * self._need(bucket) // self._spill.budget.limit))
        ranges = split((self._keys_of(*part) for part in self._spill.read(bucket)), pieces)
        if ranges is None:
            self._write_alike(writer, bucket)
            return
        with Spill(self._spill.budget, self._codecs, self._spill.home or self._spill.directory) as inner:
            for columns, index in self._spill.read(bucket):
                inner.add(columns, index, ranges.of(self._keys_of(columns, index)))
            self._spill.drop(bucket)
            outer, self._spill = self._spill, inner
            try:
                for number in inner.buckets:
                    need = self._need(inner.bucket(number))
                    fits = inner.make_room(need, keep=number)
                    piece = inner.pop(number)
                    if fits:
                        inner.budget.take(need)
                        try:
                            self._write_piece(writer, piece)
                        finally:
                            inner.budget.give_back(need)
                    else:
                        inner.flush_all()
                        self._write_large(writer, piece)
            finally:
                self._spill = outer

    def _write_alike(self, writer: FileWriter, bucket: Bucket) -> None:
        """Write rows that are alike in every key, in any order."""
        waiting: list[pa.RecordBatch] = []
        for columns, _ in self._spill.read(bucket):
            waiting.append(self._codecs.finished(columns))
            if sum(batch.num_rows for batch in waiting) >= writer.row_group_rows:
                writer.write(waiting)
                waiting = []
        writer.write(waiting)
        self._spill.drop(bucket)

    def _keys_of(self, columns: list[pa.Array], index: npt.NDArray[np.int64]) -> list[SortKey]:
        return self._keys({place: columns[place] for place in self._prefix_places}, index)

    @property
    def _prefix_places(self) -> list[int]:
        """Tell which columns the keys are made of, beside the index."""
        return sorted({path[0] for path in self._paths[: len(self._order.prefix)]})

    def _keys(self, columns: Mapping[int, pa.Array], index: npt.NDArray[np.int64]) -> list[SortKey]:
        """Find the keys that rows are sorted by."""
        if not self._order.prefix:
            return [SortKey(index)]
        decoded = [self._codecs.decoded(place, column) for place, column in columns.items()]
        rows = pa.RecordBatch.from_arrays(decoded, [str(place) for place in columns])
        places = {place: at for at, place in enumerate(columns)}
        values = [leaf(rows, (places[path[0]], *path[1:])) for path in self._paths[: len(self._order.prefix)]]
        return sort_keys(self._order.prefix, self._order.prefix_orders, values, index)


def _unfinished(running: set[Future[None]]) -> set[Future[None]]:
    """Wait until one is finished, and raise what went wrong with it."""
    done, rest = wait(running, return_when=FIRST_COMPLETED)
    for future in done:
        future.result()
    return rest
