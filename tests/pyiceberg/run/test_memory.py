"""A rewrite holds no more rows than its budget, spills the rest, and leaves nothing behind."""

from __future__ import annotations

import random
import resource
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from iceberg_zorder.errors import InvalidInputError, RewriteFailedError
from iceberg_zorder.pyiceberg import rewrite_data_files
from iceberg_zorder.pyiceberg.read.reader import Reader
from iceberg_zorder.pyiceberg.write.file_writer import FileWriter
from iceberg_zorder.rows.buckets import parted
from iceberg_zorder.rows.codecs import Codecs
from iceberg_zorder.rows.memory_budget import MemoryBudget
from iceberg_zorder.rows.spill import Spill
from tests.pyiceberg.lake import data_files, one_commit, rewrite

SCHEMA = pa.schema([("a", pa.int64()), ("few", pa.string()), ("text", pa.string()), ("id", pa.int64())])


def rows(count: int) -> pa.Table:
    made_of = np.random.default_rng(1)
    return pa.table(
        {
            "a": made_of.integers(0, 1_000_000, count),
            "few": pa.array([None, "x", "yy", "zzz"]).take(pa.array(made_of.integers(0, 4, count))),
            "text": [f"{number:032x}" for number in made_of.integers(0, 2**60, count).tolist()],
            "id": np.arange(count),
        },
        SCHEMA,
    )


def made(catalog: SqlCatalog, of: pa.Table, files: int = 4) -> Table:
    table = catalog.create_table("db.t", SCHEMA)
    with one_commit(table) as commit:
        for start in range(0, of.num_rows, -(-of.num_rows // files)):
            commit.append(of.slice(start, -(-of.num_rows // files)))
    return table


def target(table: Table, files: int) -> dict[str, str]:
    return {"target-file-size-bytes": str(sum(file.file_size_in_bytes for file in data_files(table)) // files)}


def read(paths: list[str]) -> pa.Table:
    return pa.concat_tables([pq.read_table(path) for path in paths])


@pytest.fixture
def spills(monkeypatch: pytest.MonkeyPatch) -> list[Spill]:
    """Every spill that is made."""
    found: list[Spill] = []
    original = Spill.__init__

    def recorded(self: Spill, *arguments: Any) -> None:
        original(self, *arguments)
        found.append(self)

    monkeypatch.setattr(Spill, "__init__", recorded)
    return found


@pytest.mark.parametrize("by", ["a", "few DESC, zorder(a)", "text DESC NULLS FIRST, zorder(a)"])
@pytest.mark.parametrize("limit", [4_000_000, 1_000_000])
def test_a_table_larger_than_the_limit(
    catalog: SqlCatalog, tmp_path: Path, spills: list[Spill], by: str, limit: int
) -> None:
    of = rows(200_000)
    table = made(catalog, of)
    home = tmp_path / "spill"
    home.mkdir()
    done = rewrite(table, by, target(table, 4), limit=limit, spill_directory=str(home))

    assert read(done.paths).sort_by("id").equals(of.cast(read(done.paths).schema))
    assert sum(spill.flushes for spill in spills) > 4
    # Every part of a column of strings has one offset more than rows.
    assert done.budget.peak <= limit * 1.01
    assert done.budget.used == 0
    assert list(home.iterdir()) == []
    for path in done.paths if "DESC" in by else []:
        key = [value for value in pq.read_table(path)[by.split()[0]].to_pylist() if value is not None]
        assert key == sorted(key, reverse=True)
    if by == "a":
        spans = [pc.min_max(pq.read_table(path)["a"]).as_py() for path in done.paths]
        ordered = [end for span in sorted(spans, key=lambda span: span["min"]) for end in (span["min"], span["max"])]
        assert ordered == sorted(ordered)


def test_rows_are_in_order_though_ranges_of_them_are_sorted(catalog: SqlCatalog, spills: list[Spill]) -> None:
    of = rows(100_000)
    of = of.set_column(0, "a", pc.cast(pc.divide(of["a"], 1000), pa.int64()))
    table = made(catalog, of)
    # Every value has a bucket of its own, so that the order of the indexes is that of the values.
    done = rewrite(table, "a", target(table, 2), limit=2_000_000)
    assert [spill.ranges for spill in spills] == [spills[0].ranges]
    assert spills[0].ranges > 1
    assert spills[0].flushes
    for path in done.paths:
        values = pq.read_table(path)["a"].to_pylist()
        assert values == sorted(values)
    assert read(done.paths).sort_by("id").equals(of.cast(read(done.paths).schema))


@pytest.mark.parametrize("limit", [100_000_000, 1_000_000])
def test_a_rewrite_gives_the_same_files_again(catalog: SqlCatalog, limit: int) -> None:
    of = rows(60_000).set_column(0, "a", pa.array([7, 8, 9] * 20_000))
    table = made(catalog, of, files=7)
    first, second = (rewrite(table, "a", target(table, 3), limit=limit, threads=3) for _ in range(2))
    assert [pq.read_table(path) for path in first.paths] == [pq.read_table(path) for path in second.paths]


def test_what_fits_is_not_spilled(catalog: SqlCatalog, spills: list[Spill]) -> None:
    table = made(catalog, rows(5000))
    rewrite(table, "a")
    assert [spill.flushes for spill in spills] == [0]


def test_rows_of_one_value_are_streamed(catalog: SqlCatalog, spills: list[Spill]) -> None:
    of = rows(100_000).set_column(0, "a", pa.array([7] * 100_000))
    table = made(catalog, of)
    done = rewrite(table, "a", limit=1_000_000)
    assert len(done.files) == 1
    assert read(done.paths).sort_by("id").equals(of.cast(read(done.paths).schema))
    assert pq.ParquetFile(done.paths[0]).metadata.num_row_groups > 1
    # One spill holds the rows, and none was made to split them.
    assert len(spills) == 1


def test_one_value_among_others_is_split_off(catalog: SqlCatalog, spills: list[Spill]) -> None:
    of = rows(100_000)
    of = of.set_column(0, "a", pa.array([7] * 99_000 + list(range(-500, 500))))
    table = made(catalog, of)
    done = rewrite(table, "a", {"cuts": "even"}, limit=1_000_000)
    assert read(done.paths).sort_by("id").equals(of.cast(read(done.paths).schema))
    assert len(spills) > 1


def test_dictionaries_that_grow_too_large_become_plain(catalog: SqlCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("iceberg_zorder.rows.codecs._LARGEST_DICTIONARY", 2)
    of = rows(20_000)
    of = pa.concat_tables([of.filter(pc.equal(of["few"], "x")), of.filter(pc.not_equal(of["few"], "x"))])
    table = made(catalog, of)
    for limit in (10_000_000, 500_000):
        done = rewrite(table, "zorder(few, a)", target(table, 2), limit=limit)
        assert read(done.paths).sort_by("id").equals(of.cast(read(done.paths).schema).sort_by("id"))


class BrokenError(Exception):
    pass


@pytest.mark.parametrize("error", [BrokenError, KeyboardInterrupt])
@pytest.mark.parametrize("stage", ["read", "write", "close"])
def test_a_failure_leaves_neither_spill_nor_files(
    catalog: SqlCatalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException], stage: str
) -> None:
    table = made(catalog, rows(50_000))
    home = tmp_path / "spill"
    home.mkdir()
    before = set(tmp_path.rglob("*.parquet"))
    calls = iter(range(100))

    if stage == "read":
        reading = Reader.rows

        def broken_rows(self: Reader, *arguments: Any) -> Iterator[Any]:
            if next(calls) == 5:
                raise error
            yield from reading(self, *arguments)

        monkeypatch.setattr(Reader, "rows", broken_rows)
    else:
        writing = getattr(FileWriter, stage)

        def broken(self: FileWriter, *arguments: Any) -> None:
            writing(self, *arguments)
            if next(calls) == 2:
                raise error

        monkeypatch.setattr(FileWriter, stage, broken)
    with pytest.raises(error):
        rewrite(table, "a", target(table, 8), limit=1_000_000, spill_directory=str(home))
    assert list(home.iterdir()) == []
    assert set(tmp_path.rglob("*.parquet")) == before


def test_no_room_on_disk_is_told_beforehand(
    catalog: SqlCatalog, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    table = made(catalog, rows(50_000))
    size = sum(file.file_size_in_bytes for file in data_files(table))
    usage = shutil.disk_usage(tmp_path)
    # As much as the input has room for the rows, and half of it has not.
    for free, fits in ((2 * size, True), (size // 2, False)):
        monkeypatch.setattr(shutil, "disk_usage", lambda _, free=free: usage._replace(free=free))
        if fits:
            assert rewrite(table, "a", limit=1_000_000, spill_directory=str(tmp_path)).budget.used == 0
            continue
        with pytest.raises(
            RewriteFailedError,
            match=rf"^Cannot spill about [0-9,]+ bytes of rows, because {tmp_path} has {free:,} bytes left: name a "
            "directory on a larger disk with the option spill-directory, or raise memory-limit-bytes$",
        ):
            rewrite(table, "a", limit=1_000_000, spill_directory=str(tmp_path))


def test_a_disk_that_is_full_is_named(catalog: SqlCatalog, tmp_path: Path) -> None:
    table = made(catalog, rows(50_000))
    home = tmp_path / "spill"
    home.mkdir()
    before = set(tmp_path.rglob("*.parquet"))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    # The kernel refuses to let a file grow beyond, as a full disk does.
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, limits[1]))
    try:
        with pytest.raises(
            RewriteFailedError,
            match=rf"^Cannot spill [0-9,]+ bytes of rows to {home}, because .*; it has [0-9,]+ bytes left: name a",
        ):
            rewrite(table, "a", limit=1_000_000, spill_directory=str(home))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(home.iterdir()) == []
    assert set(tmp_path.rglob("*.parquet")) == before


def test_the_option_names_the_directory(
    catalog: SqlCatalog, tmp_path: Path, spills: list[Spill], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = made(catalog, rows(50_000))
    home = tmp_path / "made" / "for this"
    seen: list[Path] = []
    write = Spill._write

    def noted(self: Spill, *arguments: Any) -> None:
        write(self, *arguments)
        seen.append(Path(self.home or ""))

    monkeypatch.setattr(Spill, "_write", noted)
    # The smallest limit is too large for so few rows.
    monkeypatch.setattr("iceberg_zorder.request.rewrite_options.SMALLEST_MEMORY_LIMIT", 1_000_000)
    options: dict[str, bool | int | float | str] = {
        "rewrite-all": True,
        "memory-limit-bytes": 1_000_000,
        "spill-directory": str(home),
    }
    rewrite_data_files(table, "few DESC, zorder(a)", options=options)
    assert seen
    assert all(home in path.parents for path in seen)
    # Rows too many for the memory are split in the same place.
    assert len(spills) > 1
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("name", ["", " ", "{tmp}/file/inside", "/proc/no/such"])
def test_a_directory_that_cannot_be_used(catalog: SqlCatalog, tmp_path: Path, name: str) -> None:
    table = made(catalog, rows(100))
    (tmp_path / "file").touch()
    stages: list[str] = []
    with pytest.raises(InvalidInputError, match="^Cannot set spill-directory to '.*', because"):
        rewrite_data_files(
            table,
            ["a"],
            options={"spill-directory": name.format(tmp=tmp_path)},
            progress=lambda stage, *_: stages.append(stage),
        )
    assert stages == []


def test_row_groups_follow_the_properties_and_the_limit(catalog: SqlCatalog) -> None:
    table = made(catalog, rows(100_000))
    with table.transaction() as change:
        change.set_properties({"write.parquet.row-group-limit": "30000"})
    done = rewrite(table, "a")
    footer = pq.ParquetFile(done.paths[0]).metadata
    assert [footer.row_group(place).num_rows for place in range(footer.num_row_groups)] == [30_000] * 3 + [10_000]
    with table.transaction() as change:
        change.set_properties({"write.parquet.row-group-size-bytes": "500000"})
    footer = pq.ParquetFile(rewrite(table, "a").paths[0]).metadata
    sizes = [
        sum(footer.row_group(g).column(c).total_compressed_size for c in range(footer.num_columns))
        for g in range(footer.num_row_groups - 1)
    ]
    assert all(300_000 < size < 700_000 for size in sizes)


def test_files_roll_only_where_there_are_fewer_than_planned(catalog: SqlCatalog) -> None:
    of = rows(100_000).set_column(0, "a", pa.array([7] * 100_000))
    table = made(catalog, of)
    with table.transaction() as change:
        change.set_properties({"write.parquet.row-group-limit": "5000"})
    done = rewrite(table, "a", {**target(table, 4), "cuts": "even"})
    assert done.layouts[0].files == 1
    assert 2 <= len(done.files) <= 4


def test_the_budget_counts() -> None:
    budget = MemoryBudget(10)
    budget.take(8)
    assert budget.has_room_for(2)
    assert not budget.has_room_for(3)
    budget.give_back(8)
    assert (budget.used, budget.peak) == (0, 8)


def numbered(codecs: Codecs, schema: pa.Schema, rows: int) -> list[pa.Array]:
    return codecs.encoded(pa.RecordBatch.from_arrays([pa.array(range(rows))], schema=schema))


def test_what_is_added_and_what_is_read(tmp_path: Path) -> None:
    schema = pa.schema([("a", pa.int64())])
    codecs = Codecs(schema)
    # Two bytes of a number below 500, and eight of its index.
    budget = MemoryBudget(10 * 1000)
    made_of = random.Random(2)
    with Spill(budget, codecs, tmp_path) as spill:
        for _ in range(10):
            numbers = np.array([0 if made_of.random() < 0.97 else 1 for _ in range(500)])
            spill.add(parted(numbered(codecs, schema, 500), np.arange(500), numbers))
        assert spill.bucket(0).is_spilled
        assert spill.bucket(0).rows + spill.bucket(1).rows == 5000
        assert budget.peak <= 10 * 1000
        read_back = [
            row
            for number in (0, 1)
            for columns, _ in spill.read(spill.bucket(number))
            for row in columns[0].to_pylist()
        ]
        assert sorted(read_back) == sorted(list(range(500)) * 10)
    assert budget.used == 0
    assert list(tmp_path.iterdir()) == []


def test_room_for_one_bucket_is_made_by_the_largest_others(tmp_path: Path) -> None:
    schema = pa.schema([("a", pa.int64())])
    codecs = Codecs(schema)
    budget = MemoryBudget(100_000)
    with Spill(budget, codecs, tmp_path) as spill:
        for bucket, rows in ((0, 1000), (1, 4000), (2, 2000)):
            spill.add(parted(numbered(codecs, schema, rows), np.arange(rows), np.full(rows, bucket)))
        spill.complete()
        assert not spill.make_room_for(0, lambda _: 100_000)
        assert spill.make_room_for(0, lambda _: 60_000)
        assert [spill.bucket(bucket).is_spilled for bucket in (0, 1, 2)] == [False, True, False]


def test_small_parts_of_a_bucket_are_joined(tmp_path: Path) -> None:
    schema = pa.schema([("few", pa.large_string())])
    codecs = Codecs(schema)
    added = []
    with Spill(MemoryBudget(10**9), codecs, tmp_path) as spill:
        for number in range(130):
            column = pa.array([f"{number % 7}", None], pa.large_string())
            added += column.to_pylist()
            batch = pa.RecordBatch.from_arrays([column.dictionary_encode() if number % 3 else column], ["few"])
            spill.add(parted(codecs.encoded(batch), np.arange(2), np.zeros(2, np.int64)))
        assert [part.rows.num_rows for part in spill.bucket(0).parts] == [128, 128, 2, 2]
        parts = [columns[0] for columns, _ in spill.read(spill.pop(0))]
    assert codecs.joined(0, parts).to_pylist() == added
