"""The golden file of the cost of filters, which JUnit reads too, and what tables say it is."""

import pytest

from iceberg_zorder.metrics.scan_cost import ideal_file_size, open_cost
from tests.golden.cases import golden
from tests.golden.generate import renewed

OPEN_COST = 4 * 1024**2


def test_costs_are_as_in_the_golden_file() -> None:
    assert renewed("scan_cost") == golden("scan_cost")


@pytest.mark.parametrize("text", ["", "4m", "-1", "1e6", "9" * 19, " 5"])
def test_an_open_cost_that_cannot_be_read_is_the_default(text: str) -> None:
    assert open_cost({"read.split.open-file-cost": text}) == OPEN_COST


@pytest.mark.parametrize("columns", range(1, 9))
@pytest.mark.parametrize("power", range(0, 60, 4))
def test_no_file_size_is_much_cheaper_than_the_ideal_one(columns: int, power: int) -> None:
    def cost(file_size: float) -> float:
        files = max(1.0, size / file_size)
        return float(size * files ** (-1 / columns) + OPEN_COST * files ** (1 - 1 / columns) + OPEN_COST * files / 32)

    size = 2**power
    sizes = [OPEN_COST * max(1, columns - 1) * 2**doubled for doubled in range(7)]
    ideal = ideal_file_size(size, columns, OPEN_COST)
    assert cost(ideal) <= 1.1 * min(cost(each) for each in sizes if each <= 512 * 1024**2) * (1 + 1e-9)
