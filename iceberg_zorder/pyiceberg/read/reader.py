"""Read the rows of data files in batches, without deleted rows, in the table's schema."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import PrimitiveType

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.pyiceberg.compat import sanitize_column_names, schema_to_pyarrow
from iceberg_zorder.pyiceberg.files import DataFileTask
from iceberg_zorder.pyiceberg.read.deletes import DeletedRows, key_column, opened
from iceberg_zorder.pyiceberg.read.projection import (
    Projection,
    columns_to_read,
    constant,
    field_paths,
    fields_by_id,
    file_fields,
    projection,
)
from iceberg_zorder.pyiceberg.row_lineage import with_lineage
from iceberg_zorder.sort.codecs import without_views
from iceberg_zorder.sort.memory_budget import LargeValuesError, MemoryBudget

BATCH_ROWS = 131_072
BATCH_BYTES = 32 * 1024 * 1024
_FEWEST_ROWS = 1024
_FEWEST_BYTES = 1024 * 1024
"""Fewest rows of a batch, unless they exceed the batch size in the file."""
_PREBUFFERED = 32 * 1024 * 1024
_SMALL_DICTIONARY = 32 * 1024
_MOST_BATCHES = 100
_PAGE_ROWS = 1024
"""Number of rows after which writers check whether a page is full."""
_ALL = 0.9
_LARGE_DICTIONARY = 8 * 1024 * 1024
"""Larger dictionaries occur only with large values."""

_Select = Callable[[str, npt.NDArray[np.int64]], npt.NDArray[np.bool_] | None]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a data file with their positions."""

    batch: pa.RecordBatch
    positions: npt.NDArray[np.int64]


class Reader:
    """Reads data files: the columns in ``wanted``, by default the table's whole schema.

    With ``keep_dictionaries``, columns of few distinct strings stay dictionary-encoded. The budget counts deleted rows
    until the reader is closed. A batch has at most about ``batch_bytes`` bytes in the file.
    """

    def __init__(
        self,
        table: Table,
        tasks: list[DataFileTask],
        wanted: Schema | None = None,
        *,
        keep_dictionaries: bool = False,
        budget: MemoryBudget | None = None,
        batch_bytes: int = BATCH_BYTES,
    ) -> None:
        self._table = table
        self._batch_bytes = batch_bytes
        self._wanted = table.schema() if wanted is None else wanted
        self.schema = schema_to_pyarrow(sanitize_column_names(self._wanted))
        """Schema of the batches, apart from dictionary encoding."""
        self._keep_dictionaries = keep_dictionaries
        self._mapping = table.name_mapping()
        # Every primitive field of any schema; the current schema's type wins, else the newest.
        schemas = [*sorted(table.schemas().values(), key=lambda each: each.schema_id), table.schema()]
        known = (schema.find_field(each) for schema in schemas for each in schema.field_ids)
        self._fields = {field.field_id: field for field in known if isinstance(field.field_type, PrimitiveType)}
        used = {each for task in tasks for delete in task.equality_deletes for each in delete.equality_ids or []}
        self._types = {each: schema_to_pyarrow(self._fields[each].field_type) for each in used}
        self._deletes = DeletedRows(table, tasks, self._types, self._keys, budget or MemoryBudget(sys.maxsize))

    def close(self) -> None:
        """Release the deleted rows."""
        self._deletes.close()

    def rows(
        self,
        task: DataFileTask,
        select: _Select | None = None,
        ranges: Sequence[tuple[int, int]] | None = None,
        most: int = sys.maxsize,
        only: npt.NDArray[np.int64] | None = None,
    ) -> Iterator[Rows]:
        """Yield selected rows of a data file, of the row groups whose middle lies in one of the byte ranges.

        ``only`` has sorted positions of the rows to read.
        """
        deleted = self._deletes.of(task)
        with opened(self._table, task.data_file.file_path) as stream:
            file = _OpenFile(stream, self._batch_bytes)
            if file.rows != task.data_file.record_count:
                raise InvalidInputError(
                    f"it has {file.rows:,} rows, but its manifest entry has {task.data_file.record_count:,}"
                )
            constants = self._constants(task)
            fields = file_fields(file.schema, self._mapping)
            by_id, compared = fields_by_id(fields), {each for ids, _ in deleted.equal for each in ids}
            of_deletes = [".".join(by_id[each].path) for each in compared if each in by_id]
            columns = list(dict.fromkeys([*columns_to_read(self._wanted.fields, fields), *of_deletes]))
            dictionaries = file.small_dictionaries(columns) if self._keep_dictionaries else []
            project: Projection | None = None
            for start, batch in file.batches(columns, dictionaries, ranges, most, only):
                if project is None:
                    fields = file_fields(batch.schema, self._mapping) if batch.num_columns else ()
                    project = projection(
                        self._wanted, self.schema, fields, constants, keep_dictionaries=self._keep_dictionaries
                    )
                    paths = field_paths(fields)
                positions = np.arange(start, start + batch.num_rows, dtype=np.int64)
                if only is not None:
                    batch, positions = _filtered(batch, positions, np.isin(positions, only, assume_unique=True))
                if select:
                    batch, positions = _filtered(batch, positions, select(task.data_file.file_path, positions))
                batch, positions = _filtered(batch, positions, deleted.kept_by_position(positions))
                if deleted.equal and len(positions):
                    keys = {each: self._key(batch, each, paths.get(each), constants) for each in compared}
                    batch, positions = _filtered(batch, positions, deleted.kept_by_equality(keys))
                if len(positions):
                    yield Rows(with_lineage(project(batch), self._wanted, task, positions), positions)

    def _keys(self, task: DataFileTask, field_ids: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Yield the equality fields of a data file."""
        constants = self._constants(task)
        with opened(self._table, task.data_file.file_path) as stream:
            file = _OpenFile(stream, self._batch_bytes)
            by_id = fields_by_id(file_fields(file.schema, self._mapping))
            columns = [".".join(by_id[each].path) for each in field_ids if each in by_id]
            for _, batch in file.batches(columns, []):
                paths = field_paths(file_fields(batch.schema, self._mapping)) if batch.num_columns else {}
                yield [self._key(batch, each, paths.get(each), constants) for each in field_ids]

    def _key(
        self, batch: pa.RecordBatch, field_id: int, path: tuple[int, ...] | None, constants: dict[int, Any]
    ) -> pa.Array:
        kind = self._types[field_id]
        value = constants.get(field_id, self._fields[field_id].initial_default)
        return key_column(batch, path, kind, None if value is None else constant(value, kind))

    def _constants(self, task: DataFileTask) -> dict[int, Any]:
        """Return the column values that the file's partition determines."""
        spec = self._table.specs()[task.data_file.spec_id]
        return {
            field.source_id: task.data_file.partition[place]
            for place, field in enumerate(spec.fields)
            if isinstance(field.transform, IdentityTransform)
        }


class _OpenFile:
    """A Parquet file, read row group by row group in bounded memory."""

    def __init__(self, stream: Any, batch_bytes: int) -> None:
        self._stream = stream
        self._batch_bytes = batch_bytes
        file = pq.ParquetFile(stream)
        self._metadata = file.metadata
        self._groups = [file.metadata.row_group(place) for place in range(file.metadata.num_row_groups)]
        self.rows: int = file.metadata.num_rows
        self.schema: pa.Schema = file.schema_arrow

    def batches(
        self,
        columns: list[str],
        dictionaries: list[str],
        ranges: Sequence[tuple[int, int]] | None = None,
        most: int = sys.maxsize,
        only: npt.NDArray[np.int64] | None = None,
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield batches, each with the position of its first row."""
        buffered = all(
            sum(group.column(place).total_compressed_size for place in range(group.num_columns)) <= _PREBUFFERED
            for group in self._groups
        )
        file = pq.ParquetFile(
            self._stream,
            metadata=self._metadata,
            read_dictionary=dictionaries,
            coerce_int96_timestamp_unit="us",
            pre_buffer=buffered,
            buffer_size=0 if buffered else 1024 * 1024,
        )
        end = 0
        for place, group in enumerate(self._groups):
            start, end = end, end + group.num_rows
            if ranges is not None and not _lies_in(group, ranges):
                continue
            if only is not None and np.searchsorted(only, start) == np.searchsorted(only, end):
                continue
            _check_pages(group, columns, most)
            rows = self._batch_rows(group, columns)
            read = file.iter_batches(rows, row_groups=[place], columns=columns, use_threads=False) if columns else None
            for batch in _without_columns(group.num_rows) if read is None else read:
                plain = without_views(batch.schema)
                yield start, batch if plain.equals(batch.schema) else batch.cast(plain)
                start += batch.num_rows

    def _batch_rows(self, group: Any, columns: list[str]) -> int:
        """Return the most rows of a batch, given the width of a row group's rows."""
        if (largest := max(map(_large_dictionary, _chunks(group, columns)), default=0)) > _LARGE_DICTIONARY:
            # All rows may share one large value; with many rows, that is not expected.
            return max(1, self._batch_bytes // largest, min(BATCH_ROWS, int(group.num_rows) // _MOST_BATCHES))
        rows: int = self._batch_bytes * group.num_rows // max(1, group.total_byte_size)
        if rows < _FEWEST_ROWS:
            # Small batches are slower, and pay only if larger ones would be large in memory.
            read = sum(chunk.total_uncompressed_size for chunk in _chunks(group, columns))
            rows = max(1, rows, min(_FEWEST_ROWS, _FEWEST_BYTES * group.num_rows // max(1, read)))
        return min(BATCH_ROWS, rows)

    def small_dictionaries(self, columns: list[str]) -> list[str]:
        """Return the string columns that are encoded by small dictionaries only, in every row group."""
        strings = {
            field.name
            for field in self.schema
            if pa.types.is_string(field.type)
            or pa.types.is_large_string(field.type)
            or pa.types.is_string_view(field.type)
        }
        return [name for name in columns if name in strings and self._has_small_dictionary(name)]

    def _has_small_dictionary(self, name: str) -> bool:
        columns = self._metadata.schema
        place = next(place for place in range(len(columns)) if columns.column(place).path == name)
        for group in self._groups:
            chunk = group.column(place)
            if not chunk.has_dictionary_page or chunk.dictionary_page_offset is None:
                return False
            # Writers fall back to plain pages only when a dictionary is large.
            if not 0 < chunk.data_page_offset - chunk.dictionary_page_offset <= _SMALL_DICTIONARY:
                return False
            if _large_dictionary(chunk) > _LARGE_DICTIONARY:
                return False
        return True


def _chunks(group: Any, columns: list[str]) -> list[Any]:
    """Return a row group's column chunks of these columns."""
    chunks = [group.column(place) for place in range(group.num_columns)]
    starts = tuple(f"{name}." for name in columns)
    return [each for each in chunks if each.path_in_schema in columns or each.path_in_schema.startswith(starts)]


def _large_dictionary(chunk: Any) -> int:
    """Return the approximate bytes of a string dictionary, if it holds nearly all of the chunk."""
    if chunk.physical_type != "BYTE_ARRAY" or not chunk.has_dictionary_page or chunk.dictionary_page_offset is None:
        return 0
    share = (chunk.data_page_offset - chunk.dictionary_page_offset) / max(1, chunk.total_compressed_size)
    return int(chunk.total_uncompressed_size * share) if share > _ALL else 0


def _check_pages(group: Any, columns: list[str], most: int) -> None:
    """Refuse a row group whose pages are too large to decode, as far as its footer shows."""
    if group.total_byte_size <= most // 2 or not columns:
        return
    rows = max(1, group.num_rows)
    pages = {
        chunk.path_in_schema: max(
            chunk.total_uncompressed_size * min(_PAGE_ROWS, rows) // rows, _large_dictionary(chunk)
        )
        for chunk in _chunks(group, columns)
    }
    # Values of a page are decoded batch by batch.
    size = sum(pages.values()) + group.total_byte_size // rows
    if size > most:
        column, page = max(pages.items(), key=itemgetter(1))
        what = f"a value of {page:,} bytes" if rows == 1 else f"pages of {page:,} bytes"
        raise LargeValuesError(
            f"column '{column.split('.')[0]}' holds {what}, which memory-limit-bytes of {most // 2:,} cannot hold: "
            # Twice what this row group needs: one of its values may fill a page, and other files may have larger ones.
            f"raise it to {size:,}"
        )


def _lies_in(group: Any, ranges: Sequence[tuple[int, int]]) -> bool:
    """Return whether the middle of a row group lies in a range, as Parquet's Java implementation splits files."""
    chunk = group.column(0)
    dictionary = chunk.dictionary_page_offset
    begin = chunk.data_page_offset if dictionary is None else min(dictionary, chunk.data_page_offset)
    size = sum(group.column(place).total_compressed_size for place in range(group.num_columns))
    return any(start <= begin + size // 2 < end for start, end in ranges)


def _without_columns(rows: int) -> Iterator[pa.RecordBatch]:
    for start in range(0, rows, BATCH_ROWS):
        count = min(BATCH_ROWS, rows - start)
        yield pa.RecordBatch.from_struct_array(pa.array([{}] * count, pa.struct([])))


def _filtered(
    batch: pa.RecordBatch, positions: npt.NDArray[np.int64], kept: npt.NDArray[np.bool_] | None
) -> tuple[pa.RecordBatch, npt.NDArray[np.int64]]:
    if kept is None:
        return batch, positions
    if not batch.num_columns:
        return next(_without_columns(int(kept.sum())), batch), positions[kept]
    return batch.filter(pa.array(kept)), positions[kept]
