"""The golden files of the choice of files, which JUnit reads too: Python and Java choose the same of the same files."""

import pytest

from tests.golden.cases import golden
from tests.golden.generate import renewed


@pytest.mark.parametrize("name", ["upkeep", "upkeep_queries", "group_cuts"])
def test_choices(name: str) -> None:
    found, expected = renewed(name)["cases"], golden(name)["cases"]
    assert [each["name"] for each in found] == [each["name"] for each in expected]
    assert [one["name"] for one, other in zip(found, expected, strict=True) if one != other] == []


def test_settled() -> None:
    assert renewed("settled") == golden("settled")
