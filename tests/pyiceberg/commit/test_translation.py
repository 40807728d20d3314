"""Deletes that others commit during a rewrite die in its new files, and the rewrite is not done twice."""

import math
import struct
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException, ForbiddenError
from pyiceberg.manifest import DataFile, DataFileContent, ManifestContent
from pyiceberg.table import Table
from pyiceberg.types import LongType

from iceberg_zorder.errors import RewriteConflictError, RewriteFailedError, UnknownOutcomeError
from iceberg_zorder.pyiceberg import group_rewrite, rewrite_data_files, translation, undo
from iceberg_zorder.pyiceberg.commit.head import Head
from iceberg_zorder.pyiceberg.commit.replacement import TranslatedDeletes
from iceberg_zorder.pyiceberg.compat import write_list
from iceberg_zorder.pyiceberg.files import FileGroup
from iceberg_zorder.pyiceberg.read.reader import Reader
from iceberg_zorder.rewrite.result import RewriteResult
from iceberg_zorder.rewrite.snapshot_keys import SETTLED_FROM
from tests.fuzz.readers import duckdb_with_iceberg
from tests.present import present
from tests.pyiceberg.committing import (
    Interrupted,
    commit_files,
    entries_of,
    equality_deletes,
    exists,
    files_of,
    head_id,
    known_avro_files,
    make_catalog,
    operations,
    paths_on_disk,
    position_deletes,
    summary_of,
)

WAITS = {"commit.retry.min-wait-ms": "1", "commit.retry.max-wait-ms": "2"}
COMMIT = "iceberg_zorder.pyiceberg.commit"
TWICE = "planned and rewritten again"


def numbers(start: int, end: int) -> pa.Table:
    """Rows of two files: a key, a column that repeats, and one with NULL."""
    ids = range(start, end)
    texts = [None if id_ % 7 == 0 else f"s{id_ % 10}" for id_ in ids]
    return pa.table({"id": pa.array(ids, pa.int64()), "a": pa.array([id_ % 5 for id_ in ids], pa.int32()), "s": texts})


@dataclass
class Live:
    """A table that others write while it is rewritten."""

    directory: Path
    version: int = 2
    appends: Sequence[pa.Table] = (numbers(0, 100), numbers(100, 200))
    by: str = ""
    properties: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.catalog = make_catalog(self.directory, Interrupted)
        self.other_catalog = make_catalog(self.directory, SqlCatalog)
        properties = {**WAITS, "format-version": str(self.version), **self.properties}
        self.mine = self.catalog.create_table("db.t", self.appends[0].schema, properties=properties)
        if self.by:
            self.mine.update_spec().add_identity(self.by).commit()
        for append in self.appends:
            self.mine.append(append)
        self.other = self.other_catalog.load_table("db.t")
        self.files = files_of(self.other)

    def rewrite(self, *others: Callable[[], object], by: str = "id", **options: Any) -> RewriteResult:
        """Rewrite all files; each other writer gets in right before a commit."""
        self.catalog.first = list(others)
        written = {name.replace("_", "-"): value for name, value in options.items()}
        written["partial-progress.enabled"] = written.pop("partial-progress", False)
        return rewrite_data_files(self.mine, by, options={"rewrite-all": True, **written})

    def delete(self, *positions: int, file: int = 0, **where: Any) -> None:
        """Delete rows of one file by their positions."""
        of = self.files[file]
        where = {"spec_id": of.spec_id, "partition": [*of.partition._data], **where}
        commit_files(self.other, position_deletes(self.other, [(of.file_path, each) for each in positions], **where))

    def is_clean(self) -> bool:
        """Whether the table's folder has no files but those of snapshots."""
        table = self.other.refresh()
        known = known_avro_files(table)
        for snapshot in table.metadata.snapshots:
            for content in (ManifestContent.DATA, ManifestContent.DELETES):
                known |= {entry.data_file.file_path for entry in entries_of(table, content, snapshot.snapshot_id)}
        return {path for path in paths_on_disk(table) if path.endswith((".avro", ".parquet"))} <= known


def new_deletes(table: Table) -> list[DataFile]:
    """The delete files of the newest snapshot that it has added."""
    table.refresh()
    entries = entries_of(table, ManifestContent.DELETES)
    return [entry.data_file for entry in entries if entry.snapshot_id == head_id(table)]


@pytest.fixture(scope="module")
def duck() -> Any:
    return duckdb_with_iceberg()


@pytest.fixture
def ids(duck: Any) -> Callable[[Live], list[int]]:
    """The ids of the rows that DuckDB reads; without equality deletes also as PyIceberg does."""

    def read(live: Live) -> list[int]:
        table = live.other.refresh()
        location = table.metadata_location
        found = sorted(row[0] for row in duck.execute(f"SELECT id FROM iceberg_scan('{location}')").fetchall())
        contents = {entry.data_file.content for entry in entries_of(table, ManifestContent.DELETES)}
        if DataFileContent.EQUALITY_DELETES not in contents:
            assert sorted(table.scan().to_arrow()["id"].to_pylist()) == found
        return found

    return read


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("repeats", [False, True], ids=["by a key", "by all columns"])
def test_position_deletes(
    tmp_path: Path, ids: Callable[[Live], list[int]], monkeypatch: pytest.MonkeyPatch, repeats: bool, before: bool
) -> None:
    live = Live(tmp_path)
    if repeats:
        monkeypatch.setattr(translation, "_KEY_BYTES", 0)
    if before:
        live.delete(3, 50, 51)
        live.delete(1, file=1)
    # A row that was dead already is not counted.
    result = live.rewrite(lambda: live.delete(3, 4, 99), target_file_size_bytes=700)
    gone = {3, 4, 99} | ({50, 51, 101} if before else set())
    assert ids(live) == [id_ for id_ in range(200) if id_ not in gone]
    assert result.added_data_files_count > 1
    assert result.translated_deletes == (2 if before else 3)
    deletes = new_deletes(live.mine)
    assert f"by {len(deletes)} delete file" in present(result.message)
    assert operations(live.mine).count("replace") == 1
    summary = summary_of(live.mine)
    assert summary["zorder.translated-deletes"] == summary["added-position-deletes"] == str(result.translated_deletes)
    assert summary["zorder.translated-delete-files"] == summary["total-delete-files"] == str(len(deletes))
    assert summary["total-position-deletes"] == str(result.translated_deletes)
    head = present(live.mine.current_snapshot())
    (number,) = {entry.sequence_number for entry in entries_of(live.mine, ManifestContent.DELETES)}
    assert number == head.sequence_number
    assert {entry.sequence_number for entry in entries_of(live.mine, ManifestContent.DATA)} == {4 if before else 2}
    assert live.is_clean()
    left = ids(live)
    undo(live.mine)
    assert ids(live) == left


def test_values_that_only_some_new_files_hold(
    tmp_path: Path, ids: Callable[[Live], list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lookup column is the narrowest one, and its value does not tell the rows apart."""
    flagged = [numbers(start, start + 100).append_column("f", pa.array([start > 0] * 100)) for start in (0, 100)]
    live = Live(tmp_path, appends=flagged)
    monkeypatch.setattr(translation, "_KEY_BYTES", 0)
    result = live.rewrite(lambda: live.delete(90, 91, file=1), target_file_size_bytes=700)
    assert result.added_data_files_count > 2
    assert result.translated_deletes == 2
    assert ids(live) == [*range(190), *range(192, 200)]


def test_copy_on_write(tmp_path: Path, ids: Callable[[Live], list[int]]) -> None:
    live = Live(tmp_path, appends=[numbers(0, 6), numbers(6, 200)])
    live.delete(5)
    result = live.rewrite(lambda: live.other.refresh().delete("id = 2"))
    assert ids(live) == [id_ for id_ in range(200) if id_ not in (2, 5)]
    assert result.translated_deletes == 5
    assert len(files_of(live.mine)) == 2
    assert summary_of(live.mine)["deleted-data-files"] == "1"
    assert live.is_clean()


def test_another_rewrite_of_some_files(tmp_path: Path, ids: Callable[[Live], list[int]]) -> None:
    live = Live(tmp_path, appends=[numbers(0, 4), numbers(4, 8), numbers(8, 200)])

    def rewrite() -> None:
        rewrite_data_files(live.other.refresh(), "id", where="id < 8", options={"rewrite-all": True})

    result = live.rewrite(rewrite)
    assert (result.translated_deletes, result.rewritten_data_files_count) == (8, 1)
    assert "deleted or moved 8 rows" in present(result.message)
    assert ids(live) == [*range(200)]
    assert operations(live.mine)[-2:] == ["replace", "replace"]


def test_files_that_go_one_after_the_other(tmp_path: Path, ids: Callable[[Live], list[int]]) -> None:
    """No delete file comes with either: only the files that are gone tell what died since the first translation."""
    live = Live(tmp_path, appends=[numbers(0, 3), numbers(3, 6), numbers(6, 200)])
    result = live.rewrite(*(lambda id_=id_: live.other.refresh().delete(f"id <= {id_}") for id_ in (2, 5)))
    assert ids(live) == [*range(6, 200)]
    assert (result.translated_deletes, result.rewritten_data_files_count) == (6, 1)
    assert live.is_clean()


def test_some_of_several_equal_rows(tmp_path: Path) -> None:
    same = pa.table({"id": [1] * 90 + [2] * 10, "x": [0.5] * 100})
    live = Live(tmp_path, appends=[same, same])
    result = live.rewrite(lambda: live.delete(0, 7, 95), lambda: live.delete(3, file=1))
    assert result.translated_deletes == 4
    assert Counter(live.mine.scan().to_arrow()["id"].to_pylist()) == {1: 177, 2: 19}
    assert live.is_clean()


def test_values_are_equal_by_their_bits(tmp_path: Path) -> None:
    other_nan = struct.unpack("<d", struct.pack("<Q", 0x7FF8000000000001))[0]
    values = [0.0, -0.0, math.nan, other_nan, None, 1.5]
    rows = pa.table({"id": pa.array([1] * 120, pa.int64()), "x": pa.array(values * 20, pa.float64())})
    live = Live(tmp_path, appends=[rows])
    live.rewrite(lambda: live.delete(1, 3, 4, 7, 10))
    found = live.mine.scan().to_arrow()["x"].to_pylist()
    bits = Counter(None if each is None else struct.pack("<d", each) for each in found)
    keys = [None if each is None else struct.pack("<d", each) for each in values]
    assert [bits[key] for key in keys] == [20, 18, 20, 19, 18, 20]


ALL_TYPES: list[tuple[pa.DataType, Callable[[int], Any]]] = [
    (pa.bool_(), lambda n: n % 2 == 0),
    (pa.int32(), lambda n: n),
    (pa.float32(), float),
    (pa.date32(), lambda n: n),
    (pa.time64("us"), lambda n: n),
    (pa.timestamp("us"), lambda n: n),
    (pa.timestamp("us", "UTC"), lambda n: n),
    (pa.decimal128(30, 2), lambda n: n),
    (pa.string(), lambda n: "ä" * (n % 9) + str(n)),
    (pa.binary(), lambda n: bytes([0, n % 256])),
    (pa.binary(5), lambda n: n.to_bytes(5, "big")),
    (pa.uuid(), lambda n: n.to_bytes(16, "big")),
]


def test_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs of equal rows, compared by all columns; a value of each type is NULL where another one is not."""
    columns = {
        f"c{place}": pa.array([None if n % 15 == place else value(n // 2) for n in range(100)], kind)
        for place, (kind, value) in enumerate(ALL_TYPES)
    }
    rows = pa.table({"id": pa.array([n // 2 for n in range(100)], pa.int64()), **columns})
    live = Live(tmp_path, appends=[rows])
    monkeypatch.setattr(translation, "_KEY_BYTES", 1000)
    assert live.rewrite(lambda: live.delete(1, 9, 42, 43)).translated_deletes == 4
    found = Counter(str(row) for row in live.mine.scan().to_arrow().to_pylist())
    kept = live.mine.scan(snapshot_id=present(live.mine.metadata.snapshots[-2]).snapshot_id).to_arrow()
    assert found == Counter(str(row) for row in kept.to_pylist())
    assert found.total() == 96


def test_deletes_that_only_seem_to_meet(tmp_path: Path, ids: Callable[[Live], list[int]]) -> None:
    """Their file has no bounds, so that it may apply to any file; no row is read for it."""
    live = Live(tmp_path)

    def append_and_delete() -> None:
        live.other.refresh().append(numbers(200, 210))
        (new,) = (file for file in files_of(live.other) if file not in live.files)
        two = [(new.file_path, 1), (f"{new.file_path}.old", 1)]
        commit_files(live.other, position_deletes(live.other, two))

    result = live.rewrite(append_and_delete)
    assert ids(live) == [id_ for id_ in range(210) if id_ != 201]
    assert (result.translated_deletes, result.rewritten_data_files_count, result.message) == (0, 2, None)
    assert new_deletes(live.mine) == []
    assert "zorder.translated-deletes" not in summary_of(live.mine)


def test_with_equality_deletes(tmp_path: Path, ids: Callable[[Live], list[int]]) -> None:
    """One before the start, one since on other rows and on the same ones, and rows that come again."""
    live = Live(tmp_path)
    commit_files(live.other, equality_deletes(live.other, [10, 11]))

    def upsert() -> None:
        commit_files(live.other, equality_deletes(live.other, [12, 13]))
        live.other.append(numbers(12, 13))
        live.delete(11, 13, 14)

    result = live.rewrite(upsert)
    assert result.translated_deletes == 2
    assert ids(live) == [id_ for id_ in range(200) if id_ not in (10, 11, 13, 14)]


def test_a_writer_that_slips_in(tmp_path: Path, ids: Callable[[Live], list[int]]) -> None:
    """Each row counts once, and delete files of lost attempts are deleted."""
    live = Live(tmp_path)
    result = live.rewrite(lambda: live.delete(1), lambda: live.delete(2), lambda: live.delete(3, file=1))
    assert result.translated_deletes == 3
    assert ids(live) == [id_ for id_ in range(200) if id_ not in (1, 2, 103)]
    assert live.is_clean()


def _remove_small(live: Live) -> None:
    if len(files_of(live.other.refresh())) == 3:
        live.other.delete("id >= 1000")


def _revive(live: Live) -> None:
    """A rollback, or a compaction of deletes that loses some."""
    if any(entries_of(live.other.refresh(), ManifestContent.DELETES)):
        commit_files(live.other, without=ManifestContent.DELETES)


_STEPS = {
    "one": lambda live: live.delete(3, file=1),
    "equal rows": lambda live: live.delete(1, 2),
    "the rest of the small file": _remove_small,
    "revive": _revive,
}


@pytest.mark.parametrize("second", _STEPS)
@pytest.mark.parametrize("first", _STEPS)
def test_later_translations_look_for_rows_that_died_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str, second: str
) -> None:
    """Whatever two writers do after one that deletes, and after another translation."""
    twins = pa.concat_tables([numbers(8, 9)] * 3 + [numbers(0, 150)])
    live = Live(tmp_path, appends=[twins, numbers(200, 400), numbers(1000, 1004)])
    searched: list[dict[str, int | None]] = []
    find = translation._Lookup.find

    def counted(this: translation._Lookup, died: translation._Rows) -> Any:
        searched.append({task.data_file.file_path: None if rows is None else len(rows) for task, rows in died})
        return find(this, died)

    monkeypatch.setattr(translation._Lookup, "find", counted)

    def rows_of(live: Live) -> Counter[str]:
        return Counter(map(repr, live.other.refresh().scan().to_arrow().to_pylist()))

    expected: Counter[str] = Counter()

    def delete() -> None:
        live.delete(0)
        live.delete(0, file=2)

    def take_last_step() -> None:
        _STEPS[second](live)
        expected.update(rows_of(live))

    assert live.rewrite(delete, lambda: _STEPS[first](live), take_last_step).rewritten_data_files_count
    assert rows_of(live) == expected
    assert live.is_clean()
    twins_path, others_path, small_path = (file.file_path for file in live.files)
    if (first, second) == ("one", "equal rows"):
        assert searched == [{twins_path: 1, small_path: 1}, {others_path: 1}, {twins_path: 2}]
    if (first, second) == ("one", "the rest of the small file"):
        assert searched[-1] == {small_path: 3}


def test_appends_leave_dead_rows_as_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    live = Live(tmp_path, properties={"commit.retry.num-retries": "6"})
    heads = []
    translate = translation.Translator.translate

    def counted(this: translation.Translator, head: Head, *given: Any) -> TranslatedDeletes:
        heads.append(head)
        return translate(this, head, *given)

    monkeypatch.setattr(translation.Translator, "translate", counted)

    def refuse() -> None:
        raise CommitFailedException("throttled")

    def append() -> None:
        live.other.refresh().append(numbers(1000, 1003))

    def delete_elsewhere() -> None:
        append()
        new = files_of(live.other.refresh())[-1]
        commit_files(live.other, position_deletes(live.other, [(new.file_path, 0)]))

    result = live.rewrite(lambda: live.delete(1), append, delete_elsewhere, refuse, append)
    assert (len(heads), result.translated_deletes, operations(live.mine).count("replace")) == (1, 1, 1)
    assert len(live.mine.scan().to_arrow()) == 200 - 1 + 9 - 1
    assert live.is_clean()


def test_a_column_more_when_planned_again(tmp_path: Path) -> None:
    """A partition column is no column of a layout, until it is none of partitions any more."""
    places = [numbers(100 * p, 100 * p + 100).append_column("p", pa.array([p] * 100, pa.int64())) for p in range(2)]
    live = Live(tmp_path, appends=places, by="p")

    def delete() -> None:
        for file in (0, 1):
            live.delete(*range(20), file=file)
        live.other.refresh().update_spec().remove_field("p").commit()

    with pytest.raises(
        RewriteConflictError, match="columns that the table is clustered by have changed. 1 commits remain"
    ):
        live.rewrite(lambda: None, delete, by="id,p", partial_progress=True)


def test_a_faster_writer(tmp_path: Path, ids: Callable[[Live], list[int]], caplog: pytest.LogCaptureFixture) -> None:
    """After ten translations in a row the files are planned again."""
    live = Live(tmp_path)
    result = live.rewrite(*(lambda each=each: live.delete(each) for each in range(12)))
    assert "10 translations came too late" in caplog.text
    assert result.rewritten_data_files_count == 2
    assert ids(live) == [*range(12, 200)]
    assert live.is_clean()


def test_rows_of_earlier_translations_count(
    tmp_path: Path, ids: Callable[[Live], list[int]], caplog: pytest.LogCaptureFixture
) -> None:
    live = Live(tmp_path)
    live.rewrite(lambda: live.delete(*range(6)), lambda: live.delete(*range(6, 12)))
    assert "more than 4 of a file group's rows were deleted after 6" in caplog.text
    assert TWICE in caplog.text
    assert ids(live) == [*range(12, 200)]


@pytest.mark.parametrize("broken", [False, True])
def test_what_is_settled_when_file_groups_are_planned_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: bool
) -> None:
    """What came since the first plan is not, nor anything if a file group has failed."""
    live = Live(tmp_path, appends=[pa.table({"id": range(100), "p": [p] * 100}) for p in range(3)], by="p")
    start, written = head_id(live.other), group_rewrite.rewrite_group

    def rewrite(context: Any, group: FileGroup, layout: Any) -> Any:
        if broken and group.index == 1:
            raise OSError("broken")
        return written(context, group, layout)

    def delete_and_append() -> None:
        live.delete(*range(20), file=2)
        live.other.append(pa.table({"id": range(100, 200), "p": [0] * 100}))

    monkeypatch.setattr(group_rewrite, "rewrite_group", rewrite)
    result = live.rewrite(delete_and_append, partial_progress=True, max_concurrent_file_group_rewrites=1)
    assert (result.rewritten_data_files_count, result.failed_data_files_count) == (3 - broken, broken)
    marks = {summary_of(live.mine, each.snapshot_id).get(SETTLED_FROM) for each in live.mine.snapshots()}
    assert marks == ({None} if broken else {None, str(start)})


def change_schema(live: Live) -> None:
    live.delete(1)
    live.other.update_schema().add_column("q", LongType()).commit()


def revive(live: Live) -> None:
    commit_files(live.other, without=ManifestContent.DELETES)


@pytest.mark.parametrize(
    ("table", "before", "other", "options", "why"),
    [
        ({}, None, lambda live: live.delete(*range(11)), {}, "more than 10 of a file group's rows were deleted"),
        ({}, None, lambda live: live.delete(1), {"on_conflict": "fail"}, "was added, which may delete rows"),
        ({}, None, lambda live: live.other.delete("id = 2"), {}, "more than 10 of a file group's rows were deleted"),
        ({"version": 1}, None, lambda live: live.other.delete("id = 2"), {}, "was removed"),
        ({}, None, change_schema, {}, "and the table's schema was changed"),
        ({}, lambda live: live.delete(7), revive, {}, "deleted are live again"),
        (
            {},
            lambda live: commit_files(live.other, equality_deletes(live.other, [7])),
            revive,
            {},
            "was removed, so that its rows may be live again",
        ),
    ],
    ids=["many rows", "fail", "copy-on-write", "version 1", "schema", "revived", "revived by equality"],
)
def test_planned_again(
    tmp_path: Path,
    ids: Callable[[Live], list[int]],
    caplog: pytest.LogCaptureFixture,
    table: dict[str, Any],
    before: Callable[[Live], None] | None,
    other: Callable[[Live], None],
    options: dict[str, Any],
    why: str,
) -> None:
    live = Live(tmp_path, **table)
    if before:
        before(live)
    result = live.rewrite(lambda: other(live), **options)
    assert TWICE in caplog.text
    assert why in caplog.text
    assert result.translated_deletes == 0
    assert live.is_clean()


def test_a_renamed_clustering_column(tmp_path: Path) -> None:
    """The files cannot be planned again, and the error says why they had to be."""
    live = Live(tmp_path)

    def delete_and_rename() -> None:
        live.delete(1)
        live.other.update_schema().rename_column("id", "number").commit()

    why = "its file groups conflict with other operations and cannot be planned again: Cannot cluster by column 'id'"
    with pytest.raises(RewriteConflictError, match=why):
        live.rewrite(delete_and_rename)
    assert live.is_clean()


def test_a_clustering_column_that_goes_between_commits(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """All file groups are written as they were planned."""
    live = Live(
        tmp_path, appends=[pa.table({"id": range(100), "x": [p] * 100, "p": [p] * 100}) for p in range(4)], by="p"
    )

    def drop() -> None:
        live.other.update_schema().delete_column("id").commit()

    result = live.rewrite(drop, partial_progress=True, max_concurrent_file_group_rewrites=1)
    assert (result.rewritten_data_files_count, result.failed_data_files_count) == (4, 0)
    assert TWICE not in caplog.text
    assert Counter(live.mine.scan().to_arrow()["x"].to_pylist()) == dict.fromkeys(range(4), 100)


def test_delete_files_that_are_merged(tmp_path: Path, ids: Callable[[Live], list[int]]) -> None:
    """Another job has made one delete file of several; a row is deleted by it in addition."""
    live = Live(tmp_path)
    live.delete(7)
    live.delete(8)

    def merge() -> None:
        file = live.files[0].file_path
        merged = position_deletes(live.other, [(file, 7), (file, 8), (file, 9)])
        commit_files(live.other, merged, without=ManifestContent.DELETES)

    result = live.rewrite(merge)
    assert result.translated_deletes == 1
    assert ids(live) == [*range(7), *range(10, 200)]


def test_nested_columns(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """They need no comparison where others tell the rows apart."""
    nested = pa.table({"id": [*range(98), 98, 98], "n": [[n] for n in range(100)]})
    live = Live(tmp_path, appends=[nested])
    assert live.rewrite(lambda: live.delete(3)).translated_deletes == 1
    assert TWICE not in caplog.text
    assert live.mine.scan().to_arrow()["n"].to_pylist() == [[n] for n in range(100) if n != 3]


def test_rows_that_differ_in_nested_columns_only(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    nested = pa.table({"id": [*range(98), 98, 98], "n": [[n] for n in range(100)]})
    live = Live(tmp_path, appends=[nested])
    assert live.rewrite(lambda: live.delete(99)).translated_deletes == 0
    assert "rows were deleted that may differ from others only in nested columns" in caplog.text
    assert sorted(live.mine.scan().to_arrow()["n"].to_pylist()) == [[n] for n in range(99)]


@pytest.mark.parametrize("partial", [False, True])
def test_file_groups(tmp_path: Path, ids: Callable[[Live], list[int]], partial: bool) -> None:
    """The limit counts by group, and equal values of other groups are no matches."""
    groups = [numbers(0, 100).append_column("p", pa.array([each] * 100)) for each in "ab"]
    live = Live(tmp_path, appends=groups, by="p")
    result = live.rewrite(lambda: live.delete(*range(5), file=1), partial_progress=partial)
    assert result.translated_deletes == 5
    assert ids(live) == sorted([*range(100), *range(5, 100)])
    assert result.failed_data_files_count == 0
    assert {
        delete.partition[0] for entry in entries_of(live.mine, ManifestContent.DELETES) for delete in [entry.data_file]
    } == {"b"}


def test_a_change_of_the_partition_spec(tmp_path: Path, ids: Callable[[Live], list[int]]) -> None:
    live = Live(tmp_path)
    with live.other.update_spec() as change:
        change.add_identity("a")
    live.mine.refresh()
    result = live.rewrite(lambda: live.delete(1, 2, 6))
    assert result.translated_deletes == 3
    assert {delete.partition[0] for delete in new_deletes(live.mine)} == {1, 2}
    assert ids(live) == [id_ for id_ in range(200) if id_ not in (1, 2, 6)]


def test_a_branch(tmp_path: Path) -> None:
    live = Live(tmp_path)
    main = head_id(live.other)
    live.other.manage_snapshots().create_branch(main, "audit").commit()
    deletes = position_deletes(live.other, [(live.files[0].file_path, 1)])
    live.mine.refresh()
    live.catalog.first = [lambda: commit_files(live.other, deletes, branch="audit")]
    result = rewrite_data_files(live.mine, "id", options={"rewrite-all": True}, branch="audit")
    assert result.translated_deletes == 1
    audit = present(live.mine.refresh().snapshot_by_name("audit")).snapshot_id
    assert sorted(live.mine.scan(snapshot_id=audit).to_arrow()["id"].to_pylist()) == [0, *range(2, 200)]
    assert head_id(live.mine) == main


def test_lookup_columns_are_narrow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Of large groups only a share is read: two columns with the bytes of a key, or else narrower ones."""
    wide = pa.table({"a": [n % 3 for n in range(400)], "k": range(400), "text": [f"{n:x}" * 60 for n in range(400)]})
    live = Live(tmp_path, appends=[wide])
    read: list[list[str]] = []

    def seen(table: Table, tasks: Any, schema: Any, **settings: Any) -> Any:
        read.append([each.name for each in schema.fields])
        return Reader(table, tasks, schema, **settings)

    monkeypatch.setattr(translation, "Reader", seen)
    monkeypatch.setattr(translation, "_SMALL", 0)
    monkeypatch.setattr(translation, "_KEY_BYTES", 1)
    assert live.rewrite(lambda: live.delete(5), by="k").translated_deletes == 1
    assert read == [["k", "a"], ["k", "a"]]
    assert TWICE not in caplog.text
    # A third of all rows has the value of the deleted one.
    monkeypatch.setattr(translation, "_KEY_BYTES", 0.1)
    live.files = files_of(live.mine)
    live.rewrite(lambda: live.delete(6), by="k")
    assert read == [["k", "a"], ["k", "a"], ["a"], ["a"]]
    assert "more than 99 of a file group's rows share values with deleted ones" in caplog.text
    assert sorted(live.mine.scan().to_arrow()["k"].to_pylist()) == [n for n in range(400) if n not in (5, 6)]


def test_a_column_with_one_value_in_most_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its bytes are many, and tell few rows apart."""
    texts = [None if n % 2 else f"error {n * n:x}" * 2 for n in range(400)]
    live = Live(
        tmp_path, appends=[pa.table({"k": range(400), "err": texts, "pay": [f"{n:x}" * 99 for n in range(400)]})]
    )
    monkeypatch.setattr(translation, "_SMALL", 0)
    assert live.rewrite(lambda: live.delete(5), by="k").translated_deletes == 1


@pytest.mark.parametrize("down", [False, True])
def test_a_failed_commit(tmp_path: Path, down: bool) -> None:
    """It deletes its delete files; an unknown outcome deletes nothing."""
    live = Live(tmp_path)

    def failing() -> None:
        live.catalog.is_down = down
        raise ConnectionResetError if down else ForbiddenError

    with pytest.raises(UnknownOutcomeError if down else RewriteFailedError):
        live.rewrite(lambda: live.delete(1), failing)
    left = [path for path in paths_on_disk(live.other) if path.endswith("-deletes.parquet")]
    assert len(left) == down
    assert live.is_clean() is not down


class Killed(BaseException):
    """Ends a rewrite at once: nothing is deleted any more."""


@pytest.mark.parametrize("point", ["the delete file", "the manifests", "the commit"])
def test_a_kill(tmp_path: Path, ids: Callable[[Live], list[int]], monkeypatch: pytest.MonkeyPatch, point: str) -> None:
    """The table lists no delete file that is not there, and the next rewrite goes on."""
    live = Live(tmp_path)

    def killed(*_: Any, **__: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(f"{COMMIT}.replacement.delete_files", killed)
        if point == "the delete file":
            patch.setattr(translation, "write_position_deletes", killed)
        elif point == "the manifests":

            def of_lost_attempts(*arguments: Any, **options: Any) -> Any:
                return write_list(*arguments, **options) if live.catalog.first else killed()

            patch.setattr(f"{COMMIT}.snapshot.write_list", of_lost_attempts)
        else:
            live.catalog.then = [killed]
        with pytest.raises((Killed, UnknownOutcomeError)):
            live.rewrite(lambda: live.delete(1))
    assert ids(live) == [0, *range(2, 200)]
    for content in (ManifestContent.DATA, ManifestContent.DELETES):
        assert all(exists(entry.data_file) for entry in entries_of(live.other.refresh(), content))
    live.catalog.then = []
    live.rewrite()
    assert ids(live) == [0, *range(2, 200)]


def test_an_expired_start(tmp_path: Path, ids: Callable[[Live], list[int]], caplog: pytest.LogCaptureFixture) -> None:
    live = Live(tmp_path)
    start = head_id(live.other)

    def delete_and_expire() -> None:
        live.delete(1)
        live.delete(2)
        live.other.refresh().maintenance.expire_snapshots().by_id(start).commit()

    live.rewrite(delete_and_expire)
    assert "is no longer in the known history of branch main" in caplog.text or TWICE not in caplog.text
    assert ids(live) == [0, *range(3, 200)]


def test_snapshots_that_expire_between_commits(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What the rewrite has committed itself came from its start, though that is not known any more."""
    live = Live(tmp_path, appends=[pa.table({"id": range(100), "p": [p] * 100}) for p in range(3)], by="p")

    def append_and_expire() -> None:
        live.other.refresh().append(pa.table({"id": [100], "p": [0]}))
        *old, _, _ = live.other.metadata.snapshots
        live.other.maintenance.expire_snapshots().by_ids([each.snapshot_id for each in old]).commit()

    result = live.rewrite(lambda: None, lambda: None, append_and_expire, partial_progress=True)
    assert operations(live.mine) == ["replace", "append", "replace"]
    assert TWICE not in caplog.text
    assert result.rewritten_data_files_count == 3


def test_old_files_that_cannot_be_read(
    tmp_path: Path, ids: Callable[[Live], list[int]], caplog: pytest.LogCaptureFixture
) -> None:
    live = Live(tmp_path, appends=[numbers(0, 5), numbers(5, 200)])

    def replace_and_delete() -> None:
        live.other.refresh().delete("id = 2")
        Path(live.files[0].file_path.removeprefix("file://")).unlink()

    live.rewrite(replace_and_delete)
    assert "looking for deleted rows failed" in caplog.text
    assert ids(live) == [0, 1, *range(3, 200)]


def test_rows_that_need_too_much_memory(
    tmp_path: Path, ids: Callable[[Live], list[int]], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = Live(tmp_path)
    monkeypatch.setattr("iceberg_zorder.rewrite.options.SMALLEST_MEMORY_LIMIT", 1)
    live.rewrite(lambda: live.delete(1, 2, 3), memory_limit_bytes=400)
    assert "take more memory than memory-limit-bytes leaves" in caplog.text
    assert ids(live) == [0, *range(4, 200)]
