"""Writers and rewriters in processes of their own; ``python -m tests.soak.races`` is the same for longer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.soak.races import race, sqlite


@pytest.mark.full
def test_writers_against_a_rewriter(tmp_path: Path) -> None:
    counts = race(sqlite(tmp_path), seconds=6, writers=2, rewriters=1)
    assert counts["appends"] > 5
    assert counts["rewrites"] > 0
