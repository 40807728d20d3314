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

START = "docs/start/"
"""Where the pages are whose blocks build on one another, so that tests of their own run each page as a whole."""


def snippets(language: str) -> list[str]:
    """All fenced blocks of a language but those of recipes and start pages, those inside lists without their margin."""
    texts = (text for page, text in PAGES.items() if page != RECIPES and not page.startswith(START))
    return [block for text in texts for block in blocks(text, language)]


def blocks(text: str, language: str) -> list[str]:
    """The fenced blocks of a language in a text."""
    fence = re.compile(rf"^( *)```{language}\n(.*?)^\1```$", flags=re.DOTALL | re.MULTILINE)
    return [dedent(found[2]) for found in fence.finditer(text)]


def blocks_with_output(text: str) -> list[tuple[str, str, str]]:
    """All fenced blocks in order: language, block, and the block of ``text`` that follows it, empty if none does."""
    found = re.findall(r"^```(\w+)\n(.*?)^```$(?=(?:\n\n```text\n(.*?)^```$)?)", text, re.DOTALL | re.MULTILINE)
    return [block for block in found if block[0] != "text"]


def masked(text: str) -> str:
    """A text without its figures, bars, rules and line ends."""
    return " ".join(re.sub(r"\d[\d,.]*( ?[kM]?B\b)?|[\u2500-\u257f█]", " ", text).split())


def commands() -> list[str]:
    """The commands of all blocks of ``sh``, each in one line and without its comment."""
    return lines_of("".join(snippets("sh")))


def lines_of(script: str) -> list[str]:
    """The commands of a script, each in one line and without its comment."""
    return [line.partition("  #")[0].strip() for line in script.replace("\\\n", " ").splitlines()]


def rows(page: str, heading: str) -> list[list[str]]:
    """The cells of the first table that begins with a heading, without its ruler; the heading is the first row."""
    lines = PAGES[page].splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith(heading))
    table = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        table.append(_cells(line))
    return [table[0], *table[2:]]


def named(page: str, heading: str) -> dict[str, list[str]]:
    """The cells of all tables of a page that begin with a heading, by the name in backticks that each row begins with."""
    cells = [
        _cells(line)
        for table in re.findall(rf"^{re.escape(heading)}.*\n.*\n((?:\|.*\n)+)", PAGES[page], flags=re.MULTILINE)
        for line in table.splitlines()
    ]
    found = {row[0].split("`")[1]: row for row in cells}
    assert len(found) == len(cells)
    return found


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split(" | ")]
