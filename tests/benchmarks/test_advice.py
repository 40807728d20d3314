"""What advice predicts of two tables comes true, column set by column set; ``make bench-advice`` has larger ones."""

from __future__ import annotations

import pytest

from benchmarks.advice import outcomes, regret


@pytest.mark.full
@pytest.mark.parametrize("name", ["calls", "iot"])
def test_predictions_and_picks(name: str) -> None:
    # All of so few rows are sampled, so that chance has no part in it.
    found = list(outcomes(name, 48_000))
    assert len(found) == 7
    assert {each.layout: each.error for each in found if each.error > 0.1} == {}
    assert found[0].actual_bytes == found[0].predicted_bytes
    assert regret(found) <= 0.05
