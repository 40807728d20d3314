"""Tell which rows of a data file are deleted: by their position, or because they equal a deleted row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile

from iceberg_zorder.pyiceberg.file_groups import DataFileTask
from iceberg_zorder.pyiceberg.projection import FileField, convert, file_fields

_BATCH_ROWS = 131_072
_Bools = npt.NDArray[np.bool_]


class DeletedRows:
    """Reads delete files once for a number of data files, and forgets each after the last data file that needs it.

    Parameters
    ----------
    io : pyiceberg.io.FileIO
        Reads the files.
    tasks : iterable of DataFileTask
        The data files.
    types : dict of int to pyarrow.DataType
        Types of the equality fields, those of columns dropped since included.
    """

    def __init__(self, io: FileIO, tasks: Iterable[DataFileTask], types: dict[int, pa.DataType]) -> None:
        self._io = io
        self._types = types
        tasks = list(tasks)
        self._paths = {task.data_file.file_path for task in tasks}
        self._uses = Counter(
            delete.file_path for task in tasks for delete in (*task.position_deletes, *task.equality_deletes)
        )
        self._positions: dict[str, dict[str, npt.NDArray[np.int64]]] = {}
        self._rows: dict[str, list[pa.Array]] = {}

    def of(self, task: DataFileTask) -> Deleted:
        """Read what is deleted of a data file; to be called once for each."""
        positions = [
            found
            for delete in task.position_deletes
            if (found := self._position_deletes(delete).get(task.data_file.file_path)) is not None
        ]
        by_fields: dict[tuple[int, ...], list[list[pa.Array]]] = {}
        for delete in task.equality_deletes:
            fields = tuple(sorted(delete.equality_ids or []))
            by_fields.setdefault(fields, []).append(self._equality_deletes(delete, fields))
        self._release(task)
        return Deleted(
            np.unique(np.concatenate(positions)) if positions else np.empty(0, np.int64),
            tuple(_EqualRows.of(fields, rows) for fields, rows in by_fields.items()),
        )

    def type_of(self, field_id: int) -> pa.DataType:
        """Tell the type of an equality field."""
        return self._types[field_id]

    def _release(self, task: DataFileTask) -> None:
        for delete in (*task.position_deletes, *task.equality_deletes):
            self._uses[delete.file_path] -= 1
            if not self._uses[delete.file_path]:
                self._positions.pop(delete.file_path, None)
                self._rows.pop(delete.file_path, None)

    def _position_deletes(self, delete: DataFile) -> dict[str, npt.NDArray[np.int64]]:
        if delete.file_path in self._positions:
            return self._positions[delete.file_path]
        found: dict[str, list[npt.NDArray[np.int64]]] = {}
        with self._io.new_input(delete.file_path).open() as stream:
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
        joined = {path: np.concatenate(parts) for path, parts in found.items()}
        self._positions[delete.file_path] = joined
        return joined

    def _equality_deletes(self, delete: DataFile, fields: Sequence[int]) -> list[pa.Array]:
        if delete.file_path not in self._rows:
            with self._io.new_input(delete.file_path).open() as stream:
                table = pq.ParquetFile(stream, pre_buffer=True).read(use_threads=False)
            paths = field_paths(file_fields(table.schema, None))
            batch = table.combine_chunks().to_batches()[0] if table.num_rows else None
            self._rows[delete.file_path] = [
                pa.nulls(0, self._types[each])
                if batch is None
                else key_column(batch, paths.get(each), self._types[each], None)
                for each in fields
            ]
        return self._rows[delete.file_path]


def field_paths(fields: Sequence[FileField]) -> dict[int, tuple[int, ...]]:
    """Find where the fields of a batch are that no list or map holds, by their ids.

    Parameters
    ----------
    fields : sequence of FileField
        The batch's columns.

    Returns
    -------
    dict of int to tuple of int
        The place of the column, then those of the fields inside it.
    """
    found: dict[int, tuple[int, ...]] = {}

    def visit(field: FileField, place: tuple[int, ...]) -> None:
        if field.field_id is not None:
            found[field.field_id] = place
        if pa.types.is_struct(field.type):
            for inner, child in enumerate(field.children):
                visit(child, (*place, inner))

    for place, field in enumerate(fields):
        visit(field, (place,))
    return found


def key_column(
    batch: pa.RecordBatch, path: tuple[int, ...] | None, kind: pa.DataType, otherwise: pa.Scalar | None
) -> pa.Array:
    """Take an equality field of a batch, as a type, or where the file lacks it a constant or NULL."""
    if path is None:
        return pa.nulls(batch.num_rows, kind) if otherwise is None else pa.repeat(otherwise, batch.num_rows)
    array = batch.column(path[0])
    return convert(pc.struct_field(array, list(path[1:])) if len(path) > 1 else array, kind)


@dataclass(frozen=True, eq=False)
class Deleted:
    """What is deleted of one data file.

    Parameters
    ----------
    positions : ndarray of int64
        Sorted positions.
    equal : tuple
        Rows by whose equality rows are deleted, for each set of fields.
    """

    positions: npt.NDArray[np.int64]
    equal: tuple[_EqualRows, ...]

    @property
    def fields(self) -> set[int]:
        """The fields that must be read to tell which rows are deleted."""
        return {field for each in self.equal for field in each.fields}

    def kept_by_position(self, positions: npt.NDArray[np.int64]) -> _Bools | None:
        """Tell which of some rows, whose positions increase, are left; or nothing if all are."""
        if not len(self.positions) or not len(positions):
            return None
        first, last = np.searchsorted(self.positions, [positions[0], positions[-1] + 1])
        return None if first == last else ~np.isin(positions, self.positions[first:last], assume_unique=True)

    def kept_by_equality(self, columns: dict[int, pa.Array]) -> _Bools | None:
        """Tell which rows are left, given the fields; or nothing if all are."""
        gone: _Bools | None = None
        for each in self.equal:
            found = each.contain([columns[field] for field in each.fields])
            gone = found if gone is None else gone | found
        return None if gone is None or not gone.any() else ~gone


@dataclass(frozen=True, eq=False)
class _EqualRows:
    """Rows to compare others with: NULL equals NULL, and NaN equals NaN.

    A row becomes a number, column by column: the number of its value among the distinct deleted values is appended to
    the number so far, and the pairs that occur are numbered anew, so that no number outgrows 64 bits.
    """

    fields: tuple[int, ...]
    values: tuple[pa.Array, ...]
    pairs: tuple[npt.NDArray[np.int64], ...]

    @classmethod
    def of(cls, fields: tuple[int, ...], rows: Sequence[Sequence[pa.Array]]) -> _EqualRows:
        values, pairs = [], []
        number = np.zeros(sum(len(each[0]) for each in rows), np.int64)
        for place in range(len(fields)):
            column = _comparable(pa.concat_arrays([each[place] for each in rows]))
            distinct = pc.unique(column)
            values.append(distinct)
            pair = number * (len(distinct) + 1) + _index_in(column, distinct)
            known = np.unique(pair)
            pairs.append(known)
            number = np.searchsorted(known, pair)
        return cls(fields, tuple(values), tuple(pairs))

    def contain(self, columns: Sequence[pa.Array]) -> _Bools:
        """Tell which rows are among these."""
        number = np.zeros(len(columns[0]), np.int64)
        found = np.ones(len(columns[0]), np.bool_)
        for column, distinct, known in zip(columns, self.values, self.pairs, strict=True):
            index = _index_in(_comparable(column), distinct)
            found &= index >= 0
            if not len(known):
                return np.zeros(len(number), np.bool_)
            pair = number * (len(distinct) + 1) + np.maximum(index, 0)
            number = np.minimum(np.searchsorted(known, pair), len(known) - 1)
            found &= known[number] == pair
        return found


def _index_in(column: pa.Array, values: pa.Array) -> npt.NDArray[np.int64]:
    """Find values among distinct ones, NULL like any other; -1 where there is none."""
    found: Any = pc.fill_null(pc.index_in(column, value_set=values), -1)
    index: npt.NDArray[np.int64] = found.to_numpy(zero_copy_only=False).astype(np.int64)
    return index


def _comparable(column: pa.Array) -> pa.Array:
    """Turn floating numbers into their bits, all NaN alike, and drop what Arrow cannot look up."""
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_floating(column.type):
        nan = pc.is_nan(column)
        column = pc.if_else(nan, pa.scalar(float("nan"), column.type), column)
        return column.view(pa.int32() if column.type.bit_width == 32 else pa.int64())
    return column
