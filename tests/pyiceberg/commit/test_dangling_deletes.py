"""``remove-dangling-deletes``: delete files that apply to nothing go after a rewrite, and no other."""

import random
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import DataFile, DataFileContent, ManifestContent
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table import Table
from pyiceberg.transforms import VoidTransform
from pyiceberg.typedef import Record

from iceberg_zorder.pyiceberg import rewrite_data_files
from iceberg_zorder.pyiceberg.commit.replacement import DanglingDeletesCommit
from iceberg_zorder.pyiceberg.files import partition_of, single_path
from iceberg_zorder.pyiceberg.read.reader import Reader
from tests.pyiceberg.committing import commit_files, entries_of, known_avro_files, operations, paths_on_disk, summary_of
from tests.pyiceberg.lake import data_file, equality_delete, planned, position_delete

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string())])
REWRITE = {"rewrite-all": True}
DANGLING = {**REWRITE, "remove-dangling-deletes": True}


def rows(ids: Sequence[int], p: str) -> list[dict[str, Any]]:
    return [{"id": id_, "p": p} for id_ in ids]


def deletes(table: Table) -> set[str]:
    return {entry.data_file.file_path for entry in entries_of(table.refresh(), ManifestContent.DELETES)}


def live(table: Table) -> list[tuple[int, str]]:
    """The rows that are left, as the plan of another rewrite has them: PyIceberg reads no equality deletes."""
    found = []
    for group in planned(table.refresh(), {"rewrite-all": "true"}).groups:
        reader = Reader(table, list(group.tasks))
        for task in group.tasks:
            for some in reader.rows(task):
                found += [(row["id"], row["p"]) for row in some.batch.to_pylist()]
    return sorted(found)


@pytest.fixture
def table(catalog: SqlCatalog) -> Table:
    made = catalog.create_table("db.t", SCHEMA, properties={"commit.retry.min-wait-ms": "1"})
    made.update_spec().add_identity("p").commit()
    return made


def test_what_applies_to_nothing_goes(table: Table) -> None:
    spec = table.spec().spec_id
    gone_partition = equality_delete(table, rows([1], "x"), ["id"], Record("x"), spec)
    older = equality_delete(table, rows([1], "b"), ["id"], Record("b"), spec)
    a = data_file(table, rows(range(10), "a"), Record("a"), spec)
    no_such_file = position_delete(table, a, [1])
    missing = data_file(table, rows([1], "a"), Record("a"), spec)
    no_such_file = position_delete(table, missing, [0])
    several_older = position_delete(table, missing, [0], bounds=False)
    commit_files(table, gone_partition)
    commit_files(table, older)
    commit_files(table, no_such_file)
    commit_files(table, several_older)
    commit_files(table, a)
    b = data_file(table, rows(range(10, 20), "b"), Record("b"), spec)
    commit_files(table, b)
    # What applies: to a by both kinds, to b by the path.
    applies = [
        equality_delete(table, rows([2], "a"), ["id"], Record("a"), spec),
        position_delete(table, a, [3], bounds=False),
        position_delete(table, b, [4]),
    ]
    for delete in applies:
        commit_files(table, delete)
    before = live(table)
    assert before == [(i, "a") for i in range(10) if i not in (2, 3)] + [(i, "b") for i in range(10, 20) if i != 14]
    # Another partition is rewritten.
    c = data_file(table, rows([30], "c"), Record("c"), spec)
    commit_files(table, c)
    rewrite_data_files(table, ["id"], where="p = 'c'", options=REWRITE)
    assert len(deletes(table)) == 7

    result = rewrite_data_files(table, ["id"], where="p = 'c'", options=DANGLING)
    assert result.removed_delete_files_count == 4
    assert deletes(table) == {delete.file_path for delete in applies}
    assert live(table) == [*before, (30, "c")]
    assert operations(table)[-3:] == ["replace", "replace", "replace"]
    summary = summary_of(table)
    assert summary["removed-delete-files"] == "4"
    assert summary["total-delete-files"] == "3"
    assert {path for path in paths_on_disk(table) if path.endswith(".avro")} == known_avro_files(table)


def test_a_global_delete_stays_while_any_file_is_older(catalog: SqlCatalog) -> None:
    table = catalog.create_table("db.t", SCHEMA)
    old = data_file(table, rows(range(5), "a"))
    commit_files(table, old)
    everywhere = equality_delete(table, rows([1], "a"), ["id"])
    commit_files(table, everywhere)
    # Since then the spec is another, and the unpartitioned one has no data file that the delete applies to.
    table.update_spec().add_identity("p").commit()
    spec = table.refresh().spec().spec_id
    new = data_file(table, rows([1, 2], "b"), Record("b"), spec)
    commit_files(table, new)
    before = live(table)
    assert before == [(0, "a"), (1, "b"), (2, "a"), (2, "b"), (3, "a"), (4, "a")]
    assert DanglingDeletesCommit(table, snapshot_properties={}).run() is None
    assert deletes(table) == {everywhere.file_path}
    assert live(table) == before
    # Once all files are newer, it goes.
    result = rewrite_data_files(table, ["id"], options={**DANGLING, "use-starting-sequence-number": False})
    assert result.removed_delete_files_count == 1
    assert deletes(table) == set()
    assert live(table) == before


@pytest.mark.parametrize("seed", range(2))
def test_no_row_changes(catalog: SqlCatalog, seed: int) -> None:
    """A random history: afterwards just the delete files are left that a naive reading of the rules still needs."""
    made_of = random.Random(seed)
    table = catalog.create_table("db.t", SCHEMA)
    if seed % 3:
        table.update_spec().add_identity("p").commit()
    data: list[DataFile] = []
    for step in range(14):
        if seed % 3 == 2 and step == 7:
            table.update_spec().remove_field("p").commit()
        spec, p = table.refresh().spec(), made_of.choice("abc")
        partition = Record(*([p] if spec.fields and not is_void(spec) else [None] * len(spec.fields)))
        kind = made_of.choice(["data", "data", "equality", "position"])
        if kind == "data" or not data:
            data.append(data_file(table, rows(made_of.sample(range(20), 8), p), partition, spec.spec_id))
            commit_files(table, data[-1])
        elif kind == "equality":
            ids = made_of.sample(range(20), 3)
            commit_files(table, equality_delete(table, rows(ids, p), ["id"], partition, spec.spec_id))
        else:
            of, position = made_of.choice(data), made_of.randrange(8)
            commit_files(table, position_delete(table, of, [position], bounds=made_of.random() < 0.5))
    before = live(table)
    rewrite_data_files(table, ["id"], where=f"p = '{made_of.choice('abc')}'", options=DANGLING)
    assert live(table) == before
    assert deletes(table) == needed(table)


def is_void(spec: PartitionSpec) -> bool:
    return all(isinstance(field.transform, VoidTransform) for field in spec.fields)


def needed(table: Table) -> set[str]:
    found = set()
    data = entries_of(table, ManifestContent.DATA)
    for entry in entries_of(table, ManifestContent.DELETES):
        delete, number = entry.data_file, entry.sequence_number or 0
        for other in data:
            file, age = other.data_file, other.sequence_number or 0
            same = partition_of(file) == partition_of(delete)
            if delete.content == DataFileContent.POSITION_DELETES:
                path = single_path(delete)
                applies = age <= number and (path == file.file_path if path else same)
            else:
                applies = age < number and (same or is_void(table.specs()[delete.spec_id]))
            if applies:
                found.add(delete.file_path)
    return found
