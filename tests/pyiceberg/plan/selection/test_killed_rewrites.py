"""Rewrites with partial progress that are killed: the next call goes on with the file groups that are left."""

from typing import Any

import numpy as np
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform

from iceberg_zorder.pyiceberg import group_rewrite, plan_rewrite, rewrite_data_files
from iceberg_zorder.pyiceberg.group_rewrite import rewrite_group
from iceberg_zorder.rewrite.snapshot_keys import SETTLED_FROM
from tests.pyiceberg.committing import summary_of
from tests.pyiceberg.lake import data_files, one_commit
from tests.pyiceberg.plan.selection.test_gains import LONGS, longs
from tests.pyiceberg.plan.selection.test_group_cuts import ROWS, bytes_of, rows_of
from tests.pyiceberg.plan.selection.test_upkeep import paths, scanned

FILES, GROUPS = 48, 4
DOMAIN = 1 << 40


def append(table: Table, files: int, seed: int) -> set[str]:
    """Append files that span everything; gives their paths."""
    rng, before = np.random.default_rng(seed), paths(table) if table.current_snapshot() else set()
    with one_commit(table) as commit:
        for _ in range(files):
            commit.append(longs(a=rng.integers(0, DOMAIN, ROWS), b=rng.integers(0, DOMAIN, ROWS)))
    return paths(table.refresh()) - before


@pytest.fixture
def table(catalog: SqlCatalog) -> Table:
    made = catalog.create_table("db.killed", LONGS)
    append(made, FILES, seed=1)
    return made


def options_for(table: Table) -> dict[str, Any]:
    """Four groups, committed one by one."""
    size = bytes_of(table)
    return {
        "target-file-size-bytes": size // FILES,
        "max-file-group-size-bytes": size // GROUPS + 1_000,
        "max-concurrent-file-group-rewrites": 1,
        "partial-progress.enabled": True,
        "partial-progress.max-commits": GROUPS,
    }


def kill_after(groups: int, table: Table, options: dict[str, Any], by: str = "a, b") -> set[str]:
    """Kill a rewrite when so many groups are committed; gives the paths of the files that it has written."""
    before, begun = paths(table), 0

    def rewrite(*of_group: Any) -> Any:
        nonlocal begun
        begun += 1
        if begun > groups:
            raise KeyboardInterrupt
        return rewrite_group(*of_group)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(group_rewrite, "rewrite_group", rewrite)
        with pytest.raises(KeyboardInterrupt):
            rewrite_data_files(table, by, options=options)
    written = paths(table.refresh()) - before
    assert (begun, SETTLED_FROM in summary_of(table)) == (groups + 1, False)
    return written


@pytest.mark.parametrize("groups", [1, 3])
def test_the_same_call_goes_on_with_the_rest(table: Table, groups: int) -> None:
    options, rows = options_for(table), rows_of(table)
    original = paths(table)
    written = kill_after(groups, table, options)
    # Neither how many commits there are, nor how large a group is, makes it another request.
    again = {**options, "partial-progress.max-commits": 9, "max-file-group-size-bytes": bytes_of(table) // 3}
    for each in (options, again):
        plan = plan_rewrite(table, "a, b", options=each)
        assert {path for group in plan.groups for path in group.paths} == original & paths(table)
        assert [(left.reasons[0].code, {*left.paths}) for left in plan.left] == [("already-written", written)]
    result = rewrite_data_files(table, "a, b", options=options)
    assert result.rewritten_data_files_count == (GROUPS - groups) * FILES // GROUPS
    assert rows_of(table) == rows
    assert written < paths(table)
    assert not original & paths(table)
    assert SETTLED_FROM in summary_of(table)
    assert rewrite_data_files(table, "a, b", options=options).nothing_to_do


def test_a_call_that_goes_on_may_be_killed_too(table: Table) -> None:
    options, original = options_for(table), paths(table)
    written = kill_after(1, table, options)
    appended = append(table, 2, seed=2)
    written |= kill_after(1, table, options) & paths(table)
    plan = plan_rewrite(table, "a, b", options=options)
    assert {path for group in plan.groups for path in group.paths} == (original | appended) & paths(table)
    rewrite_data_files(table, "a, b", options=options)
    assert written < paths(table)
    assert not (original | appended) & paths(table)


@pytest.mark.parametrize("groups", [1, 3])
def test_upkeep_after_appends_goes_on(table: Table, groups: int) -> None:
    """Once the rewrite has ended, files that span everything are merged with others, within the cap."""
    options = options_for(table)
    kill_after(groups, table, options)
    rewrite_data_files(table, "a, b", options=options)
    first, before = paths(table), scanned(table)
    appended, rewritten = 0, 0
    for seed in range(3, 7):
        size = bytes_of(table)
        append(table, 2, seed=seed)
        appended += bytes_of(table) - size
        rewritten += rewrite_data_files(table, "a, b", options=options).rewritten_bytes_count
    assert first - paths(table)
    assert rewritten <= 17 * appended
    assert scanned(table) <= 1.3 * before


def test_files_of_a_killed_rewrite_with_new_deletes_are_rewritten(table: Table) -> None:
    options = options_for(table)
    written = kill_after(1, table, options)
    options["delete-file-threshold"] = 0
    assert not [left for left in plan_rewrite(table, "a, b", options=options).left if {*left.paths} & written]


def test_a_partition_of_one_file_group_is_never_half_done(table: Table) -> None:
    options = options_for(table)
    kill_after(1, table, options)
    (group,) = plan_rewrite(table, "a, b", options={**options, "max-file-group-size-bytes": bytes_of(table)}).groups
    assert {*group.paths} == paths(table)


def test_files_of_a_killed_rewrite_are_chosen_if_no_others_are(table: Table) -> None:
    """The files that it left may gain nothing by themselves: here they are one file."""
    options = options_for(table)
    written = kill_after(3, table, options)
    rest = [file for file in data_files(table) if file.file_path not in written]
    with table.transaction() as transaction, transaction.update_snapshot().overwrite() as snapshot:
        for file in rest[1:]:
            snapshot.delete_data_file(file)
    assert paths(table.refresh()) == {*written, rest[0].file_path}
    options["max-file-group-size-bytes"] = bytes_of(table) - 1
    plan = plan_rewrite(table, "a, b", options=options)
    assert {path for group in plan.groups for path in group.paths} & written


def test_the_other_partitions_have_no_cap(catalog: SqlCatalog) -> None:
    """The cap is of the whole table: half of it was written, and nothing was added since."""
    table = catalog.create_table("db.p", LONGS)
    table.update_spec().add_field("a", IdentityTransform(), "a").commit()
    rng = np.random.default_rng(9)
    with one_commit(table) as commit:
        for partition in [1] * 30 + [2] * 12:
            commit.append(longs(a=np.full(ROWS, partition), b=rng.integers(0, DOMAIN, ROWS)))
    options = {
        **options_for(table),
        "target-file-size-bytes": bytes_of(table) // 42,
        "max-file-group-size-bytes": bytes_of(table),
        "rewrite-job-order": "bytes-desc",
    }
    kill_after(1, table, options, by="b")
    plan = plan_rewrite(table, "b", options=options)
    assert [(group.partition_path, group.data_files_count) for group in plan.groups] == [("a=2", 12)]
    assert [(left.partition_path, left.reasons[0].code) for left in plan.left] == [("a=1", "settled")]
