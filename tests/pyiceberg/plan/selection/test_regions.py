"""File groups by region: what is committed by itself, what it costs filters, and what is told of it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from iceberg_zorder.pyiceberg import plan_rewrite, rewrite_data_files
from tests.pyiceberg.committing import commit_files
from tests.pyiceberg.lake import data_files, one_commit, position_delete
from tests.pyiceberg.plan.selection.test_gains import LONGS, longs
from tests.pyiceberg.plan.selection.test_upkeep import anywhere, paths, scanned
from tests.pyiceberg.test_corners import once

ROWS = 1_000
"""Rows of a file."""
BY_REGION = {"rewrite-all": True, "partial-progress.enabled": True}


def of_boxes(catalog: SqlCatalog, name: str = "db.t", side: int = 8) -> Table:
    """A file for each box of a grid, in no order."""
    rng = np.random.default_rng(1)
    table = catalog.create_table(name, LONGS)
    with one_commit(table) as commit:
        for box in rng.permutation(side * side):
            x, y = 1_000 * (box // side), 1_000 * (box % side)
            commit.append(longs(a=rng.integers(x, x + 1_000, ROWS), b=rng.integers(y, y + 1_000, ROWS)))
    return table


def of_spanning_files(catalog: SqlCatalog, files: int = 12) -> Table:
    """Every file has rows of all values."""
    rng = np.random.default_rng(1)
    table = catalog.create_table("db.t", LONGS)
    with one_commit(table) as commit:
        for number in range(files):
            commit.append(anywhere(rng, number, ROWS))
    return table


def bytes_of(table: Table) -> int:
    return sum(file.file_size_in_bytes for file in data_files(table))


def commits(table: Table) -> int:
    return sum(each.summary is not None and each.summary.operation.value == "replace" for each in table.snapshots())


def rows_of(table: Table) -> list[tuple[int, int]]:
    found = table.scan().to_arrow()
    return sorted(zip(found["a"].to_pylist(), found["b"].to_pylist(), strict=True))


def test_with_partial_progress_regions_are_committed_for_no_more_to_scan(catalog: SqlCatalog) -> None:
    tables = [of_boxes(catalog, f"db.{name}") for name in ("one", "regions")]
    before, target = rows_of(tables[1]), {"target-file-size-bytes": bytes_of(tables[0]) // 80}
    for table, options in zip(tables, ({"rewrite-all": True}, BY_REGION), strict=True):
        result = rewrite_data_files(table, "a, b", options={**options, **target})
        assert (result.rewritten_data_files_count, result.failed_data_files_count) == (64, 0)
    assert [commits(table.refresh()) for table in tables] == [1, 4]
    assert rows_of(tables[1]) == before
    one, regions = (scanned(table) for table in tables)
    assert regions <= 1.05 * one


def test_appends_in_the_order_of_a_column_are_cut_by_it(catalog: SqlCatalog) -> None:
    """A layout of a region cuts by the other column, for of this one it has but a part."""
    tables = [catalog.create_table(f"db.{name}", LONGS) for name in ("one", "regions")]
    rng = np.random.default_rng(1)
    for day in range(64):
        rows = longs(a=rng.integers(0, 64_000, ROWS), b=rng.integers(1_000 * day, 1_000 * day + 1_000, ROWS))
        for table in tables:
            table.append(rows)
    options = {"target-file-size-bytes": bytes_of(tables[0]) // 80}
    for table, more in zip(tables, ({"rewrite-all": True}, BY_REGION), strict=True):
        rewrite_data_files(table, "a, b", options={**options, **more})
    assert [commits(table.refresh()) for table in tables] == [1, 4]
    one, regions = (scanned(table) for table in tables)
    assert regions <= 1.05 * one


def test_files_that_all_span_are_cut_if_that_is_asked_for_and_the_price_is_told(catalog: SqlCatalog) -> None:
    table = of_spanning_files(catalog)
    size = bytes_of(table)
    options = {"rewrite-all": True, "target-file-size-bytes": size // 12, "max-file-group-size-bytes": size // 2}
    groups = plan_rewrite(table, "a, b", options=options).groups
    assert sum(len(group.tasks) for group in groups) == 12
    assert max(group.input_size for group in groups) <= size // 2
    told = [
        re.fullmatch(
            r"rewrite-all is true; part (\d) of (\d), cut across files for max-file-group-size-bytes ([\d,]+): scan "
            r"fraction of the parts expected to be ([\d.]+)%, in one file group ([\d.]+)%",
            group.reason,
        )
        for group in groups
    ]
    assert [each and each[1] for each in told] == [str(number + 1) for number in range(len(groups))]
    assert told[0] is not None
    assert told[0][3] == f"{size // 2:,}"
    expected, in_one = float(told[0][4]) / 100, float(told[0][5]) / 100
    rewrite_data_files(table, "a, b", options=options)
    parts = scanned(table)
    rewrite_data_files(table, "a, b", options={"rewrite-all": True, "target-file-size-bytes": size // 12})
    assert parts == pytest.approx(expected, rel=0.25)
    assert scanned(table) == pytest.approx(in_one, rel=0.25)
    assert parts > 1.1 * scanned(table)


@pytest.mark.parametrize(
    ("options", "groups", "why"),
    [
        ({"partial-progress.enabled": True}, 1, ""),
        ({"max-file-group-size-bytes": 1 << 40}, 1, ""),
        ({"partial-progress.enabled": True, "max-file-group-size-bytes": 1 << 40}, 1, ""),
        ({"max-file-group-size-bytes": 1}, 12, "cut across files"),
    ],
)
def test_files_that_all_span_are_cut_only_if_they_must_be(
    catalog: SqlCatalog, options: dict[str, Any], groups: int, why: str
) -> None:
    table = of_spanning_files(catalog)
    target = {"target-file-size-bytes": bytes_of(table) // 64}
    plan = plan_rewrite(table, "a, b", options={"rewrite-all": True, **target, **options})
    assert len(plan.groups) == groups
    assert all(why in group.reason for group in plan.groups)
    if not why:
        assert plan.groups[0].reason == "rewrite-all is true"


def test_what_cannot_be_cut_says_so_and_what_it_takes(catalog: SqlCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    table = of_spanning_files(catalog)
    size = bytes_of(table)
    # 100 GiB are more than a test has.
    monkeypatch.setattr("iceberg_zorder.pyiceberg.plan.selection.region_step.LARGEST_GROUP", size // 2)
    [group] = plan_rewrite(table, "a, b", options={"rewrite-all": True}).groups
    assert group.reason == (
        f"rewrite-all is true; in one file group, whatever max-file-group-size-bytes {size // 2:,}, because every place "
        f"to cut lies inside files: its job takes some {4 * size:,} bytes of local disk"
    )
    with table.transaction() as transaction:
        transaction.set_properties({"write.metadata.metrics.default": "none"})
    [group] = plan_rewrite(table, "a, b", options={"rewrite-all": True, "max-file-group-size-bytes": size // 2}).groups
    assert "because new files keep no bounds to cut by: its job takes" in group.reason


def test_sizes_and_gains_are_cut_too(catalog: SqlCatalog) -> None:
    table = of_boxes(catalog)
    size = bytes_of(table)
    small = {"target-file-size-bytes": size // 16, "max-file-group-size-bytes": size // 2}
    groups = plan_rewrite(table, "a, b", options=small).groups
    assert len(groups) > 1
    assert all(re.search(r"no fewer than min-input-files 5; part \d of \d, cut where", each.reason) for each in groups)


def test_a_lost_region_is_planned_again_without_the_others(catalog: SqlCatalog) -> None:
    table = of_boxes(catalog)
    options = {**BY_REGION, "target-file-size-bytes": bytes_of(table) // 80, "max-concurrent-file-group-rewrites": 1}
    before = rows_of(table)
    last = plan_rewrite(table, "a, b", options=options).groups[-1].tasks[0].data_file
    other = catalog.load_table("db.t")
    meanwhile = once(lambda: commit_files(other, position_delete(other, last, [0])))
    result = rewrite_data_files(table, "a, b", options=options, progress=meanwhile)
    assert (result.rewritten_data_files_count, result.failed_data_files_count) == (64, 0)
    assert commits(table.refresh()) == 4
    assert len(rows_of(table)) == len(before) - 1


def test_regions_whose_rewrite_brings_nothing_are_left(catalog: SqlCatalog) -> None:
    table = of_boxes(catalog)
    options = {"target-file-size-bytes": bytes_of(table) // 64, "min-file-size-bytes": bytes_of(table) // 65}
    options["max-file-group-size-bytes"] = bytes_of(table) // 4 + 1
    at = paths(table)
    result = rewrite_data_files(table, "a, b", options={**options, "min-input-files": 1})
    assert result.failed_data_files_count == 0
    assert len(paths(table)) == len(at)
