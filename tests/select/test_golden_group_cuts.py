"""The golden file of file groups, which JUnit reads too: Python and Java cut the same files alike."""

from __future__ import annotations

import json

import pytest

from tests.golden.generate import DIRECTORY
from tests.golden.group_cuts_cases import group_cuts_cases, group_cuts_document

CASES = group_cuts_cases()
GOLDEN = json.loads((DIRECTORY / "group_cuts.json").read_text(encoding="utf-8"))["cases"]


def test_no_case_is_missing_or_extra() -> None:
    assert len(GOLDEN) == len(CASES)


@pytest.mark.parametrize("place", range(len(CASES)), ids=lambda place: CASES[place][0].name)
def test_groups(place: int) -> None:
    assert json.loads(json.dumps(group_cuts_document(*CASES[place]))) == GOLDEN[place]
