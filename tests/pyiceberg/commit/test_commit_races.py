"""What other writers do while a rewrite runs: before its commit, and between its validation and the catalog's answer."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import DataFile, ManifestContent
from pyiceberg.table import Table
from pyiceberg.types import LongType

from iceberg_zorder.errors import RewriteConflictError
from iceberg_zorder.pyiceberg import rewrite_data_files
from iceberg_zorder.pyiceberg.commit.snapshot import ConflictError, check_history
from tests.present import present
from tests.pyiceberg.committing import (
    Interrupted,
    avro_files,
    commit,
    commit_files,
    entries_of,
    equality_deletes,
    exists,
    files_of,
    head_id,
    head_of,
    ids,
    known_avro_files,
    make_catalog,
    make_table,
    new_file,
    operations,
    position_deletes,
    rewritten,
    rows_of,
    summary_of,
)
from tests.pyiceberg.lake import equality_delete

WHEN = pytest.mark.parametrize("during", [False, True], ids=["before the commit", "during the commit"])


class Race:
    """A rewrite of the two files of a table, and another writer of it."""

    def __init__(self, directory: Path, during: bool, **table: Any) -> None:
        self.catalog = make_catalog(directory, Interrupted)
        self.other_catalog = make_catalog(directory, SqlCatalog)
        self.mine = make_table(self.catalog, rows_of([1, 2, 3]), rows_of([4, 5, 6]), **table)
        self.other = self.other_catalog.load_table("db.t")
        self.during = during
        self.start = head_id(self.mine)
        self.files = files_of(self.mine)
        where = {"spec_id": self.files[0].spec_id, "partition": ["a"] if table.get("partitioned") else []}
        self.replacement = rewritten(self.mine, self.files, **where)

    def run(self, *others: Callable[[], object], **options: Any) -> int:
        """Commit the rewrite; if during, each other writer gets in before one attempt of it."""
        if self.during:
            self.catalog.first = list(others)
        else:
            for other in others:
                other()
        return commit(self.mine, self.replacement, self.start, **options)

    def conflicts(self, *others: Callable[[], object], match: str, **options: Any) -> None:
        """The rewrite fails, leaves the table to the others, and nothing on disk."""
        with pytest.raises(RewriteConflictError, match=match) as failure:
            self.run(*others, **options)
        assert str(failure.value).startswith("Cannot commit rewrite of lake.db.t, because it conflicted with another")
        assert "set partial-progress.enabled to true" in str(failure.value)
        assert not any(exists(file) for file in self.replacement.added)
        assert all(exists(file) for file in self.files)
        assert avro_files(self.mine) == known_avro_files(self.mine)
        assert "replace" not in operations(self.mine)

    def append(self, values: list[int]) -> None:
        self.other.refresh().append(rows_of(values))


@pytest.fixture
def race(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Callable[..., Race]]:
    made: list[Race] = []

    def make(during: bool, **table: Any) -> Race:
        made.append(Race(tmp_path, during, **table))
        return made[-1]

    yield make
    for each in made:
        each.catalog.close()
        each.other_catalog.close()


@WHEN
def test_appends_survive(race: Callable[..., Race], during: bool) -> None:
    version = 2 - during
    this = race(during, version=version)
    new = this.run(lambda: this.append([7]), lambda: this.append([8, 9]))
    assert ids(this.mine) == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert len(this.catalog.commits) - 2 == (3 if during else 1)
    assert operations(this.mine) == ["append", "append", "append", "append", "replace"]
    assert avro_files(this.mine) == known_avro_files(this.mine)
    assert head_id(this.mine) == new
    snapshot = head_of(this.mine)
    ours = [file for file in snapshot.manifests(this.mine.io) if file.added_snapshot_id == new]
    assert [file.sequence_number for file in ours] == [snapshot.sequence_number] * 3
    assert [entry.sequence_number for entry in entries_of(this.mine, ManifestContent.DATA)] == (
        [0, 0, 0] if version == 1 else [3, 4, 2]
    )


@WHEN
@pytest.mark.parametrize("then_append", [False, True])
def test_a_position_delete_conflicts(race: Callable[..., Race], during: bool, then_append: bool) -> None:
    this = race(during)

    def delete() -> None:
        commit_files(this.other, position_deletes(this.other, [(this.files[0].file_path, 1)]))
        if then_append:
            this.append([7])

    this.conflicts(delete, match="position delete file .* was added")
    assert ids(this.mine) == [1, 3, 4, 5, 6] + [7] * then_append


@WHEN
def test_a_position_delete_of_many_files_conflicts_in_its_partition(race: Callable[..., Race], during: bool) -> None:
    this = race(during, partitioned=True)
    deletes = [(file.file_path, 0) for file in this.files]
    file = position_deletes(this.other, deletes, spec_id=1, partition=["a"])
    this.conflicts(lambda: commit_files(this.other, file), match="position delete file .* was added")
    assert ids(this.mine) == [2, 3, 5, 6]


@WHEN
def test_a_position_delete_elsewhere_is_no_conflict(race: Callable[..., Race], during: bool) -> None:
    this = race(during, partitioned=True)

    def delete() -> None:
        this.other.append(rows_of([7, 8, 9, 10], ["b", "b", "a", "a"]))
        b = next(file for file in files_of(this.other) if file.partition[0] == "b")
        c = new_file(this.other, rows_of([11, 12], "b"), spec_id=1, partition=["b"])
        both = position_deletes(this.other, [(b.file_path, 0), (c.file_path, 1)], spec_id=1, partition=["b"])
        a = [file for file in files_of(this.other) if file.partition[0] == "a"][-1]
        one = position_deletes(this.other, [(a.file_path, 0)], spec_id=1, partition=["a"])
        commit_files(this.other, both, one, c)

    this.run(delete)
    assert ids(this.mine) == [1, 2, 3, 4, 5, 6, 8, 10, 11]
    assert len(entries_of(this.mine, ManifestContent.DELETES)) == 2


@WHEN
def test_a_deletion_by_copy_on_write_conflicts(race: Callable[..., Race], during: bool) -> None:
    this = race(during)
    this.conflicts(lambda: this.other.delete("id = 2"), match=f"data file {this.files[0].file_path} was removed")
    assert ids(this.mine) == [1, 3, 4, 5, 6]


@WHEN
def test_an_equality_delete_applies_to_the_new_files(race: Callable[..., Race], during: bool) -> None:
    this = race(during)

    def upsert() -> None:
        commit_files(this.other, equality_deletes(this.other, [2, 5]), new_file(this.other, rows_of([2])))

    new = this.run(upsert)
    assert rows_by_sequence_numbers(this.mine) == [1, 2, 3, 4, 6]
    assert summary_of(this.mine, new)["total-equality-deletes"] == "2"
    (delete,) = entries_of(this.mine, ManifestContent.DELETES)
    assert delete.sequence_number == 3
    snapshot = present(this.mine.current_snapshot())
    numbers = {each.sequence_number for each in snapshot.manifests(this.mine.io) if each.added_snapshot_id == new}
    assert numbers == {snapshot.sequence_number} == {4}, "that of an attempt before"


@WHEN
def test_an_equality_delete_conflicts_with_newer_files(race: Callable[..., Race], during: bool) -> None:
    """Also one of the unpartitioned spec, which deletes in every partition."""
    this = race(during, partitioned=during)
    where: dict[str, Any] = {"spec_id": 1, "partition": ["a"]} if during else {}

    def upsert() -> None:
        commit_files(this.other, equality_deletes(this.other, [2]), new_file(this.other, rows_of([2]), **where))

    this.conflicts(upsert, match="equality delete file .* was added", use_starting_sequence_number=False)
    assert rows_by_sequence_numbers(this.mine) == [1, 2, 3, 4, 5, 6]


@WHEN
@pytest.mark.parametrize("is_older", [True, False])
def test_an_equality_delete_by_a_dropped_column(race: Callable[..., Race], during: bool, is_older: bool) -> None:
    """The writer knows an old schema; if the column is older than the plan, old files may have it, and new ones not."""
    this = race(during)
    planned = this.mine.metadata
    if not is_older:
        this.other.update_schema().add_column("q", LongType()).commit()
    delete = equality_delete(this.other, [{"p": "a"} if is_older else {"q": 1}], ["p" if is_older else "q"])
    this.other.update_schema().delete_column("p" if is_older else "q").commit()
    if is_older:
        planned = this.mine.refresh().metadata
        this.replacement = rewritten(this.mine, this.files, rows_of([1, 2, 3, 4, 5, 6]).select(["id"]))
        late = f"equality delete file {delete.file_path} was added"
        this.conflicts(lambda: commit_files(this.other, delete), match=late, planned=planned)
    else:
        this.run(lambda: commit_files(this.other, delete), planned=planned)


@WHEN
@pytest.mark.parametrize("by", ["position", "id"])
def test_a_removed_delete_file_conflicts(race: Callable[..., Race], during: bool, by: str) -> None:
    """Its rows are live again, and the new files lack them."""
    this = race(during)
    at = [(this.files[0].file_path, 1)]
    delete = position_deletes(this.other, at) if by == "position" else equality_deletes(this.other, [2])
    this.start = commit_files(this.other, delete)
    new = rewritten(this.mine.refresh(), this.files, rows_of([1, 3, 4, 5, 6]))
    this.replacement = replace(new, applied=frozenset([delete.file_path]))
    gone = f"delete file {delete.file_path}, which applied to the rewritten files, was removed"
    this.conflicts(lambda: commit_files(this.other, without=ManifestContent.DELETES), match=gone)
    assert ids(this.mine) == [1, 2, 3, 4, 5, 6]


def test_the_rows_of_a_removed_delete_file_are_rewritten_again(race: Callable[..., Race]) -> None:
    this = race(True)
    commit_files(this.other, position_deletes(this.other, [(this.files[0].file_path, 1)]))
    this.catalog.first = [lambda: commit_files(this.other, without=ManifestContent.DELETES)]
    assert rewrite_data_files(this.mine, "id", options={"rewrite-all": True}).rewritten_data_files_count == 2
    assert ids(this.mine) == [1, 2, 3, 4, 5, 6]
    assert not this.catalog.first


@WHEN
def test_of_two_rewriters_the_second_conflicts(race: Callable[..., Race], during: bool) -> None:
    this = race(during)

    def rewrite() -> int:
        return commit(this.other, rewritten(this.other, this.files[:1]), this.start)

    with pytest.raises(RewriteConflictError, match=f"data file {this.files[0].file_path} was removed"):
        this.run(rewrite)
    assert not any(exists(file) for file in this.replacement.added)
    assert ids(this.mine) == [1, 2, 3, 4, 5, 6]
    assert operations(this.mine) == ["append", "append", "replace"]


@WHEN
def test_two_rewriters_of_different_files_both_commit(race: Callable[..., Race], during: bool) -> None:
    this = race(during)
    this.append([7])
    theirs = rewritten(this.other, files_of(this.other)[2:])
    start = head_id(this.other)
    this.run(lambda: commit(this.other, theirs, start))
    assert ids(this.mine) == [1, 2, 3, 4, 5, 6, 7]
    assert len(files_of(this.mine)) == 2
    assert operations(this.mine)[-2:] == ["replace", "replace"]


@WHEN
def test_a_rollback_conflicts(race: Callable[..., Race], during: bool) -> None:
    this = race(during)
    first = this.other.metadata.snapshots[0].snapshot_id

    def roll_back() -> None:
        this.other.manage_snapshots().rollback_to_snapshot(first).commit()

    this.conflicts(roll_back, match=f"snapshot {this.start}, which the rewrite started from, is no longer in the known")
    assert ids(this.mine) == [1, 2, 3]


@WHEN
def test_expired_snapshots_in_between_conflict(race: Callable[..., Race], during: bool) -> None:
    this = race(during)

    def append_and_expire() -> None:
        this.append([7])
        between = head_id(this.other)
        this.append([8])
        this.other.maintenance.expire_snapshots().by_id(between).commit()

    with pytest.raises(RewriteConflictError, match="is no longer in the known history of branch main"):
        this.run(append_and_expire)
    assert ids(this.mine) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert not any(exists(file) for file in this.replacement.added)


def test_an_expired_starting_snapshot_is_known_by_the_one_that_came_next(race: Callable[..., Race]) -> None:
    """Catalogs in Java keep what snapshot another came from, though it is expired."""
    this = race(False)
    for value in (7, 8):
        this.append([value])
    metadata, head = this.other.refresh().metadata, head_of(this.other)
    *_, after, _ = metadata.snapshots
    without = metadata.model_copy(update={"snapshots": metadata.snapshots[-2:]})
    check_history(without, head, [this.start], "main")
    without = metadata.model_copy(update={"snapshots": metadata.snapshots[-1:]})
    with pytest.raises(ConflictError, match=f"snapshot {this.start}, which the rewrite started from"):
        check_history(without, head, [this.start], "main")
    # What the rewrite has committed itself came from it.
    check_history(without, head, [this.start, after.snapshot_id], "main")


@WHEN
def test_a_commit_to_another_branch_is_no_conflict(race: Callable[..., Race], during: bool) -> None:
    # It takes the sequence number of the attempt, which the catalog then cannot accept.
    this = race(during)
    this.other.manage_snapshots().create_branch(this.start, "audit").commit()
    this.run(lambda: this.other.refresh().append(rows_of([7]), branch="audit"))
    assert ids(this.mine) == [1, 2, 3, 4, 5, 6]
    audit = this.mine.metadata.refs["audit"].snapshot_id
    assert ids(this.mine, snapshot_id=audit) == [1, 2, 3, 4, 5, 6, 7]
    assert len(files_of(this.mine)) == 1
    assert avro_files(this.mine) == known_avro_files(this.mine)


@WHEN
def test_a_rewrite_of_a_branch(race: Callable[..., Race], during: bool) -> None:
    this = race(during)
    main = head_id(this.mine)
    this.other.manage_snapshots().create_branch(main, "audit").commit()
    this.other.manage_snapshots().create_tag(main, "before").commit()
    this.other.append(rows_of([7]), branch="audit")
    this.mine.refresh()
    before = this.mine.metadata.refs
    new = this.run(lambda: this.other.refresh().append(rows_of([8]), branch="audit"), branch="audit")
    refs = this.mine.refresh().metadata.refs
    assert refs["audit"].snapshot_id == new
    assert {name: ref for name, ref in refs.items() if name != "audit"} == {
        name: ref for name, ref in before.items() if name != "audit"
    }
    assert ids(this.mine) == [1, 2, 3, 4, 5, 6]
    assert ids(this.mine, snapshot_id=new) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert len(files_of(this.mine, new)) == 3


def rows_by_sequence_numbers(table: Table) -> list[int]:
    """The ids that are left by the rule of equality deletes, which PyIceberg cannot read."""
    table.refresh()
    deletes = [
        (entry.sequence_number, read_ids(entry.data_file)) for entry in entries_of(table, ManifestContent.DELETES)
    ]
    left = []
    for entry in entries_of(table, ManifestContent.DATA):
        gone = {id_ for number, ids_ in deletes for id_ in ids_ if present(entry.sequence_number) < (number or 0)}
        left += [id_ for id_ in read_ids(entry.data_file) if id_ not in gone]
    return sorted(left)


def read_ids(file: DataFile) -> list[int]:
    return list(pq.read_table(file.file_path.removeprefix("file://"), partitioning=None)["id"].to_pylist())
