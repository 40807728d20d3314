"""The pages of benchmarks are what their scripts write of the figures beside them."""

import json
from pathlib import Path
from types import ModuleType

import pytest

import benchmarks.advice
import benchmarks.predictions
import benchmarks.queries.__main__
import benchmarks.ranking
import benchmarks.reports
import benchmarks.scale
import benchmarks.upkeep.page
import benchmarks.without_jvm
import benchmarks.workloads.__main__
from benchmarks.report import markdown
from benchmarks.results import Results
from benchmarks.upkeep.figures import Figures
from tests.pages import PAGES, REPOSITORY

SCRIPTS = [
    benchmarks.advice,
    benchmarks.predictions,
    benchmarks.queries.__main__,
    benchmarks.ranking,
    benchmarks.reports,
    benchmarks.scale,
    benchmarks.without_jvm,
    benchmarks.workloads.__main__,
]
DOCS = REPOSITORY / "docs/benchmarks"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.__name__)
def test_a_page_is_what_its_script_writes(script: ModuleType) -> None:
    page: Path = script.PAGE
    assert PAGES[page.as_posix()] == script.page(json.loads((REPOSITORY / script.FIGURES).read_text(encoding="utf-8")))


def test_the_page_of_peers_is_what_its_script_writes() -> None:
    assert PAGES["docs/benchmarks/peers.md"] == markdown(Results.read(DOCS / "peers.json"))


def test_the_page_of_upkeep_is_what_its_script_writes() -> None:
    assert PAGES["docs/benchmarks/upkeep.md"] == benchmarks.upkeep.page.page(Figures.read(DOCS / "upkeep.json"))
