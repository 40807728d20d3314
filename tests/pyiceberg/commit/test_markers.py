"""What marks on rewrites mean for a commit that is not answered: its place may come free again."""

from __future__ import annotations

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from iceberg_zorder.pyiceberg import plan_rewrite
from iceberg_zorder.pyiceberg.commit.snapshot import MARKERS, is_overtaken
from iceberg_zorder.pyiceberg.rewrite import execute_with
from iceberg_zorder.pyiceberg.run import RewriteRun
from tests.pyiceberg.committing import head_of


def rewrite_marked(table: Table, by: str) -> None:
    plan = plan_rewrite(table, by, options={"rewrite-all": "true", "target-file-size-bytes": "40000"})
    execute_with(RewriteRun(table, plan.spec, summary=MARKERS), plan)


def test_whether_the_number_of_a_commit_is_taken_for_good(catalog: SqlCatalog) -> None:
    table = catalog.create_table("db.t", pa.schema([("x", pa.int64()), ("y", pa.int64())]))
    table.append(pa.table({"x": [1], "y": [2]}))
    head = head_of(table)
    number = (head.sequence_number or 0) + 1
    mine = head.model_copy(update={"snapshot_id": 1, "parent_snapshot_id": head.snapshot_id, "sequence_number": number})
    assert not is_overtaken(mine, table.metadata)
    for _ in range(2):
        rewrite_marked(table, "x, y")
        assert not is_overtaken(mine, table.metadata)
    table.append(pa.table({"x": [1], "y": [2]}))
    assert is_overtaken(mine, table.metadata)
