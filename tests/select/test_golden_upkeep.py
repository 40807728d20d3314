"""The golden file of upkeep, which JUnit reads too: Python and Java choose the same of the same files."""

from __future__ import annotations

import json

import pytest

from tests.golden.generate import DIRECTORY
from tests.golden.upkeep_cases import upkeep_cases, upkeep_document

CASES = {case.name: case for case in upkeep_cases()}
GOLDEN = {case["name"]: case for case in json.loads((DIRECTORY / "upkeep.json").read_text(encoding="utf-8"))["cases"]}


def test_no_case_is_missing_or_extra() -> None:
    assert set(GOLDEN) == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_upkeep(name: str) -> None:
    assert json.loads(json.dumps(upkeep_document(CASES[name]))) == GOLDEN[name]
