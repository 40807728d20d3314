"""The sample of a large file group is read from some of its row groups: few bytes, and the rows that it should have."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.pyiceberg.files import FileGroup
from iceberg_zorder.pyiceberg.plan.layouts import fit_layouts
from iceberg_zorder.pyiceberg.plan.sampling import GroupScan, SampleContext, draw_samples, group_scans
from iceberg_zorder.pyiceberg.read.deletes import opened
from iceberg_zorder.rewrite.options import ZOrderOptions
from iceberg_zorder.sample.sampled_row_groups import row_hashes
from tests.present import present
from tests.pyiceberg.committing import commit_files
from tests.pyiceberg.lake import data_files, equality_delete, planned, position_delete, row_order

SCHEMA = pa.schema([("a", pa.int64()), ("b", pa.int64()), ("id", pa.int64())])
BY = "zorder(a, b)"


def made(catalog: SqlCatalog, rows: pa.Table, files: int, row_group: int) -> Table:
    properties = {"write.parquet.row-group-limit": str(row_group), "format-version": "2"}
    table = catalog.create_table("db.t", SCHEMA, properties=properties)
    length = -(-rows.num_rows // files)
    for start in range(0, rows.num_rows, length):
        table.append(rows.slice(start, length))
    return table


def values(rows: int) -> pa.Table:
    made_of = np.random.default_rng(3)
    return pa.table([made_of.integers(0, 2**60, rows), made_of.integers(0, 2**60, rows), np.arange(rows)], SCHEMA)


def group_of(table: Table, files: int) -> FileGroup:
    size = sum(file.file_size_in_bytes for file in data_files(table))
    options = {"rewrite-all": "true", "target-file-size-bytes": str(size // files)}
    [group] = planned(table.refresh(), options).groups
    return group


def read_of(scan: GroupScan) -> int:
    return sum(len(file) for file in present(scan.row_groups))


def tuples(sample: Sample) -> list[tuple[int, ...]]:
    return list(zip(*(column.values.tolist() for column in sample.columns), strict=True))


@pytest.fixture
def bytes_read(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Bytes read of each data file."""
    counts: dict[str, int] = {}

    class Counting:
        def __init__(self, stream: Any, path: str) -> None:
            self._stream = stream
            self._path = path

        def __getattr__(self, name: str) -> Any:
            return getattr(self._stream, name)

        def read(self, size: int = -1) -> bytes:
            found = bytes(self._stream.read(size))
            counts[self._path] = counts.get(self._path, 0) + len(found)
            return found

        def read_buffer(self, size: int = -1) -> bytes:
            return self.read(size)

    @contextmanager
    def counted(table: Table, path: str) -> Iterator[Any]:
        with opened(table, path) as stream:
            yield Counting(stream, path)

    monkeypatch.setattr("iceberg_zorder.pyiceberg.read.reader.opened", counted)
    return counts


def test_rows_are_those_of_the_row_groups_that_were_chosen(catalog: SqlCatalog) -> None:
    """Positions, deletes and numbers of row groups are right where only parts of a file are read."""
    rows = values(80_000)
    table = made(catalog, rows, files=5, row_group=500)
    files = data_files(table)
    gone = range(0, 16_000, 3)
    commit_files(
        table,
        position_delete(table, files[1], gone),
        equality_delete(table, [{"id": each} for each in range(32_000, 48_000, 5)], ["id"]),
    )
    group = group_of(table, 20)
    [scan] = group_scans([group], ZOrderOptions(sample_rows=3_000, sample_seed=9))
    assert 0 < read_of(scan) <= 160 // 4
    [drawn] = draw_samples(SampleContext(table, row_order(table, BY), ZOrderOptions(sample_seed=9)), [scan], samples=2)

    order = {file.file_path: place for place, file in enumerate(files)}
    fitted, held_out = {}, set()
    for task, chosen in zip(group.tasks, present(scan.row_groups), strict=True):
        path, place = task.data_file.file_path, order[task.data_file.file_path]
        offsets = task.data_file.split_offsets
        hashes = row_hashes(path, np.arange(16_000), 9)
        assert offsets is not None
        assert len(offsets) == 32
        for each in chosen:
            first = 500 * max(0, offsets.index(each.start) if each.start else 0)
            for position in range(first, first + 500):
                number = place * 16_000 + position
                if (place == 1 and position in gone) or (32_000 <= number < 48_000 and number % 5 == 0):
                    continue
                share = (int(hashes[position]) + 2**63) / 2**64 * each.rows
                row = (rows["a"][number].as_py(), rows["b"][number].as_py())
                if share < each.sampled_rows:
                    fitted[row] = each.number
                elif share < 2 * each.sampled_rows:
                    held_out.add(row)
    assert dict(zip(tuples(drawn.fitted), drawn.row_groups.tolist(), strict=True)) == fitted
    assert set(tuples(drawn.held_out)) == held_out
    assert drawn.fitted.rows == len(fitted) > 2_000


@pytest.mark.parametrize(("row_groups", "most"), [(1_200, 0.05), (120, 0.3)])
def test_few_bytes_are_read_of_many_row_groups(
    catalog: SqlCatalog, bytes_read: dict[str, int], row_groups: int, most: float
) -> None:
    """Two of three columns are sampled; footers count, too."""
    table = made(catalog, values(row_groups * 2_000), files=4, row_group=2_000)
    group = group_of(table, 30)
    options = ZOrderOptions(sample_rows=10_000)
    [scan] = group_scans([group], options)
    assert read_of(scan) <= most * row_groups
    assert len(fit_layouts(SampleContext(table, row_order(table, BY), options), [group])[0]) == 1
    assert 0 < sum(bytes_read.values()) <= most * group.input_size


def test_a_small_file_group_is_read_whole(catalog: SqlCatalog) -> None:
    table = made(catalog, values(40_000), files=4, row_group=1_000)
    [scan] = group_scans([group_of(table, 4)], ZOrderOptions())
    assert scan.row_groups is None
    [scan] = group_scans([group_of(table, 400)], ZOrderOptions(sample_rows=100))
    assert scan.row_groups is None
