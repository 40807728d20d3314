"""Files are chosen and grouped by Iceberg's rules, and everything that can be wrong is refused before data is read."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.conversions import to_bytes
from pyiceberg.manifest import DataFile, DataFileContent
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import LongType, NestedField

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.pyiceberg.files import PATH_FIELD
from iceberg_zorder.pyiceberg.listing.listing import DeleteIndex
from iceberg_zorder.pyiceberg.plan.rewrite_plan import RewritePlan
from tests.pyiceberg.committing import commit_files
from tests.pyiceberg.lake import data_files, one_commit, planned, position_delete
from tests.rewrite.refused_options import REFUSED

SCHEMA = pa.schema([("p", pa.int64()), ("a", pa.int64())])


def made(catalog: SqlCatalog, files: Sequence[Sequence[int]], **arguments: Any) -> Table:
    """A table of files, each of rows of p = 0 and these values."""
    table = catalog.create_table("db.t", SCHEMA, **arguments)
    with one_commit(table) as commit:
        for values in files:
            commit.append(pa.table({"p": pa.array([0] * len(values), pa.int64()), "a": pa.array(values, pa.int64())}))
    return table


def plan(table: Table, where: Any = None, /, **options: str) -> RewritePlan:
    return planned(table, {name.replace("_", "-"): value for name, value in options.items()}, where)


def seen(made: RewritePlan) -> int:
    """Count the data files that the filter leaves."""
    return sum(len(group.tasks) for group in made.groups) + sum(len(files.tasks) for files in made.left)


def test_files_are_chosen_by_size_and_number(catalog: SqlCatalog) -> None:
    table = made(catalog, [[i] for i in range(6)])
    size = data_files(table)[0].file_size_in_bytes
    assert [len(group.tasks) for group in plan(table).groups] == [6]
    assert seen(plan(table)) == 6
    none = plan(table, min_input_files="7")
    assert none.groups == ()
    assert none.message == (
        "Nothing to rewrite in lake.db.t: 6 data files are skipped (below min-file-size-bytes 49,152, but fewer than "
        "min-input-files 7 and together at most target-file-size-bytes 65,536, or a rewrite would not reduce their number)."
    )
    in_order = plan(table, target_file_size_bytes=str(size))
    assert in_order.message == (
        "Nothing to rewrite in lake.db.t: 6 data files are skipped (size between min-file-size-bytes "
        f"{int(size * 0.75):,} and max-file-size-bytes {int(size * 1.8):,}, and no deletes above delete-file-threshold "
        "or delete-ratio-threshold)."
    )
    all_files = plan(table, target_file_size_bytes=str(size), rewrite_all="true")
    assert [group.expected_output_files for group in all_files.groups] == [6]
    assert plan(table, min_input_files="7", target_file_size_bytes=str(size * 4)).groups != ()
    few = plan(table, rewrite_all="true", max_files_to_rewrite="4")
    assert [len(group.tasks) for group in few.groups] == [4]
    half = plan(table, rewrite_all="true", target_file_size_bytes=str(size), compression_factor="0.5")
    assert [group.expected_output_files for group in half.groups] == [3]


def test_files_are_chosen_by_their_deletes(catalog: SqlCatalog) -> None:
    table = made(catalog, [list(range(10)), list(range(10))])
    size = str(data_files(table)[0].file_size_in_bytes)
    first, second = data_files(table)
    commit_files(table, position_delete(table, first, [0, 1]))
    assert plan(table, target_file_size_bytes=size).groups == ()
    (group,) = plan(table, target_file_size_bytes=size, delete_ratio_threshold="0.2").groups
    assert [task.data_file.file_path for task in group.tasks] == [first.file_path]
    (group,) = plan(table, target_file_size_bytes=size, delete_file_threshold="1").groups
    assert [task.data_file.file_path for task in group.tasks] == [first.file_path]
    commit_files(table, position_delete(table, second, [3, 4, 5], bounds=False))
    # Whose rows a delete file of a whole partition deletes is not known.
    assert plan(table, target_file_size_bytes=size).groups == ()


def test_a_partition_is_a_group_and_other_specs_are_one(catalog: SqlCatalog) -> None:
    table = made(catalog, [[1], [2]])
    table.update_spec().add_field("p", IdentityTransform(), "p").commit()
    for p in (3, 4, 4):
        table.append(pa.table({"p": pa.array([p], pa.int64()), "a": pa.array([p], pa.int64())}))
    groups = plan(table, rewrite_all="true").groups
    assert sorted((len(group.tasks), repr(group.partition)) for group in groups) == [
        (1, "Record[3]"),
        (2, "None"),
        (2, "Record[4]"),
    ]
    assert {group.spec_id for group in groups} == {1}
    by_files = plan(table, rewrite_all="true", rewrite_job_order="files-asc").groups
    assert [len(group.tasks) for group in by_files] == [1, 2, 2]
    by_bytes = plan(table, rewrite_all="true", rewrite_job_order="bytes-desc").groups
    assert [group.input_size for group in by_bytes] == sorted((group.input_size for group in groups), reverse=True)
    old = plan(table, rewrite_all="true", output_spec_id="0").groups
    assert {(group.spec_id, group.partition) for group in old if len(group.tasks) == 1} == {(0, None)}
    # The old files are of p = 0, by their bounds.
    assert seen(plan(table, "p = 4", rewrite_all="true")) == 2


@pytest.mark.parametrize(("name", "value", "because"), REFUSED)
def test_options_out_of_their_domain_are_refused(catalog: SqlCatalog, name: str, value: str, because: str) -> None:
    table = made(catalog, [[1]])
    with pytest.raises(InvalidInputError) as refused:
        planned(table, {"target-file-size-bytes": "536870912", name: value})
    assert because in str(refused.value)
    assert str(refused.value).startswith("Cannot ")


FILES: st.SearchStrategy[dict[str, Any]] = st.builds(
    dict,
    spec=st.integers(0, 2),
    partition=st.integers(0, 2),
    sequence=st.integers(1, 4),
    path=st.sampled_from(["a", "b", "c"]),
    kind=st.sampled_from(["partition", "path", "equality"]),
    low=st.integers(0, 9),
    span=st.integers(0, 4),
)


def _file(of: dict[str, Any], content: DataFileContent) -> DataFile:
    bounds = {1: (of["low"], of["low"] + of["span"])}
    lower = {field: to_bytes(LongType(), low) for field, (low, _) in bounds.items()}
    upper = {field: to_bytes(LongType(), high) for field, (_, high) in bounds.items()}
    if content == DataFileContent.POSITION_DELETES:
        lower = upper = {PATH_FIELD: of["path"].encode()} if of["kind"] == "path" else {}
    file = DataFile.from_args(
        content=content,
        file_path=of["path"],
        partition=Record() if of["spec"] == 0 else Record(of["partition"]),
        record_count=10,
        value_counts={1: 10},
        null_value_counts={1: 0},
        lower_bounds=lower,
        upper_bounds=upper,
        equality_ids=[1],
    )
    file.spec_id = of["spec"]
    return file


@given(data=FILES, deletes=st.lists(FILES, max_size=6))
def test_deletes_apply_by_partition_path_sequence_and_bounds(
    data: dict[str, Any], deletes: list[dict[str, Any]]
) -> None:
    index = DeleteIndex(Schema(NestedField(1, "x", LongType())), frozenset({0}))
    position, equality = [], []
    for delete in deletes:
        is_equality = delete["kind"] == "equality"
        content = DataFileContent.EQUALITY_DELETES if is_equality else DataFileContent.POSITION_DELETES
        file = _file(delete, content)
        index.add(file, delete["sequence"])
        same = delete["spec"] == data["spec"] and (data["spec"] == 0 or delete["partition"] == data["partition"])
        if is_equality:
            overlap = range(
                max(data["low"], delete["low"]),
                min(data["low"] + data["span"], delete["low"] + delete["span"]) + 1,
            )
            if (same or delete["spec"] == 0) and delete["sequence"] > data["sequence"] and overlap:
                equality.append(id(file))
        elif delete["sequence"] >= data["sequence"] and (
            delete["path"] == data["path"] if delete["kind"] == "path" else same
        ):
            position.append(id(file))
    of = _file(data, DataFileContent.DATA)
    found = [sorted(map(id, files)) for files in index.of(of, data["sequence"])]
    assert found == [sorted(position), sorted(equality)]
