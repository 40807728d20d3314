"""Plans as JSON: what is read is what was written, and executed as the rewrite itself; what does not fit is refused."""

import json
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import GreaterThan, Reference
from pyiceberg.expressions.literals import LongLiteral
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform

from iceberg_zorder.errors import InvalidInputError, StalePlanError
from iceberg_zorder.pyiceberg import RewritePlan, execute, plan_rewrite, rewrite_data_files, sample
from iceberg_zorder.rewrite.snapshot_keys import SETTLED_FROM
from tests.present import present
from tests.pyiceberg.committing import BY_FILES, commit_files, operations
from tests.pyiceberg.lake import data_files, equality_delete, position_delete

SCHEMA = pa.schema([("p", pa.int64()), ("a", pa.int64()), ("b", pa.int64())])
BY, WHERE = "zorder(a, b)", "p >= 0 AND b >= 0"
OPTIONS = {"rewrite-all": "true", "max-files-to-rewrite": "7", "target-file-size-bytes": "20000"}


@pytest.fixture
def table(catalog: SqlCatalog) -> Table:
    """Six files in partition 0 and two in partition 1, one with deletes."""
    table = catalog.create_table("db.t", SCHEMA, properties=BY_FILES)
    table.update_spec().add_field("p", IdentityTransform(), "p").commit()
    for number in range(8):
        numbers = range(1000 * number, 1000 * number + 500)
        columns = [[int(number >= 6)] * 500, [i * 7919 % 10007 for i in numbers], [i * 104729 % 10009 for i in numbers]]
        table.append(pa.table([pa.array(column, pa.int64()) for column in columns], schema=SCHEMA))
    commit_files(table, position_delete(table, data_files(table)[0], [3, 4]))
    return table


def rows(table: Table) -> list[Any]:
    return sorted(map(str, table.refresh().scan().to_arrow().to_pylist()))


def outcome(table: Table) -> tuple[dict[str, str], list[tuple[Any, ...]]]:
    """What the last snapshot and its files say, but for names and times."""
    snapshot = present(table.refresh().current_snapshot())
    of_run = ("zorder.rewrite-id", "zorder.rewrite-duration-ms")
    summary = {
        key: value for key, value in present(snapshot.summary).additional_properties.items() if key not in of_run
    }
    files = [(str(file.partition), file.record_count, file.file_size_in_bytes) for file in data_files(table)]
    return summary, sorted(files)


def test_what_is_read_is_what_was_written(table: Table) -> None:
    commit_files(table, equality_delete(table, [{"a": 7919}], ["a"], data_files(table)[0].partition))
    plan = plan_rewrite(table, BY, where=WHERE, options=OPTIONS, case_sensitive=True)
    read = RewritePlan.from_json(plan.to_json())
    assert read.to_dict() == plan.to_dict()
    assert str(read) == str(plan)
    groups, (left,) = plan.to_dict()["file_groups"], plan.to_dict()["left"]
    assert all(group["reasons"][0] == {"code": "rewrite-all", "parameters": {}} for group in groups)
    assert left["reasons"] == [{"code": "max-files-to-rewrite", "parameters": {"max_files_to_rewrite": 7}}]
    assert {len(each["deletes"]) for group in groups for each in group["data_files"]} == {0, 1, 2}
    assert (plan.end_marker, read.end_marker) == (None, None)


@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("options", [OPTIONS, {}, {"min-input-files": "2"}])
def test_it_is_executed_as_the_rewrite_itself(table: Table, options: dict[str, str], sampled: bool) -> None:
    # The last layout tells the size of new files, and who has set it.
    table.append(table.scan().to_arrow().slice(0, 400), snapshot_properties={"zorder.target-file-size": "30000 option"})
    before = table.metadata.current_snapshot_id
    plan = plan_rewrite(table, BY, options=options)
    text = (sample(table, plan) if sampled else plan).to_json()
    result = rewrite_data_files(table, BY, options=options)
    assert result.rewritten_data_files_count > 0
    wanted, wanted_rows = outcome(table), rows(table)
    table.manage_snapshots().set_current_snapshot(snapshot_id=before).commit()
    assert execute(table, RewritePlan.from_json(text)) == result
    assert (outcome(table), rows(table)) == (wanted, wanted_rows)
    assert (SETTLED_FROM in wanted[0]) is (options != OPTIONS)


def test_what_a_sample_has_left_stays_left(catalog: SqlCatalog) -> None:
    table = catalog.create_table("db.t", SCHEMA)
    # Bounds hide that nearly all rows have one value.
    numbers = pa.array([0, *[5_000] * 998, 10_000], pa.int64())
    for _ in range(5):
        table.append(pa.table([numbers, numbers, numbers], schema=SCHEMA))
    size = data_files(table)[0].file_size_in_bytes
    text = sample(table, plan_rewrite(table, "a, b", options={"target-file-size-bytes": size})).to_json()
    assert json.loads(text)["left"][0]["reasons"][0]["code"] == "no-gain"
    result = execute(table, RewritePlan.from_json(text))
    assert (result.rewritten_data_files_count, result.message) == (0, json.loads(text)["message"])


def test_files_that_were_taken_out_of_a_plan_are_found_by_the_next_rewrite(table: Table) -> None:
    options = {"min-input-files": "2", "target-file-size-bytes": "20000"}
    text = plan_rewrite(table, BY, options=options).to_json()
    groups = json.loads(text)["file_groups"]
    assert [len(each["data_files"]) for each in groups] == [6, 2]
    execute(table, RewritePlan.from_json(changed(text, file_groups=groups[1:])))
    assert SETTLED_FROM not in outcome(table)[0]
    assert [group.data_files_count for group in plan_rewrite(table, BY, options=options).groups] == [6]


def changed(text: str, **keys: Any) -> str:
    return json.dumps({**json.loads(text), **keys})


def test_what_is_no_plan_is_refused(table: Table) -> None:
    text = plan_rewrite(table, BY, options=OPTIONS).to_json()
    groups = json.loads(text)["file_groups"]
    empty = [{**groups[0], "data_files": []}]
    by_object = plan_rewrite(table, BY, where=GreaterThan(term=Reference("p"), value=LongLiteral(0)), options=OPTIONS)
    assert execute(table, by_object).rewritten_data_files_count == 2
    for wrong, why in (
        ("", "Invalid JSON: "),
        ("[1]", "Input should be an object"),
        (changed(text, version=2), "version: Input should be 1"),
        (changed(text, version=1.0), "version: Input should be a valid integer"),
        (changed(text, version=True), "version: Input should be a valid integer"),
        (changed(text, schema_id="0"), "schema_id: Input should be a valid integer"),
        (changed(text, file_groups=empty), r"file_groups\.0\.data_files: "),
        (changed(text, target_file_size_bytes=None), "it has file groups, but no snapshot or no target file size"),
        (changed(text, file_groups=groups + groups[:1]), "data file .* appears 2 times"),
        (by_object.to_json(), "its where is a PyIceberg expression"),
    ):
        with pytest.raises(InvalidInputError, match=f"^Cannot read the plan, because {why}"):
            RewritePlan.from_json(wrong)


def test_a_plan_that_does_not_fit_the_table_is_refused(catalog: SqlCatalog, table: Table) -> None:
    text = plan_rewrite(table, BY, options=OPTIONS).to_json()
    other = catalog.create_table("db.other", SCHEMA)
    metadata = other.metadata, table.metadata
    for where, wrong, why in (
        (other, text, r"it is for table lake\.db\.t with UUID"),
        (table, changed(text, schema_id=9), "the table's schema has changed"),
        (table, changed(text, spec_id=0), "the table's partition spec has changed"),
        (table, changed(text, branch="nope"), "branch nope was dropped"),
        (table, changed(text, snapshot_id=7), "snapshot 7 is no longer in the history"),
        (table, text.replace(".parquet", ".gone"), "data file .* is no longer in the table"),
        (table, text.replace('"deletes": []', '"deletes": ["x"]', 1), "the deletes of data file .* have changed"),
    ):
        with pytest.raises(StalePlanError, match=f"^Cannot execute the plan of .*, because {why}"):
            execute(where, RewritePlan.from_json(wrong))
    assert (other.refresh().metadata, table.refresh().metadata) == metadata
    table.manage_snapshots().set_current_snapshot(snapshot_id=table.snapshots()[0].snapshot_id).commit()
    with pytest.raises(StalePlanError, match=f"snapshot {json.loads(text)['snapshot_id']} is no longer in the history"):
        sample(table, RewritePlan.from_json(text))
    table.manage_snapshots().set_current_snapshot(snapshot_id=json.loads(text)["snapshot_id"]).commit()
    table.delete("p = 0")
    with pytest.raises(StalePlanError, match="data file .* is no longer in the table"):
        sample(table, RewritePlan.from_json(text))


def test_figures_of_a_plan_that_cannot_be_are_refused_or_bounded(table: Table) -> None:
    text = plan_rewrite(table, BY, options=OPTIONS).to_json()
    groups = json.loads(text)["file_groups"]
    to_old = [{**groups[0], "spec_id": 0}, *groups[1:]]
    why = r"^Cannot read the plan of lake\.db\.t, because a file group has partition spec 0, but its options have 1$"
    with pytest.raises(InvalidInputError, match=why):
        execute(table, RewritePlan.from_json(changed(text, file_groups=to_old)))
    many = [{**groups[0], "expected_data_files_count": 10**12}, *groups[1:]]
    sampled = sample(table, RewritePlan.from_json(changed(text, file_groups=many)))
    assert sampled.groups[0].expected_output_files == sampled.groups[0].rows
    sizes = {**OPTIONS, "target-file-size-bytes": "2", "compression-factor": "1e9"}
    planned = plan_rewrite(table, BY, options=sizes).groups
    assert [group.expected_output_files for group in planned] == [group.rows for group in planned]


@pytest.mark.parametrize("where", [None, "p = 1"])
def test_a_plan_that_leaves_more_files_than_there_are_is_refused(table: Table, where: str | None) -> None:
    options = {"max-files-to-rewrite": "1", "rewrite-all": "true"}
    text = plan_rewrite(table, BY, options=options).to_json()
    left = json.loads(text)["left"][0]
    why = "its left counts 8 data files, but its snapshot has 7 besides those to rewrite"
    read = RewritePlan.from_json(changed(text, where=where, left=[{**left, "data_files_count": 8}]))
    for use in (sample, execute):
        with pytest.raises(InvalidInputError, match=rf"^Cannot read the plan of lake\.db\.t, because {why}$"):
            use(table, read)
    assert "replace" not in operations(table)


def test_a_filter_that_selects_fewer_files_here_is_no_reason_to_refuse(table: Table) -> None:
    """Timestamps as text use the session's time zone, so the other engine may leave more files than are found here."""
    text = plan_rewrite(
        table, BY, where="p = 1", options={"max-files-to-rewrite": "1", "rewrite-all": "true"}
    ).to_json()
    (left,) = json.loads(text)["left"]
    read = RewritePlan.from_json(changed(text, left=[{**left, "data_files_count": 5}]))
    assert [each.data_files_count for each in sample(table, read).left] == [5, 2]


def test_the_files_of_a_plan_are_found_whatever_its_filter_means_here(table: Table) -> None:
    text = plan_rewrite(table, BY, options={"rewrite-all": "true"}).to_json()
    assert execute(table, RewritePlan.from_json(changed(text, where="p = 1"))).rewritten_data_files_count == 8
