"""The page and the text of advice, with hostile names."""

import io
import re
from dataclasses import replace
from html import unescape

from rich.console import Console

from iceberg_zorder.advice.advice import Advice, Caution, DailySavings, FileSize, JudgedLayout, RewriteCost
from iceberg_zorder.render.advice_text import advice_renderables
from iceberg_zorder.render.pages import advice_page

EVIL = "<script>document.title='evil'</script>\x1b[31m"
SHOWN = EVIL.replace("\x1b", "\\x1b")


def layout(kind: str, read: float) -> JudgedLayout:
    return JudgedLayout(
        kind, "" if kind == "today" else f"zorder(`{EVIL}`)", (EVIL,), 64, read, 3.5, read, read, 1e6, 10**9
    )


PICK = layout("sort", 2e8)
ADVICE = Advice(
    table=f"lake.db.`{EVIL}`",
    snapshot_id=1,
    scans=10.0,
    full_scans=2.0,
    filters=6,
    table_bytes=10**9,
    target_file_size_bytes=16 * 1024**2,
    open_cost_bytes=4 * 1024**2,
    queries_per_day=5.0,
    today=layout("today", 9e8),
    candidates=(PICK, layout("partition", 5e8)),
    pick=PICK,
    reason="it reads less",
    cost=RewriteCost(10**9, 10**9, 7e8, 2.9, 0.6, {"pyiceberg": 69.0, "spark": 202.0}, DailySavings(3.5e9, 90.0, 86.0)),
    file_sizes=(FileSize(1024, 9, 1e8, 2.0, 1.1e8),),
    warnings=(Caution("no-bounds", (EVIL,), f"{EVIL} has few", f"ALTER TABLE `{EVIL}`"),),
    statement=f"CALL `{EVIL}`\nnext",
    command="do it",
)


def test_the_page_escapes_names_and_loads_nothing() -> None:
    page = advice_page(ADVICE.to_dict())
    assert page.count("<script") == page.count("<script>for (const button") == 1, "only ours"
    assert "\x1b" not in page
    assert "&lt;script&gt;" in page
    assert re.findall(r"style=\"width: ([0-9.]+)%", page) == ["100.0", "22.22", "55.56"], "on one scale"
    assert re.findall(r"(?:src|href)=\"(?!#|data:)", page) == []
    assert "1.0 GB" in page


def test_the_page_says_first_what_to_do_and_marks_it() -> None:
    page = advice_page(ADVICE.to_dict())
    said = "a query reads 200.0 MB in 3.5 of 64 files, 77.8% less than the 900.0 MB in 3.5 of 64 files of today."
    assert page.index(said) < page.index("<section>")
    assert page.count('<span class="mark">advised</span>') == 2, "in the chart and in the table"
    commands = [unescape(each) for each in re.findall(r"<pre>(.*?)</pre><button", page, re.DOTALL)]
    assert commands == [f"CALL `{SHOWN}`\nnext", "do it", f"ALTER TABLE `{SHOWN}`"], "whole"


def test_text_obeys_nothing_and_what_is_pasted_is_not_wrapped() -> None:
    console = Console(width=79, record=True, file=io.StringIO())
    renderables = list(advice_renderables(ADVICE.to_dict()))
    for each in renderables:
        console.print(each)
    text = console.export_text()
    assert "\x1b" not in text
    assert "has paid after 3 queries, 0.6 days" in text
    kept = [str(each) for each in renderables if getattr(each, "no_wrap", False)]
    assert [each.split("`")[0] for each in kept] == ["ALTER TABLE ", "CALL ", "do it"]
    assert kept[1].endswith("\nnext")


def test_to_do_nothing_has_a_page_without_layouts() -> None:
    nothing = replace(
        ADVICE,
        candidates=(),
        pick=None,
        cost=None,
        file_sizes=(),
        statement=None,
        command=None,
        warnings=(),
    )
    page = advice_page(nothing.to_dict())
    assert "Leave the table as it is: a query reads 900.0 MB in 3.5 of 64 files." in page
    assert "Why: it reads less." in page
    assert 'class="bars' not in page
    assert 'class="command"' not in page
