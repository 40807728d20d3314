"""The plan as a value: what it says, and what a sample adds; ``test_plan_json.py`` has what makes it stale."""

import json
import pickle
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform

from benchmarks.bounds import file_bounds
from benchmarks.metrics import drawn_evenly, scan_fraction
from iceberg_zorder.errors import InvalidInputError, RewriteFailedError
from iceberg_zorder.pyiceberg import RewritePlan, execute, plan_rewrite, rewrite_data_files, sample
from tests.present import present
from tests.pyiceberg.committing import BY_FILES
from tests.pyiceberg.lake import data_files, local

SCHEMA = pa.schema([("p", pa.int64()), ("a", pa.int64()), ("b", pa.int64())])


def rows(start: int, count: int, p: int = 0) -> pa.Table:
    """Rows whose columns a and b are two scrambles of their number."""
    numbers = range(start, start + count)
    columns = [[p] * count, [i * 7919 % 10007 for i in numbers], [i * 104729 % 10009 for i in numbers]]
    return pa.table([pa.array(column, pa.int64()) for column in columns], schema=SCHEMA)


@pytest.fixture
def table(catalog: SqlCatalog) -> Table:
    table = catalog.create_table("db.t", SCHEMA)
    for start in range(0, 6000, 1000):
        table.append(rows(start, 1000))
    return table


def partitioned(catalog: SqlCatalog) -> Table:
    """Six small files in the partition p=1, one in p=2."""
    table = catalog.create_table("db.t", SCHEMA, properties=BY_FILES)
    table.update_spec().add_field("p", IdentityTransform(), "p").commit()
    for number in range(7):
        table.append(rows(1000 * number, 100, p=1 + (number >= 6)))
    return table


def test_it_says_what_is_rewritten_what_is_left_and_why(catalog: SqlCatalog) -> None:
    table = partitioned(catalog)
    plan = plan_rewrite(table, ["a", "b"], where="p > 0", options={"sample-seed": 3})
    (group,), (left,) = plan.groups, plan.left
    assert (len(group.tasks), len(left.tasks)) == (6, 1)
    assert group.reason == "6 files below min-file-size-bytes 3,145,728"
    assert left.reason.startswith("below min-file-size-bytes ")
    assert plan.message is None
    size, other = (sum(task.data_file.file_size_in_bytes for task in each.tasks) for each in (group, left))
    snapshot = present(table.current_snapshot())
    assert str(plan) == (
        f"Rewrite of lake.db.t (branch main, snapshot {snapshot.snapshot_id}) by zorder(`a`, `b`) where p > 0\n"
        "  target file size 4,194,304 bytes, from the data\n"
        f"  rewrite p=1: 6 files ({size:,} bytes, 600 rows) into 1 file: {group.reason}\n"
        f"  leave p=2: 1 file ({other:,} bytes, 100 rows): {left.reason}"
    )
    said = json.loads(plan.to_json())
    assert said == plan.to_dict()
    assert (said["version"], said["options"], said["where"]) == (1, {"sample-seed": "3"}, "p > 0")
    assert [each["partition"] for each in (*said["file_groups"], *said["left"])] == ["p=1", "p=2"]
    assert said["file_groups"][0]["layout"] is None
    assert len(table.history()) == 7, "nothing was committed"


def test_file_groups_that_are_taken_out_are_for_a_later_rewrite(catalog: SqlCatalog) -> None:
    plan = plan_rewrite(partitioned(catalog), ["a", "b"], options={"rewrite-all": True})
    part = plan.with_groups({1})
    assert [group.partition_path for group in part.groups] == ["p=1"]
    assert [(each.partition_path, [why.code for why in each.reasons]) for each in part.left] == [
        ("p=2", ["not-in-plan"])
    ]
    assert (plan.end_marker, part.end_marker, part.limit_message) == (str(plan.snapshot_id), None, "")


def test_file_groups_that_are_taken_out_of_a_sample_are_out(table: Table) -> None:
    """The others are sampled again: predictions are of a plan's file groups together."""
    plan = plan_rewrite(table, ["a", "b"], options={"rewrite-all": True, "max-file-group-input-files": 3})
    part = sample(table, plan).with_groups({1})
    assert [group.data_files_count for group in part.groups] == [3]
    assert [(each.data_files_count, each.reason) for each in part.left] == [(3, "not in the given plan")]
    assert RewritePlan.from_json(part.to_json()).to_dict() == part.to_dict() == plan.with_groups({1}).to_dict()
    assert execute(table, part).rewritten_data_files_count == 3
    assert {*plan.groups[1].paths} < {file.file_path for file in data_files(table)}


def test_a_sample_adds_the_layouts_that_a_rewrite_finds_and_what_it_attains(table: Table) -> None:
    options = {
        "rewrite-all": True,
        "target-file-size-bytes": sum(f.file_size_in_bytes for f in data_files(table)) // 16,
    }
    plan = plan_rewrite(table, ["a", "b"], options={**options, "sample-rows": 1500})
    dry_run = sample(table, plan)
    assert sample(table, dry_run) is dry_run
    (said,) = dry_run.to_dict()["file_groups"]
    predicted = {each.column: each.predicted for each in dry_run.scans}
    assert f"predicted scan fraction a {100 * (predicted['a'] or 0):.1f}%" in str(dry_run)
    # It holds no table, no function and no handle.
    result = execute(table, pickle.loads(pickle.dumps(dry_run)))
    assert (result.rewritten_data_files_count, result.added_data_files_count) == (6, said["layout"]["data_files_count"])
    summary = present(table.current_snapshot().summary)  # type: ignore[union-attr]
    assert summary["zorder.layout-hash"] == said["layout"]["hash"]
    values = table.scan().to_arrow()
    found = file_bounds(table, ["a", "b"])
    for name in ("a", "b"):
        drawn = drawn_evenly(values[name].to_pylist())
        attained = scan_fraction(drawn, found.lower[name], found.upper[name], found.sizes)
        assert predicted[name] == pytest.approx(attained, rel=0.1)


def test_nothing_to_do(catalog: SqlCatalog) -> None:
    table = catalog.create_table("db.t", SCHEMA)
    plan = plan_rewrite(table, "a")
    assert sample(table, plan).message == plan.message
    assert execute(table, plan).message == "Nothing to rewrite in lake.db.t: branch main has no snapshot yet."
    assert str(plan).splitlines()[0] == "Rewrite of lake.db.t (branch main, no snapshot) by a"


def test_a_table_that_was_written_on_a_branch_only(catalog: SqlCatalog) -> None:
    table = catalog.create_table("db.t", SCHEMA)
    with pytest.raises(InvalidInputError, match="branch nope, because lake.db.t has no such branch"):
        plan_rewrite(table, "a", branch="nope")
    table.append(rows(0, 1000))
    # PyIceberg itself writes no branch before main.
    table.manage_snapshots().create_branch(table.refs()["main"].snapshot_id, "dev").remove_branch("main").commit()
    table.append(rows(1000, 1000), branch="dev")
    result = rewrite_data_files(table, "a", branch="dev", options={"rewrite-all": True})
    assert result.rewritten_data_files_count == 2
    assert table.current_snapshot() is None
    assert table.scan(snapshot_id=table.refs()["dev"].snapshot_id).to_arrow().sort_by("a") == pa.concat_tables(
        [rows(0, 1000), rows(1000, 1000)]
    ).sort_by("a")
    assert plan_rewrite(table, "a").message == "Nothing to rewrite in lake.db.t: branch main has no snapshot yet."


def test_a_table_of_the_same_name_is_another(catalog: SqlCatalog, table: Table) -> None:
    plan = plan_rewrite(table, "a")
    catalog.drop_table("db.t")
    catalog.create_table("db.t", SCHEMA)
    with pytest.raises(InvalidInputError, match="because it was dropped and another table has its name"):
        execute(table, plan)


def test_an_append_makes_no_plan_stale(catalog: SqlCatalog, table: Table) -> None:
    plan = sample(table, plan_rewrite(table, "a", options={"rewrite-all": True}))
    catalog.load_table("db.t").append(rows(6000, 10))
    assert execute(table, plan).rewritten_data_files_count == 6
    assert table.scan().count() == 6010
    assert len(data_files(table)) == 2


def test_a_file_that_cannot_be_read_is_told_of_by_the_sample(table: Table) -> None:
    plan = plan_rewrite(table, "a", options={"rewrite-all": True})
    Path(local(data_files(table)[3])).write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(RewriteFailedError, match=r"^Cannot sample lake\.db\.t, because .*Nothing was written\.$"):
        sample(table, plan)
