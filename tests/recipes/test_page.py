"""What the page of recipes shows is what the tests run."""

import re

from tests.pages import PAGES, RECIPES, REPOSITORY, blocks
from tests.recipes import places

PAGE = PAGES[RECIPES]
FILES = {file: file.read_text(encoding="utf-8") for file in places.RECIPES.rglob("*") if file.is_file()}


def test_blocks_are_files() -> None:
    shown = blocks(PAGE, r"\w*")
    assert len(shown) >= 3
    assert [block for block in shown if block not in FILES.values()] == []


def test_every_recipe_is_told() -> None:
    linked = [
        (REPOSITORY / RECIPES).parent.joinpath(path).resolve()
        for path in re.findall(r"\]\((\.\./\.\./recipes/[^)]+)\)", PAGE)
    ]
    told = [file for file in FILES if any(file.is_relative_to(each) for each in linked) or file.name in PAGE]
    assert sorted(told) == sorted(FILES)


def test_every_recipe_tells_how_it_was_tried() -> None:
    assert PAGE.count("\n## ") == PAGE.count("\n*Tried*: ") == 6
