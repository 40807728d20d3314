"""What terminals and browsers obey is escaped in everything that people read; ``PrintableTest.java`` has the same cases."""

import io
import json
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from rich.console import Console

from iceberg_zorder.cli.commands.tables import show_properties, show_result
from iceberg_zorder.cli.failure import Failure
from iceberg_zorder.cli.output import Output
from iceberg_zorder.printable import printable
from iceberg_zorder.render.pages import report_page
from iceberg_zorder.render.report_text import comparison_renderable, report_text
from iceberg_zorder.rewrite.result import ColumnScan, RewriteResult
from tests.golden.cases import golden
from tests.golden.report_cases import report_of

HOSTILE = "a\x1b]0;title\x07\x00\u202e\x9b31m\x7f"
OBEYED = sorted(set(HOSTILE) - set("a]0;title31m"))


@pytest.mark.parametrize(
    ("code", "escaped"),
    [
        *((0x00, "\\x00"), (0x09, "\\x09"), (0x0A, "\\x0a"), (0x0D, "\\x0d"), (0x1B, "\\x1b"), (0x7F, "\\x7f")),
        *((0x80, "\\x80"), (0x9B, "\\x9b"), (0x061C, "\\u061c"), (0x200E, "\\u200e"), (0x2028, "\\u2028")),
        *((0x202E, "\\u202e"), (0x2066, "\\u2066"), (0x2069, "\\u2069"), (0xD800, "\\ud800"), (0xDFFF, "\\udfff")),
    ],
)
def test_what_is_obeyed_is_escaped(code: int, escaped: str) -> None:
    assert printable(f"a{chr(code)}b") == f"a{escaped}b"


@pytest.mark.parametrize("code", [0x20, 0x7E, 0xA0, 0xDF, 0x200D, 0x2027, 0x202F, 0x2065, 0x206A, 0x1F600, 0x10FFFF])
def test_what_is_shown_stays(code: int) -> None:
    assert printable(f"a{chr(code)}\\b$1") == f"a{chr(code)}\\b$1"


def hostile(value: Any) -> Any:
    """A report whose names hold what terminals obey."""
    return json.loads(json.dumps(value).replace("lake.db", json.dumps(f"{HOSTILE}\n")[1:-1]))


@cache
def report() -> dict[str, Any]:
    found = json.loads(json.dumps(report_of(golden("report_endless")).to_dict()).replace('"t"', '"lake.db"'))
    found["table"] = "lake.db"
    found["where"] = "x = 'lake.db'"
    found["partitions"] = [{**each, "partition": "p=lake.db"} for each in found["partitions"] * 2]
    result: dict[str, Any] = hostile(found)
    return result


def is_clean(text: str) -> bool:
    return not any(character in text for character in OBEYED) and "\\x1b]0;title" in text


def test_reports() -> None:
    assert is_clean(report_text(report()))
    console = Console(file=io.StringIO(), width=100)
    console.print(comparison_renderable(report(), report()))
    assert is_clean(console.file.getvalue())  # type: ignore[attr-defined]


def test_pages() -> None:
    assert is_clean(report_page([(report(), None)]))


def outputs() -> tuple[Console, Console]:
    return Console(file=io.StringIO(), width=100), Console(file=io.StringIO(), width=100)


def test_what_the_command_line_says() -> None:
    stdout, stderr = outputs()
    output = Output("text", stdout=stdout, stderr=stderr)
    show_properties(HOSTILE, {"zorder.columns": f"{HOSTILE}\nb"}, output)
    output.warning(f"{HOSTILE}\nforged")
    output.note(HOSTILE)
    output.failure(Failure("Error", f"{HOSTILE}\nthe second line", 1))
    output.interrupted(HOSTILE)
    result = RewriteResult(1, 1, 1, 0, 0, HOSTILE, (ColumnScan(HOSTILE, 1.0, None, None),))
    show_result(HOSTILE, {"columns": HOSTILE}, result, output, "pyiceberg")
    show_result(HOSTILE, {"columns": None}, replace(result, rewritten_data_files_count=0), output, "pyiceberg")
    for console in (stdout, stderr):
        assert is_clean(console.file.getvalue())  # type: ignore[attr-defined]
    assert "\nforged" not in stderr.file.getvalue()  # type: ignore[attr-defined]
    assert "\nthe second line\n" in stderr.file.getvalue()  # type: ignore[attr-defined]


def test_json_keeps_every_character() -> None:
    stdout, stderr = outputs()
    show_properties(HOSTILE, {"a": HOSTILE}, Output("json", stdout=stdout, stderr=stderr))
    assert json.loads(stdout.file.getvalue()) == {"version": 1, "table": HOSTILE, "properties": {"a": HOSTILE}}  # type: ignore[attr-defined]
