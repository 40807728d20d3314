"""What is found in statements: each of the files in ``cases`` has statements and, below, what they come to.

A line that begins with ``>`` is the filter of a scan, ``with`` columns that are compared with values that are not known;
``?`` is a part that was not understood, ``!`` a statement that was not, and ``-`` one that does not read the table.
"""

from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest

from iceberg_zorder.rewrite.predicate import parse_predicate
from iceberg_zorder.workload.readers.statements import StatementReader
from iceberg_zorder.workload.scanned_table import ScannedTable

CASES = Path(__file__).parent / "cases"
NOW = datetime(2024, 5, 17, 10, 30, tzinfo=timezone.utc)
TABLE = ScannedTable(
    ("db", "events"),
    {
        ("id",): "long",
        ("user_id",): "long",
        ("kind",): "string",
        ("day",): "date",
        ("ts",): "timestamptz",
        ("wall",): "timestamp",
        ("amount",): "decimal(9, 2)",
        ("score",): "double",
        ("flag",): "boolean",
        ("device",): "struct<10: os: optional string, 11: model name: optional string>",
        ("device", "os"): "string",
        ("device", "model name"): "string",
        ("tags",): "list<string>",
        ("payload",): "binary",
        ("u",): "uuid",
    },
    "s3://lake/db/events",
)


def shown(statement: str, dialect: str | None) -> list[str]:
    """What a statement comes to, line by line."""
    reader = StatementReader(TABLE, now=NOW, dialect=dialect)
    reader.add_script(statement)
    found = reader.workload()
    lines = [f"> {each.filter}{_times(each.weight)}" for each in found.queries]
    for each in found.columns_only:
        columns = ", ".join(f"{name} {kind}" for name, kind in each.columns)
        lines.append(f"> {each.filter} with {columns}{_times(each.weight)}")
    lines += [f"{'?' if each.kind == 'part' else '!'} {each.text}: {each.reason}" for each in found.not_understood]
    return [*lines, *(["-"] if found.elsewhere else [])]


def _times(weight: float) -> str:
    return "" if weight == 1 else f" x {weight:g}"


def cases() -> Iterator[tuple[str, str, str | None, list[str]]]:
    for file in sorted(CASES.glob("*.txt")):
        dialect = None
        for block in file.read_text(encoding="utf-8").split("\n\n"):
            lines = block.strip("\n").split("\n")
            if lines[0].startswith("# dialect: "):
                dialect = lines.pop(0).removeprefix("# dialect: ")
            if lines:
                place = next(place for place, line in enumerate(lines) if line[:2] in ("> ", "? ", "! ", "-"))
                yield file.stem, "\n".join(lines[:place]), dialect, lines[place:]


@pytest.mark.parametrize(("topic", "statement", "dialect", "wanted"), list(cases()))
def test_statements(topic: str, statement: str, dialect: str | None, wanted: list[str]) -> None:
    assert shown(statement, dialect) == wanted
    for line in wanted:
        if line.startswith("> "):
            parse_predicate(line.removeprefix("> ").partition(" with ")[0].partition(" x ")[0])


def test_there_are_cases() -> None:
    topics = [topic for topic, *_ in cases()]
    assert {topic: topics.count(topic) > 20 for topic in topics} == dict.fromkeys(
        ("conditions", "dialects", "queries"), True
    )
