"""The simulation of upkeep where bounds mislead, small."""

import pytest

from benchmarks.upkeep.hard_cases import simulate


@pytest.mark.parametrize("name", ["one value has 60% of the rows", "one value, groups of 6 files"])
def test_what_bounds_promise_in_vain_costs_what_the_cap_allows(name: str) -> None:
    found = simulate(name, growths=6)
    assert 0.05 < found.written <= 0.30
    assert max(found.bytes_read) < 2.5
