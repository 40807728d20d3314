"""The site builds without a warning, loads nothing from elsewhere, and all its links lead somewhere."""

import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.pages import REPOSITORY

LOADED = re.compile(
    r'<(?:script|img|iframe)[^>]* src="([^"]*)|<link(?![^>]*rel="canonical")[^>]* href="([^"]*)|url\(([^)]*)'
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(built)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return built


def pages(site: Path) -> dict[Path, str]:
    return {page: page.read_text(encoding="utf-8") for page in site.rglob("*.html") if page.name != "404.html"}


def test_every_page_is_there(site: Path) -> None:
    sources = [*REPOSITORY.glob("docs/**/*.md"), *REPOSITORY.glob("docs/**/*.ipynb")]
    expected = {path.relative_to(REPOSITORY / "docs").with_suffix(".html") for path in sources}
    outside = {Path("repository/CHANGELOG.html"), Path("repository/CONTRIBUTING.html")}
    assert {page.relative_to(site) for page in pages(site)} == expected | outside


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    texts = [*pages(site).values(), *(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))]
    loaded = {part.strip("\"'") for text in texts for found in LOADED.findall(text) for part in found if part}
    assert len(loaded) > 5
    assert [each for each in loaded if urlsplit(each).netloc] == []


def test_links_and_anchors_lead_somewhere(site: Path) -> None:
    texts = pages(site)
    anchors = {page: {unescape(name) for name in re.findall(r'\bid="([^"]+)"', text)} for page, text in texts.items()}
    broken = []
    for page, text in texts.items():
        for link in re.findall(r'<(?:a|img|link|script)\b[^>]*\b(?:href|src)="([^"]+)"', text):
            target = urlsplit(unescape(link))
            if target.scheme or target.netloc:
                continue
            file = (page.parent / unquote(target.path)).resolve() if target.path else page
            file = file / "index.html" if file.is_dir() else file
            if not file.is_file() or (target.fragment and unquote(target.fragment) not in anchors.get(file, ())):
                broken.append(f"{page.relative_to(site)}: {link}")
    assert broken == []
