"""Advice on the layout of a table, as text for terminals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from iceberg_zorder.figures import files_read, less, rewrite_text
from iceberg_zorder.printable import all_printable, printable_lines

_SHOWN = 8
"""The maximum number of candidates shown, besides the best of each kind."""


def advice_renderables(advice: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Show advice."""
    pasted = (
        ("First, write the workload file that the statement names:", advice["preparation"]),
        ("To paste into Spark SQL:", advice["statement"]),
        ("Or on the command line:", advice["command"]),
    )
    advice = all_printable(advice)
    yield Text(f"{advice['table']}: {answer(advice)}")
    yield Text(f"Why: {advice['reason']}.")
    yield Text("\n".join(basis(advice)))
    if advice["candidates"]:
        yield _layouts(advice)
    if advice["cost"]:
        yield Text(cost_text(advice))
    if advice["file_sizes"]:
        yield _file_sizes(advice)
    for each in advice["warnings"]:
        yield Text(f"{each['kind']}: {each['message']}", style="yellow")
        if each["statement"]:
            yield _to_paste(each["statement"])
    for title, text in pasted:
        if text:
            yield Text(title)
            yield _to_paste(text)


def _to_paste(text: str) -> Text:
    # Wrapped lines cannot be pasted.
    return Text(printable_lines(text), no_wrap=True)


def answer(advice: Mapping[str, Any]) -> str:
    """Return the advice in a sentence, with the reads of a query.

    Examples
    --------
    >>> today = {"kind": "today", "bytes_per_query": 310e6, "files_per_query": 64.0, "files": 64}
    >>> pick = {"kind": "sort", "columns": ["a"], "bytes_per_query": 41e6, "files_per_query": 8.0, "files": 60}
    >>> pick = {**pick, "layout": "zorder(a)", "target_file_size_bytes": None}
    >>> answer({"pick": pick, "today": today})
    'Sort by a: a query reads 41.0 MB in 8 of 60 files, 86.8% less than the 310.0 MB in 64 of 64 files of today.'
    >>> answer({"pick": None, "today": today, "scans": 9.0})
    'Leave the table as it is: a query reads 310.0 MB in 64 of 64 files.'
    """
    pick, today = advice["pick"], advice["today"]
    if pick is None:
        # Without a query whose filter is known, no figure is.
        return f"Leave the table as it is{f': a query reads {read_text(today)}' if advice['scans'] else ''}."
    name = layout_text(pick)
    verb = {"zorder": "Cluster by ", "workload": "Rewrite with "}.get(pick["kind"], "")
    do = f"{verb}{name}" if verb else f"{name[0].upper()}{name[1:]}"
    change = less(pick["bytes_per_query"], today["bytes_per_query"])
    return f"{do}: a query reads {read_text(pick)}, {change} than the {read_text(today)} of today."


def read_text(layout: Mapping[str, Any]) -> str:
    """Return the average reads of a query as text."""
    return files_read(layout["bytes_per_query"], layout["files_per_query"], layout["files"])


def layout_text(layout: Mapping[str, Any]) -> str:
    """Return the name of a layout.

    Examples
    --------
    >>> layout_text({"kind": "sort", "layout": "zorder(a)", "columns": ["a"], "target_file_size_bytes": 2_000_000})
    'sort by a, in files of 2.0 MB'
    """
    kind, size = layout["kind"], layout["target_file_size_bytes"]
    if kind == "today":
        return "as it is"
    names = {
        "sort": f"sort by {layout['columns'][0]}",
        "workload": f"cuts from the workload by {', '.join(layout['columns'])}",
        "partition": f"partition by {layout['layout']}",
    }
    return f"{names.get(kind, layout['layout'])}{f', in files of {decimal(size)}' if size else ''}"


def basis(advice: Mapping[str, Any]) -> list[str]:
    """Return the basis of the figures as lines of text."""
    full = f", and {advice['full_scans']:,.0f} without" if advice["full_scans"] else ""
    lines = [f"{advice['scans']:,.0f} scans with filters{full}; {decimal(advice['table_bytes'])} in data files"]
    if advice["filters"]:
        lines.append(
            f"{advice['filters']:,} different filters judge; cuts from the workload are judged by other filters"
        )
    return lines


def shown_layouts(advice: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the layouts to show: today's, the pick, the best of each kind and size; none without queries."""
    if not advice["scans"]:
        return []
    candidates: Sequence[Mapping[str, Any]] = advice["candidates"]
    shown = [advice["pick"]] if advice["pick"] else []
    seen: set[tuple[str, int]] = set()
    for each in candidates:
        key = (each["kind"], len(each["columns"]))
        if key not in seen:
            seen.add(key)
            shown.append(each)
    shown += candidates[: max(0, _SHOWN - len(shown))]
    return [advice["today"], *(each for each in candidates if each in shown)]


def cost_text(advice: Mapping[str, Any]) -> str:
    """Return the cost of the rewrite, and when it pays, as text.

    Examples
    --------
    >>> cost = {"read_bytes": 10**9, "written_bytes": 10**9, "saved_cost_per_query": 1e7, "pays_after_queries": 200.0}
    >>> cost["cpu_seconds"] = {"pyiceberg": 69.0, "spark": 202.0}
    >>> cost_text({"cost": {**cost, "pays_after_days": None, "saved_per_day": None}})
    'A rewrite reads 1.0 GB, writes about 1.0 GB and takes about 69 CPU seconds with PyIceberg, 202 on Spark. It saves \
10.0 MB a query, in bytes and open costs of files, so that it has paid after 200 queries.'
    >>> saved = {"bytes": 5e9, "files": 1200.0, "cpu_seconds": 122.7}
    >>> cost_text({"cost": {**cost, "pays_after_days": 0.4, "saved_per_day": saved}}).partition("after ")[2]
    '200 queries, 0.4 days. A day of queries saves 5.0 GB, 1,200 opened files and about 123 CPU seconds.'
    """
    cost, saved = advice["cost"], advice["cost"]["saved_per_day"]
    days = "" if cost["pays_after_days"] is None else f", {cost['pays_after_days']:,.1f} days"
    found = (
        f"{rewrite_text(cost['read_bytes'], cost['written_bytes'], cost['cpu_seconds'])}. It saves "
        f"{decimal(round(cost['saved_cost_per_query']))} a query, in bytes and open costs of files, so that it has "
        f"paid after {cost['pays_after_queries']:,.0f} queries{days}."
    )
    if saved is None:
        return found
    return (
        f"{found} A day of queries saves {decimal(round(saved['bytes']))}, {saved['files']:,.0f} opened files and "
        f"about {saved['cpu_seconds']:,.0f} CPU seconds."
    )


def _layouts(advice: Mapping[str, Any]) -> Table:
    table = Table("layout")
    for name in ("read", "of it", "files read", "cost"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in shown_layouts(advice):
        size = each["bytes_per_query"]
        table.add_row(
            Text(f"{'* ' if each == advice['pick'] else ''}{layout_text(each)}"),
            decimal(round(size)),
            f"{100 * size / max(1, advice['table_bytes']):.1f}%",
            f"{each['files_per_query']:,.1f} of {each['files']:,}",
            decimal(round(each["cost_per_query"])),
        )
    opened = f"cost: with {decimal(advice['open_cost_bytes'])} a file"
    table.caption = f"read: a query with a filter, on average; {opened}" + ("; * advised" if advice["pick"] else "")
    return table


def _file_sizes(advice: Mapping[str, Any]) -> Table:
    table = Table("file size")
    for name in ("files", "read", "files read", "cost"):
        table.add_column(name, justify="right")
    for each in advice["file_sizes"]:
        size, read = each["target_file_size_bytes"], decimal(round(each["bytes_per_query"]))
        is_advised = advice["pick"] and advice["pick"]["target_file_size_bytes"] == size
        is_now = " (now)" if size == advice["target_file_size_bytes"] else " (advised)" if is_advised else ""
        cost = decimal(round(each["cost_per_query"]))
        table.add_row(f"{decimal(size)}{is_now}", f"{each['files']:,}", read, f"{each['files_per_query']:,.1f}", cost)
    table.caption = "option target-file-size-bytes"
    return table
