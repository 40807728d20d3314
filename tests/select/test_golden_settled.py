"""The golden file of what is settled, which JUnit reads too: Python and Java know the rewrites of each other."""

from __future__ import annotations

import json

from tests.golden.generate import DIRECTORY
from tests.golden.settled_cases import settled_document


def test_settled() -> None:
    golden = json.loads((DIRECTORY / "settled.json").read_text(encoding="utf-8"))
    assert json.loads(json.dumps(settled_document())) == golden
