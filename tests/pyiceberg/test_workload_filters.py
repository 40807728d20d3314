"""What the filters of a workload leave of data files, all at once, against each by itself."""

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from iceberg_zorder.pyiceberg.listing import requested_workload
from iceberg_zorder.pyiceberg.listing.requested_workload import RequestedWorkload
from iceberg_zorder.workload.workload import Query
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
    alone = [[listing.may_match(file) for file in files] for listing in asked.listings]
    assert asked.may_match(files).tolist() == alone
