"""What advice predicts of two tables comes true, layout by layout; ``make bench-advice`` has larger ones."""

from __future__ import annotations

import pytest

from benchmarks.advice import measured


@pytest.mark.full
@pytest.mark.parametrize("name", ["calls", "iot"])
def test_predictions_and_picks(name: str) -> None:
    # All of so few rows are sampled, so that chance has no part in it.
    found = measured(name, 48_000, files=48, most_sets=3)
    assert {each.kind for each in found.outcomes} == {"today", "sort", "zorder", "workload"}
    assert {each.layout: each.error for each in found.outcomes if each.error > 0.1} == {}
    assert found.outcomes[0].actual_bytes == found.outcomes[0].predicted_bytes
    assert found.regret <= 0.05
