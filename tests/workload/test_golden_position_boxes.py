"""The golden file of boxes over keys, which JUnit reads too: Python and Java find the same positions, bit for bit."""

from __future__ import annotations

import json

import pytest

from tests.golden.generate import DIRECTORY
from tests.golden.position_box_cases import PositionCase, position_box_document, position_cases


@pytest.mark.parametrize("case", position_cases(), ids=lambda case: case.name)
def test_positions_of_boxes(case: PositionCase) -> None:
    golden = json.loads((DIRECTORY / "position_boxes.json").read_text(encoding="utf-8"))
    document = next(each for each in golden["cases"] if each["name"] == case.name)
    assert json.loads(json.dumps(position_box_document(case))) == document
