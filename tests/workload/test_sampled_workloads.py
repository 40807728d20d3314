"""Workloads of fewer queries that stand for larger ones."""

import sys

import pytest

from iceberg_zorder.workload.workload import Query, Workload

MANY = [
    *(Query(f"a = {number}", 1.0, 0.5) for number in range(6_000)),
    *(Query(f"z = '{number}'", 4.0) for number in range(1_500)),
    *(Query(f"m < {number}", 100.0) for number in range(30)),
    Query("TRUE", 77.0),
    Query("a = 'never'", 0.0),
]


def weight(workload: Workload, begins: str) -> float:
    return sum(each.weight for each in workload.queries if each.filter.startswith(begins))


@pytest.mark.parametrize("most", [500, 1_000, 5_000])
def test_columns_weigh_what_they_did(most: int) -> None:
    found = Workload.of(MANY).sampled(most)
    assert len(found.queries) == most + 1
    assert found.weight == pytest.approx(15_077)
    assert (weight(found, "m"), weight(found, "TRUE")) == (3_000, 77)
    # Twice what a binomial of so many draws has as its standard deviation.
    spread = 2 * 0.5 / (most - 30) ** 0.5
    assert weight(found, "a") / 12_000 == pytest.approx(0.5, abs=spread)
    assert sum(each.weaker for each in found.queries) == pytest.approx(weight(found, "a") / 2)


@pytest.mark.parametrize("weights", [(5e-324, 1.0, 1.0), (1.0, 1e-300, 1e300), (sys.float_info.max / 4,) * 3])
@pytest.mark.parametrize("most", [1, 2])
def test_weights_of_every_size(weights: tuple[float, ...], most: int) -> None:
    found = Workload.of(Query(f"a = {at}", each) for at, each in enumerate(weights))
    fewer = found.sampled(most)
    assert len(fewer.queries) == most
    assert fewer.weight == pytest.approx(sum(weights))
    assert all(each.weight > 0 for each in fewer.queries)
