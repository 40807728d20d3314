"""A rewrite holds no more rows than its budget, spills the rest, and leaves nothing behind."""

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
from iceberg_zorder.sort.spill import Spill
from tests.disks import files_of_at_most
from tests.pyiceberg.committing import BY_FILES
from tests.pyiceberg.lake import data_files, rewrite, table_of

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


def made(catalog: SqlCatalog, of: pa.Table) -> Table:
    return table_of(catalog, of, 4, properties=BY_FILES)


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


@pytest.mark.parametrize(("by", "limit"), [("a", 1_000_000), ("few DESC, zorder(a)", 4_000_000)])
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


class BrokenError(Exception):
    pass


@pytest.mark.parametrize(
    ("error", "stage"), [(BrokenError, "read"), (KeyboardInterrupt, "write"), (BrokenError, "close")]
)
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


def test_a_disk_that_is_full_is_named(catalog: SqlCatalog, tmp_path: Path) -> None:
    table = made(catalog, rows(50_000))
    home = tmp_path / "spill"
    home.mkdir()
    before = set(tmp_path.rglob("*.parquet"))
    why = rf"^Cannot spill [0-9,]+ bytes of rows to {home}, because .*; it has [0-9,]+ bytes left: name a"
    with files_of_at_most(200_000), pytest.raises(RewriteFailedError, match=why):
        rewrite(table, "a", limit=1_000_000, spill_directory=str(home))
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
    monkeypatch.setattr("iceberg_zorder.rewrite.options.SMALLEST_MEMORY_LIMIT", 1_000_000)
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
    table.transaction().set_properties({"write.parquet.row-group-limit": "30000"}).commit_transaction()
    done = rewrite(table, "a")
    footer = pq.ParquetFile(done.paths[0]).metadata
    assert [footer.row_group(place).num_rows for place in range(footer.num_row_groups)] == [30_000] * 3 + [10_000]
    table.transaction().set_properties({"write.parquet.row-group-size-bytes": "500000"}).commit_transaction()
    footer = pq.ParquetFile(rewrite(table, "a").paths[0]).metadata
    sizes = [
        sum(footer.row_group(g).column(c).total_compressed_size for c in range(footer.num_columns))
        for g in range(footer.num_row_groups - 1)
    ]
    assert all(300_000 < size < 700_000 for size in sizes)
