"""The page of the benchmark of many partitions and files, from made-up figures."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog

from benchmarks.scale import SHARED_CATALOG, many_files
from iceberg_zorder.pyiceberg import plan_rewrite


def test_table_of_many_files_is_real(tmp_path: Path) -> None:
    properties = many_files(tmp_path / "many", partitions=3)
    table = SqlCatalog(SHARED_CATALOG, **properties).load_table("db.t")
    assert table.scan().count() == 3 * 50 * 100
    files = list(table.scan().plan_files())
    assert len({task.file.file_path for task in files}) == 150
    assert pq.read_metadata(files[0].file.file_path.removeprefix("file://")).num_rows == 100
    assert table.scan(row_filter="a = 7919").count() == 50
    plan = plan_rewrite(table, ["a", "b"], options={"rewrite-all": True})
    assert [len(group.tasks) for group in plan.groups] == [50, 50, 50]
