"""The golden file of regions, which JUnit reads too: Python and Java cut the same files alike."""

from __future__ import annotations

import json

import pytest

from tests.golden.generate import DIRECTORY
from tests.golden.regions_cases import regions_cases, regions_document

CASES = regions_cases()
GOLDEN = json.loads((DIRECTORY / "regions.json").read_text(encoding="utf-8"))["cases"]


def test_no_case_is_missing_or_extra() -> None:
    assert len(GOLDEN) == len(CASES)


@pytest.mark.parametrize("place", range(len(CASES)), ids=lambda place: CASES[place].group.name)
def test_regions(place: int) -> None:
    assert json.loads(json.dumps(regions_document(CASES[place]))) == GOLDEN[place]
