"""What all pages of benchmarks have in common: how they begin, and how a paragraph is written."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

WIDTH = 120


def head(title: str, about: str, note: str = "") -> list[str]:
    """Return the first lines of a page: its title, what it is for, and what changed since its figures.

    Examples
    --------
    >>> head("Upkeep", "How tables stay clustered.", "Measured on 2026-11-25.")
    ['# Upkeep', '', 'How tables stay clustered.', '', '> Measured on 2026-11-25.']
    """
    return [f"# {title}", "", *paragraph(about), *(["", f"> {note}"] if note else [])]


def how(command: str, machine: str, figures: str, *steps: str) -> list[str]:
    """Return the last lines of a page: how its figures were measured, where all of them are, and steps as a list."""
    text = paragraph(f"`{command}` writes this page. {figures}")
    lines = ["", "## How it is measured", "", *text, "", *paragraph(f"Machine: {machine}.")]
    return [*lines, "", *bullets(*steps)] if steps else lines


def paragraph(text: str) -> list[str]:
    """Return the lines of a paragraph."""
    return textwrap.wrap(" ".join(text.split()), WIDTH, break_long_words=False, break_on_hyphens=False)


def bullets(*texts: str) -> list[str]:
    """Return the lines of a list."""
    return [f"{'  ' if place else '- '}{line}" for text in texts for place, line in enumerate(paragraph(text))]


def table(header: Sequence[str], rows: Sequence[Sequence[str]], texts: int = 1) -> list[str]:
    """Return the lines of a table whose first ``texts`` columns are text, and all others numbers.

    Examples
    --------
    >>> table(("set", "files"), [("calls", "64")])
    ['| set | files |', '|---|--:|', '| calls | 64 |']
    """
    ruler = "---|" * texts + "--:|" * (len(header) - texts)
    return [f"| {' | '.join(header)} |", f"|{ruler}", *(f"| {' | '.join(row)} |" for row in rows)]
