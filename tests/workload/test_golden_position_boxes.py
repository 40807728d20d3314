"""The golden file of boxes over keys, which JUnit reads too: Python and Java find the same positions, bit for bit."""

from tests.golden.cases import golden
from tests.golden.generate import renewed


def test_positions_of_boxes() -> None:
    assert renewed("position_boxes") == golden("position_boxes")
