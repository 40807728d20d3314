"""A maintenance pass as text for terminals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from iceberg_zorder.printable import all_printable


def pass_renderables(report: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Show what a pass did, or would do.

    Examples
    --------
    >>> from rich.console import Console
    >>> each = {"table": "lake.db.t", "action": "leave", "reason": "all is well", "file_groups": [], "done": None,
    ...         "expected_saved_bytes": 0.0, "error": None, "conflict": False}
    >>> for part in pass_renderables({"tables": [each], "errors": [], "dry_run": False, "rewritten_bytes": 0}):
    ...     Console(width=70).print(part)  # doctest: +NORMALIZE_WHITESPACE
    ┏━━━━━━━━━━━┳━━━━━━━━┳━━━━━━━┳━━━━━━━┳━━━━━━━━━━━━━┓
    ┃ table     ┃ action ┃ bytes ┃ saves ┃ reason      ┃
    ┡━━━━━━━━━━━╇━━━━━━━━╇━━━━━━━╇━━━━━━━╇━━━━━━━━━━━━━┩
    │ lake.db.t │ leave  │       │       │ all is well │
    └───────────┴────────┴───────┴───────┴─────────────┘
    Rewrote 0 bytes
    """
    report = all_printable(report)
    if report["tables"]:
        table = Table("table", "action")
        table.add_column("bytes", justify="right")
        table.add_column("saves", justify="right")
        table.add_column("reason")
        for each in report["tables"]:
            table.add_row(*_row(each))
        yield table
    else:
        yield Text("No table is maintained by this policy")
    for error in report["errors"]:
        yield Text(error)
    did = "Would rewrite" if report["dry_run"] else "Rewrote"
    yield Text(f"{did} {decimal(_bytes(report))}")


def _row(of: Mapping[str, Any]) -> list[Text]:
    size = sum(each["size"] for each in of["file_groups"])
    done = of["done"] or {"message": None, "follow_ups": ()}
    reason = "; ".join(filter(None, (of["reason"], of["error"], done["message"], *done["follow_ups"])))
    action = "conflict" if of["conflict"] else of["action"]
    saves = decimal(round(of["expected_saved_bytes"])) if of["expected_saved_bytes"] > 0 else ""
    return [Text(each) for each in (of["table"], action, decimal(size) if size else "", saves, reason)]


def _bytes(report: Mapping[str, Any]) -> int:
    if not report["dry_run"]:
        return int(report["rewritten_bytes"])
    return sum(group["size"] for each in report["tables"] for group in each["file_groups"])
