from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console

from benchmarks.claims import claims
from benchmarks.layouts import KD_TREE, LIQUID, OURS
from benchmarks.metrics import Boxes
from benchmarks.pictures import bars, boxes_picture
from benchmarks.report import CONSOLE_WIDTH, console, markdown
from benchmarks.results import PruningResult, Results
from benchmarks.sets import SETS
from tests.benchmarks.made_up import good, measured, with_pruning


def section(page: str, heading: str) -> str:
    return page.partition(f"# {heading}\n")[2].partition("\n#")[0]


def row(part: str, name: str) -> list[str]:
    line = next(line for line in part.splitlines() if line.startswith(f"| {name} |"))
    return [cell.strip() for cell in line.strip("|").split(" | ")]


def printed(results: Results) -> str:
    text = io.StringIO()
    console(results, Console(file=text, width=CONSOLE_WIDTH + 50, soft_wrap=True))
    return text.getvalue()


def test_every_set_and_promise_is_there() -> None:
    page = markdown(good(), "Mostly in the sort.\n")
    levels = [heading for heading in page.splitlines() if heading.startswith("### ")]
    assert len(levels) == 6
    for heading in levels:
        for of in SETS:
            assert len(row(section(page, heading.lstrip("# ")), of.name)) > 10
    promises = section(page, "Promises")
    for claim in claims(good()):
        assert f"| {claim.text} | {claim.verdict} | {claim.figures} |" in promises
    assert page.endswith("## Where the time goes\n\nMostly in the sort.\n")
    assert "(benchmark.png)" in page
    assert "(benchmark-boxes.png)" in page
    assert "| machine | 2 cores |" in page


def test_tables_are_rectangular() -> None:
    page = markdown(good(), "")
    for block in page.split("\n\n"):
        if block.startswith("|"):
            assert len({line.count(" | ") for line in block.splitlines()}) == 1


def test_the_best_of_a_row_is_bold_but_not_the_reference() -> None:
    better = measured("geo", LIQUID, files=15, row_groups=30, pages=12.5)
    results = with_pruning(good(), better, PruningResult("geo", KD_TREE, files=32, by_files=better.by_files))
    cells = row(section(markdown(results, ""), "Files, equality"), "geo")
    assert cells.count("**15.0**") == 1
    assert cells[-1] == "15.0"
    assert row(section(markdown(results, ""), "Files, equality"), "iot")[1] == "**20.0**"


def test_failures_are_told_without_paths_and_have_no_average() -> None:
    failed = PruningResult("mixed", LIQUID, error="IOException: file:/home/me/x.parquet | is cut\nat Some.java")
    page = markdown(with_pruning(good(), failed), "")
    assert "- Delta liquid on mixed: IOException: … \\| is cut\n" in page
    part = section(page, "Files, equality")
    assert row(part, "mixed").count("–") == 1
    assert row(part, "*average*").count("–") == 1


def test_nothing_at_all_makes_a_page() -> None:
    page = markdown(Results({}, (), ()), "")
    assert page.count("Not measured.") == 9
    assert "not measured" in printed(Results({}, (), ()))


def test_the_terminal_gets_averages_and_promises_in_its_width() -> None:
    text = printed(good())
    assert max(map(len, text.splitlines())) <= CONSOLE_WIDTH
    assert f" {OURS} " in text
    words = " ".join(text.split())
    assert words.count("holds") == len(claims(good()))
    assert "…" not in text


def test_pictures_are_drawn_even_where_something_failed(tmp_path: Path) -> None:
    bars(with_pruning(good(), PruningResult("mixed", LIQUID, error="no")), tmp_path / "bars.png")
    bars(replace(good(), pruning=()), tmp_path / "none.png")
    boxes = Boxes(np.array([[0, 5, 2**62], [-1, 0, 0]]), np.array([[4, 9, -1], [2**62, 3, 3]]), np.ones((2, 3), int))
    boxes_picture([("one", boxes, (10, 4)), ("two", boxes, (10, 4)), ("three", boxes, (10, 4))], tmp_path / "boxes.png")
    for name in ("bars", "none", "boxes"):
        assert (tmp_path / f"{name}.png").stat().st_size > 1_000
