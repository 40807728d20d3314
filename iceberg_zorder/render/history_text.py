"""The rewrites of a table as text for terminals."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from rich.console import RenderableType
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from iceberg_zorder.printable import all_printable
from iceberg_zorder.render.figures import percent


def history_renderable(history: Mapping[str, Any]) -> RenderableType:
    """Show the rewrites of a table, the newest last.

    Examples
    --------
    >>> from rich.console import Console
    >>> each = {"timestamp_ms": 1767225600000, "rewritten_files": 72, "added_files": 54, "rewritten_bytes": 2000,
    ...         "predicted": {"a": 0.125}, "actual": {"a": 0.1262}, "reason": None, "sort_order": "zorder(a)"}
    >>> Console(width=79).print(history_renderable({"table": "lake.db.t", "rewrites": [each]}))
    ┏━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━┳━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━┓
    ┃ when (UTC)       ┃      files ┃  bytes ┃ reads: predicted, actual  ┃ why ┃
    ┡━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━╇━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━┩
    │ 2026-01-01 00:00 │ 72 into 54 │ 2.0 kB │ a 12.5%, 12.6%            │ -   │
    └──────────────────┴────────────┴────────┴───────────────────────────┴─────┘
    """
    history = all_printable(history)
    if not history["rewrites"]:
        return Text(f"No snapshot of {history['table']} that is kept is of a rewrite by iceberg-zorder")
    table = Table("when (UTC)")
    table.add_column("files", justify="right")
    table.add_column("bytes", justify="right")
    table.add_column("reads: predicted, actual", min_width=25)
    table.add_column("why")
    for each in history["rewrites"]:
        table.add_row(*map(Text, _row(each)))
    return table


def _row(each: Mapping[str, Any]) -> tuple[str, ...]:
    when = datetime.fromtimestamp(each["timestamp_ms"] / 1000, timezone.utc)
    reads = (
        f"{name} {percent(each['predicted'].get(name))}, {percent(value)}" for name, value in each["actual"].items()
    )
    return (
        f"{when:%Y-%m-%d %H:%M}",
        f"{each['rewritten_files']:,} into {each['added_files']:,}",
        decimal(each["rewritten_bytes"]),
        "\n".join(reads) or "-",
        each["reason"] or "-",
    )
