"""The deleted rows of data files, by position deletes and equality deletes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.manifest import DataFile, FileFormat
from pyiceberg.table import Table

from iceberg_zorder.errors import RewriteFailedError
from iceberg_zorder.pyiceberg.compat import content_offset, content_size, referenced_data_file
from iceberg_zorder.pyiceberg.deletion_vectors import decoded
from iceberg_zorder.pyiceberg.files import DataFileTask, Partition, delete_key, partition_of
from iceberg_zorder.pyiceberg.read.projection import convert, field_paths, fields_by_id, file_fields
from iceberg_zorder.sort.codecs import leaf
from iceberg_zorder.sort.equal_rows import EqualRows
from iceberg_zorder.sort.memory_budget import LargeValuesError, MemoryBudget

_BATCH_ROWS = 131_072
_SMALL_BATCH_ROWS = 16_384
_SHARE = 4
"""Divisor of the budget for equality deletes; while they are read, they take the same again."""
_HELD_BESIDE = 28
"""Bytes of a deleted row besides its values, including its share of the hash table."""
_Bools = npt.NDArray[np.bool_]
_Bits = npt.NDArray[np.uint8]


class DeletedRows:
    """The deleted rows of several data files; each delete file is read once.

    Position deletes are released after the last data file that needs them. Equality deletes stay in memory within their
    part of the budget. If they exceed it, they are read part by part before the first data file, and each part marks
    the rows that it deletes.

    ``types`` has the types of all equality fields, also of dropped columns; ``keys`` reads these fields of a data file
    in batches.
    """

    def __init__(
        self,
        table: Table,
        tasks: Iterable[DataFileTask],
        types: dict[int, pa.DataType],
        keys: Callable[[DataFileTask, Sequence[int]], Iterator[list[pa.Array]]],
        budget: MemoryBudget,
    ) -> None:
        self._table = table
        self._types = types
        self._keys = keys
        self._budget = budget
        self._tasks = list(tasks)
        self._paths = {task.data_file.file_path for task in self._tasks}
        self._uses = Counter(delete_key(delete) for task in self._tasks for delete in task.position_deletes)
        self._positions: dict[str, dict[str, npt.NDArray[np.int64]]] = {}
        self._rows: dict[_Scope, EqualRows] | None = None
        # By task, because a data file may appear twice with different deletes.
        self._marks: dict[DataFileTask, _Bits] = {}
        self._taken = 0
        self._lock = Lock()

    def of(self, task: DataFileTask) -> Deleted:
        """Read the deleted rows of a data file; call once for each file, from any thread."""
        with self._lock:
            positions = [
                found
                for delete in task.position_deletes
                if (found := self._position_deletes(delete).get(task.data_file.file_path)) is not None
            ]
            for key in map(delete_key, task.position_deletes):
                self._uses[key] -= 1
                if not self._uses[key]:
                    self._positions.pop(key, None)
            if self._rows is None:
                self._rows = self._equality_deletes()
            return Deleted(
                np.unique(np.concatenate(positions)) if positions else np.empty(0, np.int64),
                self._marks.pop(task, None),
                tuple((scope.fields, self._rows[scope]) for scope in _scopes(task) if scope in self._rows),
                task.data_sequence_number,
            )

    def close(self) -> None:
        """Release all memory."""
        self._budget.give_back(self._taken)
        self._taken = 0
        self._rows = {}
        self._positions.clear()
        self._marks.clear()

    def _position_deletes(self, delete: DataFile) -> dict[str, npt.NDArray[np.int64]]:
        """Return the deleted positions of the data files, by path."""
        key = delete_key(delete)
        if key not in self._positions:
            read = self._vector if delete.file_format == FileFormat.PUFFIN else self._position_delete_file
            self._positions[key] = read(delete)
        return self._positions[key]

    def _vector(self, delete: DataFile) -> dict[str, npt.NDArray[np.int64]]:
        offset, size, path = content_offset(delete), content_size(delete), referenced_data_file(delete)
        with opened(self._table, delete.file_path) as stream:
            if offset is None or size is None or path is None:
                raise ValueError("its manifest entry does not say where its deletion vector is, or of which data file")
            stream.seek(offset)
            positions = decoded(stream.read(size))
            if len(positions) != delete.record_count:
                raise ValueError(f"it has {len(positions):,} positions, and its entry {delete.record_count:,}")
        return {path: positions}

    def _position_delete_file(self, delete: DataFile) -> dict[str, npt.NDArray[np.int64]]:
        found: dict[str, list[npt.NDArray[np.int64]]] = {}
        with opened(self._table, delete.file_path) as stream:
            file = pq.ParquetFile(stream, read_dictionary=["file_path"], pre_buffer=True)
            batches = file.iter_batches(_BATCH_ROWS, columns=["file_path", "pos"], use_threads=False)
            for batch in batches:
                paths, positions = batch.column("file_path"), batch.column("pos").to_numpy(zero_copy_only=False)
                codes = paths.indices.to_numpy(zero_copy_only=False)
                order = np.argsort(codes, kind="stable")
                ends = np.searchsorted(codes[order], np.arange(len(paths.dictionary)), side="right")
                start = 0
                for path, end in zip(paths.dictionary.to_pylist(), ends.tolist(), strict=True):
                    if path in self._paths:
                        found.setdefault(path, []).append(positions[order[start:end]])
                    start = end
        return {path: np.concatenate(parts) for path, parts in found.items()}

    def _equality_deletes(self) -> dict[_Scope, EqualRows]:
        """Return all equality deletes; if they exceed the budget, mark the deleted rows and return none."""
        files: dict[_Scope, dict[str, tuple[DataFile, int]]] = {}
        for task in self._tasks:
            for delete in task.equality_deletes:
                of_scope = files.setdefault(_scope(delete), {})
                _, newest = of_scope.get(delete.file_path, (delete, 0))
                of_scope[delete.file_path] = delete, max(newest, task.data_sequence_number)
        held: dict[_Scope, EqualRows] = {}
        size, room = 0, self._budget.limit // _SHARE
        for scope, deletes in files.items():
            for rows in self._parts(scope, deletes.values(), room):
                if scope in held or (held and size + rows.nbytes > room):
                    # More than one part: apply and release this one before the next.
                    for each in list(held):
                        self._mark(each, held.pop(each))
                    size = 0
                held[scope] = rows
                size += rows.nbytes
        if self._marks:
            for each in list(held):
                self._mark(each, held.pop(each))
        self._take(sum(rows.nbytes for rows in held.values()))
        return held

    def _parts(self, scope: _Scope, deletes: Iterable[tuple[DataFile, int]], room: int) -> Iterator[EqualRows]:
        """Yield the deleted rows of a scope in parts that fit the budget."""
        columns: list[list[pa.Array]] = [[] for _ in scope.fields]
        newest: list[npt.NDArray[np.int64]] = []
        size = 0
        for delete, number in deletes:
            for batch in self._batches(delete, scope.fields):
                for place, column in enumerate(batch):
                    columns[place].append(column)
                newest.append(np.full(len(batch[0]), number))
                size += sum(column.nbytes for column in batch) + _HELD_BESIDE * len(batch[0])
                if size > room:
                    yield EqualRows([pa.concat_arrays(parts) for parts in columns], np.concatenate(newest))
                    columns, newest, size = [[] for _ in scope.fields], [], 0
        if newest:
            yield EqualRows([pa.concat_arrays(parts) for parts in columns], np.concatenate(newest))

    def _batches(self, delete: DataFile, fields: Sequence[int]) -> Iterator[list[pa.Array]]:
        with opened(self._table, delete.file_path) as stream:
            file = pq.ParquetFile(stream, pre_buffer=True)
            by_id = fields_by_id(file_fields(file.schema_arrow, None))
            columns = [".".join(by_id[each].path) for each in fields if each in by_id]
            for place in range(file.num_row_groups):
                # A batch of many rows could exceed the budget.
                for batch in file.iter_batches(_SMALL_BATCH_ROWS, [place], columns, use_threads=False):
                    paths = field_paths(file_fields(batch.schema, None)) if batch.num_columns else {}
                    yield [key_column(batch, paths.get(each), self._types[each], None) for each in fields]

    def _mark(self, scope: _Scope, rows: EqualRows) -> None:
        """Mark the rows of all data files that equal deleted rows."""
        for task in self._tasks:
            if scope not in _scopes(task):
                continue
            start = 0
            if task not in self._marks:
                bits = np.zeros(-(-task.data_file.record_count // 8), np.uint8)
                self._take(bits.nbytes)
                self._marks[task] = bits
            bits = self._marks[task]
            for keys in self._keys(task, scope.fields):
                found = np.flatnonzero(rows.contain(keys, task.data_sequence_number)) + start
                np.bitwise_or.at(bits, found >> 3, (128 >> (found & 7)).astype(np.uint8))
                start += len(keys[0])

    def _take(self, size: int) -> None:
        self._budget.take(size)
        self._taken += size
        if self._taken > self._budget.limit:
            raise RewriteFailedError(
                f"Cannot apply equality deletes to {len(self._tasks):,} data files, because marking deleted rows "
                f"takes {self._taken:,} bytes, and memory-limit-bytes leaves {self._budget.limit:,}: raise it"
            )


@dataclass(frozen=True)
class _Scope:
    """The properties that equality deletes must share to be looked up together."""

    fields: tuple[int, ...]
    partition: Partition


def _scope(delete: DataFile) -> _Scope:
    return _Scope(tuple(sorted(delete.equality_ids or [])), partition_of(delete))


def _scopes(task: DataFileTask) -> list[_Scope]:
    return list(dict.fromkeys(_scope(delete) for delete in task.equality_deletes))


@contextmanager
def opened(table: Table, path: str) -> Iterator[Any]:
    """Open a file for reading; errors in the block become failures to read it."""
    try:
        with table.io.new_input(path).open() as stream:
            yield stream
    except Exception as error:  # corrupt files raise many kinds of errors
        kind = LargeValuesError if isinstance(error, LargeValuesError) else RewriteFailedError
        raise kind(f"Cannot read {path}, because {' '.join(str(error).split())}") from error


def key_column(
    batch: pa.RecordBatch, path: tuple[int, ...] | None, kind: pa.DataType, otherwise: pa.Scalar | None
) -> pa.Array:
    """Return an equality field of a batch as a type; a constant or NULL if the file lacks it."""
    if path is None:
        return pa.nulls(batch.num_rows, kind) if otherwise is None else pa.repeat(otherwise, batch.num_rows)
    return convert(leaf(batch, path), kind)


@dataclass(frozen=True, eq=False)
class Deleted:
    """The deleted rows of one data file."""

    positions: npt.NDArray[np.int64]  # sorted
    marks: _Bits | None  # a bit for each row, if equality deletes were marked
    equal: tuple[tuple[tuple[int, ...], EqualRows], ...]  # field ids, and the deleted rows in these fields
    sequence_number: int  # of the data file

    def kept_by_position(self, positions: npt.NDArray[np.int64]) -> _Bools | None:
        """Return which rows at ascending positions remain; None if all do."""
        if not len(positions):
            return None
        gone: _Bools | None = None
        if self.marks is not None:
            gone = (self.marks[positions >> 3] >> (7 - (positions & 7)).astype(np.uint8) & 1).astype(np.bool_)
        first, last = np.searchsorted(self.positions, [positions[0], positions[-1] + 1])
        if first < last:
            found = np.isin(positions, self.positions[first:last], assume_unique=True)
            gone = found if gone is None else gone | found
        return None if gone is None or not gone.any() else ~gone

    def kept_by_equality(self, columns: dict[int, pa.Array]) -> _Bools | None:
        """Return which rows remain, given their equality fields; None if all do."""
        gone: _Bools | None = None
        for fields, rows in self.equal:
            found = rows.contain([columns[field] for field in fields], self.sequence_number)
            gone = found if gone is None else gone | found
        return None if gone is None or not gone.any() else ~gone
