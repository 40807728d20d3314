"""What the filters of a workload leave of data files, all at once, against each by itself."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from iceberg_zorder.pyiceberg import report, rewrite_data_files
from iceberg_zorder.pyiceberg.files import joined_file
from iceberg_zorder.pyiceberg.listing import requested_workload
from iceberg_zorder.pyiceberg.listing.requested_workload import RequestedWorkload
from iceberg_zorder.workload.workload import Query
from tests.pyiceberg.committing import commit_files, files_of, ids, make_catalog, make_table, new_file, rows_of
from tests.pyiceberg.lake import data_files

LEAST, MOST = -(1 << 63), (1 << 63) - 1


@pytest.mark.parametrize("at_once", [1, 50])
def test_many_filters_leave_what_each_of_them_leaves(
    catalog: SqlCatalog, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(requested_workload, "_MOST_AT_ONCE", at_once)
    table = catalog.create_table("db.t", pa.schema([("p", pa.int64()), ("a", pa.int64())]))
    table.update_spec().add_identity("p").commit()
    for low in (LEAST, -5, 0, 7, MOST - 9):
        rows = {"p": np.arange(10) % 3, "a": [*range(low, low + 9), None]}
        table.append(pa.table(rows))
    ends = [LEAST, LEAST + 1, -1, 0, 7, MOST - 1, MOST]
    texts = [f"a {operator} {end}" for operator in ("=", "<", "<=", ">", ">=", "<>") for end in ends]
    texts += [f"{text} AND p = {number % 4}" for number, text in enumerate(texts)]
    texts += ["TRUE", "a IS NULL", "p = 1", "a > 7 AND a < 7", "a IN (0, 8) OR p = 2"]
    files = data_files(table)
    asked = RequestedWorkload.of_queries(table, [Query(text, 1.0) for text in texts])
    alone = [[each.may_match(file) for file in files] for each in asked.filters]
    assert asked.may_match(files).tolist() == alone


def test_bounds_that_are_no_values_rule_nothing_out(tmp_path: Path) -> None:
    catalog = make_catalog(tmp_path, SqlCatalog)
    table = make_table(catalog, rows_of([1, 2, 3]))
    file = new_file(table, rows_of([4, 5, 6], "b"))
    for kept in (file.lower_bounds, file.upper_bounds):
        kept.update({1: b"\x01\x02\x03", 2: b"M\xc0A"})
    commit_files(table, file)
    queries = [{"filter": "id = 5", "weight": 1}, {"filter": "p = 'b'", "weight": 1}, {"filter": "id = 9", "weight": 1}]
    found = report(table, ["id"], workload={"version": 1, "queries": queries}).workload
    assert found is not None
    assert found.average_file_count == 1.0, "of the file, nothing is ruled out"
    assert [each.may_match(file) for each in RequestedWorkload.of_queries(table, [Query("id = 5", 1.0)]).filters]
    together = joined_file(files_of(table), table.schema().fields)
    assert (together.lower_bounds, together.upper_bounds) == ({}, {})
    asked = {"rewrite-all": "true", "workload": json.dumps({"version": 1, "queries": queries})}
    assert rewrite_data_files(table, ["id", "p"], options=asked, where="id >= 5").rewritten_data_files_count == 1
    assert ids(table) == [1, 2, 3, 4, 5, 6]
    catalog.close()
