"""The page of the benchmark of many partitions and files, from made-up figures."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog

from benchmarks.cost import Cost
from benchmarks.layouts import BIN_PACK, ICEBERG_ZORDER, OURS
from benchmarks.scale import SHARED_CATALOG, Run, many_files, page
from iceberg_zorder.pyiceberg import plan_rewrite


def test_ratios_are_of_medians() -> None:
    def runs(layout: str, *seconds: float) -> list[Run]:
        return [Run("s", layout, 7, 10, 20_000, Cost(2 * each, each, 1, 1, 0, 3_000_000)) for each in seconds]

    found = [*runs(OURS, 1, 2, 90), *runs(BIN_PACK, 4, 4, 4), *runs(ICEBERG_ZORDER, 7, 8, 9)]
    text = page({"machine": "a machine", "runs": [asdict(run) for run in found], "plan": None})
    assert "| s | ours | 7 | 10 | 4.0 | 0.50x | 2.0 | 0.50x | 0.25x | 0.0 | 2.0 | 3 |" in text
    assert "| s | Iceberg bin-pack | 7 | 10 | 8.0 |  | 4.0 |  | 0.50x | 0.0 | 2.0 | 3 |" in text


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
