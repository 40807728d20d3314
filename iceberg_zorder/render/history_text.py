"""The rewrites of a table as text for terminals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from typing import Any

from rich.console import Group, RenderableType
from rich.filesize import decimal
from rich.padding import Padding
from rich.text import Text

from iceberg_zorder.printable import all_printable

_BAR_WIDTH = 12


def history_renderable(history: Mapping[str, Any]) -> RenderableType:
    """Show a table's rewrites, newest last, with the share of the table that filters read before and after each.

    Examples
    --------
    >>> from rich.console import Console
    >>> before = {"snapshot_id": 11, "files": 72, "bytes": 2000, "scan_fraction": 0.5, "read_bytes": 1000,
    ...           "scan_fractions": {"a": 0.5}, "cost_ratio": 4.0}
    >>> after = {**before, "snapshot_id": 12, "files": 54, "scan_fraction": 0.1262, "scan_fractions": {"a": 0.1262}}
    >>> each = {"timestamp_ms": 1767225600000, "snapshot_id": 12, "parent_id": 11, "commits": 1, "seconds": 2.5,
    ...         "rewritten_files": 72, "added_files": 54, "rewritten_bytes": 2000, "added_bytes": 1900,
    ...         "reason": None, "sort_order": "zorder(a)", "before": before, "after": after}
    >>> found = {"table": "lake.db.t", "branch": "main", "measured_by": "zorder(a)", "rewrites": [each], "now": after}
    >>> Console(width=80).print(history_renderable(found))
    lake.db.t (branch main): share of the table that column = value reads
    <BLANKLINE>
    when (UTC)                   snapshot    files      size  reads
    before                             11       72    2.0 kB  ██████        50.0%
    2026-01-01 00:00                   12       54    2.0 kB  ██            12.6%
      72 files (2.0 kB) into 54 (1.9 kB) in 2.5 s by zorder(a)
      a 50.0% to 12.6%
    """
    history = all_printable(history)
    if not history["rewrites"]:
        return Text(f"{history['table']} has no snapshot of a rewrite by iceberg-zorder")
    title = f"{history['table']} (branch {history['branch']}): share of the table that column = value reads\n"
    heading = f"{'when (UTC)':16}  {'snapshot':>19}  {'files':>7}  {'size':>8}  reads"
    return Group(Text(title, style="bold"), Text(heading, style="dim"), *_lines(history))


def _lines(history: Mapping[str, Any]) -> Iterator[RenderableType]:
    last = None
    for each in history["rewrites"]:
        # The state after a rewrite is the state before the next one, unless others have written since.
        if each["parent_id"] != last:
            yield _state("before", each["parent_id"], each["before"])
        last = each["snapshot_id"]
        when = datetime.fromtimestamp(each["timestamp_ms"] / 1000, timezone.utc)
        yield _state(f"{when:%Y-%m-%d %H:%M}", last, each["after"])
        commits = f", in {each['commits']:,} commits" if each["commits"] > 1 else ""
        seconds = "" if each["seconds"] is None else f" in {each['seconds']:,.1f} s"
        reason = f": {each['reason']}" if each["reason"] else ""
        said = [
            f"{each['rewritten_files']:,} files ({decimal(each['rewritten_bytes'])}) into {each['added_files']:,} "
            f"({decimal(each['added_bytes'])}){seconds} by {each['sort_order']}{commits}{reason}"
        ]
        if each["before"] and each["after"]:
            then, now = (each[key]["scan_fractions"] for key in ("before", "after"))
            said.append(", ".join(f"{name} {then[name]:.1%} to {now[name]:.1%}" for name in now if name in then))
        yield from (Padding(Text(line), (0, 0, 0, 2), expand=False) for line in said)
    if history["now"] and history["now"]["snapshot_id"] != last:
        yield _state("now", history["now"]["snapshot_id"], history["now"])


def _state(when: str, snapshot_id: int | None, state: Mapping[str, Any] | None) -> Text:
    line = f"{when:16}  {snapshot_id or '-':>19}"
    if state is None:
        return Text(f"{line}  {'not measured' if when != 'before' else 'expired, or not measured'}", no_wrap=True)
    share = state["scan_fraction"]
    reads = "-" if share is None else f"{'█' * max(1, round(_BAR_WIDTH * share)):{_BAR_WIDTH}}  {share:5.1%}"
    return Text(f"{line}  {state['files']:7,}  {decimal(state['bytes']):>8}  {reads}", no_wrap=True)
