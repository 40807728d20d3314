"""Undo: a branch goes back to the snapshot before rewrites of ours, and never loses what others have written."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitStateUnknownException
from pyiceberg.table import Table
from pyiceberg.types import LongType

from iceberg_zorder.errors import InvalidInputError, RewriteConflictError, TakenOverError, UnknownOutcomeError
from iceberg_zorder.pyiceberg import rewrite_data_files, undo
from iceberg_zorder.pyiceberg.files import new_write_id
from iceberg_zorder.pyiceberg.reporting.history import rewrite_history
from iceberg_zorder.pyiceberg.rewrite import execute_with, plan_rewrite
from iceberg_zorder.pyiceberg.run import RewriteRun
from tests.pyiceberg.committing import (
    Interrupted,
    commit,
    commit_files,
    equality_deletes,
    files_of,
    head_id,
    head_of,
    ids,
    make_catalog,
    make_table,
    operations,
    position_deletes,
    rewritten,
    rows_of,
    summary_of,
)


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Interrupted]:
    made = make_catalog(tmp_path, Interrupted)
    yield made
    made.close()


def rewrite(table: Table, rewrite_id: str = "", branch: str = "main") -> int:
    """Commit the rewrite of the first data file."""
    head = table.refresh().snapshot_by_name(branch)
    assert head is not None
    told = {"zorder.columns": "id", **({"zorder.rewrite-id": rewrite_id} if rewrite_id else {})}
    replacement = rewritten(table, files_of(table, head.snapshot_id)[:1])
    return commit(table, replacement, head, snapshot_properties=told, branch=branch)


def two_files(catalog: SqlCatalog, **table: Any) -> Table:
    return make_table(catalog, rows_of([1, 2, 3]), rows_of([4, 5, 6]), **table)


@pytest.mark.parametrize("version", [1, 2])
def test_all_commits_of_a_rewrite_are_undone(catalog: Interrupted, version: int) -> None:
    table = two_files(catalog, version=version)
    before, files = head_id(table), files_of(table)
    undone = (rewrite(table, "x"), rewrite(table, "x"))
    told = undo(table, dry_run=True)
    assert (told.dry_run, told.snapshot_id, told.undone) == (True, before, undone)
    assert head_id(table) == undone[-1], "a dry run writes nothing"
    assert told.message.startswith(f"Would undo 2 snapshots of lake.db.t: branch main would be at snapshot {before}")
    done = undo(table, snapshot_id=undone[0])
    assert (done.snapshot_id, done.undone) == (before, undone)
    assert (head_id(table), files_of(table), ids(table)) == (before, files, [1, 2, 3, 4, 5, 6])
    assert "id 50.0% (was 50.0%)" in done.message
    assert "maintenance.disabled" in done.message
    table.append(rows_of([7]))
    assert ids(table) == [1, 2, 3, 4, 5, 6, 7]


def test_the_newest_rewrite_or_those_since_one(catalog: Interrupted) -> None:
    table = two_files(catalog)
    before = head_id(table)
    rewrites = [rewrite(table, each) for each in "xyz"]
    assert undo(table).undone == (rewrites[2],)
    assert head_id(table) == rewrites[1]
    assert undo(table, snapshot_id=rewrites[0]).undone == tuple(rewrites[:2])
    assert head_id(table) == before
    with pytest.raises(InvalidInputError, match="because branch main has no snapshot of a rewrite by"):
        undo(table)


def test_what_others_have_written_since_is_not_lost(catalog: Interrupted) -> None:
    table = two_files(catalog)
    before, ours = head_id(table), rewrite(table, "x")
    table.append(rows_of([7]))
    with pytest.raises(InvalidInputError) as refused:
        undo(table)
    assert str(refused.value) == (
        f"Cannot undo snapshot {ours} of lake.db.t, because 1 snapshot by others has come since (1 append) with 1 row "
        "added in 1 data file. To roll back anyway, and lose these snapshots, run: CALL "
        f"lake.system.rollback_to_snapshot('db.t', {before})"
    )
    path = files_of(table)[0].file_path
    commit_files(table, position_deletes(table, [(path, 0), (path, 1)]))
    with pytest.raises(InvalidInputError, match="1 append, 1 overwrite.* and 2 rows or keys deleted"):
        undo(table)
    assert len(ids(table)) == 5


def test_another_compactor_is_not_undone(catalog: Interrupted) -> None:
    table = two_files(catalog)
    rewrite(table, "x")
    commit(table, rewritten(table, files_of(table)), head_id(table), snapshot_properties={})
    with pytest.raises(
        InvalidInputError, match=r"1 snapshot by others has come since \(1 replace\) with no row changed"
    ):
        undo(table)


def test_a_branch(catalog: Interrupted) -> None:
    table = two_files(catalog)
    before = head_id(table)
    with table.manage_snapshots() as change:
        change.create_branch(before, "audit", max_snapshot_age_ms=7_000_000)
        change.create_tag(before, "fixed")
    ours = rewrite(table, "x", branch="audit")
    assert undo(table, branch="audit").undone == (ours,)
    ref = table.refresh().refs()["audit"]
    assert (ref.snapshot_id, ref.max_snapshot_age_ms) == (before, 7_000_000)
    rewrite(table, "y", branch="audit")
    commit_files(table, rewritten(table, files_of(table)).added[0], branch="audit")
    with pytest.raises(InvalidInputError, match=f"lake.db.t CREATE OR REPLACE BRANCH audit AS OF VERSION {before}"):
        undo(table, branch="audit")
    for name in ("fixed", "nope"):
        with pytest.raises(InvalidInputError, match=f"Cannot undo a rewrite for branch {name}, because"):
            undo(table, branch=name)


def test_what_cannot_be_undone(catalog: Interrupted) -> None:
    table = two_files(catalog)
    before, ours = head_id(table), rewrite(table, "x")
    with pytest.raises(InvalidInputError, match="has no such snapshot"):
        undo(table, snapshot_id=7)
    with pytest.raises(InvalidInputError, match=r"it is not a rewrite by iceberg-zorder \(its operation is append\)"):
        undo(table, snapshot_id=before)
    path = str(table.metadata_location).removeprefix("file://")
    metadata = json.loads(Path(path).read_text())
    metadata["snapshots"] = [each for each in metadata["snapshots"] if each["snapshot-id"] != before]
    metadata["snapshot-log"] = []
    Path(f"{path}.expired.metadata.json").write_text(json.dumps(metadata))
    expired = catalog.register_table("db.expired", f"file://{path}.expired.metadata.json")
    with pytest.raises(InvalidInputError, match="because the snapshot before it has expired"):
        undo(expired, snapshot_id=ours)


def test_a_writer_that_commits_meanwhile_wins(catalog: Interrupted, tmp_path: Path) -> None:
    table = two_files(catalog)
    rewrite(table, "x")
    other_catalog = make_catalog(tmp_path, SqlCatalog)
    catalog.first = [lambda: other_catalog.load_table("db.t").append(rows_of([7]))]
    with pytest.raises(RewriteConflictError, match="another operation changed branch main meanwhile"):
        undo(table)
    assert ids(table) == [1, 2, 3, 4, 5, 6, 7]
    other_catalog.close()


def test_a_change_of_properties_meanwhile_is_not_in_the_way(catalog: Interrupted, tmp_path: Path) -> None:
    table = two_files(catalog)
    before = head_id(table)
    rewrite(table, "x")
    other_catalog = make_catalog(tmp_path, SqlCatalog)

    def change() -> None:
        other_catalog.load_table("db.t").transaction().set_properties({"owner": "me"}).commit_transaction()

    catalog.first = [change]
    undo(table)
    assert (head_id(table), table.properties["owner"]) == (before, "me")
    other_catalog.close()


@pytest.mark.parametrize("carries_out", [True, False])
def test_a_catalog_without_a_clear_answer(catalog: Interrupted, carries_out: bool) -> None:
    table = two_files(catalog)
    before, ours = head_id(table), rewrite(table, "x")
    catalog.fail(CommitStateUnknownException("no answer"), committed=carries_out)
    if carries_out:
        assert undo(table).snapshot_id == before
    else:
        with pytest.raises(UnknownOutcomeError, match=f"if branch main is at snapshot {before}, it was"):
            undo(table)
    assert head_of(table.refresh()).snapshot_id == (before if carries_out else ours)


DANGLING = {"rewrite-all": True, "remove-dangling-deletes": True, "use-starting-sequence-number": False}


def test_the_removal_of_dangling_deletes_is_of_the_rewrite(catalog: Interrupted) -> None:
    table = make_table(catalog, rows_of([1, 2, 3]), partitioned=True)
    commit_files(table, equality_deletes(table, [9], spec_id=table.spec().spec_id, partition=["b"]))
    before = head_id(table)
    rewrite_data_files(table, ["id"], options=DANGLING)
    removal = head_id(table)
    rewritten_at = head_of(table).parent_snapshot_id
    assert summary_of(table)["removed-delete-files"] == "1"
    assert summary_of(table)["zorder.rewrite-id"] == summary_of(table, rewritten_at)["zorder.rewrite-id"]
    history = rewrite_history(table)
    (found,) = history["rewrites"]
    assert (found["snapshot_id"], found["parent_id"], found["commits"]) == (removal, before, 2)
    assert (found["rewritten_files"], found["added_files"], found["sort_order"]) == (1, 1, "zorder(id)")
    assert found["after"]["snapshot_id"] == history["now"]["snapshot_id"] == removal
    assert undo(table, snapshot_id=removal, dry_run=True).undone == (rewritten_at, removal)
    assert undo(table).undone == (rewritten_at, removal)
    assert head_id(table) == before


def test_the_removal_of_dangling_deletes_needs_the_lease(catalog: Interrupted) -> None:
    table = make_table(catalog, rows_of([1, 2, 3]), partitioned=True)
    commit_files(table, equality_deletes(table, [9], spec_id=table.spec().spec_id, partition=["b"]))
    write_id = new_write_id()
    with table.transaction() as change:
        change.set_properties({"zorder.maintained-by": f"host 1 2 3 4 {write_id} 2099-01-01T00:00:00Z"})

    def taken_over() -> None:
        other = catalog.load_table("db.t")
        with other.transaction() as change:
            change.set_properties({"zorder.maintained-by": "host 1 2 3 5 w0 2099-01-01T00:00:00Z"})

    plan = plan_rewrite(table, ["id"], options=DANGLING)
    run = RewriteRun(table, plan.spec, summary={"zorder.rewrite-id": write_id})
    # After the rewrite's own commit.
    catalog.then = [taken_over]
    with pytest.raises(TakenOverError):
        execute_with(run, plan)
    assert operations(table)[-1] == "replace"
    assert "removed-delete-files" not in summary_of(table)


def test_metadata_that_name_no_parent_are_told(catalog: Interrupted) -> None:
    table = two_files(catalog)
    before, ours = head_id(table), rewrite(table, "x")
    # PyIceberg also removes the name of the parent.
    table.maintenance.expire_snapshots().by_id(before).commit()
    with pytest.raises(InvalidInputError, match="because the table's metadata do not name the snapshot before it"):
        undo(table, snapshot_id=ours)


def test_renamed_columns_are_the_same_in_undo_and_history(catalog: Interrupted) -> None:
    table = two_files(catalog)
    rewrite_data_files(table, ["id"], options={"rewrite-all": True})
    with table.update_schema() as change:
        change.rename_column("id", "key")
    with table.update_schema() as change:
        change.add_column("id", LongType())
    (found,) = rewrite_history(table)["rewrites"]
    assert (found["sort_order"], [*found["after"]["scan_fractions"]]) == ("zorder(key)", ["key"])
    assert [*found["actual"]] == ["key"]
    undone = undo(table, dry_run=True)
    assert [*undone.scan_fractions] == [*undone.undone_scan_fractions] == ["key"]


def test_columns_that_were_dropped_and_added_again_are_others(catalog: Interrupted) -> None:
    table = two_files(catalog)
    rewrite_data_files(table, ["id"], options={"rewrite-all": True})
    with table.update_schema() as change:
        change.delete_column("id")
    with table.update_schema() as change:
        change.add_column("id", LongType())
    history = rewrite_history(table)
    assert (history["measured_by"], history["rewrites"][0]["sort_order"]) == (None, "zorder(id)")
    undone = undo(table, dry_run=True)
    assert (undone.files, dict(undone.scan_fractions)) == (0, {})
