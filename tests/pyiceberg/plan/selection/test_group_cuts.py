"""File groups that ``max-file-group-size-bytes`` and ``max-file-group-input-files`` cut: what is committed by itself, and what is told of it."""

import numpy as np
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from iceberg_zorder.pyiceberg import plan_rewrite, rewrite_data_files, sample
from tests.pyiceberg.lake import data_files, one_commit
from tests.pyiceberg.plan.selection.test_gains import LONGS, longs
from tests.pyiceberg.plan.selection.test_upkeep import paths, scanned

ROWS = 1_000
"""Rows of a file."""


def of_boxes(catalog: SqlCatalog, name: str = "db.t", side: int = 8) -> Table:
    """A file for each box of a grid, in no order."""
    rng = np.random.default_rng(1)
    table = catalog.create_table(name, LONGS)
    with one_commit(table) as commit:
        for box in rng.permutation(side * side):
            x, y = 1_000 * (box // side), 1_000 * (box % side)
            commit.append(longs(a=rng.integers(x, x + 1_000, ROWS), b=rng.integers(y, y + 1_000, ROWS)))
    return table


def bytes_of(table: Table) -> int:
    return sum(file.file_size_in_bytes for file in data_files(table))


def commits(table: Table) -> int:
    return sum(each.summary is not None and each.summary.operation.value == "replace" for each in table.snapshots())


def rows_of(table: Table) -> list[tuple[int, int]]:
    found = table.scan().to_arrow()
    return sorted(zip(found["a"].to_pylist(), found["b"].to_pylist(), strict=True))


def test_groups_have_no_more_files_than_the_option_says(catalog: SqlCatalog) -> None:
    table = of_boxes(catalog, side=4)
    options = {"rewrite-all": True, "max-file-group-input-files": 5}
    found = plan_rewrite(table, "a, b", options=options).groups
    assert sorted(path for group in found for path in group.paths) == sorted(paths(table))
    assert [len(group.tasks) for group in found] == [4] * 4
    assert found[0].reason == "rewrite-all is true; part 1 of 4, split by max-file-group-input-files 5"
    both = {**options, "max-file-group-size-bytes": bytes_of(table) // 8}
    assert "split by max-file-group-size-bytes" in plan_rewrite(table, "a, b", options=both).groups[0].reason
    assert rewrite_data_files(table, "a, b", options=options).rewritten_data_files_count == 16


@pytest.mark.parametrize("partial", [False, True])
def test_by_default_groups_have_one_tebibyte_at_most(catalog: SqlCatalog, partial: bool) -> None:
    table = catalog.create_table("db.large", LONGS)
    with one_commit(table) as commit:
        for number in range(9):
            commit.append(longs(a=np.arange(9), b=np.full(9, number)))
            commit.files[-1]._data[5] = 400 * 1024**3
            assert commit.files[-1].file_size_in_bytes == 400 * 1024**3
    options = {"rewrite-all": True, "partial-progress.enabled": partial}
    found = plan_rewrite(table, "a, b", options=options).groups
    assert sorted(len(group.tasks) for group in found) == [1, 2, 2, 2, 2]
    assert found[0].reason == ("rewrite-all is true; part 1 of 5, split by max-file-group-size-bytes 1,099,511,627,776")


def test_a_column_that_a_group_is_narrow_in_counts_less(catalog: SqlCatalog) -> None:
    """Groups along time have files as good as those of one group: within a group, rows are cut by the other column."""
    rng, table = np.random.default_rng(3), catalog.create_table("db.times", LONGS)
    with one_commit(table) as commit:
        for hour in rng.permutation(64):
            commit.append(longs(a=1_000 * hour + np.arange(ROWS), b=rng.integers(0, 64_000, ROWS)))
    size = bytes_of(table)
    options = {"rewrite-all": True, "target-file-size-bytes": size // 64}
    (whole,) = plan_rewrite(table, "a, b", options=options).groups
    assert whole.extents == {}
    parts = {**options, "max-file-group-size-bytes": size // 8 + 1_000}
    plan = plan_rewrite(table, "a, b", options=parts)
    assert [group.extents["a"] for group in plan.groups] == [125] * 8
    # The least of 8 lower bounds is not the least of 64.
    assert all(700 < group.extents["b"] <= 1_000 for group in plan.groups)
    rewrite_data_files(table, "a, b", options=parts)
    found = scanned(table)
    rewrite_data_files(table, "a, b", options=options)
    assert found <= 1.1 * scanned(table)


def test_groups_are_cut_where_files_lie_apart_and_committed_one_by_one(catalog: SqlCatalog) -> None:
    table = of_boxes(catalog)
    before, size = rows_of(table), bytes_of(table)
    options = {
        "rewrite-all": True,
        "target-file-size-bytes": size // 80,
        "max-file-group-size-bytes": size // 4 + 1_000,
    }
    one_by_one = {"partial-progress.enabled": True, "partial-progress.max-commits": 4}
    result = rewrite_data_files(table, "a, b", options={**options, **one_by_one})
    assert (result.rewritten_data_files_count, result.failed_data_files_count) == (64, 0)
    assert (commits(table.refresh()), rows_of(table)) == (4, before)
    parts = scanned(table)
    rewrite_data_files(table, "a, b", options={"rewrite-all": True, "target-file-size-bytes": size // 80})
    assert parts <= 1.05 * scanned(table)


def test_groups_along_time_are_judged_as_they_are_cut(catalog: SqlCatalog) -> None:
    """Of as many groups as files in each, a filter on time reads one group: it is cut by the other column only."""
    table, groups, files, rng = catalog.create_table("db.t", LONGS), 8, 8, np.random.default_rng(5)
    with one_commit(table) as commit:
        for place in range(groups * files):
            commit.append(longs(a=rng.integers(0, 1 << 40, ROWS), b=np.arange(place * ROWS, (place + 1) * ROWS)))
    size = bytes_of(table.refresh())
    options = {"target-file-size-bytes": size // 64, "max-file-group-size-bytes": size // groups + 1_000}
    planned = plan_rewrite(table, "a, b", options=options)
    assert len(planned.groups) == groups
    assert len(sample(table, planned).groups) == groups
    done = rewrite_data_files(table, "a, b", options=options)
    assert done.rewritten_data_files_count == groups * files
