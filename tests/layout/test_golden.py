"""The golden files, which JUnit reads too: Python and Java compute the same layouts, bit for bit."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.golden.cases import COLUMN_WEIGHTS, SORT_ORDERS, Column, cases, row_group_cases
from tests.golden.generate import (
    DIRECTORY,
    column_weights_document,
    document,
    row_groups_document,
    sort_order_document,
)
from tests.golden.query_cases import QueryCase, query_cases, query_document

CASES = {case.name: case for case in cases()}


def golden(name: str) -> Any:
    return json.loads((DIRECTORY / f"{name}.json").read_text(encoding="utf-8"))


def test_no_file_is_missing_or_extra() -> None:
    layouts = {file.stem for file in DIRECTORY.glob("*.json") if not file.stem.startswith("report_")}
    assert layouts == {
        *CASES,
        "sort_order",
        "column_weights",
        "sampled_row_groups",
        "metrics_check",
        "settled",
        "upkeep",
        "upkeep_queries",
        "regions",
        "queries",
        "position_boxes",
    }


@pytest.mark.parametrize("name", CASES)
def test_layouts(name: str) -> None:
    assert document(CASES[name]) == golden(name)


def test_sort_orders() -> None:
    assert [sort_order_document(text) for text in SORT_ORDERS] == golden("sort_order")


def test_column_weights() -> None:
    assert [column_weights_document(text) for text in COLUMN_WEIGHTS] == golden("column_weights")


def test_sampled_row_groups() -> None:
    assert [row_groups_document(case) for case in row_group_cases()] == golden("sampled_row_groups")


@pytest.mark.parametrize("case", query_cases(), ids=lambda case: case.name)
def test_cuts_from_a_workload(case: QueryCase) -> None:
    document = next(each for each in golden("queries")["cases"] if each["name"] == case.name)
    assert query_document(case) == document


def test_a_tampered_file_is_noticed() -> None:
    tampered = golden("shipdate_partkey")
    column = tampered["columns"][0]
    column["values"][0] += 1
    case = CASES["shipdate_partkey"]
    changed = Column(tuple(column["name"]), column["type"], column["values"])
    assert document(type(case)(case.name, (changed, *case.columns[1:]), case.files)) != golden("shipdate_partkey")
