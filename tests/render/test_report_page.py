"""The page of a report, looked at in a real browser, in light and in dark."""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.image import imread
from playwright.sync_api import Page, sync_playwright
from pyiceberg.catalog.sql import SqlCatalog

from iceberg_zorder.metrics.clustering_report import ClusteringReport
from iceberg_zorder.pyiceberg import report, rewrite_data_files
from iceberg_zorder.render.pages import report_page

CHROMIUM = shutil.which("chromium")
EVIL = "<script>document.title='evil'</script>"
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ClusteringReport, ClusteringReport]]:
    """A table with hostile names and values, before and after a rewrite."""
    directory = tmp_path_factory.mktemp("page")
    catalog = SqlCatalog("lake", uri=f"sqlite:///{directory}/catalog.db", warehouse=f"file://{directory}")
    catalog.create_namespace("db")
    name = f"$x_1$ {EVIL}"
    schema = pa.schema([(name, pa.string()), ("day", pa.date32()), ("p", pa.string())])
    table = catalog.create_table(
        ("db", "<b>bold</b> & co"), schema, properties={"write.metadata.metrics.default": "full"}
    )
    rng = np.random.default_rng(0)
    for _ in range(12):
        values = [f"{EVIL[: number % 40]}{number:05d}" for number in rng.integers(0, 99_999, 500)]
        days = pa.array(rng.integers(19_000, 20_000, 500).astype(np.int32)).cast(pa.date32())
        table.append(pa.table([values, days, ["<i>" if row % 2 else "b" for row in range(500)]], schema))
    by, quoted = [f"`{name}`", "day"], EVIL.replace("'", "\\'")
    before = report(table, by, predicates=[f"`{name}` > '{quoted}'"])
    rewrite_data_files(table, by, options={"rewrite-all": True, "target-file-size-bytes": 4_000})
    workload = {"version": 1, "queries": [{"filter": f"`{name}` > '{quoted}'", "weight": 1}]}
    yield before, report(table, by, predicates=["day = DATE '2022-02-02'"], workload=workload)
    catalog.close()


def page_of(*reports: ClusteringReport) -> str:
    return report_page([(each.to_dict(), each.boxes) for each in reports])


def test_page_escapes_names_and_loads_nothing(reports: tuple[ClusteringReport, ClusteringReport]) -> None:
    page = page_of(*reports)
    assert re.findall(r"<(?:script|b)\b", page, re.IGNORECASE) == []
    assert page.count("<svg") == 2
    assert page.count('class="bars"') == 6
    assert page.count("(target)") == 2
    assert re.findall(r"(?:src|href)\s*=\s*(?![\"'](?:#|data:))", page) == []
    assert "&lt;b&gt;bold&lt;/b&gt; &amp; co" in page
    for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        ElementTree.fromstring(svg)


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
    # Text in charts has the colour of the page's text.
    ink = page.evaluate("getComputedStyle(document.body).color")
    drawn = page.evaluate("[...document.querySelectorAll('svg text')].map(each => getComputedStyle(each).fill)")
    assert len(drawn) > 20
    assert set(drawn) <= {ink}, colours
    assert page.locator("svg text", has_text="$x_1$").count() > 0
