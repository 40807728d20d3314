"""Write the pages ``docs/reference/json/*.md`` from the JSON schemas: ``python -m docs.json_pages``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

REFERENCE = Path(__file__).parent / "reference"
SCHEMAS = REFERENCE / "schemas"
PAGES = {
    "plan.md": ("plan",),
    "result.md": ("result",),
    "report.md": ("report",),
    "advice.md": ("advice",),
    "workload.md": ("workload", "workload-summary"),
    "pass.md": ("pass",),
    "other.md": ("history", "append", "undo", "check", "properties", "policy", "error"),
}
"""The schemas that each page shows."""
REASONS = "../plans.md#reasons"
"""The list of the values of ``code`` in a plan, which are too many for a table's cell."""
WRITERS = {
    "plan": "`iceberg-zorder plan`, Python's `RewritePlan.to_json()`, Java's `RewritePlan.toJson()`",
    "result": "`iceberg-zorder rewrite` and `execute`, SQL's `zorder_rewrite` (column `result`)",
    "report": "`iceberg-zorder report`, Python's `ClusteringReport.to_json()`",
    "advice": "`iceberg-zorder advise`, Python's `Advice.to_json()`",
    "workload": "`iceberg-zorder workload --to`",
    "workload-summary": "`iceberg-zorder workload`",
    "pass": "`iceberg-zorder maintain`",
    "history": "`iceberg-zorder history`",
    "append": "`iceberg-zorder append`",
    "undo": "`iceberg-zorder undo`",
    "check": "`iceberg-zorder check`",
    "properties": "`iceberg-zorder set`",
    "policy": "`iceberg-zorder init`",
    "error": "each command that fails",
}
"""The commands and functions that write a document of each schema."""


def schema(name: str) -> dict[str, Any]:
    """Read a schema."""
    found: dict[str, Any] = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def pages() -> dict[str, str]:
    """Return the Markdown of each page by its file."""
    return {file: "\n".join(_lines(names)) + "\n" for file, names in PAGES.items()}


def main() -> None:
    """Write the pages."""
    for file, text in pages().items():
        (REFERENCE / "json" / file).write_text(text, encoding="utf-8")
        sys.stdout.write(f"docs/reference/json/{file}\n")


def _lines(names: tuple[str, ...]) -> Iterator[str]:
    title = schema(names[0])["title"] if names[0] != "history" else "Other documents"
    yield f"# JSON: {title.lower()}"
    for name in names:
        described, level = schema(name), "##"
        if len(names) > 1:
            level = "###"
            yield from ("", f"## {described['title']}")
        yield from ("", described["description"])
        yield from ("", f"Written by {WRITERS[name]}. Schema: [{name}.json](../schemas/{name}.json).", "")
        parts = described.get("$defs", {})
        yield from _table(described, parts)
        for place, part in enumerate(parts.values()):
            yield from ("", f"{level} {part['title']}", "")
            if "description" in part:
                yield from (part["description"], "")
            earlier = (each for each in list(parts.values())[:place] if _keys(part) <= _keys(each))
            if (whole := next(earlier, None)) is not None:
                keys = ", ".join(f"`{key}`" for key in part["properties"])
                yield f"Only these keys of a {_link(whole)}: {keys}."
            else:
                yield from _table(part, parts)


def _keys(part: Mapping[str, Any]) -> set[str]:
    return {json.dumps([key, value]) for key, value in part["properties"].items()}


def _table(described: Mapping[str, Any], parts: Mapping[str, Any]) -> Iterator[str]:
    yield from ("| key | type | meaning |", "|---|---|---|")
    properties = {key: value for key, value in described["properties"].items() if key != "version"}
    rows = ((f"`{key}`", _kind(value, parts), value["description"]) for key, value in properties.items())
    for (kind, meaning), alike in groupby(rows, key=lambda row: row[1:]):
        yield f"| {', '.join(key for key, _, _ in alike)} | {kind} | {meaning} |"


def _link(part: Mapping[str, Any]) -> str:
    title = part["title"].lower()
    return f"[{title}](#{title.replace(' ', '-')})"


def _kind(value: Mapping[str, Any], parts: Mapping[str, Any]) -> str:
    if "$ref" in value:
        return _link(parts[value["$ref"].rpartition("/")[2]])
    if "anyOf" in value:
        return " or ".join(_kind(each, parts) for each in value["anyOf"])
    if len(value.get("enum", [])) > 6:
        return f"[a code]({REASONS})"
    if "const" in value or "enum" in value:
        return ", ".join(f"`{json.dumps(each)}`" for each in value.get("enum", [value.get("const")]))
    if value["type"] == "array":
        return f"list of {_kind(value['items'], parts)}"
    if isinstance(value.get("additionalProperties"), dict):
        return f"object of {_kind(value['additionalProperties'], parts)}"
    return " or ".join([value["type"]] if isinstance(value["type"], str) else value["type"])


if __name__ == "__main__":
    main()
