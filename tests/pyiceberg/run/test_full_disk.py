"""Disks that are full, and directories that nothing can be written to."""

import re
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import PyArrowFile
from pyiceberg.table import Table

from iceberg_zorder.errors import RewriteFailedError, UnknownOutcomeError
from iceberg_zorder.pyiceberg import rewrite_data_files
from iceberg_zorder.pyiceberg.plan.rewrite_spec import remember
from tests.disks import files_of_at_most

ALL = {"rewrite-all": True}


def make(catalog: SqlCatalog) -> Table:
    properties = {"commit.retry.num-retries": "1", "commit.retry.min-wait-ms": "1"}
    table = catalog.create_table("db.t", pa.schema([("a", pa.int64())]), properties=properties)
    table.append(pa.table({"a": range(1000)}))
    return table


def test_where_nothing_can_be_written_nothing_is_begun(catalog: SqlCatalog, tmp_path: Path) -> None:
    table = make(catalog)
    (tmp_path / "file").write_text("no directory")
    table.transaction().set_properties({"write.data.path": f"file://{tmp_path}/file/data"}).commit_transaction()
    told: list[str] = []
    where = re.escape(f"file://{tmp_path}/file/data: [Errno 20]")
    with pytest.raises(
        RewriteFailedError, match=f"^Cannot rewrite lake.db.t, because no file can be written to {where}"
    ):
        rewrite_data_files(table, ["a"], options=ALL, progress=lambda stage, *_: told.append(stage))
    assert told == []


def test_what_is_tried_leaves_nothing_behind(catalog: SqlCatalog, tmp_path: Path) -> None:
    table = make(catalog)
    there = set(tmp_path.rglob("*"))
    with files_of_at_most(4000), pytest.raises(RewriteFailedError, match=r"\[Errno 27\].* Nothing was rewritten\.$"):
        rewrite_data_files(table, ["a"], options=ALL)
    assert set(tmp_path.rglob("*")) == there
    rewrite_data_files(table, ["a"], options=ALL)
    assert not list(tmp_path.rglob("*.tried*"))


def test_new_files_need_no_right_to_list(catalog: SqlCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    table, exists = make(catalog), PyArrowFile.exists

    def forbidden(file: PyArrowFile) -> bool:
        if file.location.endswith(".parquet"):
            raise PermissionError(file.location)
        return exists(file)

    monkeypatch.setattr(PyArrowFile, "exists", forbidden)
    assert rewrite_data_files(table, ["a"], options=ALL).added_data_files_count > 0


def test_properties_that_no_metadata_file_can_be_written_for_are_not_set(catalog: SqlCatalog) -> None:
    table = make(catalog)
    with files_of_at_most(1000), pytest.raises(RewriteFailedError) as raised:
        remember(table, "a", {})
    assert not isinstance(raised.value, UnknownOutcomeError)
    assert str(raised.value).startswith("Cannot set zorder.columns = 'a' on lake.db.t, because [Errno 27]")


def test_a_rewrite_that_no_metadata_file_can_be_written_for_is_undone(catalog: SqlCatalog, tmp_path: Path) -> None:
    table = make(catalog)
    files = set(tmp_path.rglob("*.parquet"))
    with table.transaction() as transaction:
        # So that the metadata file is larger than any other.
        transaction.set_properties({"long": "x" * 50_000})
    with files_of_at_most(40_000), pytest.raises(RewriteFailedError) as raised:
        rewrite_data_files(table, ["a"], options=ALL)
    assert not isinstance(raised.value, UnknownOutcomeError)
    assert "[Errno 27]" in str(raised.value)
    assert set(tmp_path.rglob("*.parquet")) == files
