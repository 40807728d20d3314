"""What random tables do not come to in appends: other Arrow types, readers that fail, catalogs that do not answer."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table

from iceberg_zorder.errors import InvalidInputError, RewriteFailedError, UnknownOutcomeError
from iceberg_zorder.pyiceberg import append
from iceberg_zorder.pyiceberg.compat import submit
from iceberg_zorder.sort.threads import StoppedError
from tests.pyiceberg.committing import on_disk


def rows(count: int, start: int = 0) -> pa.Table:
    numbers = np.arange(start, start + count)
    return pa.table({"a": numbers, "b": numbers * 7919 % 1000, "s": [f"text {i % 91}" for i in numbers.tolist()]})


@pytest.fixture
def table(catalog: SqlCatalog) -> Table:
    made = catalog.create_table("db.t", rows(1).schema)
    made.append(rows(1000))
    return made


def data_files(table: Table) -> set[str]:
    return {path for path in on_disk(table) if path.endswith(".parquet")}


def test_ids_of_other_tables_mean_nothing(catalog: SqlCatalog) -> None:
    element = pa.field("element", pa.float32(), metadata={b"PARQUET:field_id": b"77"})
    given = pa.table(
        {
            "b": pa.array([1, 2]),
            "v": pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(element, 2)),
            "a": pa.array(["x", None], pa.string_view()),
        },
        pa.schema(
            [
                pa.field("b", pa.int64(), metadata={b"PARQUET:field_id": b"2"}),
                pa.field("v", pa.list_(element, 2), metadata={b"PARQUET:field_id": b"9"}),
                pa.field("a", pa.string_view(), metadata={b"PARQUET:field_id": b"1"}),
            ]
        ),
    )
    schema = pa.schema([("a", pa.string()), ("b", pa.int64()), ("v", pa.list_(pa.float32()))])
    table = catalog.create_table("db.ids", schema)
    append(table, given, ["a", "b"], file_bytes=1)
    assert table.scan().to_arrow().sort_by("b").to_pylist() == [
        {"a": "x", "b": 1, "v": [1.0, 2.0]},
        {"a": None, "b": 2, "v": [3.0, 4.0]},
    ]


def test_empty_batches_and_decimals_of_a_stream(catalog: SqlCatalog) -> None:
    table = catalog.create_table("db.d", pa.schema([("a", pa.int64()), ("d", pa.decimal128(20, 2))]))
    with table.update_spec() as change:
        change.add_field("d", "bucket[4]")
    given = pa.table({"a": range(500), "d": pa.array(range(500), pa.decimal128(20, 2))})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, given.schema) as writer:
        for batch in (given.slice(0, 0), given.slice(0, 3), given.slice(3)):
            writer.write_table(batch)
    reader = pa.ipc.open_stream(sink.getvalue())
    empty = pa.RecordBatchReader.from_batches(given.schema, [*given.slice(0, 0).to_batches(), *reader])
    assert append(table, empty, ["a"], file_bytes=300).added_records_count == 500
    assert table.scan().count() == 500


def test_a_value_is_as_large_as_the_memory_limit_allows(table: Table) -> None:
    large = rows(3).set_column(2, "s", pa.array(["x" * (12 << 20), "y", "z"]))
    append(table, large, ["a", "b"], options={"memory-limit-bytes": 16 << 20})
    with pytest.raises(RewriteFailedError, match=r"raise it to 41,943,048"):
        append(
            table,
            large.set_column(2, "s", pa.array(["x" * (20 << 20), "y", "z"])),
            ["a", "b"],
            options={"memory-limit-bytes": 16 << 20},
        )
    assert table.scan().count() == 1003


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (rows(3).to_batches()[0], "must be a pyarrow.Table"),
        (rows(3).set_column(1, "b", pa.array([1, 2, 3], pa.duration("s"))), "because of the schema of the rows"),
        (rows(3).set_column(1, "b", pa.array(["1", "2", "3"])), "because of the schema of the rows"),
    ],
)
def test_refusals_say_why_and_print_nothing(
    table: Table, capsys: pytest.CaptureFixture[str], given: Any, why: str
) -> None:
    before = data_files(table)
    with pytest.raises(InvalidInputError, match=why):
        append(table, given, ["a", "b"])
    assert capsys.readouterr().out == ""
    assert data_files(table) == before


@pytest.mark.parametrize("spilled", [False, True])
def test_a_reader_that_fails_leaves_nothing(table: Table, tmp_path: Path, spilled: bool) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield from rows(300_000 if spilled else 10).to_batches()
        raise OSError("the source is gone")

    before = data_files(table)
    reader = pa.RecordBatchReader.from_batches(rows(1).schema, batches())
    options: dict[str, str | int] = {
        "memory-limit-bytes": 16 << 20,
        "spill-directory": str(tmp_path / "new" / "spill"),
    }
    with pytest.raises(RewriteFailedError, match="the source is gone"):
        append(table, reader, ["a", "b"], options=options)
    assert data_files(table) == before
    assert not [*(tmp_path / "new" / "spill").iterdir()]


def test_an_append_that_is_stopped_writes_no_more(table: Table) -> None:
    before, begun = data_files(table), []

    def interrupt(stage: str, _rows: int, _size: int) -> None:
        if stage == "write":
            begun.append(stage)
            raise KeyboardInterrupt

    with pytest.raises((KeyboardInterrupt, StoppedError)):
        append(table, rows(20_000), ["a", "b"], file_bytes=2_000, progress=interrupt)
    assert len(begun) <= 2
    assert data_files(table) == before


def test_a_lost_answer_whose_snapshot_is_gone_doubles_nothing(catalog: SqlCatalog, table: Table) -> None:
    def lost(given: Table, snapshot: Any, branch: str) -> None:
        submit(given, snapshot, branch)
        other = catalog.load_table("db.t")
        other.append(rows(1, 10**6))
        other.maintenance.expire_snapshots().by_id(snapshot.snapshot_id).commit()
        raise CommitFailedException("the answer was lost")

    with (
        patch("iceberg_zorder.pyiceberg.commit.replacement.submit", lost),
        pytest.raises(UnknownOutcomeError, match="already has new data file"),
    ):
        append(table, rows(500, 5000), ["a", "b"])
    assert table.refresh().scan().count() == 1501
    assert table.scan().to_arrow().num_rows == 1501


def test_a_refused_commit_leaves_nothing(table: Table) -> None:
    before = data_files(table)
    refused = CommitFailedException("somebody was faster")
    with (
        patch("iceberg_zorder.pyiceberg.commit.replacement.submit", side_effect=refused),
        pytest.raises(RewriteFailedError, match="Cannot append to lake.db.t, because somebody was faster"),
    ):
        append(table, rows(500), ["a", "b"], snapshot_properties={"job": "5"})
    assert data_files(table) == before
    assert table.refresh().scan().count() == 1000
