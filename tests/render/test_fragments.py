"""Fragments for notebooks: short, with the answer first and hostile names escaped."""

from html.parser import HTMLParser
from typing import Any

import pytest
from rich.filesize import decimal

from iceberg_zorder.rewrite.result import ColumnScan, RewriteResult, TableFiles
from tests.render.conftest import EVIL, Hostile
from tests.render.test_advice_page import ADVICE

TAGS = {"div", "strong", "p", "table", "thead", "tbody", "tr", "th", "td"}


class Shown(HTMLParser):
    """The tags of a fragment, those that have attributes, and its texts."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.attributes: list[Any] = []
        self.feed(value._repr_html_())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append(data)


@pytest.mark.parametrize("kind", Hostile._fields)
def test_fragments_of_a_hostile_table_are_escaped(hostile: Hostile, kind: str) -> None:
    shown = Shown(getattr(hostile, kind))
    assert set(shown.tags) <= TAGS
    assert shown.attributes == []
    assert shown.texts[0] == "lake.db.<b>bold</b> & co"
    assert shown.tags.count("table") == 1


def test_reports_and_plans_say_figures(hostile: Hostile) -> None:
    assert " read " in Shown(hostile.before).texts[1]
    assert " in 12 of 12 files (" in Shown(hostile.before).texts[1]
    assert f"$x_1$ {EVIL}" in "".join(Shown(hostile.before).texts)
    size = decimal(hostile.before.total_bytes)
    assert Shown(hostile.plan).texts[1] == f"Rewrites 12 data files ({size}) into about 1."
    assert Shown(hostile.plan).texts[-4:] == ["-", "12", size, "rewrite-all is true"]
    assert "reads after" in Shown(hostile.sampled).texts


def test_advice_says_what_to_do() -> None:
    shown = Shown(ADVICE)
    assert set(shown.tags) <= TAGS
    assert shown.texts[1].endswith("of today.")
    assert "\x1b" not in "".join(shown.texts)
    assert sum(each.endswith(" (advised)") for each in shown.texts) == 1


def test_results_say_what_was_done() -> None:
    scans = (ColumnScan(EVIL, 1.0, 0.13, 0.132, 64, 9, 9.4),)
    before, after = TableFiles(64, 310_000_000), TableFiles(60, 300_000_000)
    shown = Shown(RewriteResult(64, 60, 310_000_000, 2, 0, f"{EVIL} gets worse.", scans, before=before, after=after))
    assert set(shown.tags) <= TAGS
    assert shown.texts[:3] == [
        "Rewrote 64 data files (310.0 MB) into 60.",
        "2 data files could not be rewritten.",
        f"{EVIL} gets worse.",
    ]
    assert shown.texts[-3:] == [EVIL, "310.0 MB in 64 of 64 files", "39.6 MB in 9.4 of 60 files"]
    assert Shown(RewriteResult(0, 0, 0, 0, 0, "Nothing to do.")).texts == ["Nothing to do."]
