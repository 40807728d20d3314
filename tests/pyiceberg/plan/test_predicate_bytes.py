"""Shares of a scan are shares of bytes, not of files."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from iceberg_zorder.pyiceberg import plan_rewrite, sample
from tests.pyiceberg.lake import data_files


def test_a_predicate_reads_the_bytes_of_its_files(catalog: SqlCatalog) -> None:
    table = catalog.create_table("db.t", pa.schema([("a", pa.int64())]))
    table.append(pa.table({"a": range(20_000)}))
    table.append(pa.table({"a": range(100_000, 100_100)}))
    large, small = (file.file_size_in_bytes for file in data_files(table))
    assert large > 10 * small
    plan = sample(table, plan_rewrite(table, ["a"], options={"rewrite-all": True}), predicates=["a >= 100000", "a < 5"])
    shares = [small / (large + small), large / (large + small)]
    assert [each.before for each in plan.predicates] == pytest.approx(shares)
