"""Translate deletes that others committed during a rewrite to positions in the rewrite's new files.

A row dies if it was live at the rewrite's start and, at the branch's head, its position is deleted or its file is gone.
The new files hold dead rows, which are found there by their ids, or before format version 3 by their values. Equal
rows are interchangeable then, so that only their number counts. Rows are looked up by a few narrow columns first; all
columns are compared only if others than dead rows have the same values in these.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import accumulate
from operator import itemgetter
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyiceberg.manifest import DataFile, DataFileContent
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import NestedField, PrimitiveType

from iceberg_zorder.errors import InvalidInputError, RewriteFailedError
from iceberg_zorder.pyiceberg.commit.head import Head
from iceberg_zorder.pyiceberg.commit.replacement import TranslatedDeletes
from iceberg_zorder.pyiceberg.commit.snapshot import ConflictError
from iceberg_zorder.pyiceberg.files import (
    DataFileTask,
    GroupResult,
    delete_key,
    of_field,
    sequence_number,
    single_path,
    size_of,
)
from iceberg_zorder.pyiceberg.listing.listing import DeleteIndex
from iceberg_zorder.pyiceberg.read.deletes import DeletedRows
from iceberg_zorder.pyiceberg.read.reader import BATCH_BYTES, Reader
from iceberg_zorder.pyiceberg.row_lineage import ROW_ID, has_row_ids
from iceberg_zorder.pyiceberg.write.file_writer import new_data_path
from iceberg_zorder.pyiceberg.write.position_deletes import write_position_deletes
from iceberg_zorder.sort.equal_rows import EqualRows
from iceberg_zorder.sort.memory_budget import MemoryBudget

_Longs = npt.NDArray[np.int64]
_Rows = list[tuple[DataFileTask, _Longs | None]]
"""Data files, each with sorted positions of rows, or None for all rows; the place in the list is the file's number."""
_NO_ROWS: _Longs = np.empty(0, np.int64)
_FILE, _POSITION = "file", "position"
"""Columns of rows that were read, beside those of the table, whose names are numbers."""

_MOST_DEAD = 0.05
"""Largest share of a file group's rows that is translated; rewriting the group again is as cheap."""
_MOST_READ = 0.25
"""Largest share of a file group's bytes that lookup columns may have, and of its rows that may equal dead ones."""
_POSITION_BYTES = 8
_SMALL = 64 * 1024 * 1024
"""Bytes up to which reading is cheap, whatever its share of the file group."""
_FEWEST_COLUMNS = 2
_KEY_BYTES = 6
"""Compressed bytes per row from which values of a column, or of several together, hardly ever repeat."""


@dataclass(frozen=True, eq=False)
class Translator:
    """Translates deletes for the new files of some file groups.

    ``table`` is the table as it was planned. Rows take at most about half of ``memory_limit`` bytes.
    """

    table: Table
    groups: Sequence[GroupResult]
    memory_limit: int

    def translate(
        self, head: Head, gone: Collection[str], written: list[str], before: TranslatedDeletes
    ) -> TranslatedDeletes:
        """Write delete files for the rows of new files that are dead at the head.

        ``gone`` are the paths of old files that the head lacks. The paths of all files are appended to ``written``.
        ``before`` was found for the same groups at an earlier head: only rows that died since are looked for. Raises
        ConflictError if the deletes cannot be translated, or if planning again costs less.
        """
        index, there = DeleteIndex(self.table.schema(), frozenset()), set()
        for entry in head.delete_entries:
            there.add(entry.data_file.file_path)
            if entry.data_file.content == DataFileContent.POSITION_DELETES:
                index.add(entry.data_file, sequence_number(entry))
        try:
            files, died, dead = list[DataFile](), dict[str, _Longs | None](), dict[str, _Longs]()
            for group in self.groups:
                rows = self._died(group, gone, index, there)
                died.update((task.data_file.file_path, positions) for task, positions in rows)
                for file, positions in self._dead_rows(group, rows, before):
                    files.append(self._write(file, positions, written))
                    dead[file.file_path] = positions
            return TranslatedDeletes(files, died, dead)
        except (InvalidInputError, RewriteFailedError) as error:
            # Old files may be deleted once the starting snapshot has expired.
            raise ConflictError(f"looking for deleted rows failed: {error}") from error

    def _write(self, file: DataFile, positions: _Longs, written: list[str]) -> DataFile:
        kind = "puffin" if has_row_ids(self.table) else "parquet"
        written.append(new_data_path(self.table, file.spec_id, file.partition, f"{uuid4()}-zorder-deletes.{kind}"))
        return write_position_deletes(self.table, written[-1], file, positions)

    def _died(self, group: GroupResult, gone: Collection[str], index: DeleteIndex, there: Collection[str]) -> _Rows:
        """Return the rows of a file group's old files that died since the start; some may have been dead before."""
        tasks = group.sampled.group.tasks
        kept = [task for task in tasks if task.data_file.file_path not in gone]
        died: _Rows = [(task, None) for task in tasks if task.data_file.file_path in gone]
        return died + self._newly_deleted(kept, index, there)

    def _dead_rows(
        self, group: GroupResult, died: _Rows, before: TranslatedDeletes
    ) -> Iterator[tuple[DataFile, _Longs]]:
        """Yield the new files of a file group that hold dead rows, with their positions."""
        known = {file.file_path: before.dead[file.file_path] for file in group.files if file.file_path in before.dead}
        rows = _died_since(died, group, before)
        if rows is None:
            rows, known = died, {}
        found = _Lookup(self.table, group.files, self.memory_limit // 8, known).find(rows) if rows else {}
        for file in group.files:
            positions = [each[file.file_path] for each in (known, found) if file.file_path in each]
            if positions:
                yield file, np.sort(np.concatenate(positions))

    def _newly_deleted(self, tasks: Sequence[DataFileTask], index: DeleteIndex, there: Collection[str]) -> _Rows:
        """Return files with the positions in delete files that came since the start; some may have been dead before.

        ``index`` has the head's position deletes, and ``there`` the paths of all its delete files.
        """
        changed: list[DataFileTask] = []
        added: list[DataFileTask] = []
        before: list[DataFileTask] = []
        now: list[DataFileTask] = []
        for task in tasks:
            deletes, _ = index.of(task.data_file, task.data_sequence_number)
            here, known = (set(map(delete_key, of)) for of in (deletes, task.position_deletes))
            if gone := {each.file_path for each in task.equality_deletes}.difference(there):
                raise ConflictError(f"delete file {min(gone)} was removed, so that its rows may be live again")
            if lost := [each for each in task.position_deletes if delete_key(each) not in here]:
                before.append(replace(task, position_deletes=tuple(lost), equality_deletes=()))
                now.append(replace(task, position_deletes=deletes, equality_deletes=()))
            if new := tuple(each for each in deletes if delete_key(each) not in known):
                changed.append(task)
                added.append(replace(task, position_deletes=new, equality_deletes=()))
        # Others delete rows of any files of their partition.
        rows = {
            delete_key(each): each.record_count for task in added for each in task.position_deletes if single_path(each)
        }
        if _POSITION_BYTES * sum(rows.values()) > self.memory_limit // 8:
            raise ConflictError("the new delete files have more positions than memory-limit-bytes leaves memory for")
        for task, were, are in zip(before, self._positions(before), self._positions(now), strict=True):
            if len(np.setdiff1d(were, are, assume_unique=True)):
                raise ConflictError(f"rows that {task.position_deletes[0].file_path} deleted are live again")
        return [(task, found) for task, found in zip(changed, self._positions(added), strict=True) if len(found)]

    def _positions(self, tasks: Sequence[DataFileTask]) -> list[_Longs]:
        """Return the positions that the position deletes of each file delete."""
        budget = MemoryBudget(self.memory_limit // 4)
        with closing(DeletedRows(self.table, tasks, {}, lambda *_: iter(()), budget)) as deleted:
            return [deleted.of(task).positions for task in tasks]


class _Lookup:
    """Looks for rows of a file group's old files in its new files; rows that are held take at most ``most`` bytes.

    ``known`` are the positions of dead rows that were found before, by path of the new file.
    """

    def __init__(self, table: Table, files: Sequence[DataFile], most: int, known: Mapping[str, _Longs]) -> None:
        self._table = table
        self._known = known
        self._new: _Rows = [(DataFileTask(file, 0), None) for file in files]
        self._most_bytes = most
        self._rows = sum(file.record_count for file in files)
        self._size = size_of(task for task, _ in self._new)
        fields = table.schema().fields
        self._fields = [field for field in fields if isinstance(field.field_type, PrimitiveType)]
        self._has_nested = len(self._fields) < len(fields)

    def find(self, died: _Rows) -> dict[str, _Longs]:
        """Return the positions of the dead rows by path of the new file."""
        columns = self._lookup_columns()
        known = sum(map(len, self._known.values()))
        of_what = "of a file group's rows were deleted" + (f" after {known:,}" if known else "")
        dead = self._read(died, columns, int(self._rows * _MOST_DEAD) - known, of_what)
        if not dead.num_rows:
            return {}
        if columns == [ROW_ID] and dead["0"].null_count:
            raise ConflictError("rows were deleted that have no _row_id yet")
        hits = self._not_known(self._hits(self._new, columns, dead))
        groups, wanted, found = _alike(dead, hits)
        unsure = (found > wanted)[groups]
        certain = hits.filter(~unsure[dead.num_rows :])
        if unsure.any():
            dead, hits = dead.filter(unsure[: dead.num_rows]), hits.filter(unsure[dead.num_rows :])
            dead = self._read(_rows_of(dead, [task for task, _ in died]), self._fields)
            hits = self._hits(_rows_of(hits, [task for task, _ in self._new]), self._fields, dead)
            groups, wanted, found = _alike(dead, hits)
            if self._has_nested and (found > wanted).any():
                raise ConflictError("rows were deleted that may differ from others only in nested columns")
            groups = groups[dead.num_rows :]
            # Of equal rows the first ones die.
            order = np.argsort(groups, kind="stable")
            starts = np.cumsum(found) - found
            is_dead = np.arange(len(order)) - starts[groups[order]] < wanted[groups[order]]
            certain = pa.concat_tables(each.select([_FILE, _POSITION]) for each in (certain, hits.take(order[is_dead])))
        rows = zip(self._new, _by_file(certain, len(self._new)), strict=True)
        return {task.data_file.file_path: positions for (task, _), positions in rows if len(positions)}

    def _not_known(self, hits: pa.Table) -> pa.Table:
        """Return hits except copies of rows found dead before: each other dead row still has its copy here."""
        files, positions = hits[_FILE].to_numpy(), hits[_POSITION].to_numpy()
        is_new = np.ones(hits.num_rows, bool)
        for number, (task, _) in enumerate(self._new):
            known = self._known.get(task.data_file.file_path)
            if known is not None:
                is_new[(files == number) & np.isin(positions, known)] = False
        return hits.filter(pa.array(is_new))

    def _hits(self, rows: _Rows, fields: Sequence[NestedField], dead: pa.Table) -> pa.Table:
        """Read the rows of new files that equal dead ones in some columns."""
        columns = [each.combine_chunks() for each in dead.drop([_FILE, _POSITION]).columns]
        among = EqualRows(columns, np.zeros(dead.num_rows, np.int64))
        most = self._rows if self._size <= _SMALL else int(self._rows * _MOST_READ)
        return self._read(rows, fields, most, "of a file group's rows share values with deleted ones", among)

    def _lookup_columns(self) -> list[NestedField]:
        """Return the column of row ids, or a few narrow columns whose values together hardly repeat."""
        if has_row_ids(self._table):
            return [ROW_ID]
        average = self._size // len(self._table.schema().fields)
        sizes = [
            (field, sum(of_field(task.data_file.column_sizes, field.field_id, average) for task, _ in self._new))
            for field in self._fields
        ]
        sizes.sort(key=itemgetter(1))
        wide_enough = _KEY_BYTES * self._rows
        totals = accumulate(size for _, size in sizes)
        end = next((place + 1 for place, total in enumerate(totals) if total >= wide_enough), len(sizes))
        most, chosen, taken = max(_SMALL, int(_MOST_READ * self._size)), list[NestedField](), 0
        for field, size in reversed(sizes[:end]):
            # Two at least: of one, most rows may have the same value.
            if taken + size <= most and (taken < wide_enough or len(chosen) < _FEWEST_COLUMNS):
                chosen.append(field)
                taken += size
        if not chosen:
            raise ConflictError(
                f"no primitive column, by which to look for deleted rows, has at most {_MOST_READ:.0%} of the bytes"
            )
        return chosen

    def _read(
        self,
        rows: _Rows,
        fields: Sequence[NestedField],
        most: int | None = None,
        of_what: str = "",
        among: EqualRows | None = None,
    ) -> pa.Table:
        """Read columns of rows that were live at the start, or only of those that equal others."""
        budget = MemoryBudget(self._most_bytes)
        batch_bytes = min(BATCH_BYTES, self._most_bytes // 8)
        files = {number: each for number, each in enumerate(rows) if each[1] is None or len(each[1])}
        tasks = [task for task, _ in files.values()]
        held, count, size = list[pa.RecordBatch](), 0, 0
        reader = Reader(self._table, tasks, Schema(*fields), budget=budget, batch_bytes=batch_bytes)
        names = [*map(str, range(len(fields))), _FILE, _POSITION]
        with closing(reader):
            types = [_exact(pa.array([], field.type)).type for field in reader.schema]
            for number, (task, positions) in files.items():
                for read in reader.rows(task, only=positions):
                    columns = [_exact(column) for column in read.batch.columns]
                    columns += [pa.repeat(number, len(read.positions)), pa.array(read.positions)]
                    batch = pa.RecordBatch.from_arrays(columns, names)
                    if among is not None:
                        batch = batch.filter(pa.array(among.contain(columns[: len(fields)], 0)))
                    count, size = count + batch.num_rows, size + batch.nbytes
                    if most is not None and count > most:
                        raise ConflictError(f"more than {most:,} {of_what}")
                    if size > self._most_bytes:
                        raise ConflictError("rows were deleted that take more memory than memory-limit-bytes leaves")
                    held.append(batch)
        schema = pa.schema(zip(names, [*types, pa.int64(), pa.int64()], strict=True))
        return pa.Table.from_batches(held, schema)


def _exact(column: pa.Array) -> pa.Array:
    """Return a column that is equal exactly where its bytes are: floats as whole numbers."""
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_floating(column.type):
        return column.view(pa.int32() if column.type.bit_width == 32 else pa.int64())
    return column


def _died_since(died: _Rows, group: GroupResult, before: TranslatedDeletes) -> _Rows | None:
    """Return the rows that died since an earlier translation.

    None if rows that died before it are live again; they are in the new files, and nothing is known of them any more.
    """
    now = {task.data_file.file_path: positions for task, positions in died}
    since: _Rows = []
    for task in group.sampled.group.tasks:
        path = task.data_file.file_path
        are, were = now.get(path, _NO_ROWS), before.died.get(path, _NO_ROWS)
        if are is not None and (were is None or len(np.setdiff1d(were, are))):
            return None
        if were is None:
            continue
        rest = are
        if len(were):
            rest = np.setdiff1d(np.arange(task.data_file.record_count) if are is None else are, were)
        if rest is None or len(rest):
            since.append((task, rest))
    return since


def _rows_of(rows: pa.Table, tasks: Sequence[DataFileTask]) -> _Rows:
    """Return all files, also those without rows, so that they keep their numbers."""
    return list(zip(tasks, _by_file(rows, len(tasks)), strict=True))


def _by_file(rows: pa.Table, count: int) -> list[_Longs]:
    """Return the sorted positions of the rows in each of so many files."""
    files, positions = rows[_FILE].to_numpy(), rows[_POSITION].to_numpy()
    order = np.lexsort((positions, files))
    return np.split(positions[order], np.searchsorted(files[order], np.arange(1, count)))


def _alike(dead: pa.Table, hits: pa.Table) -> tuple[_Longs, _Longs, _Longs]:
    """Group equal rows; return the group of each row, and by group the number of dead rows and of hits.

    Raises ConflictError if there are fewer hits than dead rows.
    """
    rows = pa.concat_tables([dead, hits])
    keys = [name for name in rows.column_names if name not in (_FILE, _POSITION)]
    numbered = rows.select(keys).append_column("row", pa.array(np.arange(rows.num_rows)))
    lists = numbered.group_by(keys, use_threads=False).aggregate([("row", "list")])["row_list"].combine_chunks()
    groups = np.empty(rows.num_rows, np.int64)
    groups[lists.flatten().to_numpy()] = np.repeat(np.arange(len(lists)), lists.value_lengths().to_numpy())
    wanted, found = (
        np.bincount(part, minlength=len(lists)) for part in (groups[: dead.num_rows], groups[dead.num_rows :])
    )
    if missing := int(np.maximum(wanted - found, 0).sum()):
        raise ConflictError(f"{dead.num_rows:,} rows were deleted, and {missing:,} of them are not in the new files")
    return groups, wanted, found
