"""Files that are cut for the queries of a workload: judged by the bounds in manifests and by the rows themselves."""

import json
import struct
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.layout.layout import to_json
from iceberg_zorder.pyiceberg import execute, plan_rewrite, rewrite_data_files, sample
from iceberg_zorder.pyiceberg.plan.rewrite_plan import RewritePlan
from iceberg_zorder.pyiceberg.plan.rewrite_spec import remember
from iceberg_zorder.rewrite.result import WorkloadScan
from tests.present import present
from tests.pyiceberg.lake import data_files, table_of

SIZE: dict[str, Any] = {"target-file-size-bytes": "30000"}
ALL: dict[str, Any] = {**SIZE, "rewrite-all": "true"}
RANGES = [(start, start + 100, 7 * start % 2_000) for start in range(0, 1_000, 10)]
"""Of the queries: the first and the last of column a, and the value of column b."""


def workload(ranges: list[tuple[int, int, int]] = RANGES, weight: float = 1.0) -> dict[str, Any]:
    queries = [{"filter": f"a BETWEEN {low} AND {high} AND b = {b}", "weight": weight} for low, high, b in ranges]
    return {"version": 1, "queries": queries}


@pytest.fixture
def table(catalog: SqlCatalog) -> Table:
    rng = np.random.default_rng(3)
    rows = {name: rng.integers(0, 10_000, 60_000) for name in "ab"}
    return table_of(
        catalog, pa.table({**rows, "s": [f"k{number:05d}" for number in rng.integers(0, 50_000, 60_000)]}), 5
    )


def read(table: Table, ranges: list[tuple[int, int, int]] = RANGES) -> float:
    """The share of all bytes that is in files whose bounds allow for rows that the queries want."""
    a, b = (table.schema().find_field(name).field_id for name in "ab")
    found = total = 0
    for file in data_files(table):
        lower, upper = (
            {each: struct.unpack("<q", bounds[each])[0] for each in (a, b)}
            for bounds in (file.lower_bounds, file.upper_bounds)
        )
        total += file.file_size_in_bytes * len(ranges)
        found += file.file_size_in_bytes * sum(
            low <= upper[a] and high >= lower[a] and lower[b] <= value <= upper[b] for low, high, value in ranges
        )
    return found / total


def rows(table: Table) -> list[Any]:
    return sorted(table.scan().to_arrow().to_pylist(), key=str)


def layouts(table: Table, plan: RewritePlan) -> list[str]:
    return [to_json(each.layout) for each in sample(table, plan).sampled_groups]


def test_queries_read_less_than_of_files_for_any_values(table: Table) -> None:
    # A sample of all rows is the same for all names of files. At this size, the number of files stays the same if the
    # table is a few bytes larger, as it is by chance.
    options = {**ALL, "sample-rows": "60000", "target-file-size-bytes": "36500"}
    before = rows(table)
    rewrite_data_files(table, ["a", "b"], options=options)
    usual = read(table)
    plan = sample(table, plan_rewrite(table, ["a", "b"], options={**options, "workload": workload()}))
    told = plan.to_dict()["workload"]
    dry = execute(
        table, plan_rewrite(table, ["a", "b"], options={**options, "workload": workload(), "dry-run": True})
    ).workload
    done = rewrite_data_files(table, ["a", "b"], options={**options, "workload": workload()}).workload
    assert told["queries"] == len(RANGES)
    assert dry == WorkloadScan(len(RANGES), told["before"], told["predicted"], None)
    assert done is not None
    assert replace(done, actual=None) == dry
    assert done.actual == pytest.approx(read(table), rel=1e-9)
    assert told["before"] == pytest.approx(usual, rel=1e-9)
    assert told["predicted"] == pytest.approx(read(table), rel=0.1)
    assert read(table) < 0.8 * usual
    assert rows(table) == before
    assert f"the {len(RANGES)} queries of the workload on average" in str(plan)


def test_wherever_the_workload_comes_from_the_layout_is_one(table: Table, tmp_path: Path) -> None:
    few = workload(RANGES[:10])
    text = json.dumps(few)
    file = tmp_path / "some work; load.json"
    file.write_text(text)
    wanted = layouts(table, plan_rewrite(table, ["a", "b"], options={**ALL, "workload": text}))
    marked = tmp_path / "marked.json"
    marked.write_text(text, encoding="utf-8-sig")
    for given in (few, str(marked), file.as_uri().replace("%20", " ").replace("%3B", ";")):
        assert layouts(table, plan_rewrite(table, ["a", "b"], options={**ALL, "workload": given})) == wanted
    with table.transaction() as change:
        inside = f"{table.location()}/workload.json"
        with table.io.new_output(inside).create() as stream:
            stream.write(file.read_bytes())
        change.set_properties({"zorder.columns": "a, b", "zorder.workload": inside})
    assert layouts(table, plan_rewrite(table, options=ALL)) == wanted
    without = layouts(table, plan_rewrite(table, options={**ALL, "workload": workload([(5_000, 5_100, 3)])}))
    assert without != wanted
    even = plan_rewrite(table, options={**ALL, "cuts": "even"})
    assert even.to_dict()["workload"] is None


@pytest.mark.parametrize("now", [None, workload([(5_000, 5_100, 3)])])
def test_a_stored_plan_has_its_queries_whatever_the_file_says_now(
    table: Table, tmp_path: Path, now: dict[str, Any] | None
) -> None:
    file = tmp_path / "workload.json"
    file.write_text(json.dumps({**workload(RANGES[:10]), "elsewhere": 7.0}))
    plan = plan_rewrite(table, ["a", "b"], options={**ALL, "workload": str(file)})
    wanted, text = layouts(table, plan), plan.to_json()
    if now is None:
        file.unlink()
    else:
        file.write_text(json.dumps(now))
    read = RewritePlan.from_json(text)
    assert read.to_json() == text
    assert layouts(table, read) == wanted
    assert present(read.to_dict()["workload"])["queries"] == 10
    assert execute(table, read).rewritten_data_files_count == 5
    # The next rewrite by the planned queries finds nothing to do.
    inline = {**SIZE, "workload": workload(RANGES[:10])}
    assert "by the same request" in (plan_rewrite(table, ["a", "b"], options=inline).message or "")


def test_a_stored_plan_that_names_a_file_of_queries_is_refused(table: Table, tmp_path: Path) -> None:
    said = plan_rewrite(table, ["a", "b"], options={**ALL, "workload": workload()}).to_dict()
    said["options"]["workload"] = str(tmp_path / "workload.json")
    why = (
        r"^Cannot read the plan, because its option workload names a file, whose queries may have changed: plan again$"
    )
    with pytest.raises(InvalidInputError, match=why):
        RewritePlan.from_json(json.dumps(said))


def test_a_second_run_does_nothing_until_the_workload_changes(table: Table, tmp_path: Path) -> None:
    file = tmp_path / "workload.json"
    file.write_text(json.dumps(workload()))
    options = {**SIZE, "workload": str(file)}
    assert rewrite_data_files(table, ["a", "b"], options=options).added_data_files_count > 10
    again = rewrite_data_files(table, ["a", "b"], options=options)
    assert again.rewritten_data_files_count == 0
    assert "unchanged since a rewrite by the same request" in (again.message or "")
    file.write_text(json.dumps({"elsewhere": 3.0, **workload()}))
    assert "by the same request" in (plan_rewrite(table, ["a", "b"], options=options).message or "")
    file.write_text(json.dumps(workload(weight=2.0)))
    assert "by the same request" not in (plan_rewrite(table, ["a", "b"], options=options).message or "")


def test_new_files_hold_no_more_than_those_that_they_are_made_of(table: Table) -> None:
    """Queries for what ``where`` leaves out, or nobody has, read none of them by a column that is not clustered by."""
    filters = ["a = 4000 AND s = 'k00017'", *(f"a < 9000 AND s > 'x{value}'" for value in range(7))]
    filters += ["a < 9000 AND s IS NULL", "b > 20000 OR s LIKE 'j%'"]
    queries = [{"filter": text, "weight": 1} for text in filters]
    options = {**ALL, "workload": {"version": 1, "queries": queries}}
    plan = sample(table, plan_rewrite(table, ["a"], options=options), predicates=filters)
    told = plan.to_dict()["workload"]
    assert told["before"] == pytest.approx(1 / 10)
    assert 0 < told["predicted"] < told["before"] / 2
    assert [each.predicted for each in plan.predicates[1:]] == [0.0] * 9
    # What is not kept of new files says nothing.
    table.transaction().set_properties({"write.metadata.metrics.column.s": "counts"}).commit_transaction()
    blind = sample(table, plan_rewrite(table, ["a"], options=options), predicates=filters[-2:])
    assert all((each.predicted or 0) > 0.8 for each in blind.predicates)


def test_queries_of_one_partition_do_not_shape_the_files_of_another(catalog: SqlCatalog) -> None:
    rng = np.random.default_rng(4)
    made = catalog.create_table("db.parts", pa.schema([("p", pa.int64()), ("a", pa.int64()), ("b", pa.int64())]))
    made.update_spec().add_identity("p").commit()
    for _ in range(4):
        a, b = rng.integers(0, 10_000, 20_000), rng.integers(0, 10_000, 20_000)
        made.append(pa.table({"p": np.arange(20_000) % 2, "a": a, "b": b}))
    ofa = [{"filter": f"p = 0 AND a BETWEEN {low} AND {low + 99}", "weight": 50} for low in range(0, 10_000, 100)]
    ofb = [{"filter": f"p = 1 AND b BETWEEN {low} AND {low + 99}", "weight": 1} for low in range(0, 10_000, 100)]
    rewrite_data_files(made, ["a", "b"], options={**ALL, "workload": {"version": 1, "queries": [*ofa, *ofb]}})
    widths: dict[int, dict[str, list[int]]] = {part: {name: [] for name in "ab"} for part in (0, 1)}
    for file in data_files(made):
        for name in "ab":
            key = made.schema().find_field(name).field_id
            low, high = (struct.unpack("<q", bounds[key])[0] for bounds in (file.lower_bounds, file.upper_bounds))
            widths[file.partition[0]][name].append(high - low)
    assert len(widths[0]["a"]) > 5
    # Each is cut by the column that its own queries ask for.
    assert np.mean(widths[0]["a"]) < 3_000 < 6_000 < np.mean(widths[0]["b"])
    assert np.mean(widths[1]["b"]) < 3_000 < 6_000 < np.mean(widths[1]["a"])


def test_a_remembered_workload_is_left_out_where_it_is_not_wanted(table: Table) -> None:
    with table.transaction() as change:
        change.set_properties({"zorder.workload": "/no/such/file", "zorder.options": "workload-share=0.5"})
    for options in ({"cuts": "even"}, {"workload": ""}):
        assert plan_rewrite(table, ["a"], options={**ALL, **options}).to_dict()["workload"] is None
    with pytest.raises(
        InvalidInputError, match="Cannot use the workload that a property of lake.db.t names, because /no"
    ):
        plan_rewrite(table, ["a"], options=ALL)
    table.transaction().set_properties({"zorder.workload": ""}).commit_transaction()
    assert plan_rewrite(table, ["a"], options=ALL).to_dict()["workload"] is None


def test_a_property_names_no_file_of_whoever_maintains(table: Table, tmp_path: Path) -> None:
    """It would be read with the rights of whoever rewrites, who may be another than who sets properties."""
    outside = tmp_path.parent / "outside.json"
    outside.write_text(json.dumps(workload()))
    for place in (
        str(outside),
        f"file:{outside}",
        f"file://{outside}",
        f"{table.location()}/../{outside.name}",
        f"{table.location()}-beside/workload.json",
        "s3://elsewhere/workload.json",
    ):
        assert plan_rewrite(table, ["a"], options={**ALL, "workload": workload()}).groups
        for properties in ({"zorder.workload": place}, {"zorder.options": f"workload={place}", "zorder.workload": ""}):
            table.transaction().set_properties(properties).commit_transaction()
            with pytest.raises(InvalidInputError) as refused:
                plan_rewrite(table, ["a"], options=ALL)
            assert str(refused.value) == (
                f"Cannot use the workload that a property of lake.db.t names, because {place} is not below the "
                f"table's location {table.location()}: move the file there, or pass its path as option workload"
            )
        table.transaction().remove_properties("zorder.options").commit_transaction()
    with pytest.raises(InvalidInputError, match="Cannot use the workload that a property of lake.db.t names"):
        remember(table, "a", {"workload": str(outside)})
    assert plan_rewrite(table, ["a"], options={**ALL, "workload": str(outside)}).groups


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workload": "/no/such/file"}, "Cannot read workload /no/such/file, because .*No such file"),
        ({"workload": "/dev/zero"}, "Cannot read workload /dev/zero, because /dev/zero is not a file"),
        ({"workload": "/"}, "Cannot read workload /, because / is not a file"),
        ({"workload": "{"}, "Cannot read workload of option workload, because it is not valid JSON"),
        ({"workload": {"version": 2, "queries": []}}, "because version: it should be "),
        ({"workload": {"version": 1, "queries": []}}, "because it has no query with a filter and a weight above 0"),
        (
            {"workload": {"version": 1, "queries": [{"filter": "z = 1", "weight": 1}]}},
            "Cannot use the filter 'z = 1' on lake.db.t, because of column 'z': lake.db.t has no such column",
        ),
        (
            {"workload": {"version": 1, "queries": [{"filter": "a ~ 1", "weight": 1}]}},
            r"because queries\[0\].filter: it cannot be used",
        ),
        ({"workload": {"version": 1, "queries": {1, 2}}}, "Cannot set workload, because JSON cannot hold its value"),
        *(
            (
                {"workload": workload([(1, 2, 3), (4, 5, 6)], weight)},
                "because its weights add up to .*, and not to between",
            )
            for weight in (1e308, 1e-310)
        ),
        ({"workload-share": "0.5"}, "Cannot use option workload-share, because option workload is not given"),
        ({"workload": workload(), "workload-share": "1.5"}, r"Cannot set workload-share to '1.5', because .* \[0, 1\]"),
        ({"workload": workload(), "cuts": "even"}, "Cannot use option workload with cuts 'even', because only"),
    ],
)
def test_what_is_no_workload_is_refused(table: Table, options: Mapping[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        plan_rewrite(table, ["a"], options=options)
