"""Writers and rewriters in processes of their own; ``python -m tests.soak.races`` is the same for longer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.soak.races import DELETES, NOTHING, race, sqlite


@pytest.mark.parametrize(
    "deletes", [pytest.param((), marks=pytest.mark.full), DELETES], ids=["appends", "appends and deletes"]
)
def test_writers_against_a_rewriter(tmp_path: Path, deletes: Sequence[str]) -> None:
    counts = race(sqlite(tmp_path), seconds=6, writers=2, rewriters=1, deletes=deletes)
    assert counts["appends"] > 5
    assert counts["rewrites"] > 0
    if not deletes:
        # Nothing that they do is in the way of each other.
        assert set(counts) <= {
            "appends",
            "rewrites",
            "snapshots",
            "orphan files",
            NOTHING,
        }
        assert counts["appends"] + counts["rewrites"] == counts["snapshots"]
        assert counts["orphan files"] == 0
