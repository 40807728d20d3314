"""Values of many megabytes are rewritten within a multiple of the limit of memory, or refused by name."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from iceberg_zorder.errors import RewriteFailedError
from iceberg_zorder.pyiceberg import rewrite_data_files
from iceberg_zorder.pyiceberg.write.file_metrics import FileMetrics
from tests.pyiceberg.committing import BY_FILES
from tests.pyiceberg.lake import one_commit, rewrite

MOST_LIMITS = 6
"""What docs/reference/engines-and-limits.md promises, beside what the process has."""
TYPES: dict[str, pa.DataType] = {
    "text": pa.large_string(),
    "bytes": pa.large_binary(),
    "struct": pa.struct([("text", pa.large_string())]),
    "list": pa.large_list(pa.large_binary()),
}
CHILD = """
import logging, sys
from pathlib import Path
from pyiceberg.catalog.sql import SqlCatalog
from iceberg_zorder.pyiceberg import rewrite_data_files

def peak():
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024

table = SqlCatalog("lake", uri=sys.argv[1], warehouse=sys.argv[2]).load_table("db.t")
before = peak()
options = {"rewrite-all": True, "memory-limit-bytes": int(sys.argv[3]), "target-file-size-bytes": 10**10}
result = rewrite_data_files(table, "a", options=options)
print(peak() - before, result.added_data_files_count)
"""


def value(made_of: np.random.Generator, kind: str, size: int) -> Any:
    raw = made_of.bytes(size) if kind in ("bytes", "list") else made_of.bytes(size // 2).hex()
    return {"struct": {"text": raw}, "list": [raw[: size // 2], raw[size // 2 :]]}.get(kind, raw)


def made(catalog: SqlCatalog, size: int, files: int, rows: int, kinds: list[str]) -> Table:
    """A table of some files, each row of which has one value in one of its columns."""
    schema = pa.schema([("a", pa.int64()), *((kind, TYPES[kind]) for kind in kinds)])
    table = catalog.create_table("db.t", schema, properties=BY_FILES)
    made_of = np.random.default_rng(1)
    with one_commit(table) as commit:
        for file in range(files):
            columns: dict[str, Any] = {"a": [(file * rows + row) * 7 % 64 for row in range(rows)]}
            for place, kind in enumerate(kinds):
                mine = (value(made_of, kind, size) if row % len(kinds) == place else None for row in range(rows))
                columns[kind] = pa.array(list(mine), TYPES[kind])
            commit.append(pa.table(columns, schema))
    return table


def peak(tmp_path: Path, limit: int) -> int:
    """How much more memory a process takes that rewrites the table than one that has loaded it."""
    arguments = [f"sqlite:///{tmp_path}/catalog.db", f"file://{tmp_path}/warehouse", str(limit)]
    done = subprocess.run([sys.executable, "-c", CHILD, *arguments], capture_output=True, text=True, check=True)
    taken, files = map(int, done.stdout.split())
    assert files == 1
    return taken


def test_values_of_5_mb_stay_within_a_multiple_of_the_limit(catalog: SqlCatalog, tmp_path: Path) -> None:
    limit = 16 * 2**20
    made(catalog, 5_000_000, files=4, rows=3, kinds=["bytes", "struct"])
    assert peak(tmp_path, limit) <= MOST_LIMITS * limit


@pytest.mark.full
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(("size", "rows"), [(10**6, 100), (15_000_000, 15), (100_000_000, 1)])
def test_values_of_any_size_stay_within_a_multiple_of_the_limit(
    catalog: SqlCatalog, tmp_path: Path, kind: str, size: int, rows: int
) -> None:
    limit = 128 * 2**20
    made(catalog, size, files=8, rows=rows, kinds=[kind])
    assert peak(tmp_path, limit) <= MOST_LIMITS * limit


@pytest.mark.parametrize(
    ("kind", "size", "rows", "what"),
    [("text", 20_000_000, 1, "a value of 20,"), ("list", 6_000_000, 8, "pages of 48,")],
)
def test_what_the_limit_has_no_room_for_is_refused(
    catalog: SqlCatalog, kind: str, size: int, rows: int, what: str
) -> None:
    table = made(catalog, size, files=1, rows=rows, kinds=[kind])
    before = set(Path(table.location().removeprefix("file://")).rglob("*.parquet"))
    with pytest.raises(
        RewriteFailedError,
        match=rf"because column '{kind}' holds {what}[0-9,]+ bytes.*, which memory-limit-bytes of 16,777,216 cannot "
        r"hold: raise it to [0-9,]+\. Nothing was committed",
    ):
        rewrite_data_files(table, "a", options={"rewrite-all": True, "memory-limit-bytes": 16 * 2**20})
    assert set(Path(table.location().removeprefix("file://")).rglob("*.parquet")) == before


@pytest.mark.parametrize(
    ("files", "what"),
    [
        ([[500_000] * 199 + [500_002]], "pages of 100,001,056"),
        ([[6_000_000] * 8], "pages of 48,000,"),
        ([[17_777_777]], "a value of 17,777,"),
        ([[1, 35_000_000, 1]], "pages of 35,000,"),
        ([[1] * 7 + [25_000_001]], "a value of 25,000,"),
        ([[size] * 8 for size in range(6_000_000, 9_000_000, 600_000)], "pages of "),
    ],
)
def test_a_rewrite_with_the_advised_limit_succeeds(catalog: SqlCatalog, files: list[list[int]], what: str) -> None:
    schema, made_of = pa.schema([("a", pa.int64()), ("bytes", pa.large_binary())]), np.random.default_rng(1)
    table = catalog.create_table("db.t", schema, properties=BY_FILES)
    with one_commit(table) as commit:
        for sizes in files:
            values = pa.array([made_of.bytes(size) for size in sizes], pa.large_binary())
            commit.append(pa.table({"a": made_of.integers(0, 1000, len(sizes)), "bytes": values}, schema))
    options = {"rewrite-all": True, "target-file-size-bytes": 10**10}
    with pytest.raises(RewriteFailedError, match=f"holds {what}.*raise it to") as refused:
        rewrite_data_files(table, "a", options={**options, "memory-limit-bytes": 16 * 2**20})
    (advised,) = re.findall(r"raise it to ([0-9,]+)\.", str(refused.value))
    result = rewrite_data_files(table, "a", options={**options, "memory-limit-bytes": advised.replace(",", "")})
    assert (result.rewritten_data_files_count, result.failed_data_files_count) == (len(files), 0)
    rows = table.scan().to_arrow()["bytes"]
    assert sorted(map(len, rows.to_pylist())) == sorted(size for sizes in files for size in sizes)


def test_the_same_large_value_in_every_row_is_no_small_dictionary(catalog: SqlCatalog) -> None:
    schema = pa.schema([("a", pa.int64()), ("text", pa.large_string())])
    table = catalog.create_table("db.t", schema, properties=BY_FILES)
    table.append(pa.table({"a": range(20), "text": pa.array(["x" * 9_000_000] * 20, pa.large_string())}, schema))
    done = rewrite(table, "a", limit=8 * 2**20)
    assert [len(row["text"]) for row in done.rows()] == [9_000_000] * 20
    # Each is a row group of its own, which would be 180 MB in one.
    assert done.budget.peak <= 20 * 2**20


@pytest.mark.parametrize("mode", ["truncate(16)", "counts", "full"])
def test_bounds_are_cut_when_a_row_group_is_written(
    catalog: SqlCatalog, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    table = made(catalog, 1_500_000, files=1, rows=6, kinds=["bytes", "struct"])
    table.transaction().set_properties({"write.metadata.metrics.default": mode}).commit_transaction()
    held: list[int] = []
    see = FileMetrics.see

    def noted(self: FileMetrics, batches: list[pa.RecordBatch]) -> None:
        see(self, batches)
        held.append(sum(len(each) for bounds in self._bounds.values() for each in bounds))

    monkeypatch.setattr(FileMetrics, "see", noted)
    (file,) = rewrite(table, "a", limit=8_000_000).files
    assert len(held) > 1
    assert max(held) <= {"truncate(16)": 4 * 17, "counts": 0, "full": 4 * 1_500_000}[mode]
    of_file = {table.schema().find_column_name(each): count for each, count in file.null_value_counts.items()}
    assert of_file == {"a": 0, "bytes": 3, "struct.text": 3}
    lengths = sorted(len(each) for bounds in (file.lower_bounds, file.upper_bounds) for each in bounds.values())
    assert lengths == {"truncate(16)": [8] * 2 + [16] * 4, "counts": [], "full": [8] * 2 + [1_500_000] * 4}[mode]
