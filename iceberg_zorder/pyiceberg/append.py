"""Append rows whose files lie in few boxes of the table, without a JVM."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import ipc
from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.typedef import Record
from pyiceberg.types import UnknownType

from iceberg_zorder.errors import InvalidInputError, RewriteFailedError
from iceberg_zorder.layout.layout import Layout
from iceberg_zorder.pyiceberg.catalog import refresh, renewed, why
from iceberg_zorder.pyiceberg.commit.replacement import AppendCommit, check_committable
from iceberg_zorder.pyiceberg.compat import (
    check_arrow_schema,
    check_kept,
    sanitize_column_names,
    schema_to_pyarrow,
)
from iceberg_zorder.pyiceberg.files import READ, Progress, delete_files, display_name, silent
from iceberg_zorder.pyiceberg.group_rewrite import check_value_sizes, write_buckets
from iceberg_zorder.pyiceberg.partitions import Partitions
from iceberg_zorder.pyiceberg.plan.append_plan import AppendSpec, append_layouts, append_spec, row_bytes
from iceberg_zorder.pyiceberg.plan.rewrite_spec import branch_snapshot
from iceberg_zorder.pyiceberg.read.projection import Projection, field_paths, file_fields, projection
from iceberg_zorder.pyiceberg.write.file_writer import (
    FileSettings,
    FileWriter,
    check_honoured,
    check_writable,
    parquet_settings,
    worth_a_dictionary,
)
from iceberg_zorder.rewrite.append_result import AppendResult
from iceberg_zorder.rewrite.options import SMALLEST_MEMORY_LIMIT, OptionValue
from iceberg_zorder.sort.bucket_sorter import BucketSorter, PrefixColumns
from iceberg_zorder.sort.codecs import Codecs, leaf, without_views
from iceberg_zorder.sort.memory_budget import MemoryBudget
from iceberg_zorder.sort.routing import Router
from iceberg_zorder.sort.spill import Spill, check_directory, parted
from iceberg_zorder.sort.threads import StoppedError, available_cores

_BATCH_ROWS = 1 << 16
_MEASURED_ROWS = 20_000
_Longs = npt.NDArray[np.int64]
_Batches = Callable[[], Iterator[pa.RecordBatch]]


def append(
    table: Table,
    rows: pa.Table | pa.RecordBatchReader,
    columns: Sequence[str] | str | None = None,
    *,
    options: Mapping[str, OptionValue] | None = None,
    branch: str | None = None,
    file_bytes: int | None = None,
    snapshot_properties: Mapping[str, str] | None = None,
    case_sensitive: bool = False,
    progress: Progress = silent,
) -> AppendResult:
    """Append rows to a table in files that lie in few boxes of the files that are there.

    Filters then skip most of the new files, and a later rewrite merges each with its neighbours only. In a table that
    is not clustered, the new files are clustered among themselves. Rows that fill less than two files are written as
    they come.

    Parameters
    ----------
    table : pyiceberg.table.Table
        The table. The call refreshes its metadata.
    rows : pyarrow.Table or pyarrow.RecordBatchReader
        The rows, with columns as :meth:`pyiceberg.table.Table.append` takes them, found by their names. A reader is
        read once; what exceeds the memory limit goes to disk.
    columns : sequence of str, or str, optional
        The clustering columns, or a sort order, as for :func:`iceberg_zorder.pyiceberg.rewrite_data_files`. The default
        is the table's property ``zorder.columns``, then the columns of its last rewrite.
    options : mapping of str to bool, int, float, str or mapping, optional
        The options of a rewrite that concern layouts: ``boundaries``, ``column-weights``, ``sample-rows``,
        ``sample-seed``, ``size-tolerance``, ``target-file-size-bytes``; and ``memory-limit-bytes`` and
        ``spill-directory``. They override the table's property ``zorder.options``.
    branch : str, optional
        The branch to append to.
    file_bytes : int, optional
        The least bytes of a new file, at least 1, where its partition has as many: n times as many bytes become n
        files. The default is 8 MiB, or the target size if that is smaller.
    snapshot_properties : mapping of str to str, optional
        Properties of the new snapshot.
    case_sensitive : bool, optional
        Whether names of clustering columns are case-sensitive.
    progress : Progress, optional
        A callback that receives progress; see :mod:`iceberg_zorder.pyiceberg.files`.

    Returns
    -------
    AppendResult
        Counts of files, rows and bytes.

    Raises
    ------
    InvalidInputError
        When an argument is invalid, or the rows do not fit the table's schema; nothing was written.
    RewriteConflictError
        When the branch was dropped, or the catalog refused all attempts. The new files are deleted.
    UnknownOutcomeError
        When the catalog gave no clear answer to the commit. Nothing is deleted.
    RewriteFailedError
        When the rows cannot be read or written. The new files are deleted. The two errors above are subclasses.

    Examples
    --------
    >>> table = lake.load_table("db.events")  # of 5,000 rows in five files
    >>> rows = table.scan().to_arrow()
    >>> append(table, rows, ["user_id", "ts"], file_bytes=10_000).added_records_count
    5000
    >>> table.scan().count()
    10000
    """
    if not isinstance(rows, pa.Table | pa.RecordBatchReader):
        raise InvalidInputError(
            f"Cannot append {type(rows).__name__}, because rows must be a pyarrow.Table or a pyarrow.RecordBatchReader"
        )
    properties = {str(key): str(value) for key, value in dict(snapshot_properties or {}).items()}
    if "operation" in properties:
        raise InvalidInputError("Cannot set snapshot property operation, because it is append")
    with renewed(table):
        refresh(table)
        spec = append_spec(table, columns, options, branch, file_bytes, case_sensitive=case_sensitive)
        _check(table, spec)
        schema = appended_schema(table.schema())
        if (plain := without_views(rows.schema)) != rows.schema:
            rows = rows.cast(plain)
        by_name = _without_ids(rows.schema)
        # Whether a required column has NULLs is seen by its rows.
        required = {field.name for field in schema.fields if field.required}
        check_arrow_schema(table, pa.schema([field.with_nullable(field.name not in required) for field in by_name]))
        with _staged(rows, spec) as staged:
            if not staged.rows:
                return AppendResult(0, 0, 0, 0)
            work = _Append(table, spec, schema, _projection(table, schema, by_name), progress)
            files = work.write(staged)
        try:
            AppendCommit(table, spec.branch, properties, files).run()
        except (RewriteFailedError, InvalidInputError):
            raise
        except Exception as error:
            raise RewriteFailedError(
                f"Cannot append to {display_name(table)}, because {why(error)}. The new files were deleted."
            ) from error
    return AppendResult(
        len(files),
        sum(file.record_count for file in files),
        sum(file.file_size_in_bytes for file in files),
        len(work.layouts),
    )


def _check(table: Table, spec: AppendSpec) -> None:
    """Refuse a table that this engine cannot write, before a row is read."""
    check_honoured(table)
    check_kept(table)
    check_writable(table)
    check_committable(table)
    if spec.options.spill_directory is not None:
        check_directory(spec.options.spill_directory)


def projected(table: Table, schema: Schema, rows: pa.Table) -> pa.RecordBatch:
    """Return rows with the types of a schema, and the ids of its fields."""
    batch = rows.combine_chunks().to_batches()
    return _projection(table, schema, rows.schema)(batch[0] if batch else pa.RecordBatch.from_pylist([], rows.schema))


def _projection(table: Table, schema: Schema, given: pa.Schema) -> Projection:
    """Return the projection of rows to a schema; a missing column has its default, or NULL."""
    defaults = {field.field_id: field.write_default for field in schema.fields if field.write_default is not None}
    target = schema_to_pyarrow(sanitize_column_names(schema))
    try:
        return projection(schema, target, file_fields(_without_ids(given), schema.name_mapping), defaults)
    except InvalidInputError as error:
        raise InvalidInputError(f"Cannot append to {display_name(table)}, because of the rows: {error}") from error


def _without_ids(schema: pa.Schema) -> pa.Schema:
    """Return a schema without metadata: ids of fields would be those of another table."""
    return pa.schema([_plain(field) for field in schema])


def _plain(field: pa.Field) -> pa.Field:
    kind = field.type
    if pa.types.is_struct(kind):
        kind = pa.struct([_plain(each) for each in kind])
    elif pa.types.is_map(kind):
        kind = pa.map_(_plain(kind.key_field), _plain(kind.item_field))
    elif pa.types.is_large_list(kind):
        kind = pa.large_list(_plain(kind.value_field))
    elif pa.types.is_fixed_size_list(kind):
        kind = pa.list_(_plain(kind.value_field), kind.list_size)
    elif pa.types.is_list(kind):
        kind = pa.list_(_plain(kind.value_field))
    return pa.field(field.name, kind, field.nullable)


@dataclass(frozen=True, eq=False)
class _Staged:
    """Rows that can be read several times."""

    rows: int
    batches: _Batches


@contextmanager
def _staged(rows: pa.Table | pa.RecordBatchReader, spec: AppendSpec) -> Iterator[_Staged]:
    """Hold the rows of a reader in memory, or on disk if they have more than a quarter of the memory limit."""
    if isinstance(rows, pa.Table):
        yield _Staged(rows.num_rows, lambda: iter(rows.to_batches(_BATCH_ROWS)))
        return
    if spec.options.spill_directory is not None:
        Path(spec.options.spill_directory).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="iceberg-zorder-append-", dir=spec.options.spill_directory) as directory:
        path = f"{directory}/rows.arrow"
        try:
            staged = _read_once(rows, path, spec.options.memory_limit // 4)
        except (InvalidInputError, RewriteFailedError):
            raise
        except Exception as error:
            raise RewriteFailedError(
                f"Cannot append rows, because they could not be read, or held in {directory}: {error}"
            ) from error
        yield staged


def _read_once(rows: pa.RecordBatchReader, path: str, most_bytes: int) -> _Staged:
    """Read all rows, and hold them in memory up to some bytes, else all of them in a file."""
    held: list[pa.RecordBatch] = []
    count, size, writer = 0, 0, None
    for batch in rows:
        count, size = count + batch.num_rows, size + batch.nbytes
        held.append(batch)
        if writer is None and size > most_bytes:
            writer = ipc.new_stream(path, rows.schema, options=ipc.IpcWriteOptions(compression="lz4"))
        if writer is not None:
            for each in held:
                writer.write_batch(each)
            held.clear()
    if writer is None:
        return _Staged(count, lambda: iter(held))
    writer.close()

    def read() -> Iterator[pa.RecordBatch]:
        with ipc.open_stream(path) as stream:
            yield from stream

    return _Staged(count, read)


class _Append:
    """The steps of writing appended rows: sample, fit, route every row to its bucket, and write the buckets."""

    def __init__(self, table: Table, spec: AppendSpec, schema: Schema, project: Projection, progress: Progress) -> None:
        self._table, self._spec, self._schema, self._project, self._progress = table, spec, schema, project, progress
        self._budget = MemoryBudget(spec.options.memory_limit // 2)
        self._stopped = Event()
        self._partitions = Partitions(table.spec(), table.schema(), project.schema)
        paths = field_paths(file_fields(project.schema, None))
        self._paths = [paths[field_id] for field_id in spec.order.field_ids]
        self._prefix = PrefixColumns(
            spec.order.prefix, spec.order.prefix_orders, tuple(self._paths[: len(spec.order.prefix)])
        )
        self.layouts: dict[int, Layout] = {}
        """The layouts of the partitions that are worth several files, by number."""
        # Partition and file of each bucket of a layout; the other partitions have one bucket each, after these.
        self._clustered: list[tuple[int, int]] = []

    def write(self, staged: _Staged) -> list[DataFile]:
        """Write the rows as data files, which a failure deletes."""
        head = branch_snapshot(self._table, self._spec.branch, "append rows")
        row_size = row_bytes(head)
        if row_size is None:
            first = self._batch(next(each for each in staged.batches() if each.num_rows).slice(0, _MEASURED_ROWS))
            row_size = measured_row_bytes(self._table, pa.Table.from_batches([first]))
        if self._spec.files(staged.rows, row_size) > 1:
            sample = self._sampled(
                staged, self._spec.options.layout.sample_rows_for(self._spec.files(staged.rows, row_size))
            )
            self.layouts = append_layouts(self._table, self._spec, sample, self._partitions, staged.rows, row_size)
        self._clustered = [(number, file) for number, of in self.layouts.items() for file in range(of.files)]
        codecs = Codecs(self._project.schema)
        with Spill(self._budget, codecs, self._spec.options.spill_directory) as spill:
            self._route(staged, spill, codecs)
            sorter = BucketSorter(codecs, self._prefix, self._budget)
            writers = {
                number: self._writer(number, row_size, sorter.row_group_rows, codecs)
                for number in sorted(spill.buckets)
            }
            try:
                # Values that are large beside the limit are held by one thread.
                threads = 1 if codecs.large else available_cores()
                files = write_buckets(spill, sorter, writers, threads, self._check_running, self._stopped.set)
                rows = sum(file.record_count for file in files)
                if rows != staged.rows:
                    raise RewriteFailedError(
                        f"Cannot append to {display_name(self._table)}, because the new files have {rows:,} rows, and "
                        f"{staged.rows:,} were given"
                    )
                return files
            except BaseException:
                for writer in writers.values():
                    writer.abort()
                delete_files(self._table, [path for writer in writers.values() for path in writer.paths])
                raise

    def _sampled(self, staged: _Staged, wanted: int) -> pa.RecordBatch:
        """Return some rows, each as likely as any other; all if there are no more than are wanted."""
        seed = self._spec.options.layout.sample_seed
        places = np.arange(staged.rows)
        if wanted < staged.rows:
            places = np.sort(np.random.default_rng(abs(seed)).choice(staged.rows, wanted, replace=False))
        taken, start = [], 0
        for batch in staged.batches():
            end = start + batch.num_rows
            inside = places[np.searchsorted(places, start) : np.searchsorted(places, end)] - start
            if len(inside):
                taken.append(self._batch(batch.take(pa.array(inside))))
            start = end
        return pa.Table.from_batches(taken).combine_chunks().to_batches()[0]

    def _route(self, staged: _Staged, spill: Spill, codecs: Codecs) -> None:
        """Add every row to the bucket of its partition and file."""
        largest = max(2 * self._budget.limit, SMALLEST_MEMORY_LIMIT)
        routers = {number: Router(layout, staged.rows) for number, layout in self.layouts.items()}
        firsts = {number: bucket for bucket, (number, file) in enumerate(self._clustered) if file == 0}
        path, start = self._table.location(), 0  # of no file: rows of a box that cannot be split are dealt by these
        for given in staged.batches():
            batch = self._batch(given)
            numbers = self._partitions.number(self._partitions.transformed(batch), batch.num_rows)
            bucket = numbers + len(self._clustered)
            places = np.arange(start, start + batch.num_rows)
            columns = [leaf(batch, each) for each in self._paths]
            for number, router in routers.items():
                mine = np.flatnonzero(numbers == number)
                some = columns if len(mine) == len(numbers) else [each.take(pa.array(mine)) for each in columns]
                file, _ = router.route(some, path, places[mine])
                bucket[mine] = firsts[number] + file
            encoded = codecs.encoded(batch)
            check_value_sizes(codecs, batch.schema, largest)
            # Rows stay in their order inside a file: to sort them costs as much again, and skips little in small files.
            spill.add(parted(encoded, np.zeros(batch.num_rows, np.int64), bucket))
            start += batch.num_rows
            self._progress(READ, batch.num_rows, given.nbytes)
        spill.complete()

    def _batch(self, given: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows with the table's types; raises InvalidInputError if a required column has NULLs."""
        try:
            batch = self._project(given)
        except (pa.ArrowException, ValueError) as error:
            raise InvalidInputError(
                f"Cannot append to {display_name(self._table)}, because of the rows: {error}"
            ) from error
        for field, column in zip(self._schema.fields, batch.columns, strict=True):
            if field.required and column.null_count:
                raise InvalidInputError(
                    f"Cannot append to {display_name(self._table)}, because rows have NULL in the required column "
                    f"{field.name}"
                )
        return batch

    def _writer(self, bucket: int, row_size: float, row_group_rows: int, codecs: Codecs) -> FileWriter:
        after = bucket - len(self._clustered)
        partition, file = self._clustered[bucket] if after < 0 else (after, 0)
        settings = FileSettings(
            spec_id=self._table.spec().spec_id,
            partition=self._partitions.records[partition] if self._table.spec().fields else Record(),
            name=f"{file:05d}-{partition}",
            roll_at=self._spec.target,
            row_group_rows=row_group_rows,
            row_width=codecs.width,
            row_size=row_size,
            large=codecs.large,
        )
        return FileWriter(self._table, self._schema, settings, self._on_row_group)

    def _on_row_group(self, stage: str, rows: int, size: int) -> None:
        self._check_running()
        self._progress(stage, rows, size)

    def _check_running(self) -> None:
        if self._stopped.is_set():
            raise StoppedError


def measured_row_bytes(table: Table, rows: pa.Table) -> float:
    """Return the bytes of a row in a file of a table, measured by writing some rows to memory."""
    settings, sink = parquet_settings(table), pa.BufferOutputStream()
    dictionaries = worth_a_dictionary(rows.to_batches(), settings["dictionary_pagesize_limit"])
    with pq.ParquetWriter(sink, rows.schema, use_dictionary=dictionaries, **settings) as writer:
        writer.write_table(rows)
    # Without the footer, which weighs much beside few rows.
    groups = [writer.writer.metadata.row_group(place) for place in range(writer.writer.metadata.num_row_groups)]
    size = sum(group.column(place).total_compressed_size for group in groups for place in range(group.num_columns))
    return max(1.0, float(size / rows.num_rows))


def arrow_schema(table: Table) -> pa.Schema:
    """Return the schema of a table in Arrow, with its names and types, and without ids of fields."""
    return _without_ids(schema_to_pyarrow(table.schema()))


def appended_schema(schema: Schema) -> Schema:
    """Return the schema of new files: the table's, without columns of type ``unknown``, which are in no file."""
    return Schema(*(field for field in schema.fields if not isinstance(field.field_type, UnknownType)))
