"""Option ``rewrite-old-specs``: files of another partition spec than that of new files are rewritten, once."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from iceberg_zorder.pyiceberg import plan_rewrite, rewrite_data_files
from iceberg_zorder.pyiceberg.plan.rewrite_plan import RewritePlan
from tests.pyiceberg.committing import ids, make_table, rows_of
from tests.pyiceberg.lake import data_files
from tests.pyiceberg.plan.selection.test_gains import LONGS

IN_ORDER = {"target-file-size-bytes": "100000000", "min-file-size-bytes": "0"}
"""Options by which no file is of a wrong size."""
OLD = {**IN_ORDER, "rewrite-old-specs": "true"}


def evolved(catalog: SqlCatalog, version: int = 2) -> Table:
    """A table of two files without partitions, and of one of the partition spec that it has got since."""
    table = make_table(catalog, rows_of([1, 2]), rows_of([3, 4], ["a", "b"]), version=version)
    table.update_spec().add_identity("p").commit()
    table.append(rows_of([5, 6]))
    return table


def specs(table: Table) -> Counter[int]:
    return Counter(file.spec_id for file in data_files(table.refresh()))


def reasons(plan: RewritePlan) -> list[tuple[int, str]]:
    return [(len(group.tasks), group.reason) for group in plan.groups]


@pytest.mark.parametrize(("version", "how"), [(1, {}), (2, {"max-scan-ratio": "1000"})])
def test_what_is_of_an_old_spec_is_rewritten_once(catalog: SqlCatalog, version: int, how: dict[str, str]) -> None:
    table = evolved(catalog, version)
    assert plan_rewrite(table, "id", options={**IN_ORDER, **how}).groups == ()
    plan = plan_rewrite(table, "id", options={**OLD, **how})
    assert reasons(plan) == [(2, "2 files of partition spec 0; new files are of 1")]
    result = rewrite_data_files(table, "id", options={**OLD, **how})
    # One by one they were boxes as small as can be: nothing is gained but the partitions.
    assert (result.rewritten_data_files_count, result.added_data_files_count) == (2, 2)
    assert specs(table) == {1: 3}
    assert ids(table) == [1, 2, 3, 4, 5, 6]
    again = rewrite_data_files(table, "id", options={**OLD, **how})
    assert again.rewritten_data_files_count == 0
    assert again.message is not None
    assert again.message.startswith("Nothing to rewrite in lake.db.t: ")


def test_the_spec_that_is_written_need_not_be_the_newest(catalog: SqlCatalog) -> None:
    table = evolved(catalog)
    to_first = {**OLD, "output-spec-id": "0"}
    plan = plan_rewrite(table, "id", options=to_first)
    assert reasons(plan) == [(1, "1 file of partition spec 1; new files are of 0")]
    assert rewrite_data_files(table, "id", options=to_first).rewritten_data_files_count == 1
    assert specs(table) == {0: 3}
    assert plan_rewrite(table, "id", options=to_first).groups == ()
    assert reasons(plan_rewrite(table, "id", options=OLD))[0][0] == 3


def test_gains_of_other_specs_are_not_guessed(catalog: SqlCatalog) -> None:
    """The partitions would cut them first: twenty files of the right size for each one that there is."""
    rng = np.random.default_rng(5)
    table = catalog.create_table("db.moved", pa.schema([("p", pa.int64()), *LONGS]))
    for _ in range(12):
        rows = {
            "p": rng.integers(0, 20, 2_000),
            "a": rng.integers(0, 1 << 40, 2_000),
            "b": rng.integers(0, 1 << 40, 2_000),
        }
        table.append(pa.table(rows, table.schema().as_arrow()))
    table.update_spec().add_identity("p").commit()
    sizes = {"target-file-size-bytes": str(data_files(table)[0].file_size_in_bytes), "compression-factor": "1"}
    plan = plan_rewrite(table, "a, b", options=sizes)
    assert plan.groups == ()
    (left,) = plan.left
    assert left.reason == (
        "of another partition spec than new files, so the gain of a rewrite is unknown: set rewrite-old-specs to rewrite them"
    )
    assert len(plan_rewrite(table, "a, b", options={**sizes, "rewrite-old-specs": "true"}).groups) == 1
