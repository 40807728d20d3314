"""Columns that are left to the queries of a workload."""

from __future__ import annotations

import json
import logging
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table
from pyiceberg.transforms import DayTransform
from pyiceberg.types import StringType

from iceberg_zorder.errors import InvalidInputError, RewriteFailedError
from iceberg_zorder.layout.choice.workload_columns import WorkloadPart, choose_columns
from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.fit import LayoutRequest, fit
from iceberg_zorder.layout.keys import encode
from iceberg_zorder.layout.sample import Sample
from iceberg_zorder.pyiceberg import execute, plan_rewrite, rewrite_data_files
from iceberg_zorder.pyiceberg.plan.choice.candidates import candidate_columns
from iceberg_zorder.pyiceberg.progress import WRITE
from iceberg_zorder.pyiceberg.scan.requested_workload import RequestedWorkload
from iceberg_zorder.request.predicate import parse_predicate
from iceberg_zorder.workload.boxes.boxes import boxes_of
from iceberg_zorder.workload.boxes.position_boxes import query_boxes
from tests.pyiceberg.lake import data_files, local, one_commit

TYPES: dict[tuple[str, ...], str] = {("a",): "long", ("b c",): "long", ("d",): "double", ("s",): "string"}
NO_COLUMN = (
    "Nothing to rewrite in lake.db.t: by no column would the queries of the workload read less; name the columns to "
    "rewrite it anyway."
)


def workload(*weighted: tuple[str, float]) -> dict[str, Any]:
    return {"version": 1, "queries": [{"filter": text, "weight": weight} for text, weight in weighted]}


FILTERS = [
    *((f"`b c` BETWEEN {low} AND {low + 60}", 3.0) for low in range(0, 6_000, 300)),
    *((f"s = 'k{number:04d}' AND d > -5", 1.0) for number in range(0, 6_000, 300)),
    ("d > -7", 1.0),
]
QUERIES = workload(*FILTERS)
SIZE: dict[str, Any] = {"target-file-size-bytes": "8000"}
OPTIONS: dict[str, Any] = {**SIZE, "workload": QUERIES}


@pytest.fixture
def table(catalog: SqlCatalog) -> Table:
    rng = np.random.default_rng(8)
    schema = pa.schema([("a", pa.int64()), ("b c", pa.int64()), ("d", pa.float64()), ("s", pa.string())])
    made = catalog.create_table("db.t", schema)
    with one_commit(made) as commit:
        for _ in range(5):
            numbers = rng.integers(0, 6_000, (3, 1_500))
            columns = [numbers[0], numbers[1], rng.random(1_500), [f"k{each:04d}" for each in numbers[2].tolist()]]
            commit.append(pa.table([pa.array(each) for each in columns], schema=schema))
    return made


def change(table: Table, **properties: str) -> None:
    with table.transaction() as transaction:
        transaction.set_properties(
            {name.replace("__", ".").replace("_", "-"): text for name, text in properties.items()}
        )


def rows(table: Table) -> Counter[Any]:
    """The rows of the files that there are, as Arrow reads them."""
    tables = (pq.read_table(local(file)) for file in data_files(table))
    return Counter(row for each in tables for row in zip(*(column.to_pylist() for column in each.columns), strict=True))


def summary(table: Table) -> dict[str, str]:
    snapshot = table.current_snapshot()
    assert snapshot is not None
    assert snapshot.summary is not None
    return dict(snapshot.summary.additional_properties)


def by_hand(table: Table, columns: list[tuple[str, ...]], files: int, most: int = 4) -> list[str]:
    """Choose as the algorithm does by all rows, in the order of the files."""
    read = pa.concat_tables([pq.read_table(local(file)) for file in data_files(table)])
    read = read.rename_columns([field.name for field in table.schema().fields])
    named = [ClusteringColumn(parts, TYPES[parts]) for parts in columns]
    sample = Sample(tuple(encode(read[each.parts[0]], each.type) for each in named))
    layout = fit(named, sample, LayoutRequest(1, "even"))
    boxes = query_boxes([(boxes_of(parse_predicate(text), TYPES), weight) for text, weight in FILTERS], layout.columns)
    whole = WorkloadPart(layout.positions(sample), files, boxes)
    places = choose_columns([whole], layout.bits, tolerance=0.5, most=most)
    return [layout.columns[place].column.name for place in places]


def test_columns_are_those_that_the_queries_choose_and_stay_so(table: Table, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "iceberg_zorder")
    before = rows(table)
    plan = plan_rewrite(table, options=OPTIONS)
    # Candidates are in the order of their weights, d before s for its place in the schema.
    files = plan_rewrite(table, ["a"], options={**OPTIONS, "rewrite-all": True}).groups[0].expected_output_files
    assert files > 10
    wanted = by_hand(table, [("b c",), ("d",), ("s",)], files)
    assert wanted == ["`b c`", "s"]
    assert plan.request.sort_order == plan.to_dict()["sort_order"] == "zorder(`b c`, s)"
    assert plan.to_dict()["workload"]["chosen_columns"] is True
    assert "the workload has chosen these columns" in str(plan)
    assert "The workload of lake.db.t has chosen its columns: zorder(`b c`, s), of 3 candidates" in caplog.messages
    # What is chosen stays, so that all files have a say, however few are rewritten at once.
    assert plan_rewrite(table, options={**OPTIONS, "max-files-to-rewrite": 1}).request.sort_order == "zorder(`b c`, s)"
    named = plan_rewrite(table, ["`b c`", "s"], options=OPTIONS)
    assert named.to_dict()["workload"]["chosen_columns"] is False
    assert rewrite_data_files(table, options=OPTIONS).added_data_files_count > 10
    assert rows(table) == before
    assert summary(table)["zorder.columns"] == "`b c`,s"
    assert summary(table)["zorder.workload-key"] == plan.request.workload.key  # type: ignore[union-attr]
    # It is the request of whoever names these columns.
    for columns in (None, ["`b c`", "s"]):
        again = rewrite_data_files(table, columns, options=OPTIONS)
        assert again.rewritten_data_files_count == 0
        assert "as a rewrite by the same request left them" in (again.message or "")


def test_columns_stay_chosen_under_new_names_and_not_without_one(table: Table) -> None:
    rewrite_data_files(table, "s, hilbert(a)", options=OPTIONS)
    assert plan_rewrite(table, options=OPTIONS).request.sort_order == "s ASC NULLS FIRST, zorder(a)"
    assert plan_rewrite(table, options={**OPTIONS, "workload": workload(("`b c` = 3", 1))}).request.sort_order == (
        "zorder(`b c`)"
    )
    with table.update_schema() as update:
        update.rename_column("a", "new name")
    found = plan_rewrite(table, options=OPTIONS)
    assert found.request.sort_order == "s ASC NULLS FIRST, zorder(`new name`)"
    assert found.to_dict()["workload"]["chosen_columns"] is True
    with table.update_schema() as update:
        update.delete_column("new name")
    assert plan_rewrite(table, options=OPTIONS).request.sort_order == "zorder(`b c`, s)"


def test_the_same_text_chooses_anew_once_a_name_is_that_of_another_column(table: Table) -> None:
    rewrite_data_files(table, options=OPTIONS)
    with table.update_schema() as update:
        update.rename_column("s", "old")
    with table.update_schema() as update:
        update.rename_column("a", "kept")
        update.add_column("s", StringType())
    # The new column has no value that a query could find by.
    assert plan_rewrite(table, options=OPTIONS).request.sort_order == "zorder(`b c`)"


def test_what_conflicts_take_is_planned_again_by_the_same_columns(
    catalog: SqlCatalog, table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "iceberg_zorder")
    events = [lambda: catalog.load_table("db.t").delete("a < 600")]

    def meanwhile(stage: str, *_: int) -> None:
        if stage == WRITE and events:
            events.pop()()

    assert rewrite_data_files(table, options=OPTIONS, progress=meanwhile).added_data_files_count > 10
    assert sum("has chosen its columns" in each for each in caplog.messages) == 1
    assert "planned and rewritten again" in caplog.text
    assert summary(table)["zorder.columns"] == "`b c`,s"
    assert table.scan("a < 600").count() == 0


def test_candidates_are_what_files_can_be_skipped_by(table: Table) -> None:
    asked = workload(
        ("a = 1 OR s = 'x'", 2), ("d > 1 AND `b c` > 1", 3), ("s < 'x' AND s > 'k'", 2), ("`b c` IN (1, 2)", 1)
    )
    queries = RequestedWorkload.of(table, json.dumps(asked), case_sensitive=True)
    # A column that only one of the alternatives limits counts, too, and no query counts twice.
    assert candidate_columns(table, queries, table.spec(), needs_bounds=True) == (("b c",), ("s",), ("d",), ("a",))
    assert plan_rewrite(table, options={**OPTIONS, "workload-columns": 1}).request.sort_order == "zorder(`b c`)"
    assert by_hand(table, [("b c",), ("d",), ("s",)], 20, most=1) == ["`b c`"]
    change(table, **{"write.metadata.metrics.column.b c": "none"})
    assert plan_rewrite(table, options=OPTIONS).request.sort_order == "zorder(s)"
    fixing = {**OPTIONS, "metrics-check": "fix"}
    assert plan_rewrite(table, options=fixing).request.sort_order == "zorder(`b c`, s)"
    change(table, write__metadata__metrics__default="counts")
    with pytest.raises(InvalidInputError) as refusal:
        plan_rewrite(table, options=OPTIONS)
    assert str(refusal.value) == (
        "Cannot rewrite data files of lake.db.t, because no columns are named, and the queries of the workload filter "
        "by none that files could be skipped by"
    )


def test_what_partitions_do_needs_no_column(catalog: SqlCatalog) -> None:
    made = catalog.create_table("db.t", pa.schema([("ts", pa.timestamp("us")), ("a", pa.int64())]))
    with made.update_spec() as update:
        update.add_field("ts", DayTransform(), "day")
    rng = np.random.default_rng(5)
    for day in range(1, 5):
        moments = [datetime(2024, 1, day) + timedelta(seconds=each) for each in rng.integers(0, 86_400, 800).tolist()]
        made.append(pa.table({"ts": pa.array(moments, pa.timestamp("us")), "a": rng.integers(0, 2_000, 800)}))
    days = [(f"ts >= DATE '2024-01-0{day}' AND ts < DATE '2024-01-0{day + 1}'", 9.0) for day in range(1, 5)]
    asked = workload(*days, *((f"a = {each}", 1.0) for each in range(0, 2_000, 100)))
    options: dict[str, Any] = {"target-file-size-bytes": "3000", "workload": asked, "rewrite-all": True}
    plan = plan_rewrite(made, options=options)
    assert min(group.expected_output_files for group in plan.groups) >= 2
    assert plan.request.sort_order == "zorder(a)"


def test_columns_of_partitions_are_no_candidates(catalog: SqlCatalog) -> None:
    struct = pa.struct([("x", pa.int64()), ("list", pa.list_(pa.int64()))])
    made = catalog.create_table("db.t", pa.schema([("p", pa.int64()), ("in", struct), ("y", pa.int64())]))
    with made.update_spec() as update:
        update.add_identity("p")
    for part in range(2):
        numbers = [(7 * each) % 1_000 for each in range(1_000)]
        within = [{"x": each, "list": [each]} for each in numbers]
        made.append(pa.table({"p": [part] * 1_000, "in": pa.array(within, struct), "y": numbers[::-1]}))
    filters = [*((f"p = 0 AND in.x = {each}", 1) for each in range(50)), ("in IS NULL AND y > -1", 9.0)]
    options: dict[str, Any] = {"target-file-size-bytes": "3000", "workload": workload(*filters)}
    plan = plan_rewrite(made, options={**options, "rewrite-all": True}).sampled()
    assert plan.request.sort_order == "zorder(in.x)"
    assert len(plan.groups) == 2
    with pytest.raises(InvalidInputError, match="filter by none that files could be skipped by"):
        plan_rewrite(made, options={**options, "workload": workload(("p = 0 AND in IS NOT NULL", 1))})
    # The filter leaves one partition, of which no row is asked for.
    nowhere = plan_rewrite(made, where="p = 1", options={**options, "workload": workload(("p = 0 AND in.x >= 0", 1))})
    assert (nowhere.groups, nowhere.message) == ((), NO_COLUMN)


def test_queries_that_read_no_less_by_any_column(table: Table) -> None:
    options = {**OPTIONS, "workload": workload(("a >= 0", 1), ("d > -1", 2)), "rewrite-all": True}
    plan = plan_rewrite(table, options=options)
    assert (plan.groups, plan.message) == ((), NO_COLUMN)
    told = plan.sampled().to_dict()
    assert (told["sort_order"], told["workload"]["chosen_columns"]) == (None, False)
    assert [(each["data_files_count"], each["reason"]) for each in told["left"]] == [
        (5, "by no column would the queries of the workload read less")
    ]
    for result in (
        execute(plan),
        rewrite_data_files(table, options=options),
        rewrite_data_files(table, options={**options, "dry-run": True}),
    ):
        assert NO_COLUMN in (result.message or "")
        assert result.rewritten_data_files_count == 0
    assert str(plan).startswith("Rewrite of lake.db.t (branch main, snapshot ")
    none = plan_rewrite(table, where="a < 0", options=OPTIONS)
    assert none.message == "Nothing to rewrite in lake.db.t: no data file can hold rows that match the filter."


def test_a_table_without_a_snapshot(catalog: SqlCatalog) -> None:
    made = catalog.create_table("db.t", pa.schema([("a", pa.int64())]))
    change(made, zorder__workload=json.dumps(workload(("a = 1", 1))))
    plan = plan_rewrite(made)
    assert plan.message == "Nothing to rewrite in lake.db.t: branch main has no snapshot yet."
    assert plan.to_dict()["sort_order"] is None
    assert rewrite_data_files(made).message == plan.message
    with pytest.raises(
        InvalidInputError, match="and it has no property zorder.columns and no workload to choose them by$"
    ):
        plan_rewrite(made, options={"cuts": "even"})


def test_weights_that_a_table_remembers_are_of_the_chosen_columns(table: Table) -> None:
    change(table, zorder__options="column-weights=a=2")
    assert "column-weights" not in plan_rewrite(table, options=OPTIONS).to_dict()["options"]
    with pytest.raises(InvalidInputError, match="Cannot set column-weights for column 'a', because it is not one"):
        plan_rewrite(table, options={**OPTIONS, "column-weights": "a=2"})


def test_a_sample_that_cannot_be_read(table: Table) -> None:
    Path(local(data_files(table)[2])).unlink()
    with pytest.raises(RewriteFailedError, match=r"^Cannot sample lake.db.t, because .* Nothing was written\.$"):
        plan_rewrite(table, options=OPTIONS)
