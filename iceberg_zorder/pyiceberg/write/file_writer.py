"""Write sorted rows as Parquet data files with the table's properties, and tell their metrics."""

from __future__ import annotations

import inspect
import logging
import math
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import Table
from pyiceberg.typedef import Record

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.pyiceberg.compat.expressions import partition_path, sanitize_column_names, schema_to_pyarrow
from iceberg_zorder.pyiceberg.metrics_config import metrics_config
from iceberg_zorder.pyiceberg.progress import WRITE, Progress, silent
from iceberg_zorder.pyiceberg.write.file_metrics import FileMetrics

_LOG = logging.getLogger(__name__)
_PREFIX = "write.parquet."
_WITH_LEVELS = ("zstd", "gzip", "brotli")
# Older versions of pyarrow lack these.
_NEWER = ("max_rows_per_page", "bloom_filter_options")
_KNOWN = inspect.signature(pq.ParquetWriter.__init__).parameters


class FileWriter:
    """Writes rows to data files of one partition, the next one when one is full.

    Parameters
    ----------
    table : pyiceberg.table.Table
        The table.
    spec_id : int
        The partition spec.
    partition : pyiceberg.typedef.Record
        The partition.
    name : str
        What the names of the files begin with; they are made unique.
    roll_at : int
        Bytes after which another file is started, at the next row group.
    row_group_rows : int
        Rows of a row group at most.
    width : int
        Bytes of a row in memory, about.
    row_size : float
        Bytes of a row on disk as far as known, by which the first row group is sized.
    progress : Progress, optional
        Told of every row group.
    """

    def __init__(
        self,
        table: Table,
        spec_id: int,
        partition: Record,
        name: str,
        *,
        roll_at: int,
        row_group_rows: int,
        width: int,
        row_size: float,
        progress: Progress = silent,
    ) -> None:
        self._table = table
        self._spec = table.specs()[spec_id]
        self._partition = partition
        self._name = name
        self._roll_at = roll_at
        self._progress = progress
        schema = sanitize_column_names(table.schema())
        self._arrow = schema_to_pyarrow(schema)
        self._settings = parquet_settings(table)
        # A page may exceed its size by one such batch; larger ones are encoded faster.
        self._settings["write_batch_size"] = max(1, min(8192, self._settings["data_page_size"] // max(1, width)))
        self._row_group_size = row_group_size(table)
        self._most_rows = min(row_group_rows, _row_group_limit(table))
        self._row_size = max(1.0, row_size)
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
        if self._open is None:
            self._open = self._start(batches[0])
        before = self._open.tell()
        self._open.write(batches)
        size = self._open.tell() - before
        self._row_size = max(1.0, size / rows)
        self._progress(WRITE, rows, size)
        if self._open.tell() >= self._roll_at:
            self.close()

    def close(self) -> None:
        """Finish the file that is open."""
        if self._open is not None:
            finished, self._open = self._open, None
            self.files.append(finished.finish(self._spec.spec_id, self._partition))

    def abort(self) -> None:
        """Close the file that is open, without finishing it."""
        if self._open is not None:
            finished, self._open = self._open, None
            finished.abandon()

    def _start(self, batch: pa.RecordBatch) -> _OpenFile:
        name = f"{self._name}-{uuid.uuid4()}-zorder.parquet"
        provider = self._table.location_provider()
        key = partition_path(self._spec, self._partition, self._table.schema()) if len(self._partition) else None
        path = provider.new_data_location(name, key)
        self.paths.append(path)
        # Dictionaries are written as they are; the file's schema knows of values only.
        types = [field.with_type(column.type) for field, column in zip(self._arrow, batch.columns, strict=True)]
        return _OpenFile(self._table, path, pa.schema(types), self._settings)


class _OpenFile:
    """One data file while it is written."""

    def __init__(self, table: Table, path: str, schema: pa.Schema, settings: Mapping[str, Any]) -> None:
        self._path = path
        self._output = table.io.new_output(path)
        self._stream = self._output.create()
        self._schema = schema
        self._metrics = FileMetrics(table.schema(), metrics_config(table))
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


def check_writable(table: Table) -> None:
    """Refuse a table whose properties no Parquet file can be written with, before any is read.

    Parameters
    ----------
    table : pyiceberg.table.Table
        The table.

    Raises
    ------
    InvalidInputError
        When a property has no such value, or pyarrow cannot write as the properties say together.
    """
    settings = parquet_settings(table)
    row_group_size(table), _row_group_limit(table)
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


def row_group_size(table: Table) -> int:
    """Tell how many bytes a row group may have."""
    return _number(table.properties, "row-group-size-bytes", 128 * 1024 * 1024)


def _row_group_limit(table: Table) -> int:
    return _number(table.properties, "row-group-limit", 1_048_576)


def parquet_settings(table: Table) -> dict[str, Any]:
    """Read a table's properties of Parquet files, as arguments of pyarrow's writer.

    Parameters
    ----------
    table : pyiceberg.table.Table
        The table.

    Returns
    -------
    dict of str to object
        The arguments.

    Raises
    ------
    InvalidInputError
        When a property has no such value, or pyarrow has no such compression.
    """
    properties = table.properties
    codec = properties.get(_PREFIX + "compression-codec", "zstd").lower()
    settings: dict[str, Any] = {
        "compression": "none" if codec == "uncompressed" else codec,
        "data_page_size": _number(properties, "page-size-bytes", 1024 * 1024),
        "dictionary_pagesize_limit": _number(properties, "dict-size-bytes", 2 * 1024 * 1024),
        "max_rows_per_page": _number(properties, "page-row-limit", 20_000),
        "write_page_index": True,
        "store_decimal_as_integer": True,
        # Readers are to see Iceberg's types, not Arrow's.
        "store_schema": False,
    }
    if settings["compression"] != "none" and not _is_codec(codec):
        raise InvalidInputError(
            f"Cannot set {_PREFIX}compression-codec to '{codec}', because pyarrow has no such codec"
        )
    if codec in _WITH_LEVELS and properties.get(_PREFIX + "compression-level"):
        settings["compression_level"] = _number(properties, "compression-level", 0, least=None)
    if blooms := _bloom_filters(table):
        settings["bloom_filter_options"] = blooms
        if "bloom_filter_options" not in _KNOWN:
            _LOG.warning("Writing no bloom filters: this version of pyarrow has none")
    return {name: value for name, value in settings.items() if name not in _NEWER or name in _KNOWN}


def _is_codec(name: str) -> bool:
    try:
        return bool(pa.Codec.is_available(name))
    except ValueError:
        return False


def _bloom_filters(table: Table) -> dict[str, dict[str, Any]]:
    """Size the bloom filters of columns so that none is larger than the table allows."""
    enabled = _PREFIX + "bloom-filter-enabled.column."
    bits = 8 * _number(table.properties, "bloom-filter-max-bytes", 1024 * 1024)
    found = {}
    for key, value in table.properties.items():
        if key.startswith(enabled) and value.lower() == "true":
            name = key[len(enabled) :]
            fpp = _share(table.properties, f"bloom-filter-fpp.column.{name}", "0.01")
            # Split block filters: the share of false positives is (1 - e^(-8 n / bits))^8.
            most = max(1, int(-bits * math.log(1 - fpp ** (1 / 8)) / 8))
            wanted = _number(table.properties, f"bloom-filter-ndv.column.{name}", most)
            found[_parquet_path(table, name)] = {"ndv": min(wanted, most), "fpp": fpp}
    return found


def _parquet_path(table: Table, name: str) -> str:
    try:
        field_id = table.schema().find_field(name).field_id
    except ValueError as error:
        raise InvalidInputError(
            f"Cannot write a bloom filter of column {name}, because the table has no such column"
        ) from error
    return sanitize_column_names(table.schema()).find_column_name(field_id) or name


def _number(properties: Mapping[str, str], name: str, default: int, *, least: int | None = 1) -> int:
    text = properties.get(_PREFIX + name)
    try:
        value = default if text is None else int(text)
    except ValueError as error:
        raise InvalidInputError(f"Cannot use {_PREFIX}{name} = '{text}', because it is no whole number") from error
    if least is not None and value < least:
        raise InvalidInputError(f"Cannot use {_PREFIX}{name} = '{text}', because it must be at least {least}")
    return value


def _share(properties: Mapping[str, str], name: str, default: str) -> float:
    text = properties.get(_PREFIX + name, default)
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < 1:
        raise InvalidInputError(f"Cannot use {_PREFIX}{name} = '{text}', because it must be a number in (0, 1)")
    return value
