"""The pages that people read: the README, CONTRIBUTING, the changelog, and docs."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

REPOSITORY = Path(__file__).parent.parent

PAGES = {
    path.relative_to(REPOSITORY).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted([*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/**/*.md")])
}
"""Their texts, by their paths in the repository."""


RECIPES = "docs/do/schedule.md"
"""The page whose blocks are files of their own, which tests of their own run."""


def snippets(language: str) -> list[str]:
    """All fenced blocks of a language but those of recipes, those inside lists without their margin."""
    texts = (text for page, text in PAGES.items() if page != RECIPES)
    return [block for text in texts for block in blocks(text, language)]


def blocks(text: str, language: str) -> list[str]:
    """The fenced blocks of a language in a text."""
    fence = re.compile(rf"^( *)```{language}\n(.*?)^\1```$", flags=re.DOTALL | re.MULTILINE)
    return [dedent(found[2]) for found in fence.finditer(text)]


def commands() -> list[str]:
    """The commands of all blocks of ``sh``, each in one line and without its comment."""
    lines = "".join(snippets("sh")).replace("\\\n", " ").splitlines()
    return [line.partition("  #")[0].strip() for line in lines]


def rows(page: str, heading: str) -> list[list[str]]:
    """The cells of the first table that begins with a heading, without its ruler; the heading is the first row."""
    lines = PAGES[page].splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith(heading))
    table = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        table.append([cell.strip() for cell in line.strip().strip("|").split(" | ")])
    return [table[0], *table[2:]]


def named(page: str, heading: str) -> dict[str, list[str]]:
    """The cells of all tables of a page that begin with a heading, by the name in backticks that each row begins with."""
    cells = [
        [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        for table in re.findall(rf"^{re.escape(heading)}.*\n.*\n((?:\|.*\n)+)", PAGES[page], flags=re.MULTILINE)
        for line in table.splitlines()
    ]
    found = {row[0].split("`")[1]: row for row in cells}
    assert len(found) == len(cells)
    return found
