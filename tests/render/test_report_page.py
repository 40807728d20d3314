"""The page of a report, looked at in a real browser, in light and in dark."""

import io
import re
import shutil
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pyarrow as pa
import pytest
from playwright.sync_api import Page, sync_playwright
from pyiceberg.catalog.sql import SqlCatalog

from iceberg_zorder.figures import size
from iceberg_zorder.metrics.clustering_report import ClusteringReport
from iceberg_zorder.pyiceberg import report
from iceberg_zorder.render.pages import report_page

CHROMIUM = shutil.which("chromium")
EVIL = "<script>document.title='evil'</script>"
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]


def page_of(*reports: ClusteringReport) -> str:
    return report_page([(each.to_dict(), each.boxes) for each in reports])


def test_page_escapes_names_and_loads_nothing(reports: tuple[ClusteringReport, ClusteringReport]) -> None:
    page = page_of(*reports)
    assert re.findall(r"<(?:script|b)\b", page, re.IGNORECASE) == ["<script"], "only ours"
    assert page.count("<svg") == 2
    assert page.count('<ul class="bars') == 2 + 1 + 1 + 2 * 2, "columns, condition, workload, depths and sizes of both"
    assert page.count("(target)") == 2
    assert re.findall(r"(?:src|href)\s*=\s*(?![\"'](?:#|data:))", page) == []
    assert "&lt;b&gt;bold&lt;/b&gt; &amp; co" in page
    for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        ElementTree.fromstring(svg)


def test_page_says_first_what_filters_read_before_and_now(
    reports: tuple[ClusteringReport, ClusteringReport],
) -> None:
    before, after = reports
    page = page_of(before, after)
    now, was = (
        size(sum((each.scan_fraction or 0) * of.total_bytes for each in of.columns) / 2) for of in (after, before)
    )
    start = page[: page.index("<section>")]
    assert start.index(f"read {now} in ") < start.index(f"It was {was} in 12 of 12 files")
    assert page.count('<span class="mark">') == len(after.columns), "what reads less"


def test_both_sides_have_one_scale(reports: tuple[ClusteringReport, ClusteringReport]) -> None:
    page = page_of(*reports)
    ticks = re.findall(r'<div class="along dim">(.*?)</div>', page)
    assert len(ticks) == 2
    assert ticks[0] == ticks[1]
    for title in ("Data files by depth", "Data files by size"):
        chart = page[page.index(f"<h2>{title}</h2>") :].partition("</section>")[0]
        classes = [re.findall(r"<li><span>(.*?)</span>", side) for side in chart.split("<h3>")[1:]]
        assert len(classes) == 2
        assert classes[0] == classes[1]
    # The same report twice is drawn twice alike.
    same = page_of(reports[1], reports[1])
    one, other = re.findall(r"<svg.*?</svg>", same, re.DOTALL)
    assert re.findall("<rect.*?/>", one) == re.findall("<rect.*?/>", other)


def test_commands_are_whole_and_can_be_copied(reports: tuple[ClusteringReport, ClusteringReport]) -> None:
    shown = re.findall(r"<pre>(.*?)</pre><button type=\"button\" class=\"copy\"", page_of(reports[0]), re.DOTALL)
    assert [unescape(each) for each in shown] == list(
        dict.fromkeys(each.command for each in reports[0].findings if each.command)
    )


def test_page_of_a_table_without_files_has_no_charts(tmp_path: Path) -> None:
    with SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}") as catalog:
        catalog.create_namespace("db")
        page = page_of(report(catalog.create_table("db.empty", pa.schema([("a", pa.int64())])), ["a"]))
    assert "<svg" not in page
    assert "lake.db.empty" in page


@pytest.mark.full
@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 480])
def test_browser_shows_it(
    reports: tuple[ClusteringReport, ClusteringReport], tmp_path: Path, colours: str, width: int
) -> None:
    path = tmp_path / "report.html"
    path.write_text(page_of(*reports), encoding="utf-8")
    from matplotlib.image import imread

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        context = browser.new_context(color_scheme=colours, viewport={"width": width, "height": 900})  # type: ignore[arg-type]
        page = context.new_page()
        problems: list[str] = []
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: problems.append(request.url) if request.url != path.as_uri() else None)
        page.goto(path.as_uri())
        check(page, colours)
        seen = imread(io.BytesIO(page.screenshot(full_page=True)))
        browser.close()
    assert problems == []
    ground = seen[2, 2, :3].mean()
    assert ground < 0.2 if colours == "dark" else ground > 0.9
    # The boxes and bars are there, in their colour.
    orange = (seen[..., 0] > 0.7) & (seen[..., 1] < 0.5) & (seen[..., 2] < 0.3)
    assert orange.mean() > 0.002


def check(page: Page, colours: str) -> None:
    """What stands on the page can be read, fits it, and is text where it looks like code."""
    assert page.title() == "lake.db.<b>bold</b> & co: clustering"
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.locator("h1").inner_text() == "lake.db.<b>bold</b> & co"
    charts = page.locator("svg")
    for chart in range(charts.count()):
        box = charts.nth(chart).bounding_box()
        assert box is not None
        assert box["width"] > 150
        assert box["height"] > 60
        assert "data files by `$x_1$" in str(charts.nth(chart).get_attribute("aria-label"))
    # Nothing is clipped, but the headings of tables that are hidden on small screens.
    clipped = """[...document.querySelectorAll('body *')].filter(each => each.scrollWidth > each.clientWidth + 1
        && !['inline', 'contents'].includes(getComputedStyle(each).display) && !each.closest('thead')).length"""
    assert page.evaluate(clipped) == 0, colours
    # Terms explain themselves to the keyboard, too.
    page.locator(".term").first.focus()
    assert page.locator(".tip").first.is_visible()
    page.keyboard.press("Escape")
    assert not page.locator(".tip").first.is_visible()
    page.locator(".copy").first.press("Enter")
    page.wait_for_function("['Copied', 'Selected'].includes(document.querySelector('.copy').textContent)")
