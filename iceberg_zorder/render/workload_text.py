"""The summary of a workload as text for terminals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from iceberg_zorder.printable import all_printable

_SHOWN_COLUMNS = 30


def workload_renderables(found: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Show a summary of a workload.

    Examples
    --------
    >>> from rich.console import Console
    >>> from iceberg_zorder.workload.summary import summary
    >>> from iceberg_zorder.workload.workload import Query, Workload
    >>> found = summary(Workload.of([Query("a = 1 AND b > 2", 3.0), Query("TRUE", 1.0)]))
    >>> for each in workload_renderables({"table": "lake.db.t", "written": None, **found}):
    ...     Console(width=79).print(each)
    4 scans of lake.db.t, with 2 different filters; 1 without any
    understood: 100.0%
    ┏━━━━━━━━┳━━━━━━━┳━━━━━━━┳━━━━━━━━━┓
    ┃ column ┃ scans ┃ share ┃ how     ┃
    ┡━━━━━━━━╇━━━━━━━╇━━━━━━━╇━━━━━━━━━┩
    │ a      │     3 │ 75.0% │ = 3     │
    │ b      │     3 │ 75.0% │ range 3 │
    └────────┴───────┴───────┴─────────┘
    """
    found = all_printable(found)
    yield Text("\n".join(_lines(found)))
    if found["columns"]:
        yield _columns(found)
    if found["joins"]:
        yield _joins(found)
    if found["not_understood"]:
        yield _missed(found)
    if found["written"]:
        yield Text(f"Wrote {found['written']}")


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    scans = found["scans"]
    without = f"; {_count(found['full_scans'])} without any" if found["full_scans"] else ""
    different = found["queries"] + found["columns_only"]
    yield f"{_many(scans, 'scan')} of {found['table']}, with {_many(different, 'different filter')}{without}"
    if scans:
        parts = (
            ("understood", "understood"),
            ("in part", "partly_understood"),
            ("columns without values", "columns_only_scans"),
        )
        yield ", ".join(f"{name}: {_share(found[key], scans)}" for name, key in parts if found[key])
    if found["statements_not_understood"]:
        yield f"Not understood, and not counted: {_many(found['statements_not_understood'], 'statement')}"
    if found["statements_elsewhere"]:
        yield f"Not reading the table: {_many(found['statements_elsewhere'], 'statement')}"


def _columns(found: Mapping[str, Any]) -> Table:
    table = Table("column")
    for name in ("scans", "share"):
        table.add_column(name, justify="right")
    table.add_column("how")
    for each in found["columns"][:_SHOWN_COLUMNS]:
        how = ", ".join(f"{_how(kind)} {_count(weight)}" for kind, weight in each["how"].items())
        row = (each["name"], _count(each["weight"]), _share(each["weight"], found["scans"]), how)
        table.add_row(*map(Text, row))
    left = len(found["columns"]) - _SHOWN_COLUMNS
    if left > 0:
        table.caption = f"and {left} more"
    return table


def _joins(found: Mapping[str, Any]) -> Table:
    table = Table("joined key", "where")
    for name in ("keys", "scans"):
        table.add_column(name, justify="right")
    for each in found["joins"]:
        row = (each["key"], _short(each["filter"]), f"{each['keys']:,}", _count(each["weight"]))
        table.add_row(*map(Text, row))
    left = found["joins_count"] - len(found["joins"])
    if left > 0:
        table.caption = f"and {left:,} more"
    return table


def _missed(found: Mapping[str, Any]) -> Table:
    table = Table("not understood", "because")
    table.add_column("times", justify="right")
    for each in found["not_understood"]:
        whole = " (not counted)" if each["kind"] == "statement" else ""
        table.add_row(*map(Text, (_short(each["text"]), each["reason"] + whole, _count(each["weight"]))))
    left = found["not_understood_count"] - len(found["not_understood"])
    if left > 0:
        table.caption = f"and {left:,} more"
    return table


def _short(text: str) -> str:
    return text if len(text) <= 120 else f"{text[:117]}..."


def _how(kind: str) -> str:
    return kind.upper() if kind == "in" else kind


def _many(weight: float, what: str) -> str:
    return f"{_count(weight)} {what}{'' if weight == 1 else 's'}"


def _count(weight: float) -> str:
    return f"{weight:,.0f}" if weight == int(weight) else f"{weight:,.1f}"


def _share(weight: float, whole: float) -> str:
    return f"{100 * weight / whole:.1f}%" if whole else "-"
