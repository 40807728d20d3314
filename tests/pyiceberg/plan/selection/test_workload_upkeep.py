"""Which files are rewritten for the queries of a workload, judged by the bounds in manifests."""

import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from iceberg_zorder.pyiceberg import plan_rewrite, rewrite_data_files
from tests.pyiceberg.committing import BY_FILES
from tests.pyiceberg.lake import data_files

SIZE: dict[str, Any] = {"target-file-size-bytes": "15000"}
RANGES = [(start, start + 20) for start in range(0, 1_000, 12)]
"""Of column a, what the queries ask for."""
QUERIES = "a query of the workload costs"


def workload(ranges: list[tuple[int, int]] = RANGES, column: str = "a", last: float = 1.0) -> dict[str, Any]:
    weights = [1.0] * (len(ranges) - 1) + [last]
    filters = [f"{column} BETWEEN {low} AND {high}" for low, high in ranges]
    return {"version": 1, "queries": [{"filter": f, "weight": w} for f, w in zip(filters, weights, strict=True)]}


def rows(rng: np.random.Generator, count: int) -> pa.Table:
    return pa.table({name: rng.integers(0, 10_000, count) for name in "abc"})


def read(table: Table) -> float:
    """The share of all bytes that is in files whose bounds allow for rows that the queries want."""
    key = table.schema().find_field("a").field_id
    found = total = 0
    for file in data_files(table):
        low, high = (struct.unpack("<q", bounds[key])[0] for bounds in (file.lower_bounds, file.upper_bounds))
        total += file.file_size_in_bytes * len(RANGES)
        found += file.file_size_in_bytes * sum(first <= high and last >= low for first, last in RANGES)
    return found / total


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


@pytest.fixture
def table(catalog: SqlCatalog, rng: np.random.Generator) -> Table:
    made = catalog.create_table("db.t", rows(rng, 1).schema)
    for _ in range(2):
        made.append(rows(rng, 30_000))
    rewrite_data_files(made, ["a", "b"], options={**SIZE, "rewrite-all": "true"})
    return made


def test_files_of_the_right_size_are_rewritten_for_queries_that_they_were_not_cut_for(table: Table) -> None:
    assert plan_rewrite(table, ["a", "b"], options=SIZE).groups == ()
    before, files = read(table), len(data_files(table))
    options = {**SIZE, "workload": workload()}
    plan = plan_rewrite(table, ["a", "b"], options=options)
    assert [group.reason for group in plan.groups] == [plan.groups[0].reason]
    assert plan.groups[0].reason.startswith(f"{QUERIES} ")
    (why,) = plan.groups[0].reasons
    size = sum(file.file_size_in_bytes for file in data_files(table))
    assert (why.code, why.parameters["before"]) == ("scan-ratio", pytest.approx(before * size, rel=0.01))
    result = rewrite_data_files(table, ["a", "b"], options=options)
    # What no query asks for is left.
    assert 0 < result.rewritten_data_files_count < files
    assert read(table) < 0.4 * before
    again = rewrite_data_files(table, ["a", "b"], options=options)
    assert again.rewritten_data_files_count == 0
    # Other weights are another workload, which is looked at anew, and finds its files as they should be.
    others = plan_rewrite(table, ["a", "b"], options={**SIZE, "workload": workload(last=2.0)})
    assert others.groups == ()
    assert f"({QUERIES} " in (others.message or "")
    assert others.left[0].reason.startswith(f"{QUERIES} ")
    # One of another column is not.
    assert plan_rewrite(table, ["a", "b"], options={**SIZE, "workload": workload(column="b")}).groups


def test_appends_to_a_table_that_is_cut_for_queries_have_a_part_of_it_rewritten(
    table: Table, rng: np.random.Generator
) -> None:
    options = {**SIZE, "workload": workload()}
    rewrite_data_files(table, ["a", "b"], options={**options, "rewrite-all": "true"})
    written = total = 0
    kept = []
    for _ in range(4):
        table.append(rows(rng, 600))
        total += sum(file.file_size_in_bytes for file in data_files(table))
        written += rewrite_data_files(table, ["a", "b"], options=options).rewritten_bytes_count
        kept.append(read(table))
    rewrite_data_files(table, ["a", "b"], options={**options, "rewrite-all": "true"})
    assert 0 < written < 0.5 * total
    # The sample of so few rows differs by the random names of files: one call in a hundred leaves 1.3 times as much.
    assert np.mean(kept) < 1.25 * read(table)


def test_queries_that_no_layout_serves_gain_by_fewer_files_alone(table: Table, rng: np.random.Generator) -> None:
    options = {**SIZE, "workload": workload(column="c")}
    for _ in range(5):
        table.append(rows(rng, 100))
    assert plan_rewrite(table, ["a", "b"], options=options).groups == ()
    table.transaction().set_properties(BY_FILES).commit_transaction()
    (group,) = plan_rewrite(table, ["a", "b"], options=options).groups
    (why,) = group.reasons
    assert why.code == "scan-ratio"
    # Which files are as good as others depends on sizes that differ by the random names in footers.
    assert why.parameters["predicted"] <= 1.2 * why.parameters["attainable"] < why.parameters["before"]
    assert len(group.tasks) > 1.2 * group.expected_output_files


def test_queries_of_one_partition_have_no_other_rewritten(catalog: SqlCatalog, rng: np.random.Generator) -> None:
    made = catalog.create_table("db.parts", pa.schema([("p", pa.int64()), ("a", pa.int64()), ("b", pa.int64())]))
    made.update_spec().add_identity("p").commit()
    a, b = rng.integers(0, 10_000, 40_000), rng.integers(0, 10_000, 40_000)
    made.append(pa.table({"p": np.arange(40_000) % 2, "a": a, "b": b}))
    rewrite_data_files(made, ["a", "b"], options={**SIZE, "rewrite-all": "true"})
    queries = [{"filter": f"p = 1 AND a BETWEEN {low} AND {high}", "weight": 1} for low, high in RANGES]
    plan = plan_rewrite(made, ["a", "b"], options={**SIZE, "workload": {"version": 1, "queries": queries}})
    assert [group.partition_path for group in plan.groups] == ["p=1"]
