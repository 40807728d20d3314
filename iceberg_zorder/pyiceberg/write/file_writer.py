"""Write sorted rows as Parquet data files with the table's properties, and tell their metrics."""

from __future__ import annotations

import logging
import posixpath
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import Table
from pyiceberg.typedef import Record

from iceberg_zorder.errors import InvalidInputError, RewriteFailedError
from iceberg_zorder.pyiceberg.compat.schemas import partition_path, sanitize_column_names, schema_to_pyarrow
from iceberg_zorder.pyiceberg.display import display_name
from iceberg_zorder.pyiceberg.file_names import data_file_name
from iceberg_zorder.pyiceberg.metrics_config import metrics_config
from iceberg_zorder.pyiceberg.progress import WRITE, Progress, silent
from iceberg_zorder.pyiceberg.write.dictionaries import compacted, leaves, worth_a_dictionary
from iceberg_zorder.pyiceberg.write.file_metrics import FileMetrics
from iceberg_zorder.pyiceberg.write.parquet_settings import parquet_settings, row_group_limit, row_group_size

_LOG = logging.getLogger(__name__)
_FORMAT = "write.format.default"
_LOCATIONS, _OWN_LOCATIONS = "write.location-provider.impl", "write.py-location-provider.impl"


@dataclass(frozen=True, eq=False)
class FileSettings:
    """What data files of a partition are to be like."""

    spec_id: int
    partition: Record
    name: str  # what the names of the files begin with; they are made unique
    write_id: str  # what the names of all files of a write have in common; may be empty
    roll_at: int  # bytes after which another file is started, at the next row group
    row_group_rows: int  # at most
    row_width: int  # bytes of a row in memory, about
    row_size: float  # bytes of a row on disk as far as known, by which the first row group is sized
    large: Collection[int] = ()  # the places of columns that have values of more than 1 MiB


class FileWriter:
    """Writes rows to data files of one partition, the next one when one is full."""

    def __init__(self, table: Table, settings: FileSettings, progress: Progress = silent) -> None:
        self._table = table
        self._settings = settings
        self._progress = progress
        self._arrow = schema_to_pyarrow(sanitize_column_names(table.schema()))
        self._parquet = parquet_settings(table)
        # A page may exceed its size by one such batch; larger ones are encoded faster.
        self._parquet["write_batch_size"] = max(
            1, min(8192, self._parquet["data_page_size"] // max(1, settings.row_width))
        )
        self._row_group_size = row_group_size(table)
        self._most_rows = min(settings.row_group_rows, row_group_limit(table))
        self._row_size = max(1.0, settings.row_size)
        self._open: _OpenFile | None = None
        self.files: list[DataFile] = []
        """The files that were finished."""
        self.paths: list[str] = []
        """The paths of all files that were started."""

    @property
    def row_group_rows(self) -> int:
        """How many rows the next row group is to have."""
        return max(1, min(self._most_rows, int(self._row_group_size / self._row_size)))

    def write(self, batches: list[pa.RecordBatch]) -> None:
        """Write rows as one row group."""
        rows = sum(batch.num_rows for batch in batches)
        if not rows:
            return
        batches = compacted(batches)
        if self._open is None:
            self._open = self._start(batches)
        before = self._open.tell()
        self._open.write(batches)
        size = self._open.tell() - before
        self._row_size = max(1.0, size / rows)
        self._progress(WRITE, rows, size)
        if self._open.tell() >= self._settings.roll_at:
            self.close()

    def close(self) -> None:
        """Finish the file that is open."""
        if self._open is not None:
            finished, self._open = self._open, None
            self.files.append(finished.finish(self._settings.spec_id, self._settings.partition))

    def abort(self) -> None:
        """Close the file that is open, without finishing it."""
        if self._open is not None:
            finished, self._open = self._open, None
            finished.abandon()

    def _start(self, batches: list[pa.RecordBatch]) -> _OpenFile:
        name = data_file_name(self._settings.name, self._settings.write_id)
        provider = self._table.location_provider()
        partition, spec = self._settings.partition, self._table.specs()[self._settings.spec_id]
        key = partition_path(spec, partition, self._table.schema()) if len(partition) else None
        path = provider.new_data_location(name, key)
        self.paths.append(path)
        # Dictionaries are written as they are; the file's schema knows of values only.
        types = [field.with_type(column.type) for field, column in zip(self._arrow, batches[0].columns, strict=True)]
        named = [pa.RecordBatch.from_arrays(batch.columns, self._arrow.names) for batch in batches]
        large = self._settings.large
        settings = {
            **self._parquet,
            "use_dictionary": worth_a_dictionary(named, self._parquet["dictionary_pagesize_limit"]),
            "write_statistics": _with_statistics(self._arrow, large) if large else True,
        }
        return _OpenFile(self._table, path, pa.schema(types), settings, large)


class _OpenFile:
    """One data file while it is written."""

    def __init__(
        self, table: Table, path: str, schema: pa.Schema, settings: Mapping[str, Any], large: Collection[int]
    ) -> None:
        self._path = path
        self._output = table.io.new_output(path)
        self._stream = self._output.create()
        self._schema = schema
        self._metrics = FileMetrics(table.schema(), metrics_config(table), large)
        self._writer = pq.ParquetWriter(self._stream, schema, **settings)

    def tell(self) -> int:
        return int(self._stream.tell())

    def write(self, batches: list[pa.RecordBatch]) -> None:
        self._metrics.see(batches)
        rows = pa.Table.from_batches([self._matching(batch) for batch in batches], self._schema)
        self._writer.write_table(rows, row_group_size=rows.num_rows)

    def _matching(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Make a batch one of the file's schema, whether its strings come in a dictionary or not."""
        columns = [
            column if column.type == field.type else column.cast(field.type)
            for field, column in zip(self._schema, batch.columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def finish(self, spec_id: int, partition: Record) -> DataFile:
        self._writer.close()
        self._stream.close()
        footer = self._writer.writer.metadata
        file = DataFile.from_args(
            content=DataFileContent.DATA,
            file_path=self._path,
            file_format=FileFormat.PARQUET,
            partition=partition,
            file_size_in_bytes=len(self._output.to_input_file()),
            sort_order_id=None,
            equality_ids=None,
            key_metadata=None,
            **self._metrics.arguments(footer),
        )
        file.spec_id = spec_id
        return file

    def abandon(self) -> None:
        try:
            with self._stream:
                self._writer.close()
        except Exception:
            _LOG.debug("Closing %s failed", self._path, exc_info=True)


def _with_statistics(schema: pa.Schema, large: Collection[int]) -> list[str]:
    """Find the columns whose statistics are worth it: Arrow copies long values for theirs, and leaves them out."""
    return [
        path
        for place, field in enumerate(schema)
        for path, kind in leaves(field.name, field.type)
        if place not in large or not (pa.types.is_large_string(kind) or pa.types.is_large_binary(kind))
    ]


def delete_files(table: Table, paths: Iterable[str]) -> None:
    """Delete files that no snapshot will have; what cannot be deleted is logged."""
    for path in paths:
        _delete_file(table, path)


def _delete_file(table: Table, path: str) -> None:
    try:
        table.io.delete(path)
    except FileNotFoundError:
        return
    except Exception:
        _LOG.warning(
            "Failed to delete %s of a file group that failed; remove_orphan_files collects it", path, exc_info=True
        )


def try_to_write(table: Table) -> None:
    """Write a small file where data files go, and delete it; raises RewriteFailedError where that cannot be done."""
    path = table.location_provider().new_data_location(f"zorder-{uuid4()}.tried")
    try:
        # To look whether it is there would take a right that writers do not need.
        with table.io.new_output(path).create(overwrite=True) as stream:
            stream.write(bytes(4096))
    except Exception as error:
        with suppress(Exception):
            table.io.delete(path)
        raise RewriteFailedError(
            f"Cannot rewrite {display_name(table)}, because no file can be written to {posixpath.dirname(path)}: "
            f"{error}. Nothing was begun."
        ) from error
    _delete_file(table, path)


def format_of_new_files(table: Table) -> str:
    """Name the format that a table's properties ask for, as they write it."""
    return table.properties.get(_FORMAT, "parquet")


def check_honoured(table: Table) -> None:
    """Refuse a table whose properties ask for files that PyIceberg does not write."""
    kind = format_of_new_files(table)
    if kind.lower() != "parquet":
        why = f"{_FORMAT} is '{kind}' and this engine writes Parquet: use the Spark engine"
    elif _LOCATIONS in table.properties and _OWN_LOCATIONS not in table.properties:
        why = f"{_LOCATIONS} names a class of Java: use the Spark engine, or set {_OWN_LOCATIONS}, too"
    else:
        return
    raise InvalidInputError(f"Cannot rewrite data files of {display_name(table)}, because its property {why}")


def check_writable(table: Table) -> None:
    """Refuse a table whose properties no Parquet file can be written with, before any is read."""
    settings = parquet_settings(table)
    row_group_size(table), row_group_limit(table)
    schema = schema_to_pyarrow(sanitize_column_names(table.schema()))
    try:
        table.location_provider().new_data_location("zorder.parquet")
    except (ImportError, ValueError) as error:
        raise InvalidInputError(f"Cannot name data files as the table's properties say, because {error}") from error
    try:
        with pq.ParquetWriter(pa.BufferOutputStream(), schema, **settings) as writer:
            writer.write_table(pa.Table.from_batches([], schema))
    except (OSError, ValueError, pa.ArrowException) as error:
        raise InvalidInputError(f"Cannot write Parquet files as the table's properties say, because {error}") from error
