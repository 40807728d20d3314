"""The golden file of upkeep by queries, which JUnit reads too: Python and Java choose the same of the same files."""

from __future__ import annotations

import json

import pytest

from tests.golden.generate import DIRECTORY
from tests.golden.upkeep_query_cases import queries_cases, queries_document

CASES = {case.partition.name: case for case in queries_cases()}
GOLDEN = {
    case["name"]: case for case in json.loads((DIRECTORY / "upkeep_queries.json").read_text(encoding="utf-8"))["cases"]
}


def test_no_case_is_missing_or_extra() -> None:
    assert set(GOLDEN) == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_upkeep(name: str) -> None:
    assert json.loads(json.dumps(queries_document(CASES[name]))) == GOLDEN[name]
