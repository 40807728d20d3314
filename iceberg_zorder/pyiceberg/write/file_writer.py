"""Write sorted rows as Parquet data files by the table's properties, and return their metrics."""

from __future__ import annotations

import inspect
import logging
import math
import posixpath
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.io import OutputFile
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import GeographyType, GeometryType, TimestampNanoType, TimestamptzNanoType, UnknownType

from iceberg_zorder.errors import InvalidInputError, RewriteFailedError
from iceberg_zorder.pyiceberg.bounds import metrics_config
from iceberg_zorder.pyiceberg.catalog import whole_number
from iceberg_zorder.pyiceberg.compat import new_file, partition_path, sanitize_column_names, schema_to_pyarrow
from iceberg_zorder.pyiceberg.files import WRITE, Progress, delete_files, display_name, silent
from iceberg_zorder.pyiceberg.row_lineage import LINEAGE, has_row_ids, stored_schema
from iceberg_zorder.pyiceberg.write.file_metrics import FileMetrics

_LOG = logging.getLogger(__name__)
_PARQUET = "write.parquet."
_WITH_LEVELS = ("zstd", "gzip", "brotli")
# Older versions of pyarrow lack these.
_NEWER = ("max_rows_per_page", "bloom_filter_options")
_KNOWN = inspect.signature(pq.ParquetWriter.__init__).parameters


def row_group_size(table: Table) -> int:
    """Return the most bytes of a row group."""
    return _number(table.properties, "row-group-size-bytes", 128 * 1024 * 1024)


def row_group_limit(table: Table) -> int:
    """Return the most rows of a row group."""
    return _number(table.properties, "row-group-limit", 1_048_576)


def parquet_settings(table: Table) -> dict[str, Any]:
    """Return a table's Parquet properties as arguments of pyarrow's writer."""
    properties = table.properties
    codec = properties.get(_PARQUET + "compression-codec", "zstd").lower()
    settings: dict[str, Any] = {
        "compression": "none" if codec == "uncompressed" else codec,
        "data_page_size": _number(properties, "page-size-bytes", 1024 * 1024),
        "dictionary_pagesize_limit": _number(properties, "dict-size-bytes", 2 * 1024 * 1024),
        "max_rows_per_page": _number(properties, "page-row-limit", 20_000),
        "write_page_index": True,
        "store_decimal_as_integer": True,
        # Readers must see Iceberg's types, not Arrow's.
        "store_schema": False,
    }
    try:
        has_codec = settings["compression"] == "none" or pa.Codec.is_available(codec)
    except ValueError:
        has_codec = False
    if not has_codec:
        raise InvalidInputError(
            f"Cannot set {_PARQUET}compression-codec to '{codec}', because pyarrow has no such codec"
        )
    if codec in _WITH_LEVELS and properties.get(_PARQUET + "compression-level"):
        settings["compression_level"] = _number(properties, "compression-level", 0, least=None)
    if blooms := _bloom_filters(table):
        settings["bloom_filter_options"] = blooms
        if "bloom_filter_options" not in _KNOWN:
            _LOG.warning("Writing no bloom filters: this version of pyarrow has none")
    return {name: value for name, value in settings.items() if name not in _NEWER or name in _KNOWN}


def _bloom_filters(table: Table) -> dict[str, dict[str, Any]]:
    """Return the columns' bloom filter settings, within the table's size limit."""
    enabled = _PARQUET + "bloom-filter-enabled.column."
    bits = 8 * _number(table.properties, "bloom-filter-max-bytes", 1024 * 1024)
    found = {}
    for key, value in table.properties.items():
        if key.startswith(enabled) and value.lower() == "true":
            name = key[len(enabled) :]
            fpp = _share(table.properties, f"bloom-filter-fpp.column.{name}", "0.01")
            # Split block filters have a false positive rate of (1 - e^(-8 n / bits))^8.
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
    return whole_number(properties, _PARQUET + name, default, least=least)


def _share(properties: Mapping[str, str], name: str, default: str) -> float:
    text = properties.get(_PARQUET + name, default)
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < 1:
        raise InvalidInputError(f"Cannot use {_PARQUET}{name} = '{text}', because it must be a number in (0, 1)")
    return value


_SAMPLED = 8192
_LARGEST_SHARE = 0.75
"""Smallest share of the values' bytes that a dictionary must save."""


def worth_a_dictionary(batches: Sequence[pa.RecordBatch], limit: int) -> list[str]:
    """Return the columns that are smaller with a dictionary, estimated from some rows."""
    rows = sum(batch.num_rows for batch in batches)
    found = []
    for place, field in enumerate(batches[0].schema):
        if pa.types.is_nested(field.type):
            found += [path for path, _ in leaves(field.name, field.type)]
        elif _pays([batch.column(place) for batch in batches], rows, limit):
            found.append(field.name)
    return found


def compacted(batches: Sequence[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """Remove unused values from dictionaries: Arrow writes whole dictionaries, which a file group's batches share."""
    columns = [list(batch.columns) for batch in batches]
    for place in range(batches[0].num_columns):
        mine = [of for of in columns if pa.types.is_dictionary(of[place].type)]
        if mine:
            for of, small in zip(mine, _compacted([of[place] for of in mine]), strict=True):
                of[place] = small
    return [pa.RecordBatch.from_arrays(of, batch.schema.names) for of, batch in zip(columns, batches, strict=True)]


def _compacted(arrays: Sequence[pa.DictionaryArray]) -> list[pa.DictionaryArray]:
    shared = arrays[0].dictionary
    if not all(each.dictionary is shared or each.dictionary.equals(shared) for each in arrays):
        return list(arrays)
    is_used = np.zeros(len(shared), np.bool_)
    for each in arrays:
        is_used[each.indices.drop_null().to_numpy()] = True
    if is_used.all():
        return list(arrays)
    places = pa.array(np.cumsum(is_used) - 1, arrays[0].type.index_type)
    values = shared.take(pa.array(np.flatnonzero(is_used)))
    return [pa.DictionaryArray.from_arrays(places.take(each.indices), values) for each in arrays]


def _pays(parts: Sequence[pa.Array], rows: int, limit: int) -> bool:
    """Return whether a column of ``rows`` rows is smaller with a dictionary, estimated from every n-th value."""
    step = max(1, rows // _SAMPLED)
    sampled = []
    for part in parts:
        column = part.storage if isinstance(part, pa.ExtensionArray) else part
        taken = column if step == 1 else column.take(pa.array(np.arange(0, len(column), step)))
        # Some batches of strings may have a dictionary, others none.
        sampled.append(taken.dictionary_decode() if pa.types.is_dictionary(taken.type) else taken)
    values = pa.chunked_array(sampled)
    width = _width(values)
    if width > limit:
        return False
    distinct = estimated_distinct(len(values), pc.count_distinct(values, mode="all").as_py(), rows)
    # If long values repeat and short ones do not, distinct values are shorter than the rows' average.
    size = distinct * _width(pa.chunked_array([values.unique()]))
    return size <= limit and size + rows * math.log2(max(2, distinct)) / 8 <= _LARGEST_SHARE * rows * width


def estimated_distinct(sampled: int, distinct: int, rows: int) -> int:
    """Estimate the number of distinct values in ``rows`` rows, if all are about equally frequent."""
    if distinct == sampled:
        return rows
    low, high = float(distinct), float(sampled) * sampled
    while high - low > 1:
        middle = (low + high) / 2
        # Expected number of distinct values in the sample.
        low, high = (middle, high) if middle * -math.expm1(-sampled / middle) < distinct else (low, middle)
    return max(distinct, round(low * -math.expm1(-rows / low)))


def _width(values: pa.ChunkedArray) -> float:
    """Return the average bytes of a value in a file."""
    kind = values.type
    if pa.types.is_decimal(kind):
        return 4 if kind.precision <= 9 else 8 if kind.precision <= 18 else 16
    if pa.types.is_fixed_size_binary(kind) or pa.types.is_primitive(kind):
        return max(1.0, float(kind.bit_width) / 8)
    return 4.0 + float(pc.mean(pc.binary_length(values)).as_py() or 0)


def leaves(path: str, kind: pa.DataType) -> Iterator[tuple[str, pa.DataType]]:
    """Yield the Parquet leaf columns of a column, with their types.

    Examples
    --------
    >>> list(leaves("a", pa.list_(pa.struct([("b", pa.int8())]))))
    [('a.list.element.b', DataType(int8))]
    """
    if pa.types.is_struct(kind):
        for field in kind:
            yield from leaves(f"{path}.{field.name}", field.type)
    elif pa.types.is_map(kind):
        yield from leaves(f"{path}.key_value.{kind.key_field.name}", kind.key_type)
        yield from leaves(f"{path}.key_value.{kind.item_field.name}", kind.item_type)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        yield from leaves(f"{path}.list.element", kind.value_type)
    else:
        yield path, kind


_NANOSECONDS = (TimestampNanoType, TimestamptzNanoType)
_FORMAT = "write.format.default"
_LOCATIONS, _OWN_LOCATIONS = "write.location-provider.impl", "write.py-location-provider.impl"


@dataclass(frozen=True, eq=False)
class FileSettings:
    """The settings of a partition's new data files."""

    spec_id: int
    partition: Record
    name: str  # prefix of the file names, which are made unique
    roll_at: int  # bytes after which the next row group starts a new file
    row_group_rows: int  # at most
    row_width: int  # approximate bytes of a row in memory
    row_size: float  # estimated bytes of a row on disk, to size the first row group
    large: Collection[int] = ()  # places of columns with values above 1 MiB


def new_data_path(table: Table, spec_id: int, partition: Record, name: str) -> str:
    """Return where the table's properties put a new file of a partition."""
    key = partition_path(table.specs()[spec_id], partition, table.schema()) if len(partition) else None
    return table.location_provider().new_data_location(name, key)


class FileWriter:
    """Writes rows to data files of one partition; starts a new file when one is full."""

    def __init__(self, table: Table, schema: Schema, settings: FileSettings, progress: Progress = silent) -> None:
        self._table = table
        self._schema = schema
        self._settings = settings
        self._progress = progress
        self._arrow = schema_to_pyarrow(sanitize_column_names(schema))
        self._parquet = parquet_settings(table)
        # A page may exceed its size by one such batch, but larger batches are encoded faster.
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
        """Target number of rows of the next row group."""
        return max(1, min(self._most_rows, int(self._row_group_size / self._row_size)))

    def write(self, batches: list[pa.RecordBatch]) -> None:
        """Write rows as one row group."""
        rows = sum(batch.num_rows for batch in batches)
        if not rows:
            return
        batches = compacted(batches)
        if self._open is None:
            self._open = self._start(batches)
        size = self._open.write(batches)
        self._row_size = max(1.0, size / rows)
        self._progress(WRITE, rows, size)
        if self._open.size >= self._settings.roll_at:
            self.close()

    def close(self) -> None:
        """Finish the open file."""
        if self._open is not None:
            finished, self._open = self._open, None
            self.files.append(finished.finish(self._settings.spec_id, self._settings.partition))

    def abort(self) -> None:
        """Close the open file without finishing it."""
        if self._open is not None:
            abandoned, self._open = self._open, None
            with suppress(Exception), abandoned.stream:
                abandoned.writer.close()

    def _start(self, batches: list[pa.RecordBatch]) -> _OpenFile:
        name = f"{self._settings.name}-{uuid4()}-zorder.parquet"
        path = new_data_path(self._table, self._settings.spec_id, self._settings.partition, name)
        self.paths.append(path)
        # Dictionary-encoded columns have the type of their values in the file's schema.
        types = [field.with_type(column.type) for field, column in zip(self._arrow, batches[0].columns, strict=True)]
        named = [pa.RecordBatch.from_arrays(batch.columns, self._arrow.names) for batch in batches]
        large = self._settings.large
        settings = {
            **self._parquet,
            "use_dictionary": worth_a_dictionary(named, self._parquet["dictionary_pagesize_limit"]),
            "write_statistics": _with_statistics(self._arrow, large) if large else True,
        }
        metrics = FileMetrics(self._schema, metrics_config(self._table), large)
        output = self._table.io.new_output(path)
        stream = output.create(overwrite=True)  # its name is new: to look for it would take a right to list
        writer = pq.ParquetWriter(stream, pa.schema(types), **settings)
        return _OpenFile(path, output, stream, writer, metrics, int(stream.tell()))


@dataclass(eq=False)
class _OpenFile:
    """A data file in progress."""

    path: str
    output: OutputFile
    stream: Any
    writer: pq.ParquetWriter
    metrics: FileMetrics
    size: int  # bytes so far

    def write(self, batches: list[pa.RecordBatch]) -> int:
        """Write rows as one row group; returns its bytes."""
        self.metrics.see(batches)
        schema = self.writer.schema
        # Some batches have dictionary-encoded strings, others have plain ones.
        columns = (
            [
                column if column.type == field.type else column.cast(field.type)
                for field, column in zip(schema, batch.columns, strict=True)
            ]
            for batch in batches
        )
        rows = pa.Table.from_batches([pa.RecordBatch.from_arrays(each, schema=schema) for each in columns], schema)
        self.writer.write_table(rows, row_group_size=rows.num_rows)
        before, self.size = self.size, int(self.stream.tell())
        return self.size - before

    def finish(self, spec_id: int, partition: Record) -> DataFile:
        self.writer.close()
        self.stream.close()
        footer = self.writer.writer.metadata
        file = new_file(
            content=DataFileContent.DATA,
            file_path=self.path,
            file_format=FileFormat.PARQUET,
            partition=partition,
            file_size_in_bytes=len(self.output.to_input_file()),
            sort_order_id=None,
            equality_ids=None,
            key_metadata=None,
            **self.metrics.arguments(footer),
        )
        file.spec_id = spec_id
        return file


def _with_statistics(schema: pa.Schema, large: Collection[int]) -> list[str]:
    """Return the columns to write statistics for; for long values, Arrow copies them and then drops them."""
    return [
        path
        for place, field in enumerate(schema)
        for path, kind in leaves(field.name, field.type)
        if place not in large or not (pa.types.is_large_string(kind) or pa.types.is_large_binary(kind))
    ]


def try_to_write(table: Table) -> None:
    """Write a small file to the data directory, and delete it; raises RewriteFailedError if that fails."""
    path = table.location_provider().new_data_location(f"zorder-{uuid4()}.tried.parquet")
    try:
        # Checking for the file would need a permission that writers do not need.
        with table.io.new_output(path).create(overwrite=True) as stream:
            stream.write(bytes(4096))
    except Exception as error:
        raise RewriteFailedError(
            f"Cannot rewrite {display_name(table)}, because no file can be written to {posixpath.dirname(path)}: "
            f"{error}. Nothing was rewritten."
        ) from error
    finally:  # also if the user interrupts
        delete_files(table, [path])


def format_of_new_files(table: Table) -> str:
    """Return the file format in a table's properties, as written."""
    return table.properties.get(_FORMAT, "parquet")


def types_beyond(table: Table) -> list[str]:
    """Return the columns that pyarrow or PyIceberg does not read or write as Iceberg stores them, each with the reason.

    Of columns of type ``unknown``, only those inside others are in files.
    """
    schema = table.schema()
    outer = {field.field_id for field in schema.fields}
    found = [
        f"type {each.field_type} of column {schema.find_column_name(each.field_id)}"
        for each in map(schema.find_field, schema.field_ids)
        if isinstance(each.field_type, GeometryType | GeographyType)
        or (isinstance(each.field_type, UnknownType) and each.field_id not in outer)
    ]
    if has_row_ids(table):
        found += [f"a column named {each.name}" for each in LINEAGE if each.name in schema.column_names]
    for spec in table.specs().values():
        for part in spec.fields:
            kind = schema.find_type(part.source_id) if part.source_id in schema.field_ids else None
            if isinstance(part.transform, IdentityTransform) and isinstance(kind, _NANOSECONDS):
                found.append(f"partitions by a column of type {kind}")
    return found


def check_honoured(table: Table) -> None:
    """Refuse a table whose columns or properties require files that PyIceberg does not write."""
    if types := types_beyond(table):
        raise InvalidInputError(
            f"Cannot rewrite data files of {display_name(table)}, because this engine does not write {types[0]}: use "
            "the Spark engine"
        )
    kind = format_of_new_files(table)
    if kind.lower() != "parquet":
        why = f"{_FORMAT} is '{kind}' and this engine writes Parquet: use the Spark engine"
    elif _LOCATIONS in table.properties and _OWN_LOCATIONS not in table.properties:
        why = f"{_LOCATIONS} names a class of Java: use the Spark engine, or set {_OWN_LOCATIONS}, and in the catalog"
    else:
        return
    raise InvalidInputError(f"Cannot rewrite data files of {display_name(table)}, because its property {why}")


def check_writable(table: Table) -> None:
    """Refuse a table whose properties prevent writing Parquet files, before any file is read."""
    settings = parquet_settings(table)
    row_group_size(table), row_group_limit(table)
    schema = schema_to_pyarrow(sanitize_column_names(stored_schema(table)))
    try:
        table.location_provider().new_data_location("zorder.parquet")
    except (ImportError, ValueError) as error:
        raise InvalidInputError(f"Cannot name data files by the table's properties, because {error}") from error
    try:
        with pq.ParquetWriter(pa.BufferOutputStream(), schema, **settings) as writer:
            writer.write_table(pa.Table.from_batches([], schema))
    except (OSError, ValueError, pa.ArrowException) as error:
        raise InvalidInputError(f"Cannot write Parquet files by the table's properties, because {error}") from error
