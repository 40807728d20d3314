"""What a commit makes of a table: the snapshot, its summary, its manifests and its delete files."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import DataFile, ManifestContent, ManifestEntryStatus, ManifestFile
from pyiceberg.table import Table

from iceberg_zorder.errors import RewriteConflictError, UnknownOutcomeError
from iceberg_zorder.pyiceberg.commit.replacement import Replacement
from iceberg_zorder.pyiceberg.commit.snapshot import MARKERS, is_overtaken
from iceberg_zorder.pyiceberg.compat import referenced_data_file
from tests.pyiceberg.committing import (
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
    make_table,
    new_file,
    position_deletes,
    rewritten,
    rows_of,
    summary_of,
)


def manifests(table: Table, content: ManifestContent = ManifestContent.DATA) -> list[ManifestFile]:
    return [file for file in head_of(table.refresh()).manifests(table.io) if file.content == content]


def statuses(table: Table, manifest: ManifestFile) -> list[tuple[str, str, int | None, int | None, int | None]]:
    """Status, file name, snapshot and both sequence numbers of each entry, the deleted ones too."""
    return [
        (
            entry.status.name,
            entry.data_file.file_path,
            entry.snapshot_id,
            entry.sequence_number,
            entry.file_sequence_number,
        )
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=False)
    ]


def merge_manifests(table: Table, rows: pa.Table) -> None:
    """Append so that all files are in one manifest."""
    with table.transaction() as transaction:
        transaction.set_properties({"commit.manifest-merge.enabled": "true", "commit.manifest.min-count-to-merge": "1"})
    table.append(rows)


def test_the_snapshot(catalog: SqlCatalog) -> None:
    table = make_table(catalog, rows_of([1, 2]), rows_of([3]), rows_of([4, 5, 6]))
    start, files = head_id(table), files_of(table)
    table.append(rows_of([7]))
    head = head_id(table)
    replacement = rewritten(table, files[:2])
    new = commit(table, replacement, start)

    snapshot = head_of(table)
    assert (snapshot.snapshot_id, snapshot.parent_snapshot_id, snapshot.sequence_number) == (new, head, 5)
    assert snapshot.schema_id == table.schema().schema_id
    sizes = [file.file_size_in_bytes for file in files_of(table)]
    assert summary_of(table, new) == {
        "operation": "replace",
        "zorder.columns": "id",
        "added-data-files": "1",
        "deleted-data-files": "2",
        "added-records": "3",
        "deleted-records": "3",
        "added-files-size": str(replacement.added[0].file_size_in_bytes),
        "removed-files-size": str(sum(file.file_size_in_bytes for file in files[:2])),
        "total-data-files": "3",
        "total-records": "7",
        "total-files-size": str(sum(sizes)),
        "total-delete-files": "0",
        "total-position-deletes": "0",
        "total-equality-deletes": "0",
    }
    assert ids(table) == [1, 2, 3, 4, 5, 6, 7]
    assert ids(table, snapshot_id=start) == [1, 2, 3, 4, 5, 6]
    # Nothing is deleted: older snapshots need it.
    assert all(map(exists, files))
    # The next commit goes on from the totals.
    table.append(rows_of([8]))
    assert summary_of(table, head_id(table))["total-records"] == "8"


@pytest.mark.parametrize("version", [1, 2])
def test_manifests(catalog: SqlCatalog, version: int) -> None:
    table = make_table(catalog, rows_of([1, 2]), rows_of([3]), version=version)
    merge_manifests(table, rows_of([4]))
    table.transaction().set_properties({"commit.manifest-merge.enabled": "false"}).commit_transaction()
    table.append(rows_of([5]))
    one, two, three, _ = files_of(table)
    by_path = {entry.data_file.file_path: entry for entry in entries_of(table, ManifestContent.DATA)}
    untouched, merged = manifests(table)
    start = head_id(table)
    replacement = rewritten(table, [one, three])
    new = commit(table, replacement, start)

    added, *others = manifests(table)
    assert untouched in others
    assert merged not in others
    (again,) = (file for file in others if file != untouched)
    number = 0 if version == 1 else 4
    file_number = 0 if version == 1 else 5
    assert statuses(table, added) == [("ADDED", replacement.added[0].file_path, new, number, file_number)]
    kept = by_path[two.file_path]
    assert sorted(statuses(table, again)) == sorted(
        [
            *(
                ("DELETED", file.file_path, new, entry.sequence_number, entry.file_sequence_number)
                for file in (one, three)
                for entry in [by_path[file.file_path]]
            ),
            ("EXISTING", two.file_path, kept.snapshot_id, kept.sequence_number, kept.file_sequence_number),
        ]
    )
    assert (again.added_snapshot_id, again.sequence_number) == (new, file_number)
    assert again.min_sequence_number == (0 if version == 1 else 2)
    assert added.min_sequence_number == number
    assert (again.existing_files_count, again.deleted_files_count, again.existing_rows_count) == (1, 2, 1)
    assert ids(table) == [1, 2, 3, 4, 5]
    # Entries deleted by the rewrite are not taken over by the next snapshot that touches their manifest.
    commit(table, rewritten(table, [two]), head_id(table))
    assert {status for file in manifests(table) for status, *_ in statuses(table, file)} == {"ADDED", "DELETED"} | (
        {"EXISTING"} if any(file.existing_files_count for file in manifests(table)) else set()
    )
    assert ids(table) == [1, 2, 3, 4, 5]
    assert sum(file.deleted_files_count or 0 for file in manifests(table)) == 1


def test_newer_sequence_numbers(catalog: SqlCatalog) -> None:
    table = make_table(catalog, rows_of([1]), rows_of([2]))
    commit(table, rewritten(table, files_of(table)), head_id(table), use_starting_sequence_number=False)
    assert [entry.sequence_number for entry in entries_of(table, ManifestContent.DATA)] == [3]
    assert manifests(table)[0].min_sequence_number == 3


def test_files_of_several_specs(catalog: SqlCatalog) -> None:
    table = make_table(catalog, rows_of([1, 2, 3, 4, 5], ["a", "a", "b", "b", None]), partitioned=True)
    table.update_spec().remove_field("p").add_field("id", transform="bucket[4]", partition_field_name="bucket").commit()
    start = head_id(table)
    a, b, null = sorted(files_of(table), key=lambda file: str(file.partition[0] or "z"))
    replacement = Replacement(
        (a, null),
        (
            new_file(table, rows_of([1], "a"), spec_id=1, partition=["a"]),
            new_file(table, rows_of([2], "a"), spec_id=1, partition=["a"]),
            new_file(table, rows_of([5], [None]), spec_id=1, partition=[None]),
            new_file(table, rows_of([6], "a"), spec_id=2, partition=[3]),
        ),
    )
    new = commit(table, replacement, start)
    of_spec = {file.partition_spec_id: file for file in manifests(table) if file.added_files_count}
    assert [file.added_files_count for file in of_spec.values()] == [3, 1]
    (summary,) = of_spec[1].partitions or []
    assert (summary.lower_bound, summary.upper_bound, summary.contains_null) == (b"a", b"a", True)
    (summary,) = of_spec[2].partitions or []
    assert (summary.lower_bound, summary.upper_bound) == (b"\x03\x00\x00\x00", b"\x03\x00\x00\x00")
    (kept,) = (file for file in manifests(table) if file.existing_files_count)
    assert [entry.data_file for entry in kept.fetch_manifest_entry(table.io)] == [b]
    assert summary_of(table, new)["changed-partition-count"] == "3"
    assert ids(table) == [1, 2, 3, 4, 5, 6]
    assert ids(table, row_filter="p = 'b'") == [3, 4]
    assert ids(table, row_filter="id = 2") == [2]


def test_an_old_spec_whose_column_is_dropped_keeps_its_partitions(catalog: SqlCatalog) -> None:
    table = make_table(catalog, rows_of([1, 2, 3], ["a", "b", None]), partitioned=True)
    before = {file.file_path: file.partition[0] for file in files_of(table)}
    table.update_spec().remove_field("p").commit()
    table.update_schema().delete_column("p").commit()
    a, _, _ = sorted(files_of(table), key=lambda file: str(before[file.file_path] or "z"))
    rows = pa.table({"id": pa.array([1], pa.int64())})
    spec = table.spec().spec_id
    partition = [None] * len(table.spec().fields)
    commit(table, Replacement((a,), (new_file(table, rows, spec_id=spec, partition=partition),)), head_id(table))
    assert ids(table) == [1, 2, 3]
    (again,) = (file for file in manifests(table) if file.deleted_files_count)
    entries = again.fetch_manifest_entry(table.io, discard_deleted=False)
    assert {entry.data_file.file_path: entry.data_file.partition[0] for entry in entries} == before
    (summary,) = again.partitions or []
    assert (summary.lower_bound, summary.upper_bound, summary.contains_null) == (b"a", b"b", True)


class Deletes:
    """A table of two partitions with two files each, and delete files of every kind."""

    def __init__(self, catalog: SqlCatalog) -> None:
        self.table = make_table(catalog, rows_of([1, 2], "a"), rows_of([3, 4], "a"), partitioned=True)
        self.table.append(rows_of([5, 6], "b"))
        self.one, self.two, self.b = files_of(self.table)

    def add(self, *deletes: DataFile) -> None:
        self.start = commit_files(self.table, *deletes)

    def rewrite(self, *files: DataFile, rows: list[int]) -> tuple[set[str], dict[str, str]]:
        """The delete files that are left, and the summary."""
        of_partition: dict[str, list[int]] = {"a": [], "b": []}
        for row in rows:
            of_partition["a" if row < 5 else "b"].append(row)
        added = tuple(
            new_file(self.table, rows_of(values, p), spec_id=1, partition=[p])
            for p, values in of_partition.items()
            if values
        )
        new = commit(self.table, Replacement(files, added), self.start)
        left = {entry.data_file.file_path for entry in entries_of(self.table, ManifestContent.DELETES)}
        return left, summary_of(self.table, new)

    def position(self, *deletes: tuple[DataFile, int], p: str = "a") -> DataFile:
        return position_deletes(
            self.table, [(file.file_path, position) for file, position in deletes], spec_id=1, partition=[p]
        )


@pytest.fixture
def deletes(catalog: SqlCatalog) -> Deletes:
    return Deletes(catalog)


def test_a_position_delete_file_goes_with_its_data_file(deletes: Deletes) -> None:
    of_one, of_two = deletes.position((deletes.one, 0)), deletes.position((deletes.two, 1))
    deletes.add(of_one, of_two)
    left, summary = deletes.rewrite(deletes.one, rows=[2])
    assert left == {of_two.file_path}
    assert ids(deletes.table) == [2, 3, 5, 6]
    removed = of_one.file_size_in_bytes + deletes.one.file_size_in_bytes
    assert summary["removed-files-size"] == str(removed)
    keys = ["removed-delete-files", "removed-position-delete-files", "removed-position-deletes", "total-delete-files"]
    assert [summary[key] for key in keys] == ["1", "1", "1", "1"]
    assert summary["total-position-deletes"] == "1"


def test_a_manifest_of_delete_files_is_written_again(catalog: SqlCatalog) -> None:
    # Spark writes many delete files to a manifest, and says of each which data file it belongs to.
    deletes = Deletes(catalog)
    of_one, of_two = deletes.position((deletes.one, 0)), deletes.position((deletes.two, 1))
    both = deletes.position((deletes.two, 0), (deletes.one, 1))
    for file in (of_one, of_two):
        file[17] = deletes.one.file_path if file is of_one else deletes.two.file_path
        for bounds in (file.lower_bounds, file.upper_bounds):
            bounds.clear()
    deletes.start = commit_files(deletes.table, of_one, of_two, both, one_manifest=True)
    before = {entry.data_file.file_path: entry for entry in entries_of(deletes.table, ManifestContent.DELETES)}
    left, _ = deletes.rewrite(deletes.one, rows=[])
    assert left == {of_two.file_path, both.file_path}
    (manifest,) = manifests(deletes.table, ManifestContent.DELETES)
    assert [status for status, *_ in statuses(deletes.table, manifest)] == ["DELETED", "EXISTING", "EXISTING"]
    for entry in entries_of(deletes.table, ManifestContent.DELETES):
        was = before[entry.data_file.file_path]
        assert referenced_data_file(entry.data_file) == referenced_data_file(was.data_file)
        assert entry.data_file._data == was.data_file._data
        assert (entry.sequence_number, entry.snapshot_id) == (was.sequence_number, was.snapshot_id)
        assert entry.status == ManifestEntryStatus.EXISTING


def test_a_position_delete_file_of_a_partition_goes_with_the_last_of_its_data_files(deletes: Deletes) -> None:
    both = deletes.position((deletes.one, 0), (deletes.two, 1))
    deletes.add(both)
    left, _ = deletes.rewrite(deletes.one, rows=[2])
    assert left == {both.file_path}
    assert ids(deletes.table) == [2, 3, 5, 6]
    deletes.start = head_id(deletes.table)
    left, summary = deletes.rewrite(
        *(file for file in files_of(deletes.table) if file.partition[0] == "a"), rows=[2, 3]
    )
    assert left == set()
    assert summary["total-delete-files"] == "0"
    assert ids(deletes.table) == [2, 3, 5, 6]


def test_a_position_delete_file_stays_for_a_data_file_of_its_own_commit(deletes: Deletes) -> None:
    """As Flink commits rows that were deleted before the checkpoint that adds them."""
    new = new_file(deletes.table, rows_of([8, 9]), spec_id=1, partition=["a"])
    both = deletes.position((deletes.one, 0), (new, 1))
    deletes.add(new, both)
    left, _ = deletes.rewrite(deletes.one, deletes.two, rows=[2, 3, 4])
    assert left == {both.file_path}
    assert ids(deletes.table) == [2, 3, 4, 5, 6, 8]


def test_an_equality_delete_file_goes_with_the_last_of_its_data_files(deletes: Deletes) -> None:
    delete = equality_deletes(deletes.table, [1, 4], spec_id=1, partition=["a"])
    deletes.add(delete)
    left, _ = deletes.rewrite(deletes.one, rows=[2])
    assert left == {delete.file_path}
    left, summary = deletes.rewrite(deletes.two, rows=[3])
    assert left == set()
    assert [summary[key] for key in ("removed-equality-delete-files", "removed-equality-deletes")] == ["1", "2"]
    # PyIceberg can read the table again.
    assert ids(deletes.table) == [2, 3, 5, 6]


def test_a_global_equality_delete_file_stays_while_any_data_file_is_older(deletes: Deletes) -> None:
    delete = equality_deletes(deletes.table, [1, 4, 6], spec_id=0)
    deletes.add(delete)
    left, _ = deletes.rewrite(deletes.one, deletes.two, rows=[2, 3])
    assert left == {delete.file_path}
    left, _ = deletes.rewrite(deletes.b, rows=[5])
    assert left == set()
    assert ids(deletes.table) == [2, 3, 5]


def test_nan_is_one_partition(catalog: SqlCatalog) -> None:
    schema = pa.schema([("id", pa.int64()), ("p", pa.string()), ("x", pa.float64())])
    table = catalog.create_table("db.t", schema)
    table.update_spec().add_identity("x").commit()
    table.append(pa.table({"id": [0], "p": ["a"], "x": [0.0]}, schema))
    rows = pa.table({"id": [1], "p": ["a"], "x": [float("nan")]}, schema)

    def nan_file() -> DataFile:
        return new_file(table, rows, spec_id=1, partition=[float("nan")])

    # PyIceberg's own append cannot write such a partition.
    one, two = nan_file(), nan_file()
    start = commit_files(table, one, two)
    paths = [(one.file_path, 0), (two.file_path, 0)]
    commit_files(table, position_deletes(table, paths, spec_id=1, partition=[float("nan")]))
    with pytest.raises(RewriteConflictError, match="position delete file"):
        commit(table, Replacement((one,), (nan_file(),)), start)
    commit(table, Replacement((one,), ()), head_id(table))
    assert len(entries_of(table, ManifestContent.DELETES)) == 1
    commit(table, Replacement((two,), ()), head_id(table))
    assert entries_of(table, ManifestContent.DELETES) == []


def test_whether_the_number_of_a_commit_is_taken_for_good(catalog: SqlCatalog) -> None:
    """What marks on rewrites mean for a commit that is not answered: its place may come free again."""
    table = make_table(catalog, rows_of([1, 2]))
    head = head_of(table)
    number = (head.sequence_number or 0) + 1
    mine = head.model_copy(update={"snapshot_id": 1, "parent_snapshot_id": head.snapshot_id, "sequence_number": number})
    assert not is_overtaken(mine, table.metadata)
    for _ in range(2):
        commit(table, rewritten(table, files_of(table)), head_id(table), snapshot_properties=MARKERS)
        assert not is_overtaken(mine, table.metadata)
    table.append(rows_of([3]))
    assert is_overtaken(mine, table.metadata)


@pytest.mark.parametrize("expired", [False, True])
def test_a_commit_cannot_be_repeated_and_then_delete_its_files(catalog: SqlCatalog, expired: bool) -> None:
    table = make_table(catalog, rows_of([1]), rows_of([2]))
    start, replacement = table.current_snapshot(), rewritten(table, files_of(table))
    assert start is not None
    commit(table, replacement, start)
    if expired:
        table.maintenance.expire_snapshots().by_id(start.snapshot_id).commit()
    path = replacement.added[0].file_path
    with pytest.raises(UnknownOutcomeError, match=f"because the table already has new data file {path}"):
        commit(table, replacement, start)
    assert ids(table) == [1, 2]


def test_files_without_row_ids_are_refused_once_rows_have_them(catalog: SqlCatalog) -> None:
    table = make_table(catalog, rows_of([1]), rows_of([2]))
    start, replacement = head_id(table), rewritten(table, files_of(table))
    location = Path(table.metadata_location.removeprefix("file://"))
    text = location.read_text()
    location.write_text(text.replace('"format-version":2', '"format-version":3').replace("{", '{"next-row-id":0,', 1))
    avro = avro_files(table)
    with pytest.raises(RewriteConflictError, match="rows have ids that the new files lack"):
        commit(table, replacement, start)
    assert avro_files(table) == avro
    assert not any(map(exists, replacement.added))
    location.write_text(text)
    assert ids(table) == [1, 2]
