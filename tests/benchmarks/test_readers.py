"""The page of readers has the table of the figures beside it."""

from __future__ import annotations

import json

from benchmarks.readers.page import FIGURES, PAGE, with_table
from tests.pages import REPOSITORY


def test_the_page_is_that_of_the_figures() -> None:
    page = (REPOSITORY / PAGE).read_text(encoding="utf-8")
    assert with_table(page, json.loads((REPOSITORY / FIGURES).read_text(encoding="utf-8"))) == page
