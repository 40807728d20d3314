"""The simulation of upkeep where bounds mislead, small."""

from __future__ import annotations

import pytest

from benchmarks.upkeep.hard_cases import Outcome, page, simulate


@pytest.mark.parametrize("name", ["one value has 60% of the rows", "one value, groups of 6 files"])
def test_what_bounds_promise_in_vain_costs_what_the_cap_allows(name: str) -> None:
    found = simulate(name, files=16, growths=12)
    assert 0.05 < found.written <= 0.30
    assert max(found.reads) < 2.5


def test_the_page_tells_a_promise_that_is_broken() -> None:
    text = page([Outcome("good", (1.0, 1.5), 0.3), Outcome("bad", (1.0,), 0.31)])
    assert "| good | 1.25x | 1.50x | 0.300x | holds |" in text
    assert "| bad | 1.00x | 1.00x | 0.310x | broken |" in text
