"""The table of the page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.readers.measure import READERS

PAGE, FIGURES = Path("docs/readers.md"), Path("docs/benchmarks/readers.json")
_TABLE = re.compile(r"^\| query \| needed \|.*?\n(?!\|)", flags=re.DOTALL | re.MULTILINE)


def with_table(page: str, figures: Mapping[str, Any]) -> str:
    """Put the table into the page, instead of the one that is there.

    Raises
    ------
    ValueError
        When the page has no such table, or several.
    """
    page, count = _TABLE.subn(lambda _: "\n".join(_lines(figures)) + "\n", page)
    if count != 1:
        raise ValueError(f"Cannot write the table, because the page has {count} tables '| query | needed |'")
    return page


def _lines(figures: Mapping[str, Any]) -> Iterator[str]:
    readers = figures["readers"]
    yield f"| query | needed | {' | '.join(READERS[name] for name in readers)} |"
    yield f"|---|---|{'---|' * len(readers)}"
    yield f"| version | | {' | '.join(reader['version'] for reader in readers.values())} |"
    for query, right in figures["needed"].items():
        answers = [reader["answers"][query] for reader in readers.values()]
        yield f"| {query} | {right['files']} | {' | '.join(_cell(answer, right) for answer in answers)} |"


def _cell(answer: Mapping[str, Any], right: Mapping[str, Any]) -> str:
    if answer["error"]:
        return "fails"
    if answer["rows"] is None:
        return "–"
    if (answer["rows"], answer["hash"]) != (right["rows"], right["hash"]):
        return "**wrong rows**"
    return f"**{answer['files']}**" if answer["files"] > right["files"] else str(answer["files"])
