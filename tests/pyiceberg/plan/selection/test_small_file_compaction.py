"""Small files are gathered, each byte a few times, and never so that filters cost more."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from iceberg_zorder.pyiceberg import plan_rewrite, rewrite_data_files
from tests.pyiceberg.committing import BY_FILES
from tests.pyiceberg.lake import data_files, one_commit
from tests.pyiceberg.plan.selection.test_gains import LONGS, longs

KEEPS_NOTHING = {"write.metadata.metrics.default": "none"}
LARGE = {"write.target-file-size-bytes": str(128 * 1024**2)}
BY_SIZE = {"max-scan-ratio": "Infinity"}


def spread(rng: np.random.Generator, rows: int) -> pa.Table:
    return longs(a=rng.integers(0, 10**6, rows), b=rng.integers(0, 10**6, rows))


def size(table: Table) -> int:
    return sum(file.file_size_in_bytes for file in data_files(table.refresh()))


def rows(table: Table) -> list[tuple[Any, Any]]:
    return sorted(zip(*table.refresh().scan().to_arrow().to_pydict().values(), strict=True))


@pytest.mark.parametrize(
    ("properties", "options"),
    [
        ({}, BY_SIZE),
        ({}, {}),
        (LARGE, {}),
        (KEEPS_NOTHING, {}),
        (LARGE, BY_SIZE),
        (KEEPS_NOTHING, BY_SIZE),
    ],
)
def test_a_small_table_is_not_written_again_at_each_append(
    catalog: SqlCatalog, properties: Mapping[str, str], options: Mapping[str, str]
) -> None:
    rng = np.random.default_rng(0)
    table = catalog.create_table("db.t", LONGS, properties={**BY_FILES, **properties})
    table.append(spread(rng, 5_000))
    appended = written = 0
    for _ in range(40):
        before = size(table)
        table.append(spread(rng, 100))
        appended += size(table) - before
        written += rewrite_data_files(table, "a, b", options=options).rewritten_bytes_count
    assert written <= 6 * appended
    assert len(data_files(table)) <= 16
    found = rows(table)
    assert len(found) == 9_000
    rewrite_data_files(table, "a, b", options={"rewrite-all": True})
    assert rows(table) == found


@pytest.mark.parametrize("options", [{}, BY_SIZE])
def test_files_of_a_rewrite_wait_for_as_many_bytes(catalog: SqlCatalog, options: Mapping[str, str]) -> None:
    rng = np.random.default_rng(1)
    table = catalog.create_table("db.t", LONGS, properties=BY_FILES)
    for _ in range(8):
        table.append(spread(rng, 1_000))
    first = rewrite_data_files(table, "a, b", options=options)
    assert first.rewritten_data_files_count == 8
    own = {file.file_path for file in data_files(table.refresh())}
    for _ in range(6):
        table.append(spread(rng, 100))
    plan = plan_rewrite(table, "a, b", options=options)
    (group,) = plan.groups
    assert {*group.paths}.isdisjoint(own)
    assert len(group.tasks) == 6
    if options:
        assert {of.code for each in plan.left for of in each.reasons} == {"too-few-small"}
    # Larger than all that has come, and than all but one of it.
    table.append(spread(rng, 9_000))
    (group,) = plan_rewrite(table, "a, b", options=options).groups
    assert own <= {*group.paths}
    assert len(group.tasks) == len(own) + 7


@pytest.mark.parametrize(("properties", "files"), [({}, 10), (BY_FILES, 1)])
def test_small_files_are_gathered_where_what_is_opened_costs_more_than_what_is_read(
    catalog: SqlCatalog, properties: Mapping[str, str], files: int
) -> None:
    table = catalog.create_table("db.t", LONGS, properties={**LARGE, **properties})
    with one_commit(table) as commit:
        for start in range(0, 10_000, 1_000):
            commit.append(longs(a=[start, 10_000], b=[start, 10_000]))
    reasons = ["small"] if properties else []
    assert [of.code for group in plan_rewrite(table, "a, b").groups for of in group.reasons] == reasons
    for _ in range(2):
        rewrite_data_files(table, "a, b")
        assert len(data_files(table.refresh())) == files


def test_by_size_small_files_are_gathered_whatever_filters_read(catalog: SqlCatalog) -> None:
    table = catalog.create_table("db.t", LONGS)
    with one_commit(table) as commit:
        for row in range(40):
            commit.append(longs(a=[row], b=[row]))
    with_gain = rewrite_data_files(table, "a, b")
    assert with_gain.rewritten_data_files_count == 0
    result = rewrite_data_files(table, "a, b", options=BY_SIZE)
    assert (result.rewritten_data_files_count, result.added_data_files_count) == (40, 1)
    assert rows(table) == [(row, row) for row in range(40)]
